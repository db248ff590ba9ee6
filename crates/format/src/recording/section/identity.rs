//! ```text
//!   pid │ parent │ words, each a text │ executable text │ forked 0/1
//!   end: 0 unknown, 1 code and 2 signal, then signed, 3 replaced, 4 running
//!   start ns │ finish ns │ CPU ns │ agent CPU ns │ arena bytes │ agent's private bytes
//!   RSS: 0 none, else 1 │ start │ peak │ end         │ live bytes at their peak
//!   Python: the arena's word for the interpreter, 0 where none was seen
//!           │ mean distance of samples of its objects, 0 where none was recorded       (both since format 2)
//! ```

use alloc::string::String;

use super::{Outcome, read_exit, read_nanos, write_exit};
use crate::arena::python::Interpreter;
use crate::recording::damage::PayloadFault;
use crate::recording::model::{Process, ProcessEnd, Rss};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, Pid};

pub(crate) fn write(process: &Process, to: &mut Writer) {
    to.number(process.pid.get().into());
    to.number(process.parent.get().into());
    to.texts(&process.command);
    to.text(&process.executable);
    to.number(process.forked.into());
    write_end(process.end, to);
    for time in [process.start, process.finish, process.cpu, process.agent_cpu] {
        to.number(time.get());
    }
    to.number(process.arena_bytes.get());
    to.number(process.agent_private_bytes.get());
    write_rss(process.rss, to);
    to.number(process.peak_live.get());
    to.number(process.python.map_or(0, Interpreter::raw).into());
    to.number(process.object_interval.map_or(0, Bytes::get));
}

pub(crate) fn read(process: &mut Process, from: &mut Reader<'_>) -> Outcome {
    process.pid = Pid::new(from.small()?);
    process.parent = Pid::new(from.small()?);
    process.command = from.texts()?;
    process.executable = String::from(from.text()?);
    process.forked = from.number()? != 0;
    process.end = read_end(from)?;
    process.start = read_nanos(from)?;
    process.finish = read_nanos(from)?;
    process.cpu = read_nanos(from)?;
    process.agent_cpu = read_nanos(from)?;
    process.arena_bytes = Bytes::new(from.number()?);
    process.agent_private_bytes = Bytes::new(from.number()?);
    process.rss = read_rss(from)?;
    process.peak_live = Bytes::new(from.number()?);
    // Format 1 ends here.
    if from.left() > 0 {
        process.python = Interpreter::from_raw(from.small()?);
        process.object_interval = Some(Bytes::new(from.number()?)).filter(|&interval| interval > Bytes::ZERO);
    }
    Ok(())
}

fn write_end(end: ProcessEnd, to: &mut Writer) {
    match end {
        ProcessEnd::Unknown => to.number(0),
        ProcessEnd::Ended(exit) => write_exit(exit, to),
        ProcessEnd::Replaced => to.number(3),
        ProcessEnd::Running => to.number(4),
    }
}

fn read_end(from: &mut Reader<'_>) -> Result<ProcessEnd, PayloadFault> {
    Ok(match from.number()? {
        0 => ProcessEnd::Unknown,
        3 => ProcessEnd::Replaced,
        4 => ProcessEnd::Running,
        tag => ProcessEnd::Ended(read_exit(tag, from)?),
    })
}

fn write_rss(rss: Option<Rss>, to: &mut Writer) {
    to.number(rss.is_some().into());
    if let Some(Rss { start, peak, end }) = rss {
        [start, peak, end].iter().for_each(|value| to.number(value.get()));
    }
}

fn read_rss(from: &mut Reader<'_>) -> Result<Option<Rss>, PayloadFault> {
    if from.number()? == 0 {
        return Ok(None);
    }
    let mut value = || from.number().map(Bytes::new);
    Ok(Some(Rss { start: value()?, peak: value()?, end: value()? }))
}
