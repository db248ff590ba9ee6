//! ```text
//!   heaplens text │ words, each a text │ exit: 0 unseen, 1 code, 2 signal, then signed │ start, Unix ns │ wall ns
//!   CPU ns │ sample interval + 1, 0 when exact │ number of processes
//! ```

use alloc::string::String;

use super::{Outcome, read_exit, read_nanos, write_exit};
use crate::recording::model::{Recording, Run};
use crate::recording::wire::{Reader, Writer};
use crate::units::Bytes;

pub(crate) fn write(recording: &Recording, to: &mut Writer) {
    let run = &recording.run;
    to.text(&run.heaplens);
    to.texts(&run.command);
    match run.exit {
        Some(exit) => write_exit(exit, to),
        None => to.number(0),
    }
    to.number(run.started_unix.get());
    to.number(run.wall.get());
    to.number(run.cpu.get());
    to.number(run.sample_interval.map_or(0, |interval| interval.get().saturating_add(1)));
    to.count(recording.processes.len());
}

pub(crate) fn read(run: &mut Run, processes: &mut u64, from: &mut Reader<'_>) -> Outcome {
    run.heaplens = String::from(from.text()?);
    run.command = from.texts()?;
    run.exit = match from.number()? {
        0 => None,
        tag => Some(read_exit(tag, from)?),
    };
    run.started_unix = read_nanos(from)?;
    run.wall = read_nanos(from)?;
    run.cpu = read_nanos(from)?;
    run.sample_interval = from.number()?.checked_sub(1).map(Bytes::new);
    *processes = from.number()?;
    Ok(())
}
