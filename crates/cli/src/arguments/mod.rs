//! The command line: which commands there are, and parsing. What the arguments of a command mean is decided in its own file.

mod explain;
mod unknown;

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
use crate::failure::{Failure, eprint};
use explain::explain;
use unknown::unknown_option_of_memcheck;

/// Printed at the end of `heaplens --help`.
const EXAMPLES: &str = "\
Examples:
  heaplens run -- python train.py               record a program and report why its memory grows
  heaplens report heaplens.4711.hlr             print the report again
  heaplens diff before.hlr after.hlr            compare two recordings
  heaplens memcheck --leak-check=full ./app     list leaked blocks at exit";

/// Find out why a program's memory grows, and what to do about it.
#[derive(Debug, Parser)]
#[command(name = "heaplens", version, arg_required_else_help = true, disable_help_subcommand = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, record its allocations and those of its child processes, and print a report at exit
    #[command(after_help = run::EXAMPLES)]
    Run(RunArguments),
    /// Run a program and list leaked blocks at exit, with the options of Valgrind's Memcheck
    #[command(after_help = memcheck::EXAMPLES)]
    Memcheck(MemcheckArguments),
    /// Print the report of a recording, or recover the recording of a killed recorder
    #[command(after_help = report::EXAMPLES)]
    Report(ReportArguments),
    /// Compare two recordings, or two points in time of one recording
    #[command(after_help = diff::EXAMPLES)]
    Diff(DiffArguments),
    /// Print a report on a program that is being recorded, while it runs
    #[command(after_help = snapshot::EXAMPLES)]
    Snapshot(SnapshotArguments),
    /// Show a heap snapshot: types of blocks, largest holders, growth, and the reference path to an address
    #[command(after_help = heap::EXAMPLES)]
    Heap(HeapArguments),
    /// Print a summary for a bug report: names of files and functions and line numbers, but no other data of yours
    #[command(after_help = diagnose::EXAMPLES)]
    Diagnose(DiagnoseArguments),
    /// Convert a recording to the format of another tool
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArguments),
    /// Print the path of libheaplens.so, for writing heap profiles with LD_PRELOAD
    #[command(after_help = agent::EXAMPLES)]
    Agent(AgentArguments),
    /// Print a manual page
    #[command(after_help = manual::MAN_EXAMPLES)]
    Man(ManArguments),
    /// Print a shell completion script
    #[command(after_help = manual::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
}

/// A parsed command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A command to run.
    Command(Box<Command>),
    /// Text to print (`--help`, `--version`).
    Text(String),
}

/// Parses the command line, including the program's own name.
pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, Failure> {
    match Arguments::try_parse_from(args) {
        Ok(arguments) => Ok(Parsed::Command(Box::new(arguments.command))),
        Err(error) if !error.use_stderr() => Ok(Parsed::Text(error.render().to_string())),
        Err(error) => match unknown_option_of_memcheck(&error, args) {
            Some(at) => parse_without(args, at),
            None => Err(explain(&error, args)),
        },
    }
}

/// Parses the command line without an option that nobody knows, and says so.
fn parse_without(args: &[OsString], at: usize) -> Result<Parsed, Failure> {
    let mut args = args.to_vec();
    let unknown = args.remove(at);
    eprint(&format!("heaplens: {} is ignored: no such option is known", unknown.to_string_lossy()));
    parse(&args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::YesNo;

    #[test]
    fn memcheck_accepts_options_that_a_newer_valgrind_may_have_but_not_misspelled_ones() {
        let accepted =
            parsed("heaplens memcheck --blocks-of-tomorrow=7 --and-more ./prog --blocks-of-tomorrow=7");
        let text = format!("{accepted:?}");
        assert!(text.contains(r#"command: ["./prog", "--blocks-of-tomorrow=7"]"#), "{text}");
        assert!(parsed("heaplens memcheck --leak-chek=full ./prog").is_err());
        assert!(parsed("heaplens run --blocks-of-tomorrow=7 ./prog").is_err());
    }

    fn parsed(line: &str) -> Result<Parsed, Failure> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        parse(&args)
    }

    fn run_of(line: &str) -> RunArguments {
        match parsed(line) {
            Ok(Parsed::Command(command)) => match *command {
                Command::Run(run) => run,
                other => panic!("{line}: {other:?}"),
            },
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_after_the_program_belong_to_the_program() {
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
    fn trace_children_is_spelled_as_in_memcheck() {
        assert_eq!(run_of("heaplens run --trace-children=no prog").trace_children, YesNo::No);
        assert_eq!(run_of("heaplens run prog").trace_children, YesNo::Yes);
    }

    #[test]
    fn look_is_the_former_name_of_snapshot() {
        for option in ["--snapshot", "--look"] {
            let command = parsed(&format!("heaplens heap {option} 2 a.hlr"));
            assert!(format!("{command:?}").contains("snapshot: Some(2)"), "{command:?}");
        }
    }

    #[test]
    fn a_program_without_run_gets_a_hint() {
        let failure = parsed("heaplens ./prog arg").unwrap_err();
        let expected = Failure::new("'./prog' is not a heaplens command")
            .hint("to record a program: heaplens run -- ./prog; 'heaplens --help' lists the commands");
        assert_eq!(failure, expected);
    }

    #[test]
    fn an_unknown_option_is_named() {
        let failure = parsed("heaplens run --frobnicate prog").unwrap_err();
        let expected = Failure::new("unknown option '--frobnicate' for heaplens run")
            .hint("'heaplens run --help' lists the options; options of the program go after its name");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_second_recording_is_one_argument_too_many() {
        let failure = parsed("heaplens report a.hlr b.hlr").unwrap_err();
        let expected = Failure::new("unexpected argument 'b.hlr' for heaplens report")
            .hint("'heaplens report --help' lists the options");
        assert_eq!(failure, expected);
    }

    #[test]
    fn points_in_time_of_two_recordings_are_not_compared() {
        let failure = parsed("heaplens diff a.hlr b.hlr --from warm").unwrap_err();
        let expected = Failure::new("--from, --to and --pid cannot be used with two recordings")
            .hint("use heaplens diff A B, or heaplens diff A --from MARK --to MARK");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_misspelled_option_gets_the_right_one_as_a_hint() {
        let failure = parsed("heaplens run --smaple 1KiB prog").unwrap_err();
        let expected =
            Failure::new("unknown option '--smaple' for heaplens run").hint("did you mean '--sample'?");
        assert_eq!(failure, expected);
    }

    #[test]
    fn a_missing_program_is_an_error_with_the_usage() {
        let expected = Failure::new("no program given").hint("usage: heaplens run -- PROGRAM ARGS…");
        assert_eq!(parsed("heaplens run").unwrap_err(), expected);
        assert_eq!(parsed("heaplens run -q --").unwrap_err(), expected);
    }

    #[test]
    fn a_bad_size_is_an_error_that_names_the_units() {
        let failure = parsed("heaplens run --sample 5parsecs prog").unwrap_err();
        assert!(format!("{failure:?}").contains("unknown unit 'parsecs'"), "{failure:?}");
    }

    #[test]
    fn an_invalid_value_gets_the_valid_ones_as_a_hint() {
        let failure = parsed("heaplens report --format xml a.hlr").unwrap_err();
        let expected = Failure::new("invalid value 'xml' for '--format <FORMAT>'")
            .hint("valid values: text, json, collapsed");
        assert_eq!(failure, expected);
    }

    #[test]
    fn help_and_version_are_not_errors() {
        for line in ["heaplens --help", "heaplens --version", "heaplens run --help", "heaplens report -h"] {
            assert!(matches!(parsed(line), Ok(Parsed::Text(_))), "{line}");
        }
    }

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
