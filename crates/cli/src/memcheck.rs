//! `heaplens memcheck`: which blocks a program could no longer reach when it ended, in the words of Valgrind's run-books.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use heaplens_analyze::Profile;
use heaplens_analyze::profile::{LeakRecord, Leaks};
use heaplens_analyze::suppressions::{self, Suppression};
use heaplens_format::Pid;
use heaplens_format::environment::Objects;
use heaplens_format::recording::{Decoded, HeapMoment, LeakKind};
use heaplens_record::{Frozen, Listeners, Recorded, RunOptions, run_with};
use heaplens_report::text::leaks::{self, LeakOptions};
use heaplens_report::valgrind::{self, XmlOptions};

use crate::arguments::{Color, Format, YesNo};
use crate::destination;
use crate::failure::{Failure, tell};
use crate::look::Looks;
use crate::pattern::Pattern;
use crate::render::{look, plain, render};
use crate::run::{explain, status_of};

/// `heaplens memcheck`. Options are spelled as Memcheck spells them.
#[derive(Debug, Args)]
pub(crate) struct MemcheckArguments {
    /// How much is said about blocks that are live at the end
    #[arg(long, value_name = "HOW", default_value = "summary", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    leak_check: LeakDetail,
    /// Kinds of leaks to show, of: definite, indirect, possible, reachable; or all, or none
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    show_leak_kinds: KindSet,
    /// Kinds of leaks that count as errors (the same words)
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    errors_for_leak_kinds: KindSet,
    /// Exit with this status when there are errors, instead of the program's own
    #[arg(long, value_name = "N", default_value_t = 0)]
    error_exitcode: u8,
    /// Frames of a stack to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    num_callers: usize,
    /// A file of leaks that are known, in the syntax of Valgrind or of the leak sanitizer; may be given several times
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,
    /// Leave out what healthy Python and TensorFlow programs are known to hold by pointers into blocks
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    default_suppressions: YesNo,
    /// Name the suppressions that were used
    #[arg(short = 's')]
    show_suppressed: bool,
    /// Look at programs that the program starts, too
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    trace_children: YesNo,
    /// Where values that were never set come from: not known here
    #[arg(long, value_name = "yes|no", default_value = "no", hide = true)]
    track_origins: YesNo,
    /// Write Valgrind's XML (protocol 4) to the file that --xml-file names
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    xml: YesNo,
    /// The file for --xml=yes (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    xml_file: Option<OsString>,
    /// Write the report as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
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

/// Kinds of leaks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KindSet(BTreeSet<LeakKind>);

fn kinds(words: &str) -> Result<KindSet, String> {
    let known = suppressions::kinds_of(words).map(KindSet);
    known.ok_or_else(|| "kinds are definite, indirect, possible, reachable, or all, or none".to_owned())
}

/// Runs, looks at what is left, tells.
pub(crate) fn memcheck(arguments: MemcheckArguments, agent: &'static [u8]) -> Result<ExitCode, Failure> {
    if arguments.track_origins == YesNo::Yes {
        return Err(Failure::new(
            "--track-origins=yes: heaplens looks for leaks, not for values that were never set",
        )
        .hint("leave the option out; valgrind finds such values"));
    }
    if arguments.xml == YesNo::Yes && arguments.xml_file.is_none() {
        return Err(Failure::new("--xml=yes: there is no file to write to").hint("add --xml-file=FILE"));
    }
    let known = arguments.known_leaks()?;
    let options = RunOptions {
        command: arguments.command.clone(),
        agent: Some(agent),
        sample: None,
        objects: Objects::None,
        follow: arguments.trace_children == YesNo::Yes,
        passive: true,
        clean_blocks: true,
    };
    let mut looks = Looks::default();
    let mut examine = |frozen: &Frozen, _: HeapMoment| looks.lost(frozen);
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
            arguments.tell(&Decoded { recording: *recording, damage: Vec::new() }, &known)?.unwrap_or(own)
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
            known.extend(suppressions::parse(suppressions::BUILT_IN).expect("a test reads them"));
        }
        Ok(known)
    }

    /// Shows the page; the exit status where there are errors and one was named for them.
    fn tell(&self, decoded: &Decoded, known: &[Suppression]) -> Result<Option<u8>, Failure> {
        let mut profile = heaplens_analyze::profile(decoded, None).map_err(Failure::new)?;
        profile.suppress(known);
        let records = match &profile.leaks {
            Some(Leaks::Done(records)) => records.as_slice(),
            _ => &[],
        };
        let is_error = |record: &&LeakRecord| self.errors_for_leak_kinds.0.contains(&record.kind);
        let errors = records.iter().filter(is_error).count();
        if self.leak_check != LeakDetail::No && !(self.quiet && errors == 0) {
            let mut page = Vec::new();
            leaks::write(&profile, look(self.color, &stderr()), &self.shown(), &mut page)
                .expect("writing to memory does not fail");
            stderr().write_all(&page).ok();
        }
        if let Some(path) = &self.json {
            write_json(&profile, path)?;
        }
        self.write_xml(&profile)?;
        Ok((errors > 0 && self.error_exitcode != 0).then_some(self.error_exitcode))
    }

    fn write_xml(&self, profile: &Profile) -> Result<(), Failure> {
        let Some(typed) = self.xml_file.as_ref().filter(|_| self.xml == YesNo::Yes) else { return Ok(()) };
        let pid = profile.pid.unwrap_or(Pid::new(std::process::id()));
        let path = Pattern::parse(typed, |name| std::env::var_os(name))?.expand(pid);
        let own = std::env::args_os().count().saturating_sub(self.command.len());
        let own_words = std::env::args_os().take(own).map(|word| word.to_string_lossy().into_owned());
        // Memcheck writes what it would show, and of a summary nothing.
        let LeakOptions { kinds, callers, .. } = self.shown();
        let options = XmlOptions { kinds, callers, own_words: own_words.collect() };
        let mut bytes = Vec::new();
        valgrind::write(profile, &options, &mut bytes).expect("writing to memory does not fail");
        destination::write(&path, &bytes)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
    }

    fn shown(&self) -> LeakOptions {
        let kinds = match self.leak_check {
            LeakDetail::Full => self.show_leak_kinds.0.iter().copied().collect(),
            LeakDetail::Summary | LeakDetail::No => Vec::new(),
        };
        LeakOptions { kinds, callers: self.num_callers, names_suppressed: self.show_suppressed }
    }
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
