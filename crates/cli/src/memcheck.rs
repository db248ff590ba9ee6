//! `heaplens memcheck`: which blocks a program could no longer reach when it ended, in the words of Valgrind's run-books.

mod output;
mod run_book;
mod watch;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::stderr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
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

use crate::arguments::{Color, Format, YesNo};
use crate::destination;
use crate::failure::{Failure, tell};
use crate::render::{look, plain, render};
use crate::run::{explain, status_of};
use output::Output;
use run_book::RunBook;
use watch::Watch;

/// `heaplens memcheck`. Options are spelled as Memcheck spells them.
#[derive(Debug, Args)]
pub(crate) struct MemcheckArguments {
    /// How much is said about blocks that are live at the end
    #[arg(long, value_name = "HOW", default_value = "summary", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    leak_check: LeakDetail,
    /// How many callers two leaks must share to be told of as one: one, three or all
    #[arg(long, value_name = "HOW", default_value = "high")]
    leak_resolution: Resolution,
    /// Kinds of leaks to show, of: definite, indirect, possible, reachable; or all, or none
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    show_leak_kinds: KindSet,
    /// Kinds of leaks that count as errors (the same words)
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    errors_for_leak_kinds: KindSet,
    /// yes: the same as --show-leak-kinds=all
    #[arg(long, value_name = "yes|no", hide = true)]
    show_reachable: Option<YesNo>,
    /// no: the same as --show-leak-kinds=definite
    #[arg(long, value_name = "yes|no", hide = true)]
    show_possibly_lost: Option<YesNo>,
    /// Exit with this status when there are errors, instead of the program's own
    #[arg(long, value_name = "N", default_value_t = 0)]
    error_exitcode: u8,
    /// Frames of a stack to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    num_callers: usize,
    /// Show whole paths of source files, or what follows TEXT in them; may be given several times
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    fullpath_after: Vec<String>,
    /// A file of leaks that are known, in the syntax of Valgrind or of the leak sanitizer; may be given several times
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,
    /// Leave out what healthy Python and TensorFlow programs are known to hold by pointers into blocks
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    default_suppressions: YesNo,
    /// Write behind each leak a suppression that means it and no other
    #[arg(long, value_name = "no|yes|all", default_value = "no", hide_possible_values = true)]
    gen_suppressions: GenSuppressions,
    /// Name the suppressions that were used
    #[arg(short = 's')]
    show_suppressed: bool,
    /// yes: the same as -s
    #[arg(long, value_name = "yes|no", default_value = "no", hide = true)]
    show_error_list: YesNo,
    /// The same as -s, and how long the look took
    #[arg(short, long, action = clap::ArgAction::Count, hide = true)]
    verbose: u8,
    /// Look at programs that the program starts, too
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    trace_children: YesNo,
    /// Write the page to FILE instead of stderr (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    log_file: Option<OsString>,
    /// Write the page to this descriptor
    #[arg(long, value_name = "N", default_value_t = 2)]
    log_fd: u32,
    /// Write Valgrind's XML (protocol 4) to the file that --xml-file names
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    xml: YesNo,
    /// The file for --xml=yes (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    xml_file: Option<OsString>,
    /// The descriptor for --xml=yes
    #[arg(long, value_name = "N")]
    xml_fd: Option<u32>,
    /// Copied into the XML
    #[arg(long, value_name = "TEXT", hide = true)]
    xml_user_comment: Option<String>,
    /// Write the report as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
    #[command(flatten)]
    run_book: RunBook,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    command: Vec<OsString>,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeakDetail {
    /// Nothing
    No,
    /// The sum of each kind
    Summary,
    /// Each stack, too
    #[value(alias = "yes")]
    Full,
}

/// What counts as one leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Resolution {
    /// The same caller
    Low,
    /// The same three callers
    Med,
    /// The same stack
    High,
}

impl Resolution {
    /// Memcheck counts the allocating function, too.
    fn callers(self) -> Option<usize> {
        match self {
            Self::Low => Some(1),
            Self::Med => Some(3),
            Self::High => None,
        }
    }
}

/// Whether suppressions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GenSuppressions {
    /// None
    No,
    /// Memcheck asks for each one; here they are all written
    Yes,
    /// All
    All,
}

/// Where things are written to.
struct Outputs {
    page: Output,
    xml: Option<Output>,
}

/// Kinds of leaks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KindSet(BTreeSet<LeakKind>);

fn kinds(words: &str) -> Result<KindSet, String> {
    let known = suppressions::kinds_of(words).map(KindSet);
    known.ok_or_else(|| "kinds are definite, indirect, possible, reachable, or all, or none".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spelled_as_memcheck_spells_them() {
        let only = |kinds: &[LeakKind]| Ok(KindSet(kinds.iter().copied().collect()));
        assert_eq!(kinds("definite,possible"), only(&[LeakKind::DefinitelyLost, LeakKind::PossiblyLost]));
        assert_eq!(kinds("all"), only(&LeakKind::ALL));
        assert_eq!(kinds("none"), only(&[]));
        assert!(kinds("definite,lost").unwrap_err().contains("reachable"));
    }
}
