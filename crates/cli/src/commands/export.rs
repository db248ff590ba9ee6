//! `heaplens export`: a recording in the formats that other tools read, one at a time.

use std::io::{IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::{Args, ValueEnum};
use heaplens_analyze::Profile;
use heaplens_analyze::diff::{Moment, Side};
use heaplens_analyze::profile::Leaks;
use heaplens_format::Pid;
use heaplens_format::recording::LeakKind;
use heaplens_report::export::{
    Samples, What, collapsed, csv, dot, gperftools, massif, pprof, sarif, speedscope,
};
use heaplens_report::valgrind::{self, XmlOptions};

use crate::destination;
use crate::failure::{Failure, tell};
use crate::recording::{leave_out_known_leaks, no_such_moment, read};
use crate::render::print;

/// Frames of a stack in Valgrind's XML.
const CALLERS: usize = 500;

/// `heaplens export`. The bytes go to stdout.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// A recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// What to write
    #[arg(short, long)]
    format: ExportFormat,
    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write what changed since this recording (pprof, gperftools, collapsed, speedscope, dot, svg)
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// The number that stacks have (collapsed, dot, svg [default: live]; speedscope [default: all])
    #[arg(long)]
    what: Option<ExportWhat>,
    /// Live bytes of this moment: the label of a mark, pass:N, start or end [default: end]
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Memory that the program mapped itself, too
    #[arg(long)]
    mappings: bool,
    /// Names instead of addresses, Python's among them; google-pprof is then called without the program (gperftools)
    #[arg(long)]
    symbols: bool,
    /// Of this process
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
}

/// What `heaplens export --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens export run.hlr -f pprof -o run.pb.gz             go tool pprof -http=: run.pb.gz
  heaplens export run.hlr -f gperftools -o run.heap         google-pprof --text ./program run.heap
  heaplens export run.hlr -f collapsed --what growth | inferno-flamegraph > growth.svg
  heaplens export new.hlr --base old.hlr -f pprof -o diff.pb.gz
  heaplens export run.hlr -f sarif -o run.sarif";

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// pprof's protocol buffer, compressed: go tool pprof, Pyroscope, Parca, speedscope
    Pprof,
    /// The heap profile of gperftools: google-pprof
    Gperftools,
    /// Collapsed stacks: flamegraph.pl, inferno, speedscope; with --base before and after, for difference graphs
    Collapsed,
    /// speedscope's JSON: www.speedscope.app
    Speedscope,
    /// massif's output, of the heap: ms_print, massif-visualizer
    Massif,
    /// Findings and lost blocks as SARIF 2.1.0: code hosts, editors
    Sarif,
    /// The ledger over time as a table: spreadsheets
    Csv,
    /// The call graph that google-pprof draws: graphviz
    Dot,
    /// The same as a picture, where graphviz is installed
    Svg,
    /// Lost blocks in Valgrind's XML: build servers, development environments
    Valgrind,
}

/// What stacks are weighted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportWhat {
    /// Live at the end; of a Python script when it was through
    Live,
    /// Live at the heap's peak
    Peak,
    /// Allocated in the whole run
    Allocated,
    /// Bytes more in each iteration
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

    /// Whether it is written from stacks.
    fn is_of_stacks(self) -> bool {
        use ExportFormat::{Collapsed, Dot, Gperftools, Pprof, Speedscope, Svg};
        matches!(self, Pprof | Gperftools | Collapsed | Speedscope | Dot | Svg)
    }

    /// Whether its stacks have one number each.
    fn has_one_number(self) -> bool {
        self.is_of_stacks() && !matches!(self, Self::Pprof | Self::Gperftools)
    }
}

/// Reads, writes in another format.
pub(crate) fn export(arguments: &ExportArguments) -> Result<ExitCode, Failure> {
    check(arguments, stdout().is_terminal())?;
    let subject = subject(arguments)?;
    if subject.profile.pid.is_none() {
        return Err(Failure::new("nothing was recorded of this run").hint("heaplens report FILE says why"));
    }
    let bytes = written(arguments, &subject)?;
    match &arguments.output {
        None => print(&bytes)?,
        Some(path) => destination::write(path, &bytes)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Options that mean nothing for a format are refused, not overheard.
fn check(arguments: &ExportArguments, is_terminal: bool) -> Result<(), Failure> {
    let format = arguments.format;
    let typed = [
        ("--base", arguments.base.is_some() && !format.is_of_stacks()),
        ("--at", arguments.at.is_some() && !format.is_of_stacks()),
        ("--mappings", arguments.mappings && !format.is_of_stacks()),
        ("--what", arguments.what.is_some() && !format.has_one_number()),
        ("--symbols", arguments.symbols && format != ExportFormat::Gperftools),
    ];
    if let Some((option, _)) = typed.iter().find(|(_, is_wrong)| *is_wrong) {
        let failure = Failure::new(format!("{option} has no meaning for --format {}", format.name()));
        return Err(match *option {
            "--base" => failure.hint("heaplens diff A B compares two recordings"),
            _ => failure.hint("heaplens export --help says which formats it is for"),
        });
    }
    if format == ExportFormat::Pprof && arguments.output.is_none() && is_terminal {
        return Err(Failure::new("the format pprof is no text, and stdout is a terminal")
            .hint("-o FILE writes it to a file"));
    }
    Ok(())
}

/// What is exported.
struct Subject {
    profile: Profile,
    base: Option<Profile>,
    /// The pass that live bytes are told for.
    iteration: Option<u64>,
}

fn subject(arguments: &ExportArguments) -> Result<Subject, Failure> {
    let pid = arguments.pid.map(Pid::new);
    let moment = arguments.at.as_deref().map_or(Moment::End, Moment::named);
    let mut side =
        Side::to(&read(&arguments.input)?, pid, &moment).map_err(|error| no_such_moment(&error))?;
    leave_out_known_leaks(&mut side.profile);
    let base = arguments.base.as_deref().map(base).transpose()?;
    let iteration = match moment {
        Moment::End => side.profile.iterations.as_ref().map(|found| found.count),
        Moment::Pass(asked) => nearest(&side.name, asked),
        Moment::Start | Moment::Label(_) => None,
    };
    Ok(Subject { profile: side.profile, base, iteration })
}

fn base(path: &Path) -> Result<Profile, Failure> {
    let side = Side::to(&read(path)?, None, &Moment::End).map_err(|error| no_such_moment(&error))?;
    Ok(side.profile)
}

/// Of many passes not all are kept: the nearest stands for the one that was asked for.
fn nearest(name: &str, asked: u64) -> Option<u64> {
    let kept = name.strip_prefix("pass ").and_then(|number| number.parse().ok());
    if let Some(kept) = kept.filter(|&kept| kept != asked) {
        tell(&format!(
            "heaplens: what was live at pass {asked} is not kept, {kept} is the nearest pass that is"
        ));
    }
    kept
}

fn written(arguments: &ExportArguments, subject: &Subject) -> Result<Vec<u8>, Failure> {
    let profile = &subject.profile;
    let mut bytes = Vec::new();
    let result = match arguments.format {
        ExportFormat::Massif => massif::write(profile, &mut bytes),
        ExportFormat::Sarif => sarif::write(profile, &current_folder(), &mut bytes),
        ExportFormat::Csv => {
            let ledger = profile.ledger.as_ref().ok_or_else(no_ledger)?;
            csv::write(ledger, &mut bytes)
        }
        ExportFormat::Valgrind => {
            check_leaks(profile)?;
            valgrind::write(profile, &xml_options(), &mut bytes)
        }
        _ => return stacks(arguments, subject),
    };
    result.expect("writing to memory does not fail");
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
            "growth of single stacks is not known: no loop was found, and no marks were made",
        )
        .hint("--what live tells what was held at the end; heaplens report FILE judges growth over time"));
    }
    let mut bytes = Vec::new();
    let one = what.unwrap_or(What::Live);
    let result = match arguments.format {
        ExportFormat::Pprof => pprof::write(&samples, subject.iteration, &mut bytes),
        ExportFormat::Gperftools => {
            gperftools::write(&samples, arguments.symbols, &mut bytes).map(|shrunk| {
                say_what_is_missing(&samples, arguments.symbols, shrunk);
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
    result.expect("writing to memory does not fail");
    if arguments.format == ExportFormat::Svg { drawn(&bytes) } else { Ok(bytes) }
}

/// What the format cannot hold.
fn say_what_is_missing(samples: &Samples<'_>, has_symbols: bool, shrunk: usize) {
    if !has_symbols && samples.has_python() {
        tell("heaplens: Python has no addresses: its frames are left out, --symbols writes names instead");
    }
    if shrunk > 0 {
        tell(&format!(
            "heaplens: {shrunk} stacks have less than in the base and are left out: the format has no numbers below 0"
        ));
    }
}

/// The picture of a graph, by graphviz.
fn drawn(graph: &[u8]) -> Result<Vec<u8>, Failure> {
    let hint = "install graphviz, or take --format dot";
    let cannot =
        |error: std::io::Error| Failure::new(format!("cannot run graphviz (dot): {error}")).hint(hint);
    let mut command = Command::new("dot");
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    // It reads the whole graph before it writes.
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(graph)).map_err(cannot)?;
    let output = child.wait_with_output().map_err(cannot)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Failure::new(format!("graphviz could not draw the graph: {said}")).hint(hint))
}

fn current_folder() -> String {
    std::env::current_dir().map_or_else(|_| "/".to_owned(), |folder| folder.display().to_string())
}

fn no_ledger() -> Failure {
    Failure::new("the recording has no ledger")
        .hint("heaplens run takes them of programs that live for a moment at least")
}

fn check_leaks(profile: &Profile) -> Result<(), Failure> {
    match &profile.leaks {
        Some(Leaks::Done(_)) => Ok(()),
        Some(Leaks::NotDone(why)) => Err(Failure::new(format!("blocks were not looked at: {why}"))),
        None => Err(Failure::new("the recording does not know which blocks were lost").hint(
            "heaplens memcheck --xml=yes --xml-file=FILE PROGRAM looks at them and writes the same format",
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
    fn a_difference_of_what_is_no_stack_is_refused() {
        use ExportFormat::{Csv, Massif, Sarif, Valgrind};
        for format in [Csv, Massif, Sarif, Valgrind] {
            let typed = ExportArguments { base: Some("b.hlr".into()), ..arguments(format) };
            let failure = format!("{:?}", check(&typed, false).unwrap_err());
            assert!(
                failure.contains(&format!("--base has no meaning for --format {}", format.name())),
                "{failure}"
            );
        }
    }

    #[test]
    fn binary_to_a_terminal_is_refused() {
        assert!(check(&arguments(ExportFormat::Pprof), true).is_err());
        assert!(check(&arguments(ExportFormat::Pprof), false).is_ok());
        assert!(check(&arguments(ExportFormat::Collapsed), true).is_ok());
        let typed = ExportArguments { output: Some("a.pb.gz".into()), ..arguments(ExportFormat::Pprof) };
        assert!(check(&typed, true).is_ok());
    }
}
