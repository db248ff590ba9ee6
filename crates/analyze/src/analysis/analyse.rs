//! From a recording to the profile of the process that a report is about, with its diagnosis and those of the other processes.

use heaplens_format::Pid;
use heaplens_format::memory::{Space, Tables};
use heaplens_format::recording::{Decoded, Process, Recording};

use super::profile::Profile;
use super::tree::{Member, is_at_fault, worst};
use crate::diagnose::{Known, diagnose};
use crate::profile::sites::{Intervals, MergedSites};
use crate::profile::stacks::Stacks;
use crate::profile::{
    Choice, Counts, HeldAt, Holders, NoSuchProcess, ProcessRow, Resident, choice, errors, iterations, leaks,
    ledger, losses, process_tree, processes, reclaim_test, sections, sites,
};

/// Analyses a run. The report is about the process with this pid, else about the one with the worst verdict, else about the command's own.
///
/// # Errors
/// When `pid` is given and was not recorded.
pub fn profile(decoded: &Decoded, pid: Option<Pid>) -> Result<Profile, NoSuchProcess> {
    profile_by(decoded, pid, Tables::default())
}

/// The same by other tables than those of this version: lines and spaces that they have more are in every output.
///
/// # Errors
/// When `pid` is given and was not recorded.
pub fn profile_by(decoded: &Decoded, pid: Option<Pid>, tables: Tables) -> Result<Profile, NoSuchProcess> {
    let recording = &decoded.recording;
    let own = choice::choose(&recording.processes, None)?.shown;
    let mut choice = choice::choose(&recording.processes, pid)?;
    let main = own.map(|at| recording.processes[at].pid);
    let mut profiles = all(recording, &choice, own, tables);
    if pid.is_none() {
        choice.shown = worst_of(recording, &choice, &profiles, main).or(choice.shown);
    }
    let shown = choice.visible.iter().position(|&at| choice.shown == Some(at));
    let profile = shown.map_or_else(Profile::default, |at| profiles.remove(at));
    let processes: Vec<&Process> = choice.visible.iter().map(|&at| &recording.processes[at]).collect();
    let tree_rss = process_tree::resident(&processes, profile.rss);
    Ok(Profile { others: profiles, tree_rss, ..of_run(decoded, &choice, tables, profile) })
}

/// The process that stands for the command: its own, unless that only started others.
pub fn main_process(decoded: &Decoded) -> Option<Pid> {
    let processes = &decoded.recording.processes;
    choice::choose(processes, None).ok()?.shown.map(|at| processes[at].pid)
}

/// All processes that are worth naming. A tree may have thousands: sites and stacks are kept of those with which something is wrong, of the one
/// shown and of the command's own.
fn all(recording: &Recording, choice: &Choice, own: Option<usize>, tables: Tables) -> Vec<Profile> {
    let analysed = |&at: &usize| {
        let found = of_process(&recording.processes[at], recording, tables, HeldAt::End);
        let is_named = is_at_fault(&found) || !found.diagnosis.findings.is_empty();
        let is_kept = choice.shown == Some(at) || own == Some(at) || is_named;
        if is_kept { found } else { found.without_sites() }
    };
    choice.visible.iter().map(analysed).collect()
}

/// The process with the worst verdict, where that is that something is wrong.
fn worst_of(
    recording: &Recording,
    choice: &Choice,
    profiles: &[Profile],
    main: Option<Pid>,
) -> Option<usize> {
    let rows: Vec<ProcessRow> =
        choice.visible.iter().map(|&at| processes::row(&recording.processes[at], false)).collect();
    let members: Vec<Member<'_>> =
        rows.iter().zip(profiles).map(|(row, profile)| Member { row, profile }).collect();
    let found = worst(&members, main)?;
    rows.iter().position(|row| row.pid == found.row.pid).map(|row| choice.visible[row])
}

/// Analyses one process alone. The others have their rows, and no more.
///
/// # Errors
/// When it was not recorded.
pub fn process_profile(decoded: &Decoded, pid: Pid) -> Result<Profile, NoSuchProcess> {
    profile_at(decoded, Some(pid), Tables::default(), |_| HeldAt::End)
}

/// Analyses one process, the main one or the one with this pid, with what sites held at another moment than the end of its script. The others
/// have their rows, and no more.
pub(crate) fn profile_at(
    decoded: &Decoded,
    pid: Option<Pid>,
    tables: Tables,
    moment: impl FnOnce(&Process) -> HeldAt,
) -> Result<Profile, NoSuchProcess> {
    let recording = &decoded.recording;
    let choice = choice::choose(&recording.processes, pid)?;
    let process = choice.shown.map(|at| &recording.processes[at]);
    let profile =
        process.map_or_else(Profile::default, |one| of_process(one, recording, tables, moment(one)));
    Ok(of_run(decoded, &choice, tables, profile))
}

/// The profile of the process shown, with what is known of the run.
fn of_run(decoded: &Decoded, choice: &Choice, tables: Tables, profile: Profile) -> Profile {
    let recording = &decoded.recording;
    let process = choice.shown.map(|at| &recording.processes[at]);
    let rows =
        choice.visible.iter().map(|&at| processes::row(&recording.processes[at], choice.shown == Some(at)));
    Profile {
        run: recording.run.clone(),
        main: main_process(decoded),
        exit: recording.run.exit.or_else(|| process.and_then(processes::exit_of)),
        processes: rows.collect(),
        cost: processes::cost(recording, process),
        sampled: recording.run.sample_interval,
        damage: decoded.damage.clone(),
        tree: process_tree::tree(&recording.processes),
        tables,
        ..profile
    }
}

fn of_process(process: &Process, recording: &Recording, tables: Tables, held_at: HeldAt) -> Profile {
    let stacks = Stacks::new(process);
    let intervals = Intervals::of(process, recording.run.sample_interval);
    let MergedSites { sites, numbers, threads } = sites::merge(process, &stacks, intervals, held_at);
    let iterations = iterations::iterations(process);
    let reclaim_test = reclaim_test::reclaim_test(process);
    let diagnosis = diagnose(Known {
        process,
        is_helper: processes::is_helper(process, recording),
        stacks: &stacks,
        sites: &sites,
        site_numbers: &numbers,
        iterations: iterations.as_ref(),
        heap_interval: intervals.heap,
        object_interval: intervals.objects,
        trimmed: reclaim_test.and_then(|test| test.trimmed).map(Resident::returned),
        tables,
    });
    let ledger = ledger::of(process, (Space::HOST, &process.ledgers), &stacks, iterations.as_ref());
    let spaces = ledger::of_spaces(process, &stacks, iterations.as_ref(), tables);
    Profile {
        run: recording.run.clone(),
        pid: Some(process.pid),
        sampled: recording.run.sample_interval,
        tables,
        python: process.python,
        rss: ledger::rss(process, ledger.as_ref()),
        timeline: process.timeline.clone(),
        object_interval: process.object_interval,
        totals: sites::totals(&sites, process, intervals),
        knows_end_of_script: sites::end_of_script(process).is_some(),
        iterations,
        diagnosis,
        ledger,
        spaces,
        errors: errors::of(process, &stacks),
        leaks: leaks::of(process, &stacks),
        sections: sections::of(process, &stacks),
        holders: Holders::of(process, &stacks),
        counts: Counts::of(process, &stacks),
        modules: process.modules.clone(),
        marks: iterations::named_marks(process),
        reclaim_test,
        losses: losses::losses(process, &sites, &stacks),
        sites,
        stacks,
        threads,
        ..Profile::default()
    }
}
