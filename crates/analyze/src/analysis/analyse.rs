//! From a recording to the profile of one process, with its diagnosis.

use heaplens_format::Pid;
use heaplens_format::memory::{Space, Tables};
use heaplens_format::recording::{Decoded, Process, Recording};

use super::profile::Profile;
use crate::diagnose::{Known, diagnose};
use crate::profile::sites::Intervals;
use crate::profile::stacks::Stacks;
use crate::profile::{
    Counts, HeldAt, Holders, NoSuchProcess, Resident, choice, iterations, leaks, ledger, losses,
    process_tree, processes, reclaim_test, sites,
};

/// Analyses one process: the main one, or the one with this pid.
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
    profile_at(decoded, pid, tables, |_| HeldAt::End)
}

/// The same with what sites held at another moment of the process shown, instead of the end of its script.
pub(crate) fn profile_at(
    decoded: &Decoded,
    pid: Option<Pid>,
    tables: Tables,
    moment: impl FnOnce(&Process) -> HeldAt,
) -> Result<Profile, NoSuchProcess> {
    let recording = &decoded.recording;
    let choice = choice::choose(&recording.processes, pid)?;
    let process = choice.shown.map(|at| &recording.processes[at]);
    let rows =
        choice.visible.iter().map(|&at| processes::row(&recording.processes[at], choice.shown == Some(at)));
    let profile =
        process.map_or_else(Profile::default, |one| of_process(one, recording, tables, moment(one)));
    Ok(Profile {
        run: recording.run.clone(),
        exit: recording.run.exit.or_else(|| process.and_then(processes::exit_of)),
        processes: rows.collect(),
        cost: processes::cost(recording, process),
        sampled: recording.run.sample_interval,
        damage: decoded.damage.clone(),
        tree: process_tree::tree(&recording.processes),
        tables,
        ..profile
    })
}

fn of_process(process: &Process, recording: &Recording, tables: Tables, held_at: HeldAt) -> Profile {
    let stacks = Stacks::new(process);
    let intervals = Intervals::of(process, recording.run.sample_interval);
    let (sites, threads) = sites::merge(process, &stacks, intervals, held_at);
    let iterations = iterations::iterations(process);
    let reclaim_test = reclaim_test::reclaim_test(process);
    let diagnosis = diagnose(Known {
        process,
        stacks: &stacks,
        sites: &sites,
        iterations: iterations.as_ref(),
        heap_interval: intervals.heap,
        object_interval: intervals.objects,
        trimmed: reclaim_test.and_then(|test| test.trimmed).map(Resident::returned),
        tables,
    });
    let ledger = ledger::of(process, (Space::HOST, &process.ledgers), &stacks, iterations.as_ref());
    let spaces = ledger::of_spaces(process, &stacks, iterations.as_ref(), tables);
    Profile {
        pid: Some(process.pid),
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
        leaks: leaks::of(process, &stacks),
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
