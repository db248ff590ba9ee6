//! What was typed. It gives words their place and explains those that have none; what they mean is decided elsewhere.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use heaplens_format::Bytes;
use heaplens_format::environment::Objects;

use crate::agent::AgentArguments;
use crate::examples;
use crate::export::ExportArguments;
use crate::failure::Failure;
use crate::heap;
use crate::limits::Pace;
use crate::manual::{CompletionsArguments, ManArguments};
use crate::memcheck::MemcheckArguments;
use crate::size;

/// Why does the memory of this program grow, and what to do about it.
#[derive(Debug, Parser)]
#[command(name = "heaplens", version, arg_required_else_help = true, disable_help_subcommand = true, after_help = examples::HEAPLENS)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The words that heaplens knows.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program, record every allocation of it and of its children, and report when it ends
    #[command(after_help = examples::RUN)]
    Run(RunArguments),
    /// Run a program and tell which blocks it could no longer reach when it ended, with the options of Valgrind's Memcheck
    #[command(after_help = examples::MEMCHECK)]
    Memcheck(MemcheckArguments),
    /// Report on a recording, or seal and report what a killed recorder left behind
    #[command(after_help = examples::REPORT)]
    Report(ReportArguments),
    /// What changed from one recording to another, or between two moments of one
    #[command(after_help = examples::DIFF)]
    Diff(DiffArguments),
    /// Report on a program that is being recorded, while it runs
    #[command(after_help = examples::SNAPSHOT)]
    Snapshot(SnapshotArguments),
    /// What the blocks of a recorded program are, who holds most, what grew, and the way to an address
    #[command(after_help = examples::HEAP)]
    Heap(HeapArguments),
    /// What a recording says, as a text for an issue: names of files and lines, nothing else of yours
    #[command(after_help = examples::DIAGNOSE)]
    Diagnose(DiagnoseArguments),
    /// A recording in a format that other tools read
    #[command(after_help = examples::EXPORT)]
    Export(ExportArguments),
    /// Print where the library is that the program preloads, to write heap profiles without heaplens
    #[command(after_help = examples::AGENT)]
    Agent(AgentArguments),
    /// A page of the manual, for man
    #[command(after_help = examples::MAN)]
    Man(ManArguments),
    /// A script that completes words of heaplens in a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArguments),
}

/// `heaplens diagnose`.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// A recording
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Of this process
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
}

/// `heaplens run`. The report goes to stderr: stdout stays the program's own.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Seal the recording as FILE (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.hlr")]
    pub(crate) output: OsString,
    /// Write the report as JSON too (the same % spellings)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OsString>,
    /// Write the report as an HTML page too (the same % spellings)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<OsString>,
    /// Record about one allocation in SIZE bytes (such as 512KiB) instead of every one
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) sample: Option<Bytes>,
    /// Which objects that Python keeps out of malloc (up to 512 bytes) are recorded
    #[arg(long, value_name = "WHICH", default_value = "sampled")]
    pub(crate) python_allocations: PythonAllocations,
    /// Record the programs that the program starts
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) trace_children: YesNo,
    /// Look at the heap while memory grows and at the end: who holds what grows, and what is lost
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) heap: YesNo,
    /// Look at the heap soon after each heaplens.mark("LABEL"), too
    #[arg(long, value_name = "LABEL")]
    pub(crate) snapshot_at: Option<String>,
    /// Only look: do not try, when the script is through, what Python's collector and the allocator give back
    #[arg(long)]
    pub(crate) passive: bool,
    /// Know TensorFlow: what its graphs, sessions and functions do, its pools, which line its threads work for
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(crate) frameworks: YesNo,
    /// Finalize the graph of a TensorFlow session when it has run N times from one line: the first line that would make it grow
    /// raises, and the report names it
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub(crate) finalize_graph: Option<u32>,
    /// Print no report, only seal the recording
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub(crate) command: Vec<OsString>,
}

/// `heaplens report`. The report goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// A recording, or the directory that a killed recorder left behind
    #[arg(value_name = "FILE|DIR")]
    pub(crate) input: PathBuf,
    /// The form of the report
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// Report on this process alone
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
    /// Write the report to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write the report as an HTML page to FILE, and nothing to stdout
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "output"])]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitArguments,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// `heaplens diff`. The comparison goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// A recording
    #[arg(value_name = "A")]
    pub(crate) recording: PathBuf,
    /// Another one, to compare their ends
    #[arg(value_name = "B", conflicts_with_all = ["from", "to", "pid"])]
    pub(crate) to_recording: Option<PathBuf>,
    /// Compare from this moment on: the label of a mark, pass:N, or start [default: start]
    #[arg(long, value_name = "MARK")]
    pub(crate) from: Option<String>,
    /// Compare up to this moment: the label of a mark, pass:N, or end [default: end]
    #[arg(long, value_name = "MARK")]
    pub(crate) to: Option<String>,
    /// Compare two moments of this process
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
    /// The form of the comparison
    #[arg(long, default_value = "text")]
    pub(crate) format: DiffFormat,
    /// Colour in the comparison
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// `heaplens snapshot`. The report goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    /// The process: one that heaplens run started, or a child of it
    #[arg(value_name = "PID")]
    pub(crate) pid: u32,
    /// Seal what is known now as FILE (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(short, long, value_name = "FILE", default_value = "heaplens.%p.snapshot.hlr")]
    pub(crate) output: OsString,
    /// Only look: do not try what Python's collector and the allocator give back
    #[arg(long)]
    pub(crate) passive: bool,
    /// The form of the report
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// `heaplens heap`. The page goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct HeapArguments {
    /// A recording
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// The way to the block that this address lies in
    #[arg(long, value_name = "ADDRESS", value_parser = heap::address)]
    pub(crate) address: Option<u64>,
    /// Show look N, counted from 1 [default: the last one]
    #[arg(long, value_name = "N")]
    pub(crate) look: Option<usize>,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,
    /// Of this process
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
    /// Colour in the page
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// What makes a run fail: for builds that must not grow.
#[derive(Debug, Default, Args)]
pub(crate) struct LimitArguments {
    /// Fail when memory grows by more than SIZE, per iteration or per second (1KiB/iteration, 2MiB/second)
    #[arg(long, help_heading = "Limits", value_name = "SIZE/UNIT", value_parser = Pace::parse)]
    pub(crate) max_growth: Option<Pace>,
    /// Exit with N when the verdict is a leak or lost and the program itself succeeded, or when a limit is exceeded
    #[arg(long, help_heading = "Limits", value_name = "N")]
    pub(crate) error_exitcode: Option<u8>,
    /// Fail when something grows that FILE does not know
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write what grows to FILE, for --baseline
    #[arg(long, help_heading = "Limits", value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,
}

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A page to read
    Text,
    /// For scripts (schema heaplens-report/1)
    Json,
    /// Collapsed stacks for flame graphs
    Collapsed,
}

/// The forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// A page to read
    Text,
    /// For scripts (schema heaplens-diff/1)
    Json,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Which small objects of Python are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PythonAllocations {
    /// Thousands of them, with the margin that comes of it
    Sampled,
    /// Every one
    All,
    /// None
    None,
}

impl From<PythonAllocations> for Objects {
    fn from(which: PythonAllocations) -> Self {
        match which {
            PythonAllocations::Sampled => Self::Sampled,
            PythonAllocations::All => Self::All,
            PythonAllocations::None => Self::None,
        }
    }
}

/// Memcheck's spelling of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// On
    Yes,
    /// Off
    No,
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

fn explain(error: &clap::Error, words: &[OsString]) -> Failure {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => nothing_to_do(words),
        ErrorKind::InvalidSubcommand => unknown_word(&context(error, ContextKind::InvalidSubcommand)),
        ErrorKind::UnknownArgument => unknown_option(error, words),
        ErrorKind::MissingRequiredArgument => nothing_to_do(words),
        ErrorKind::ArgumentConflict if word_of(words) == Some("diff") => {
            Failure::new("--from, --to and --pid are for moments of one recording, and there are two")
                .hint("heaplens diff A B, or heaplens diff A --from MARK --to MARK")
        }
        ErrorKind::InvalidValue => match context(error, ContextKind::ValidValue).as_str() {
            "" => Failure::new(first_line(error)).hint(help_of(words)),
            known => Failure::new(first_line(error)).hint(format!("it can be {known}")),
        },
        _ => Failure::new(first_line(error)).hint(help_of(words)),
    }
}

fn nothing_to_do(words: &[OsString]) -> Failure {
    match word_of(words) {
        Some("run") => Failure::new("there is no program to run").hint("heaplens run -- PROGRAM ARGS…"),
        Some("memcheck") => Failure::new("there is no program to run").hint("heaplens memcheck PROGRAM ARGS…"),
        Some("report") => Failure::new("there is no recording to report on").hint("heaplens report FILE"),
        Some("diff") => Failure::new("there is no recording to compare").hint("heaplens diff A B"),
        Some("heap") => Failure::new("there is no recording to look into").hint("heaplens heap FILE"),
        Some("export") => nothing_to_export(words),
        Some("completions") => Failure::new("there is no shell to complete for").hint("heaplens completions bash|zsh|fish"),
        Some("snapshot") => Failure::new("there is no process to look at").hint("heaplens snapshot PID"),
        _ => Failure::new("there is nothing to do")
            .hint("heaplens run -- PROGRAM records a program, heaplens report FILE shows a recording, heaplens --help says more"),
    }
}

fn nothing_to_export(words: &[OsString]) -> Failure {
    let has_format = words.iter().any(|word| word.to_string_lossy().starts_with("--format") || word == "-f");
    let missing =
        if has_format { "there is no recording to export" } else { "there is no format to export to" };
    Failure::new(missing)
        .hint("heaplens export FILE --format FORMAT; heaplens export --help lists the formats")
}

fn unknown_word(word: &str) -> Failure {
    Failure::new(format!("'{word}' is no command of heaplens"))
        .hint(format!("to record a program: heaplens run -- {word}; heaplens --help lists the commands"))
}

/// Also a word too many: clap counts it as an option.
fn unknown_option(error: &clap::Error, words: &[OsString]) -> Failure {
    let option = context(error, ContextKind::InvalidArg);
    let what = if option.starts_with('-') { "has no option" } else { "does not know what to do with" };
    let who = word_of(words).map_or("heaplens".to_owned(), |word| format!("heaplens {word}"));
    let failure = Failure::new(format!("{who} {what} '{option}'"));
    match (context(error, ContextKind::SuggestedArg).as_str(), word_of(words)) {
        ("", Some("run")) => {
            failure.hint(format!("{}; options of the program stand behind its name", help_of(words)))
        }
        ("", _) => failure.hint(help_of(words)),
        (similar, _) => failure.hint(format!("did you mean '{similar}'?")),
    }
}

fn help_of(words: &[OsString]) -> String {
    match word_of(words) {
        Some(word) => format!("heaplens {word} --help lists the options"),
        None => "heaplens --help lists the commands".to_owned(),
    }
}

fn word_of(words: &[OsString]) -> Option<&str> {
    let known = ["run", "memcheck", "report", "diff", "snapshot", "heap", "export", "man", "completions"];
    words.get(1)?.to_str().filter(|word| known.contains(word))
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
