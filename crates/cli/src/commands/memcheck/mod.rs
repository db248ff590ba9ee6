//! `heaplens memcheck`: runs a program and lists leaked blocks at exit, with the options and the output of Valgrind's Memcheck.

mod arguments;
mod engine;
mod output;
mod stopwatch;
mod valgrind_options;

use std::collections::BTreeSet;
use std::io::stderr;
use std::path::Path;
use std::process::ExitCode;

use heaplens_analyze::heap::Analysis;
use heaplens_analyze::memcheck_engine::{EngineFindings, EngineRecord};
use heaplens_analyze::profile::{LeakRecord, Leaks, StackFrame};
use heaplens_analyze::suppressions::{self, Names, Suppression};
use heaplens_analyze::{NoSuchProcess, Profile, main_process, process_profile};
use heaplens_format::Pid;
use heaplens_format::environment::{Imports, Objects};
use heaplens_format::recording::{Decoded, Exit, HeapMoment, LeakKind};
use heaplens_record::{
    EngineRun, LeakCheckMarks, Listeners, Outcome, Recorded, RunError, RunOptions, run_with,
};
use heaplens_report::export::valgrind::{self, XmlOptions};
use heaplens_report::json;
use heaplens_report::text::leaks::{self, LeakOptions};
use heaplens_snapshot::Snapshot;

use crate::checks::WantedChecks;
use crate::destination;
use crate::failure::{Failure, eprint};
use crate::launch::{explain, leak_check_marks, status_of};
use crate::render::{plain, text_options};
use crate::values::YesNo;
use arguments::{GenSuppressions, LeakDetail};
use engine::EnginePlan;
use output::Output;
use stopwatch::{Cost, Stopwatch};

pub(crate) use arguments::MemcheckArguments;

/// Printed at the end of `heaplens memcheck --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens memcheck ./app
  heaplens memcheck --leak-check=full --show-leak-kinds=all ./app
  heaplens memcheck --leak-check=full --error-exitcode=9 --suppressions=known.supp ./app
  heaplens memcheck --track-origins=yes ./app
  heaplens memcheck --xml=yes --xml-file=lost.%p.xml ./app";

/// Where the results are written.
struct CheckOutputs {
    text: Output,
    xml: Option<Output>,
}

/// Runs the program, checks for leaks, reports them; where Valgrind is asked for, runs it again.
pub(crate) fn memcheck(arguments: MemcheckArguments, agent: &'static [u8]) -> Result<ExitCode, Failure> {
    arguments.valgrind_options.check()?;
    let plan = arguments.engine_plan()?;
    let outputs = arguments.outputs()?;
    let known = arguments.known_leaks()?;
    plan.iter().for_each(EnginePlan::announce);
    let own = match &plan {
        Some(plan) if plan.is_only => None,
        _ => Some(arguments.recorded(agent)?),
    };
    let by_engine = match plan {
        Some(plan) if own.as_ref().is_none_or(|own| plan.goes_on_after(own.exit)) => {
            Some(plan.run(&arguments)?)
        }
        Some(_) => {
            eprint("heaplens: the program was interrupted, and is not run under Valgrind");
            None
        }
        None => None,
    };
    if let (Some(own), Some(run)) = (&own, &by_engine) {
        engine::compare(own.exit, run.exit);
    }
    let status = own.as_ref().map(|own| own.exit).or(by_engine.as_ref().map(|run| run.exit));
    let status = status_of(status.expect("one of both ran"));
    let recorded = own.and_then(|own| own.decoded);
    let errors = arguments.report_on(recorded, by_engine, &known, &outputs)?;
    Ok(ExitCode::from(errors.unwrap_or(status)))
}

/// The run with Heaplens's own engine.
struct OwnRun {
    exit: Exit,
    /// `None`: nothing was recorded.
    decoded: Option<Decoded>,
}

fn print_cost(blocks: usize, cost: Cost) {
    let (wall, cpu) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64());
    let bytes = cost.peak_kib as f64 * 1024.0 / blocks.max(1) as f64;
    eprint(&format!(
        "heaplens: inspected {blocks} blocks in {wall:.3} s, {cpu:.3} s of CPU time, {bytes:.1} bytes per block"
    ));
}

impl MemcheckArguments {
    /// Runs the program, with a leak check at exit unless it is switched off.
    fn run(
        &self,
        agent: &'static [u8],
        wanted: WantedChecks,
        leak_check: Option<LeakCheckMarks>,
    ) -> Result<Outcome, RunError> {
        let mut analysis = Analysis::with_heuristics(self.leak_check_heuristics);
        let mut examine = |snapshot: &Snapshot, _: HeapMoment| {
            let stopwatch = Stopwatch::start();
            let found = match snapshot.focus {
                Some(_) => analysis.section(snapshot),
                None => analysis.leaks(snapshot),
            };
            if self.verbose > 0 {
                print_cost(snapshot.blocks.len(), stopwatch.stop());
            }
            found
        };
        let examiner = (self.leak_check != LeakDetail::No).then_some(&mut examine as _);
        run_with(
            RunOptions { leak_check, ..self.run_options(agent, wanted) },
            Listeners { examiner, ..Listeners::default() },
        )
    }

    /// Runs the program under Heaplens itself.
    fn recorded(&self, agent: &'static [u8]) -> Result<OwnRun, Failure> {
        let wanted = self.guard.wanted(Some(self.freelist_vol), &self.command)?;
        let marks = leak_check_marks(self.leak_check_from.clone(), self.leak_check_to.clone())?;
        let outcome = self.run(agent, wanted, marks).map_err(explain)?;
        for warning in &outcome.warnings {
            eprint(&format!("warning: {warning}"));
        }
        let decoded = match outcome.recorded {
            Recorded::Bare(reason) => {
                eprint(&format!("heaplens: nothing was recorded: {reason}"));
                None
            }
            Recorded::Whole { mut recording, session } => {
                session.remove().ok();
                crate::recording::resolve_symbols(&mut recording);
                Some(Decoded { recording: *recording, damage: Vec::new() })
            }
        };
        Ok(OwnRun { exit: outcome.exit, decoded })
    }

    /// Reports what the runs gave, be it one or both; returns the exit status of --error-exitcode if there are errors.
    fn report_on(
        &self,
        recorded: Option<Decoded>,
        by_engine: Option<EngineRun<EngineFindings>>,
        known: &[Suppression],
        outputs: &CheckOutputs,
    ) -> Result<Option<u8>, Failure> {
        let is_only = recorded.is_none();
        let bare = || by_engine.as_ref().map(|run| engine::bare_recording(self, run));
        let Some(decoded) = recorded.or_else(bare) else { return Ok(None) };
        let failure = by_engine.as_ref().and_then(engine::without_report);
        let found = by_engine.map(|run| EngineFindings { is_only, ..run.found });
        let status = self.report(&decoded, found, known, outputs)?;
        failure.map_or(Ok(status), Err)
    }

    fn run_options(&self, agent: &'static [u8], wanted: WantedChecks) -> RunOptions {
        RunOptions {
            command: self.command.clone(),
            agent: Some(agent),
            sample: None,
            objects: Objects::None,
            imports: Imports::Full,
            follow: self.trace_children == YesNo::Yes,
            passive: true,
            frameworks: true,
            finalize_graph: None,
            memcheck: true,
            checks: wanted.checks,
            guarded_code: wanted.guarded_code,
            leak_check: None,
            clean_blocks: true,
            inspects_every_end: self.leak_check != LeakDetail::No,
        }
    }

    /// The suppressions from the user's files and the built-in ones, read before the program runs for hours.
    fn known_leaks(&self) -> Result<Vec<Suppression>, Failure> {
        let mut known = Vec::new();
        for path in &self.suppressions {
            let unreadable = |why: String| Failure::new(format!("cannot read {}: {why}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
            known.extend(suppressions::parse(&text).map_err(|error| unreadable(error.to_string()))?);
        }
        if self.default_suppressions == YesNo::Yes {
            known.extend(suppressions::built_in());
        }
        Ok(known)
    }

    fn outputs(&self) -> Result<CheckOutputs, Failure> {
        let xml = match (self.xml, &self.xml_file, self.xml_fd) {
            (YesNo::No, ..) => None,
            (YesNo::Yes, None, None) => {
                return Err(
                    Failure::new("--xml=yes requires --xml-file or --xml-fd").hint("add --xml-file=FILE")
                );
            }
            (YesNo::Yes, file, descriptor) => Some(Output::new(file.as_ref(), descriptor.unwrap_or(2))?),
        };
        Ok(CheckOutputs { text: Output::new(self.log_file.as_ref(), self.log_fd)?, xml })
    }

    /// Prints the report; returns the exit status of --error-exitcode if there are errors.
    fn report(
        &self,
        decoded: &Decoded,
        by_engine: Option<EngineFindings>,
        known: &[Suppression],
        outputs: &CheckOutputs,
    ) -> Result<Option<u8>, Failure> {
        let mut profiles = each_process(decoded).map_err(Failure::new)?;
        let marks = leak_check_marks(self.leak_check_from.clone(), self.leak_check_to.clone())?;
        if let Some(LeakCheckMarks { from, to }) = marks {
            let name = format!("{from} to {to}");
            profiles.iter_mut().for_each(|profile| profile.narrow_to_section(&name));
        }
        if let Some(callers) = self.leak_resolution.callers() {
            profiles.iter_mut().for_each(|profile| profile.merge_leaks(callers));
        }
        let names = self.names(&profiles, known);
        profiles.iter_mut().for_each(|profile| profile.suppress(known, &names));
        if !self.shows_mismatched() {
            profiles.iter_mut().for_each(Profile::drop_mismatched_frees);
        }
        // Valgrind has applied the suppressions itself.
        if let Some(found) = by_engine {
            profiles[0].join_engine(found);
        }
        let errors: usize = profiles.iter().map(|profile| self.errors(profile)).sum();
        let is_unknown = self.leak_check != LeakDetail::No && profiles.iter().any(is_unknown);
        // As with Valgrind, XML takes the place of the text.
        if outputs.xml.is_none() && !(self.quiet && errors == 0 && !is_unknown) {
            self.write_text(&profiles, &names, &outputs.text)?;
        }
        if let Some(path) = &self.json {
            write_json(&profiles, path)?;
        }
        if let Some(xml) = &outputs.xml {
            self.write_xml(&profiles, &names, xml)?;
        }
        Ok(((errors > 0 || is_unknown) && self.error_exitcode != 0).then_some(self.error_exitcode))
    }

    /// Errors of a process, and records of it that count as such.
    fn errors(&self, profile: &Profile) -> usize {
        let is_error = |record: &&LeakRecord| self.errors_for_leak_kinds.0.contains(&record.kind);
        let of_engine = profile.engine.iter().flat_map(|found| &found.records);
        let leaks_of_engine = of_engine.filter_map(EngineRecord::leak_kind);
        profile.errors.reported.len()
            + records(profile).iter().filter(is_error).count()
            + leaks_of_engine.filter(|kind| self.errors_for_leak_kinds.0.contains(kind)).count()
    }

    fn shows_mismatched(&self) -> bool {
        self.show_mismatched_frees == YesNo::Yes
    }

    /// Of the first process, and of others: all that were inspected where each has its own name, else those with errors.
    fn write_xml(&self, profiles: &[Profile], names: &Names, to: &Output) -> Result<(), Failure> {
        let (first, others) = profiles.split_first().expect("the first process");
        to.write(process_of(first), &self.xml(first, names))?;
        let is_wanted = |profile: &&Profile| {
            self.errors(profile) > 0 || is_unknown(profile) || to.is_per_process() && profile.leaks.is_some()
        };
        let mut others = others.iter().filter(is_wanted);
        others.try_for_each(|other| to.write_beside(process_of(other), &self.xml(other, names)))
    }

    /// The first process, and others that have errors; each to its own file where that has its name.
    fn write_text(&self, profiles: &[Profile], names: &Names, to: &Output) -> Result<(), Failure> {
        let options = if *to == Output::Stderr { text_options(self.color, &stderr()) } else { plain() };
        let (mut text, shown) = (Vec::new(), self.shown(names));
        for (number, profile) in profiles.iter().enumerate() {
            if number == 0 || self.errors(profile) > 0 || is_unknown(profile) {
                leaks::write(profile, options, &shown, &mut text).expect("writing to a Vec cannot fail");
            }
            if to.is_per_process() && !text.is_empty() {
                to.write(process_of(profile), &std::mem::take(&mut text))?;
            }
        }
        if to.is_per_process() { Ok(()) } else { to.write(process_of(&profiles[0]), &text) }
    }

    /// The names that Valgrind gives to frames, for matching suppressions of the user and for generating them. The built-in ones do
    /// not need them, and looking them up costs as much as resolving all symbols.
    fn names(&self, profiles: &[Profile], known: &[Suppression]) -> Names {
        let are_generated = self.gen_suppressions != GenSuppressions::No;
        let kinds = self.kinds();
        let is_needed = |record: &&LeakRecord| {
            are_generated && kinds.contains(&record.kind)
                || !self.suppressions.is_empty() && known.iter().any(|one| one.is_for(record.kind))
        };
        let mut frames: Vec<&StackFrame> = Vec::new();
        for profile in profiles {
            let needed = records(profile).iter().filter(is_needed);
            needed.for_each(|record| frames.extend(profile.frames(record.stack)));
            if are_generated || !self.suppressions.is_empty() {
                frames.extend(profile.errors.reported.iter().flat_map(|error| &error.stack));
            }
        }
        Names::of(frames.into_iter())
    }

    fn xml(&self, profile: &Profile, names: &Names) -> Vec<u8> {
        let own = std::env::args_os().count().saturating_sub(self.command.len());
        let own_words = std::env::args_os().take(own).map(|word| word.to_string_lossy().into_owned());
        // Like Memcheck: what would be shown as text, and nothing with --leak-check=summary.
        let LeakOptions { kinds, callers, suppressions, .. } = self.shown(names);
        let comment = self.xml_user_comment.clone();
        let options = XmlOptions { kinds, callers, own_words: own_words.collect(), comment, suppressions };
        let mut bytes = Vec::new();
        valgrind::write(profile, &options, &mut bytes).expect("writing to a Vec cannot fail");
        bytes
    }

    fn shown<'a>(&self, names: &'a Names) -> LeakOptions<'a> {
        LeakOptions {
            kinds: self.kinds(),
            is_leak_check: self.leak_check != LeakDetail::No,
            errors: self.errors_for_leak_kinds.0.iter().copied().collect(),
            callers: self.num_callers,
            paths_after: self.fullpath_after.clone(),
            names_suppressed: self.show_suppressed || self.verbose > 0 || self.show_error_list == YesNo::Yes,
            suppressions: (self.gen_suppressions != GenSuppressions::No).then_some(names),
        }
    }

    /// The leak kinds whose stacks are shown.
    fn kinds(&self) -> Vec<LeakKind> {
        match self.leak_check {
            LeakDetail::Full => self.kinds_wanted().into_iter().collect(),
            LeakDetail::Summary | LeakDetail::No => Vec::new(),
        }
    }

    /// The leak kinds that the options name.
    fn kinds_wanted(&self) -> BTreeSet<LeakKind> {
        match (self.show_reachable, self.show_possibly_lost) {
            (Some(YesNo::Yes), _) => LeakKind::ALL.into(),
            (_, Some(YesNo::No)) => BTreeSet::from([LeakKind::DefinitelyLost]),
            (Some(YesNo::No), _) | (_, Some(YesNo::Yes)) => {
                BTreeSet::from([LeakKind::DefinitelyLost, LeakKind::PossiblyLost])
            }
            (None, None) => self.show_leak_kinds.0.clone(),
        }
    }
}

/// The process that stands for the command, with the tree that it is a part of, and all others by themselves.
fn each_process(decoded: &Decoded) -> Result<Vec<Profile>, NoSuchProcess> {
    let first = heaplens_analyze::profile(decoded, main_process(decoded))?;
    let others = first.processes.iter().filter(|row| !row.shown).map(|row| process_profile(decoded, row.pid));
    let mut profiles: Vec<Profile> = others.collect::<Result<_, _>>()?;
    profiles.insert(0, first);
    profiles.iter_mut().for_each(Profile::report_library_errors);
    Ok(profiles)
}

fn records(profile: &Profile) -> &[LeakRecord] {
    match &profile.leaks {
        Some(Leaks::Done(records)) => records,
        _ => &[],
    }
}

/// Whether a process held blocks at its end, and it is not known whether it could reach them.
fn is_unknown(profile: &Profile) -> bool {
    matches!(profile.leaks, Some(Leaks::NotDone(_)))
}

fn process_of(profile: &Profile) -> Pid {
    profile.pid.unwrap_or(Pid::new(std::process::id()))
}

fn write_json(profiles: &[Profile], path: &Path) -> Result<(), Failure> {
    let (first, others) = profiles.split_first().expect("the first process");
    let mut bytes = Vec::new();
    json::write_with_others(first, others, &mut bytes).expect("writing to a Vec cannot fail");
    destination::write(path, &bytes)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
