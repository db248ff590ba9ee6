//! `heaplens export`: converts a recording to the format of another tool.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::{Args, ValueEnum};
use heaplens_analyze::Profile;
use heaplens_analyze::diagnose::Floor;
use heaplens_analyze::diff::{Moment, Side};
use heaplens_analyze::profile::Leaks;
use heaplens_format::Pid;
use heaplens_format::recording::LeakKind;
use heaplens_report::export::valgrind::{self, XmlOptions};
use heaplens_report::export::{
    Samples, What, collapsed, csv, dot, gperftools, massif, pprof, sarif, speedscope,
};

use crate::destination;
use crate::failure::{Failure, eprint};
use crate::recording::{no_such_moment, read, suppress_known_leaks};
use crate::render::print;

/// Most frames per stack in Valgrind XML.
const CALLERS: usize = 500;

/// `heaplens export`. The output goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Output format
    #[arg(short, long)]
    format: ExportFormat,
    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Export the difference from this recording (pprof, gperftools, collapsed, speedscope, dot, svg)
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Value of each stack (collapsed, dot, svg [default: live]; speedscope [default: all])
    #[arg(long)]
    what: Option<ExportWhat>,
    /// Live bytes at this point in time: label of a mark, pass:N (iteration N), start or end [default: end]
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Include memory that the program mapped with mmap
    #[arg(long)]
    mappings: bool,
    /// Write symbol names, including Python functions, instead of addresses; google-pprof then needs no program (gperftools)
    #[arg(long)]
    symbols: bool,
    /// Export this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// Printed at the end of `heaplens export --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens export run.hlr -f pprof -o run.pb.gz             go tool pprof -http=: run.pb.gz
  heaplens export run.hlr -f gperftools -o run.heap         google-pprof --text ./program run.heap
  heaplens export run.hlr -f collapsed --what growth | inferno-flamegraph > growth.svg
  heaplens export new.hlr --base old.hlr -f pprof -o diff.pb.gz
  heaplens export run.hlr -f sarif -o run.sarif";

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Gzipped pprof protobuf, for go tool pprof, Pyroscope, Parca, speedscope
    Pprof,
    /// Heap profile of gperftools, for google-pprof
    Gperftools,
    /// Collapsed stacks, for flamegraph.pl, inferno, speedscope; with --base for differential flame graphs
    Collapsed,
    /// speedscope JSON, for www.speedscope.app
    Speedscope,
    /// Massif output, for ms_print, massif-visualizer
    Massif,
    /// Findings and lost blocks as SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Memory ledger over time as CSV, for spreadsheets
    Csv,
    /// Call graph as drawn by google-pprof, for Graphviz
    Dot,
    /// The same call graph as SVG (requires Graphviz)
    Svg,
    /// Lost blocks as Valgrind XML, for CI servers and IDEs
    Valgrind,
}

/// The value of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportWhat {
    /// Bytes live at exit (of a Python script: when the script ends)
    Live,
    /// Bytes live at the heap's peak
    Peak,
    /// Bytes allocated in the whole run
    Allocated,
    /// Growth in bytes per iteration
    Growth,
}

impl From<ExportWhat> for What {
    fn from(what: ExportWhat) -> Self {
        match what {
            ExportWhat::Live => Self::Live,
            ExportWhat::Peak => Self::Peak,
            ExportWhat::Allocated => Self::Allocated,
            ExportWhat::Growth => Self::Growth,
        }
    }
}

impl ExportFormat {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether the format consists of stacks.
    fn has_stacks(self) -> bool {
        use ExportFormat::{Collapsed, Dot, Gperftools, Pprof, Speedscope, Svg};
        matches!(self, Pprof | Gperftools | Collapsed | Speedscope | Dot | Svg)
    }

    /// Whether each stack has a single value.
    fn has_single_value(self) -> bool {
        self.has_stacks() && !matches!(self, Self::Pprof | Self::Gperftools)
    }
}

/// Reads the recording and writes it in another format.
pub(crate) fn export(arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    check(arguments, stdout().is_terminal())?;
    let subject = subject(arguments)?;
    if subject.profile.pid.is_none() {
        return Err(
            Failure::new("nothing was recorded of this run").hint("'heaplens report FILE' prints the reason")
        );
    }
    let bytes = written(arguments, &subject)?;
    match &arguments.output {
        None => print(&bytes)?,
        Some(path) => destination::write(path, &bytes)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Options that a format does not support are errors, not ignored.
fn check(arguments: &ExportArguments, is_terminal: bool) -> Result<(), Failure> {
    let format = arguments.format;
    let unsupported = [
        ("--base", arguments.base.is_some() && !format.has_stacks()),
        ("--at", arguments.at.is_some() && !format.has_stacks()),
        ("--mappings", arguments.mappings && !format.has_stacks()),
        ("--what", arguments.what.is_some() && !format.has_single_value()),
        ("--symbols", arguments.symbols && format != ExportFormat::Gperftools),
    ];
    if let Some((option, _)) = unsupported.iter().find(|(_, is_given)| *is_given) {
        let failure = Failure::new(format!("{option} cannot be used with --format {}", format.name()));
        return Err(match *option {
            "--base" => failure.hint("use heaplens diff A B to compare two recordings"),
            _ => failure.hint("'heaplens export --help' lists the formats that support it"),
        });
    }
    if format == ExportFormat::Pprof && arguments.output.is_none() && is_terminal {
        return Err(Failure::new("refusing to write binary data (pprof) to a terminal")
            .hint("use -o FILE to write to a file"));
    }
    Ok(())
}

/// The data to export.
struct Subject {
    profile: Profile,
    base: Option<Profile>,
    /// The iteration at which live bytes are exported.
    iteration: Option<u64>,
}

fn subject(arguments: &ExportArguments) -> Result<Subject, Failure> {
    let pid = arguments.pid.map(Pid::new);
    let moment = arguments.at.as_deref().map_or(Moment::End, Moment::named);
    let mut side =
        Side::to(&read(&arguments.input)?, pid, &moment).map_err(|error| no_such_moment(&error))?;
    suppress_known_leaks(&mut side.profile);
    side.profile.apply_floor(Floor::Relative);
    let base = arguments.base.as_deref().map(base).transpose()?;
    let iteration = match moment {
        Moment::End => side.profile.iterations.as_ref().map(|found| found.count),
        Moment::Iteration(requested) => nearest(&side.name, requested),
        Moment::Start | Moment::Label(_) => None,
    };
    Ok(Subject { profile: side.profile, base, iteration })
}

fn base(path: &Path) -> Result<Profile, Failure> {
    let side = Side::to(&read(path)?, None, &Moment::End).map_err(|error| no_such_moment(&error))?;
    Ok(side.profile)
}

/// Not all iterations are kept: the nearest one is used instead of the requested one. The name of a point in time ends with its
/// number.
fn nearest(name: &str, requested: u64) -> Option<u64> {
    let kept = name.rsplit(' ').next().and_then(|number| number.parse().ok());
    if let Some(kept) = kept.filter(|&kept| kept != requested) {
        eprint(&format!("heaplens: iteration {requested} was not kept, using the nearest one, {kept}"));
    }
    kept
}

fn written(arguments: &ExportArguments, subject: &Subject) -> Result<Vec<u8>, Failure> {
    let profile = &subject.profile;
    let mut bytes = Vec::new();
    let result = match arguments.format {
        ExportFormat::Massif => massif::write(profile, &mut bytes),
        ExportFormat::Sarif => sarif::write(profile, &current_directory(), &mut bytes),
        ExportFormat::Csv => {
            let ledger = profile.ledger.as_ref().ok_or_else(no_ledger)?;
            csv::write(profile, ledger, &mut bytes)
        }
        ExportFormat::Valgrind => {
            check_leaks(profile)?;
            valgrind::write(profile, &xml_options(), &mut bytes)
        }
        _ => return stacks(arguments, subject),
    };
    result.expect("writing to a Vec cannot fail");
    Ok(bytes)
}

fn stacks(arguments: &ExportArguments, subject: &Subject) -> Result<Vec<u8>, Failure> {
    let samples = match &subject.base {
        None => Samples::of(&subject.profile, arguments.mappings),
        Some(base) => Samples::since(base, &subject.profile, arguments.mappings),
    };
    let what = arguments.what.map(What::from);
    if what == Some(What::Growth) && !samples.knows_growth() {
        return Err(Failure::new(
            "growth per stack is not known: no loop was detected, and there are no marks",
        )
        .hint("use --what live for live bytes at exit; 'heaplens report FILE' shows growth over time"));
    }
    let mut bytes = Vec::new();
    let one = what.unwrap_or(What::Live);
    let result = match arguments.format {
        ExportFormat::Pprof => pprof::write(&samples, subject.iteration, &mut bytes),
        ExportFormat::Gperftools => {
            gperftools::write(&samples, arguments.symbols, &mut bytes).map(|shrunk| {
                warn_about_omissions(&samples, arguments.symbols, shrunk);
            })
        }
        ExportFormat::Collapsed => collapsed::write(&samples, one, &mut bytes),
        ExportFormat::Speedscope => {
            let all = What::ALL.into_iter().filter(|&what| what != What::Growth || samples.knows_growth());
            let values: Vec<What> = what.map_or_else(|| all.collect(), |what| vec![what]);
            speedscope::write(&samples, &values, &mut bytes)
        }
        _ => dot::write(&samples, one, &mut bytes),
    };
    result.expect("writing to a Vec cannot fail");
    if arguments.format == ExportFormat::Svg { drawn(&bytes) } else { Ok(bytes) }
}

/// Prints what the format cannot represent.
fn warn_about_omissions(samples: &Samples<'_>, has_symbols: bool, shrunk: usize) {
    if !has_symbols && samples.has_python() {
        eprint(
            "heaplens: Python frames are omitted because they have no addresses; use --symbols to write names instead",
        );
    }
    if shrunk > 0 {
        eprint(&format!(
            "heaplens: {shrunk} stacks that are smaller than in the base are omitted: the format has no negative values"
        ));
    }
}

/// Draws the graph with Graphviz.
fn drawn(graph: &[u8]) -> Result<Vec<u8>, Failure> {
    let hint = "install Graphviz, or use --format dot";
    let cannot =
        |error: std::io::Error| Failure::new(format!("cannot run Graphviz (dot): {error}")).hint(hint);
    let mut command = Command::new("dot");
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    // dot reads the whole graph before it writes.
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(graph)).map_err(cannot)?;
    let output = child.wait_with_output().map_err(cannot)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(format!("Graphviz failed: {message}")).hint(hint))
}

fn current_directory() -> String {
    std::env::current_dir().map_or_else(|_| "/".to_owned(), |directory| directory.display().to_string())
}

fn no_ledger() -> Failure {
    Failure::new("the recording has no memory ledger")
        .hint("the program was too short for heaplens run to read one")
}

fn check_leaks(profile: &Profile) -> Result<(), Failure> {
    match &profile.leaks {
        Some(Leaks::Done(_)) => Ok(()),
        Some(Leaks::NotDone(why)) => Err(Failure::new(format!("the leak check failed: {why}"))),
        None => Err(Failure::new("the recording has no leak check: it is not known which blocks were lost").hint(
            "heaplens memcheck --xml=yes --xml-file=FILE PROGRAM runs a leak check and writes this format",
        )),
    }
}

fn xml_options() -> XmlOptions<'static> {
    let own_words = ["heaplens", "export", "--format", "valgrind"].map(str::to_owned).to_vec();
    XmlOptions {
        kinds: LeakKind::ALL.to_vec(),
        callers: CALLERS,
        own_words,
        comment: None,
        suppressions: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(format: ExportFormat) -> ExportArguments {
        ExportArguments {
            input: "a.hlr".into(),
            format,
            output: None,
            base: None,
            what: None,
            at: None,
            mappings: false,
            symbols: false,
            pid: None,
        }
    }

    #[test]
    fn a_base_is_rejected_for_formats_without_stacks() {
        use ExportFormat::{Csv, Massif, Sarif, Valgrind};
        for format in [Csv, Massif, Sarif, Valgrind] {
            let arguments = ExportArguments { base: Some("b.hlr".into()), ..arguments(format) };
            let failure = format!("{:?}", check(&arguments, false).unwrap_err());
            assert!(
                failure.contains(&format!("--base cannot be used with --format {}", format.name())),
                "{failure}"
            );
        }
    }

    #[test]
    fn binary_data_is_not_written_to_a_terminal() {
        assert!(check(&arguments(ExportFormat::Pprof), true).is_err());
        assert!(check(&arguments(ExportFormat::Pprof), false).is_ok());
        assert!(check(&arguments(ExportFormat::Collapsed), true).is_ok());
        let arguments = ExportArguments { output: Some("a.pb.gz".into()), ..arguments(ExportFormat::Pprof) };
        assert!(check(&arguments, true).is_ok());
    }
}
