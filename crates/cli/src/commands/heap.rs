//! `heaplens heap`: prints a heap snapshot of a recording: types of blocks, what holds them, which containers grew.

use std::io::stdout;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use heaplens_analyze::diagnose::Floor;
use heaplens_format::Pid;
use heaplens_format::recording::HeapView;
use heaplens_report::text::heap::{self, HeapOptions};

use crate::failure::Failure;
use crate::recording::{no_such_process, profile_of, read};
use crate::render::{print, text_options};
use crate::values::Color;

/// `heaplens heap`. The tables go to stdout.
#[derive(Debug, Args)]
pub(crate) struct HeapArguments {
    /// Recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Show the reference path to the block that contains this address
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    address: Option<u64>,
    /// Show snapshot N, counted from 1 [default: the last one]
    #[arg(long, alias = "look", value_name = "N")]
    snapshot: Option<usize>,
    /// Rows per table
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,
    /// Show this process
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
    /// When to color the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// Printed at the end of `heaplens heap --help`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens heap run.hlr
  heaplens heap run.hlr --top 50
  heaplens heap run.hlr --snapshot 1
  heaplens heap run.hlr --address 0x7f3a10";

/// Reads the recording, selects a snapshot, prints it.
pub(crate) fn heap(arguments: &HeapArguments) -> Result<ExitCode, Failure> {
    let decoded = read(&arguments.input)?;
    let profile = profile_of(&decoded, arguments.pid.map(Pid::new), Floor::Relative)
        .map_err(|error| no_such_process(&error))?;
    let view = select(profile.holders.views(), arguments.snapshot).map_err(|failure| {
        match profile.holders.refusal() {
            Some(why) => failure.hint(format!("the last snapshot failed: {why}")),
            None => failure,
        }
    })?;
    let options = HeapOptions { top: arguments.top, address: arguments.address };
    let mut bytes = Vec::new();
    heap::write(&profile, view, text_options(arguments.color, &stdout()), options, &mut bytes)
        .expect("writing to a Vec cannot fail");
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// The snapshot with this number, counted from 1, or the last one.
fn select(views: &[HeapView], number: Option<usize>) -> Result<&HeapView, Failure> {
    let Some(last) = views.last() else {
        return Err(Failure::new("the recording has no heap snapshot")
            .hint("heaplens run takes snapshots at exit and while memory grows; heaplens snapshot PID takes one now"));
    };
    match number {
        None => Ok(last),
        Some(number) => number.checked_sub(1).and_then(|at| views.get(at)).ok_or_else(|| {
            Failure::new(format!("no heap snapshot {number}"))
                .hint(format!("the recording has {}, numbered from 1", views.len()))
        }),
    }
}

/// A hexadecimal address, with or without 0x.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "expected a hexadecimal number such as 0x7f3a10".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Nanos;

    #[test]
    fn the_last_snapshot_is_shown_unless_another_is_selected() {
        let views: Vec<HeapView> =
            (1..=3).map(|at| HeapView { at: Nanos::new(at), ..HeapView::default() }).collect();
        assert_eq!(select(&views, None), Ok(&views[2]));
        assert_eq!(select(&views, Some(1)), Ok(&views[0]));
        assert!(format!("{:?}", select(&views, Some(4))).contains("the recording has 3"));
        assert!(format!("{:?}", select(&views, Some(0))).contains("no heap snapshot 0"));
        assert!(select(&[], None).is_err());
    }

    #[test]
    fn addresses_are_hexadecimal() {
        assert_eq!(address("0x7f00"), Ok(0x7f00));
        assert_eq!(address("7f00"), Ok(0x7f00));
        assert!(address("seven").is_err());
    }
}
