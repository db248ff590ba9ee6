//! `heaplens memcheck`: which blocks a program could no longer reach when it ended, in the words of Valgrind's run-books.

mod arguments;
mod output;
mod run_book;
mod watch;

use std::collections::BTreeSet;
use std::io::stderr;
use std::path::Path;
use std::process::ExitCode;

use heaplens_analyze::Profile;
use heaplens_analyze::heap::Analysis;
use heaplens_analyze::profile::{LeakRecord, Leaks};
use heaplens_analyze::suppressions::{self, Names, Suppression};
use heaplens_format::Pid;
use heaplens_format::environment::Objects;
use heaplens_format::recording::{Decoded, HeapMoment, LeakKind};
use heaplens_record::{Listeners, Recorded, RunOptions, run_with};
use heaplens_report::text::leaks::{self, LeakOptions};
use heaplens_report::valgrind::{self, XmlOptions};
use heaplens_snapshot::Snapshot;

use crate::destination;
use crate::failure::{Failure, tell};
use crate::launch::{explain, status_of};
use crate::render::{look, plain, render};
use crate::values::{Format, YesNo};
use arguments::{GenSuppressions, LeakDetail};
use output::Output;
use watch::Watch;

pub(crate) use arguments::MemcheckArguments;

/// What `heaplens memcheck --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens memcheck ./app
  heaplens memcheck --leak-check=full --show-leak-kinds=all ./app
  heaplens memcheck --leak-check=full --error-exitcode=9 --suppressions=known.supp ./app
  heaplens memcheck --xml=yes --xml-file=lost.%p.xml ./app";

/// Where things are written to.
struct Outputs {
    page: Output,
    xml: Option<Output>,
}

/// Runs, looks at what is left, tells.
pub(crate) fn memcheck(arguments: MemcheckArguments, agent: &'static [u8]) -> Result<ExitCode, Failure> {
    arguments.run_book.explain()?;
    let outputs = arguments.outputs()?;
    let known = arguments.known_leaks()?;
    let options = RunOptions {
        command: arguments.command.clone(),
        agent: Some(agent),
        sample: None,
        objects: Objects::None,
        follow: arguments.trace_children == YesNo::Yes,
        passive: true,
        frameworks: true,
        finalize_graph: None,
        clean_blocks: true,
    };
    let mut analysis = Analysis::default();
    let mut examine = |snapshot: &Snapshot, _: HeapMoment| {
        let watch = Watch::start();
        let found = analysis.leaks(snapshot);
        if arguments.verbose > 0 {
            let (blocks, took) = (snapshot.blocks.len(), watch.stop());
            let (wall, cpu) = (took.wall.as_secs_f64(), took.cpu.as_secs_f64());
            let bytes = took.peak_kib as f64 * 1024.0 / blocks.max(1) as f64;
            tell(&format!(
                "heaplens: looked at {blocks} blocks in {wall:.3} s, {cpu:.3} s of the processor, {bytes:.1} bytes a block"
            ));
        }
        found
    };
    let examiner = (arguments.leak_check != LeakDetail::No).then_some(&mut examine as _);
    let outcome = run_with(options, Listeners { examiner, ..Listeners::default() }).map_err(explain)?;
    for warning in &outcome.warnings {
        tell(&format!("warning: {warning}"));
    }
    let own = status_of(outcome.exit);
    let status = match outcome.recorded {
        Recorded::Bare(reason) => {
            tell(&format!("heaplens: nothing was looked at: {reason}"));
            own
        }
        Recorded::Whole { mut recording, session } => {
            session.remove().ok();
            heaplens_analyze::resolve_symbols(&mut recording);
            arguments
                .tell(&Decoded { recording: *recording, damage: Vec::new() }, &known, &outputs)?
                .unwrap_or(own)
        }
    };
    Ok(ExitCode::from(status))
}

impl MemcheckArguments {
    /// Those of the user's files and those that come with Heaplens. Read before the program runs for hours.
    fn known_leaks(&self) -> Result<Vec<Suppression>, Failure> {
        let mut known = Vec::new();
        for path in &self.suppressions {
            let because = |why: String| Failure::new(format!("cannot read {}: {why}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| because(error.to_string()))?;
            known.extend(suppressions::parse(&text).map_err(|error| because(error.to_string()))?);
        }
        if self.default_suppressions == YesNo::Yes {
            known.extend(suppressions::built_in());
        }
        Ok(known)
    }

    fn outputs(&self) -> Result<Outputs, Failure> {
        let xml = match (self.xml, &self.xml_file, self.xml_fd) {
            (YesNo::No, ..) => None,
            (YesNo::Yes, None, None) => {
                return Err(
                    Failure::new("--xml=yes: there is no file to write to").hint("add --xml-file=FILE")
                );
            }
            (YesNo::Yes, file, descriptor) => Some(Output::new(file.as_ref(), descriptor.unwrap_or(2))?),
        };
        Ok(Outputs { page: Output::new(self.log_file.as_ref(), self.log_fd)?, xml })
    }

    /// Shows the page; the exit status where there are errors and one was named for them.
    fn tell(
        &self,
        decoded: &Decoded,
        known: &[Suppression],
        outputs: &Outputs,
    ) -> Result<Option<u8>, Failure> {
        let mut profile = heaplens_analyze::profile(decoded, None).map_err(Failure::new)?;
        if let Some(callers) = self.leak_resolution.callers() {
            profile.merge_leaks(callers);
        }
        let names = self.names(&profile, known);
        profile.suppress(known, &names);
        let records = match &profile.leaks {
            Some(Leaks::Done(records)) => records.as_slice(),
            _ => &[],
        };
        let is_error = |record: &&LeakRecord| self.errors_for_leak_kinds.0.contains(&record.kind);
        let errors = records.iter().filter(is_error).count();
        if self.leak_check != LeakDetail::No && !(self.quiet && errors == 0) {
            let looks = if outputs.page == Output::Stderr { look(self.color, &stderr()) } else { plain() };
            let mut page = Vec::new();
            leaks::write(&profile, looks, &self.shown(&names), &mut page)
                .expect("writing to memory does not fail");
            outputs.page.write(process_of(&profile), &page)?;
        }
        if let Some(path) = &self.json {
            write_json(&profile, path)?;
        }
        if let Some(xml) = &outputs.xml {
            xml.write(process_of(&profile), &self.xml(&profile, &names))?;
        }
        Ok((errors > 0 && self.error_exitcode != 0).then_some(self.error_exitcode))
    }

    /// What Valgrind calls the frames that suppressions of the user or for the user are about. Those that come with Heaplens
    /// need no such names, and to look them up costs as much as the names of all frames.
    fn names(&self, profile: &Profile, known: &[Suppression]) -> Names {
        let Some(Leaks::Done(records)) = &profile.leaks else { return Names::default() };
        let is_written = self.gen_suppressions != GenSuppressions::No;
        let kinds = self.kinds();
        let is_meant = |record: &&LeakRecord| {
            is_written && kinds.contains(&record.kind)
                || !self.suppressions.is_empty() && known.iter().any(|one| one.is_for(record.kind))
        };
        Names::of(records.iter().filter(is_meant).flat_map(|record| profile.frames(record.stack)))
    }

    fn xml(&self, profile: &Profile, names: &Names) -> Vec<u8> {
        let own = std::env::args_os().count().saturating_sub(self.command.len());
        let own_words = std::env::args_os().take(own).map(|word| word.to_string_lossy().into_owned());
        // Memcheck writes what it would show, and of a summary nothing.
        let LeakOptions { kinds, callers, suppressions, .. } = self.shown(names);
        let comment = self.xml_user_comment.clone();
        let options = XmlOptions { kinds, callers, own_words: own_words.collect(), comment, suppressions };
        let mut bytes = Vec::new();
        valgrind::write(profile, &options, &mut bytes).expect("writing to memory does not fail");
        bytes
    }

    fn shown<'a>(&self, names: &'a Names) -> LeakOptions<'a> {
        LeakOptions {
            kinds: self.kinds(),
            callers: self.num_callers,
            paths_after: self.fullpath_after.clone(),
            names_suppressed: self.show_suppressed || self.verbose > 0 || self.show_error_list == YesNo::Yes,
            suppressions: (self.gen_suppressions != GenSuppressions::No).then_some(names),
        }
    }

    /// Kinds whose stacks are shown.
    fn kinds(&self) -> Vec<LeakKind> {
        let asked = match (self.show_reachable, self.show_possibly_lost) {
            (Some(YesNo::Yes), _) => LeakKind::ALL.into(),
            (_, Some(YesNo::No)) => BTreeSet::from([LeakKind::DefinitelyLost]),
            (Some(YesNo::No), _) | (_, Some(YesNo::Yes)) => {
                BTreeSet::from([LeakKind::DefinitelyLost, LeakKind::PossiblyLost])
            }
            (None, None) => self.show_leak_kinds.0.clone(),
        };
        match self.leak_check {
            LeakDetail::Full => asked.into_iter().collect(),
            LeakDetail::Summary | LeakDetail::No => Vec::new(),
        }
    }
}

fn process_of(profile: &Profile) -> Pid {
    profile.pid.unwrap_or(Pid::new(std::process::id()))
}

fn write_json(profile: &Profile, path: &Path) -> Result<(), Failure> {
    destination::write(path, &render(profile, Format::Json, plain()))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
