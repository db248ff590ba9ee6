//! The heap profile of gperftools: a text of stacks as addresses, and the object files that contain them. Two forms:
//!
//! ```text
//!   heap profile:   1003: 62917584 [ 52204: 115346432] @ heapprofile      --- symbol
//!     1000: 62914560 [  1000: 62914560] @ 0x5555555561ff 0x…              binary=/opt/rows
//!                                                                         0x8000… shop::load
//!   MAPPED_LIBRARIES:                                                     ---
//!   555555556000-… r-xp 00001000 00:00 0 /opt/rows                        heap profile: …
//! ```
//!
//! On the left what gperftools itself writes, for a reader that has the program. Python has no addresses there. On the right
//! names come along, for each function a number made of its name: so two recordings can be compared by the reader, too.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heaplens_analyze::code_segments;
use heaplens_analyze::profile::StackFrame;

use super::Samples;
use super::samples::{Amount, StackRow};
use super::uri::hash;
use crate::catalogue::stack::label::{CUT, NO_STACK, file_name, label};
use crate::catalogue::wording::one_line;

/// Symbol numbers must look like addresses of a program: the reader drops others.
const PLACES: u64 = (1 << 46) - 1;

/// Writes the file: with the names of frames where `named`, else with addresses alone. Returns how many stacks of a difference are
/// left out since they have less than before: the format has no negative numbers.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(samples: &Samples<'_>, named: bool, out: &mut dyn Write) -> io::Result<usize> {
    let rows: Vec<(&StackRow<'_>, [Amount; 2])> =
        samples.rows.iter().map(|row| (row, row.live_and_allocated())).collect();
    let is_less = |[live, allocated]: [Amount; 2]| {
        [live.bytes, live.blocks, allocated.bytes, allocated.blocks].iter().any(|&value| value < 0)
    };
    let (shrunk, kept): (Vec<_>, Vec<_>) = rows.into_iter().partition(|&(_, values)| is_less(values));
    let mut stacks = Addresses::new(samples);
    let lines = kept.iter().map(|(row, values)| {
        let addresses = if named { stacks.names_of(row) } else { stacks.of(row) };
        format!("{} @ {}", amounts(*values), words(&addresses))
    });
    let lines: Vec<String> = lines.collect();
    if named {
        stacks.write_names(samples, out)?;
    }
    let total = kept.iter().fold([Amount::default(); 2], |[mut live, mut allocated], (_, values)| {
        live.add(values[0]);
        allocated.add(values[1]);
        [live, allocated]
    });
    writeln!(out, "heap profile: {} @ heapprofile", amounts(total))?;
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "\nMAPPED_LIBRARIES:")?;
    if named { Ok(()) } else { write_libraries(samples, out) }?;
    Ok(shrunk.len())
}

fn amounts([live, allocated]: [Amount; 2]) -> String {
    format!("{:6}: {:8} [{:6}: {:8}]", live.blocks, live.bytes, allocated.blocks, allocated.bytes)
}

fn words(addresses: &[u64]) -> String {
    let words: Vec<String> = addresses.iter().map(|address| format!("{address:#018x}")).collect();
    words.join(" ")
}

/// As the kernel lists them; a file that is gone, or is another one now, is left out.
fn write_libraries(samples: &Samples<'_>, out: &mut dyn Write) -> io::Result<()> {
    for module in &samples.profile.modules {
        for code in code_segments(module) {
            let (start, end, offset) = (code.start, code.end, code.offset);
            writeln!(
                out,
                "{start:08x}-{end:08x} r-xp {offset:08x} 00:00 0 {:>26}{}",
                "",
                one_line(&module.path)
            )?;
        }
    }
    Ok(())
}

/// Numbers for frames.
struct Addresses<'a> {
    biases: BTreeMap<&'a str, u64>,
    names: BTreeMap<u64, String>,
}

impl<'a> Addresses<'a> {
    fn new(samples: &Samples<'a>) -> Self {
        let modules = samples.profile.modules.iter().rev();
        let biases = modules.map(|module| (module.path.as_str(), module.bias.get())).collect();
        Self { biases, names: BTreeMap::new() }
    }

    /// Return addresses in the process, innermost first. Functions that are inlined into each other have one.
    fn of(&self, row: &StackRow<'_>) -> Vec<u64> {
        let mut addresses = Vec::new();
        let mut first: Option<&StackFrame> = None;
        for frame in row.frames.iter().copied().filter(|frame| !frame.is_python()) {
            let is_inlined = first.is_some_and(|first| {
                (&first.module, first.offset) == (&frame.module, frame.offset) && first != frame
            });
            if !is_inlined {
                let bias = frame.module.as_deref().and_then(|path| self.biases.get(path));
                addresses.push(frame.offset.wrapping_add(bias.copied().unwrap_or(0)));
                first = Some(frame);
            }
        }
        // The reader goes back to the call by itself, but for the innermost one.
        match addresses.first_mut() {
            Some(innermost) => *innermost = innermost.saturating_sub(1),
            None => addresses.push(0),
        }
        addresses
    }

    /// Numbers of names, innermost first.
    fn names_of(&mut self, row: &StackRow<'_>) -> Vec<u64> {
        let mut names: Vec<String> = row.frames.iter().map(|frame| name(frame)).collect();
        names.extend(row.is_cut.then(|| CUT.to_owned()));
        if names.is_empty() {
            names.push(NO_STACK.to_owned());
        }
        names.into_iter().map(|name| self.number(name)).collect()
    }

    /// The same name has the same number in every recording.
    fn number(&mut self, name: String) -> u64 {
        let mut number = hash(&name) % PLACES + 1;
        while self.names.get(&number).is_some_and(|other| *other != name) {
            number = number % PLACES + 1;
        }
        self.names.entry(number).or_insert(name);
        number
    }

    fn write_names(&self, samples: &Samples<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "--- symbol")?;
        let program = samples.profile.shown().and_then(|row| row.command.first());
        writeln!(out, "binary={}", one_line(program.map_or("?", String::as_str)))?;
        self.names.iter().try_for_each(|(number, name)| writeln!(out, "{number:#018x} {name}"))?;
        writeln!(out, "---")
    }
}

/// The reader cuts off what is in parentheses or angle brackets, and takes two dashes for the end of a name.
fn name(frame: &StackFrame) -> String {
    let name = match (frame.is_python(), &frame.file) {
        (true, Some(file)) => {
            let function = frame.function.as_deref().unwrap_or("?").replace(['<', '>'], "");
            let line = frame.line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{}{line}:{function}", file_name(file))
        }
        _ => label(frame),
    };
    one_line(&name).replace("--", "- -")
}
