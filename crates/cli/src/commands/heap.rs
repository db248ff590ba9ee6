//! `heaplens heap`: what a recording knows of the heap: what its blocks were, who held them, which containers grew.

use std::io::stdout;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use heaplens_format::Pid;
use heaplens_format::recording::HeapView;
use heaplens_report::text::heap::{self, HeapOptions};

use crate::failure::Failure;
use crate::recording::{no_such_process, profiled, read};
use crate::render::{look, print};
use crate::values::Color;

/// `heaplens heap`. The page goes to stdout.
#[derive(Debug, Args)]
pub(crate) struct HeapArguments {
    /// A recording
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The way to the block that this address lies in
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    address: Option<u64>,
    /// Show look N, counted from 1 [default: the last one]
    #[arg(long, value_name = "N")]
    look: Option<usize>,
    /// Rows of each table
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,
    /// Of this process
    #[arg(long, value_name = "N")]
    pid: Option<u32>,
    /// Colour in the page
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Color,
}

/// What `heaplens heap --help` ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  heaplens heap run.hlr
  heaplens heap run.hlr --top 50
  heaplens heap run.hlr --address 0x7f3a10";

/// Reads, chooses a look, prints.
pub(crate) fn heap(arguments: &HeapArguments) -> Result<ExitCode, Failure> {
    let decoded = read(&arguments.input)?;
    let profile = profiled(&decoded, arguments.pid.map(Pid::new)).map_err(|error| no_such_process(&error))?;
    let view = chosen(profile.holders.views(), arguments.look).map_err(|failure| {
        match profile.holders.refusal() {
            Some(why) => failure.hint(format!("the last look that was tried did not come about: {why}")),
            None => failure,
        }
    })?;
    let options = HeapOptions { top: arguments.top, address: arguments.address };
    let mut bytes = Vec::new();
    heap::write(&profile, view, look(arguments.color, &stdout()), options, &mut bytes)
        .expect("writing to memory does not fail");
    print(&bytes)?;
    Ok(ExitCode::SUCCESS)
}

/// The look with this number, counted from 1, or the last one.
fn chosen(views: &[HeapView], number: Option<usize>) -> Result<&HeapView, Failure> {
    let Some(last) = views.last() else {
        return Err(Failure::new("the recording has no look at the heap")
            .hint("heaplens run takes one at the end, and while memory grows; heaplens snapshot PID now"));
    };
    match number {
        None => Ok(last),
        Some(number) => number.checked_sub(1).and_then(|at| views.get(at)).ok_or_else(|| {
            Failure::new(format!("there is no look {number}"))
                .hint(format!("the recording has {}, counted from 1", views.len()))
        }),
    }
}

/// An address as debuggers write it.
fn address(typed: &str) -> Result<u64, String> {
    let digits = typed.strip_prefix("0x").unwrap_or(typed);
    u64::from_str_radix(digits, 16)
        .map_err(|_| "an address is a hexadecimal number, such as 0x7f3a10".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::Nanos;

    #[test]
    fn the_last_look_is_shown_unless_another_is_named() {
        let views: Vec<HeapView> =
            (1..=3).map(|at| HeapView { at: Nanos::new(at), ..HeapView::default() }).collect();
        assert_eq!(chosen(&views, None), Ok(&views[2]));
        assert_eq!(chosen(&views, Some(1)), Ok(&views[0]));
        assert!(format!("{:?}", chosen(&views, Some(4))).contains("the recording has 3"));
        assert!(format!("{:?}", chosen(&views, Some(0))).contains("there is no look 0"));
        assert!(chosen(&[], None).is_err());
    }

    #[test]
    fn addresses_are_hexadecimal() {
        assert_eq!(address("0x7f00"), Ok(0x7f00));
        assert_eq!(address("7f00"), Ok(0x7f00));
        assert!(address("seven").is_err());
    }
}
