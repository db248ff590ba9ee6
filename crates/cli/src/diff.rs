//! `heaplens diff`: two recordings, or two moments of one, by what changed.

use std::io::stdout;
use std::path::Path;
use std::process::ExitCode;

use heaplens_analyze::diff::{Diff, Moment, NoSuchMoment, Side, of_moments, of_recordings};
use heaplens_format::Pid;
use heaplens_report::{Sources, json, text};

use crate::arguments::{DiffArguments, DiffFormat};
use crate::failure::Failure;
use crate::recording::read;
use crate::render::{look, print};
use crate::report::no_such;

/// Marks that a hint names.
const NAMED: usize = 12;

/// Reads, compares, prints.
pub(crate) fn diff(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let compared = match &arguments.to_recording {
        Some(second) => recordings(&arguments.recording, second)?,
        None => moments(arguments)?,
    };
    print(&rendered(arguments, &compared))?;
    Ok(ExitCode::SUCCESS)
}

/// Both sides, each with the name of its file, and what changed.
struct Compared {
    from: (String, Side),
    to: (String, Side),
    diff: Diff,
}

fn recordings(first: &Path, second: &Path) -> Result<Compared, Failure> {
    let whole = |path: &Path| -> Result<(String, Side), Failure> {
        let side = Side::whole(&read(path)?, None).map_err(|error| no_such(&error))?;
        Ok((path.display().to_string(), side))
    };
    let (from, to) = (whole(first)?, whole(second)?);
    let mut sources = Sources::default();
    let diff = of_recordings(&from.1, &to.1, &mut |profile, frame| sources.line(profile, frame));
    Ok(Compared { from, to, diff })
}

fn moments(arguments: &DiffArguments) -> Result<Compared, Failure> {
    if arguments.from.is_none() && arguments.to.is_none() {
        return Err(Failure::new("there is nothing to compare the recording with")
            .hint("heaplens diff A B compares two recordings, heaplens diff A --from MARK --to MARK two moments of one"));
    }
    let decoded = read(&arguments.recording)?;
    let pid = arguments.pid.map(Pid::new);
    let named = |name: &Option<String>, usual| name.as_deref().map_or(usual, Moment::named);
    let from =
        Side::from(&decoded, pid, &named(&arguments.from, Moment::Start)).map_err(|error| refuse(&error))?;
    let to = Side::to(&decoded, pid, &named(&arguments.to, Moment::End)).map_err(|error| refuse(&error))?;
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
        DiffFormat::Text => text::diff::write(diff, from, to, look(arguments.color, &stdout()), &mut bytes),
        DiffFormat::Json => json::diff::write(diff, from, to, &mut bytes),
    };
    written.expect("writing to memory does not fail");
    bytes
}

/// The moment is not there; the hint says which are.
pub(crate) fn refuse(error: &NoSuchMoment) -> Failure {
    match error {
        NoSuchMoment::Process(error) => no_such(error),
        NoSuchMoment::Label { known, .. } if known.is_empty() => {
            Failure::new(error).hint("the recording has no marks; start, end and pass:N are moments, too")
        }
        NoSuchMoment::Label { known, .. } => {
            let mut names: Vec<&str> = known.iter().take(NAMED).map(String::as_str).collect();
            names.extend((known.len() > NAMED).then_some("…"));
            Failure::new(error).hint(format!(
                "the recording has {}; start, end and pass:N are moments, too",
                names.join(", ")
            ))
        }
        NoSuchMoment::Pass { .. } | NoSuchMoment::NoLoop => {
            Failure::new(error).hint("start, end and the marks of the program are moments, too")
        }
    }
}
