//! What was typed. It gives words their place and explains those that have none; what they mean is decided elsewhere.

mod explain;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::commands::agent::{self, AgentArguments};
use crate::commands::diagnose::{self, DiagnoseArguments};
use crate::commands::diff::{self, DiffArguments};
use crate::commands::export::{self, ExportArguments};
use crate::commands::heap::{self, HeapArguments};
use crate::commands::manual::{self, CompletionsArguments, ManArguments};
use crate::commands::memcheck::{self, MemcheckArguments};
use crate::commands::report::{self, ReportArguments};
use crate::commands::run::{self, RunArguments};
use crate::commands::snapshot::{self, SnapshotArguments};
use crate::failure::Failure;
use explain::explain;

/// What `heaplens --help` ends with: commands as people type them.
const EXAMPLES: &str = "\
Examples:
  heaplens run -- python train.py               record a program and say why its memory grows
  heaplens report heaplens.4711.hlr             the report again
  heaplens diff before.hlr after.hlr            what changed
  heaplens memcheck --leak-check=full ./app     which blocks were lost";

/// Why does the memory of this program grow, and what to do about it.
#[derive(Debug, Parser)]
#[command(name = "heaplens", version, arg_required_else_help = true, disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The words that heaplens knows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, record every allocation of it and of its children, and report when it ends
    #[command(after_help = run::EXAMPLES)]
    Run(RunArguments),
    /// Run a program and tell which blocks it could no longer reach when it ended, with the options of Valgrind's Memcheck
    #[command(after_help = memcheck::EXAMPLES)]
    Memcheck(MemcheckArguments),
    /// Report on a recording, or seal and report what a killed recorder left behind
    #[command(after_help = report::EXAMPLES)]
    Report(ReportArguments),
    /// What changed from one recording to another, or between two moments of one
    #[command(after_help = diff::EXAMPLES)]
    Diff(DiffArguments),
    /// Report on a program that is being recorded, while it runs
    #[command(after_help = snapshot::EXAMPLES)]
    Snapshot(SnapshotArguments),
    /// What the blocks of a recorded program are, who holds most, what grew, and the way to an address
    #[command(after_help = heap::EXAMPLES)]
    Heap(HeapArguments),
    /// What a recording says, as a text for an issue: names of files and lines, nothing else of yours
    #[command(after_help = diagnose::EXAMPLES)]
    Diagnose(DiagnoseArguments),
    /// A recording in a format that other tools read
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArguments),
    /// Print where the library is that the program preloads, to write heap profiles without heaplens
    #[command(after_help = agent::EXAMPLES)]
    Agent(AgentArguments),
    /// A page of the manual, for man
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(ManArguments),
    /// A script that completes words of heaplens in a shell
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
}

/// What comes of reading the words.
#[derive(Debug)]
pub(crate) enum Typed {
    /// Something to do.
    Do(Box<Command>),
    /// Text that was asked for (`--help`, `--version`).
    Show(String),
}

/// Reads the words of the command line, the program's own name first.
pub(crate) fn parse(words: &[OsString]) -> Result<Typed, Failure> {
    match Arguments::try_parse_from(words) {
        Ok(arguments) => Ok(Typed::Do(Box::new(arguments.command))),
        Err(error) if !error.use_stderr() => Ok(Typed::Show(error.render().to_string())),
        Err(error) => Err(explain(&error, words)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::YesNo;

    fn typed(line: &str) -> Result<Typed, Failure> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&words)
    }

    fn run_of(line: &str) -> RunArguments {
        match typed(line) {
            Ok(Typed::Do(command)) => match *command {
                Command::Run(run) => run,
                other => panic!("{line}: {other:?}"),
            },
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_behind_the_program_are_the_programs() {
        let run = run_of("heaplens run -q ./prog --output x -q");
        assert_eq!(run.command, ["./prog", "--output", "x", "-q"]);
        assert!(run.quiet && run.output == "heaplens.%p.hlr");
    }

    #[test]
    fn two_dashes_end_the_options() {
        assert_eq!(run_of("heaplens run -- -odd-name -x").command, ["-odd-name", "-x"]);
        assert_eq!(run_of("heaplens run prog -- x").command, ["prog", "--", "x"]);
    }

    #[test]
    fn memchecks_spelling_of_children_is_understood() {
        assert_eq!(run_of("heaplens run --trace-children=no prog").trace_children, YesNo::No);
        assert_eq!(run_of("heaplens run prog").trace_children, YesNo::Yes);
    }

    #[test]
    fn a_program_without_the_word_run_gets_the_hint() {
        let failure = typed("heaplens ./prog arg").unwrap_err();
        let expected = Failure::new("'./prog' is no command of heaplens")
            .hint("to record a program: heaplens run -- ./prog; heaplens --help lists the commands");
        assert_eq!(failure, expected);
    }

    #[test]
    fn an_unknown_option_is_named() {
        let failure = typed("heaplens run --frobnicate prog").unwrap_err();
        let expected = Failure::new("heaplens run has no option '--frobnicate'")
            .hint("heaplens run --help lists the options; options of the program stand behind its name");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_second_recording_is_one_word_too_many() {
        let failure = typed("heaplens report a.hlr b.hlr").unwrap_err();
        let expected = Failure::new("heaplens report does not know what to do with 'b.hlr'")
            .hint("heaplens report --help lists the options");
        assert_eq!(failure, expected);
    }

    #[test]
    fn moments_of_two_recordings_are_not_compared() {
        let failure = typed("heaplens diff a.hlr b.hlr --from warm").unwrap_err();
        let expected =
            Failure::new("--from, --to and --pid are for moments of one recording, and there are two")
                .hint("heaplens diff A B, or heaplens diff A --from MARK --to MARK");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_misspelt_option_gets_the_right_one_as_hint() {
        let failure = typed("heaplens run --smaple 1KiB prog").unwrap_err();
        let expected = Failure::new("heaplens run has no option '--smaple'").hint("did you mean '--sample'?");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_missing_program_is_said_in_plain_words() {
        let expected = Failure::new("there is no program to run").hint("heaplens run -- PROGRAM ARGS…");
        assert_eq!(typed("heaplens run").unwrap_err(), expected);
        assert_eq!(typed("heaplens run -q --").unwrap_err(), expected);
    }

    #[test]
    fn a_bad_size_says_what_a_size_is() {
        let failure = typed("heaplens run --sample 5parsecs prog").unwrap_err();
        assert!(format!("{failure:?}").contains("'parsecs' is no unit"), "{failure:?}");
    }

    #[test]
    fn a_value_that_is_not_known_gets_those_that_are() {
        let failure = typed("heaplens report --format xml a.hlr").unwrap_err();
        let expected = Failure::new("invalid value 'xml' for '--format <FORMAT>'")
            .hint("it can be text, json, collapsed");
        assert_eq!(failure, expected);
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for line in ["heaplens --help", "heaplens --version", "heaplens run --help", "heaplens report -h"] {
            assert!(matches!(typed(line), Ok(Typed::Show(_))), "{line}");
        }
    }

    #[test]
    fn the_definition_of_the_words_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
