//! `heaplens diff`: compares two recordings, or two points in time of one.

use std::io::stdout;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use heaplens_analyze::diff::{Diff, Moment, Side, of_moments, of_recordings};
use heaplens_format::Pid;
use heaplens_report::{Sources, json, text};

use crate::failure::Failure;
use crate::recording::{no_such_moment, no_such_process, read};
use crate::render::{print, text_options};
use crate::values::Color;

/// `heaplens diff`. The comparison goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Recording
    #[arg(value_name = "A")]
    recording: PathBuf,
    /// Second recording; both are compared at their end
    #[arg(value_name = "B", conflicts_with_all = ["from", "to", "pid"])]
    to_recording: Option<PathBuf>,
    /// Compare from this point in time: label of a mark, pass:N (iteration N), or start [default: start]
    #[arg(long, value_name = "MARK")]
    from: Option<String>,
    /// Compare to this point in time: label of a mark, pass:N (iteration N), or end [default: end]
    #[arg(long, value_name = "MARK")]
    to: Option<String>,
    /// Compare points in time of this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// Output format
    #[arg(long, default_value = "text")]
    format: DiffFormat,
    /// When to color the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Output formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Human-readable text
    Text,
    /// JSON for scripts (schema heaplens-diff/1)
    Json,
}

/// Printed at the end of `heaplens diff --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens diff before.hlr after.hlr
  heaplens diff run.hlr --from pass:100 --to pass:900
  heaplens diff run.hlr --from 'epoch 1' --to end --format json";

/// Reads, compares and prints.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let compared = match &arguments.to_recording {
        Some(second) => recordings(&arguments.recording, second)?,
        None => moments(arguments)?,
    };
    print(&rendered(arguments, &compared))?;
    Ok(ExitCode::SUCCESS)
}

/// Both sides with their file names, and the difference.
struct Compared {
    from: (String, Side),
    to: (String, Side),
    diff: Diff,
}

fn recordings(first: &Path, second: &Path) -> Result<Compared, Failure> {
    let whole = |path: &Path| -> Result<(String, Side), Failure> {
        let side = Side::whole(&read(path)?, None).map_err(|error| no_such_process(&error))?;
        Ok((path.display().to_string(), side))
    };
    let (from, to) = (whole(first)?, whole(second)?);
    let mut sources = Sources::default();
    let diff = of_recordings(&from.1, &to.1, &mut |profile, frame| sources.line(profile, frame));
    Ok(Compared { from, to, diff })
}

fn moments(arguments: &DiffArguments) -> Result<Compared, Failure> {
    if arguments.from.is_none() && arguments.to.is_none() {
        return Err(Failure::new("nothing to compare the recording with")
            .hint("use heaplens diff A B for two recordings, or heaplens diff A --from MARK --to MARK for two points in time of one"));
    }
    let decoded = read(&arguments.recording)?;
    let pid = arguments.pid.map(Pid::new);
    let named = |name: &Option<String>, usual| name.as_deref().map_or(usual, Moment::named);
    let from = Side::from(&decoded, pid, &named(&arguments.from, Moment::Start))
        .map_err(|error| no_such_moment(&error))?;
    let to = Side::to(&decoded, pid, &named(&arguments.to, Moment::End))
        .map_err(|error| no_such_moment(&error))?;
    let mut sources = Sources::default();
    let diff = of_moments(&from, &to, &mut |profile, frame| sources.line(profile, frame));
    let file = arguments.recording.display().to_string();
    Ok(Compared { from: (file.clone(), from), to: (file, to), diff })
}

fn rendered(arguments: &DiffArguments, compared: &Compared) -> Vec<u8> {
    let Compared { from, to, diff } = compared;
    let (from, to) = ((from.0.as_str(), &from.1), (to.0.as_str(), &to.1));
    let mut bytes = Vec::new();
    let written = match arguments.format {
        DiffFormat::Text => {
            text::diff::write(diff, from, to, text_options(arguments.color, &stdout()), &mut bytes)
        }
        DiffFormat::Json => json::diff::write(diff, from, to, &mut bytes),
    };
    written.expect("writing to a Vec cannot fail");
    bytes
}
