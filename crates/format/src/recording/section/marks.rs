//! ```text
//!   loops:     code │ line │ number of the loop around it, or 0 │ thread │ iterations │ exact 0/1 │ first ns │ last ns
//!   marks:     ns since the mark before, signed │ live bytes │ 1, loop, iterations
//!                                                            │ 2, its number, label      (the user's own)
//!                                                            │ 3                         (end of the script)
//!                                                            │ 4, 5 or 6, resident bytes (before a test, collected, trimmed)
//!                                                            │ 7                         (the recorder's own)
//!                                                            │ 8, its number             (a session was run)
//!                                                            │ 9 or 10, section, pass    (it began, ended; since format 2.13)
//!   histories: site │ (marks since the change before │ live bytes │ live blocks until then)*
//!   runs:      how often each loop was entered, where that was counted of any (since format 2.14)
//! ```
//!
//! Loops, marks and sites count from 1, 0 and 0.

use alloc::vec::Vec;

use super::{Outcome, read_amount, write_amount};
use crate::recording::damage::PayloadFault;
use crate::recording::model::{Change, History, Loop, Mark, MarkKind, Process, Stage};
use crate::recording::wire::{Reader, Writer};
use crate::units::{Bytes, CodeId, LoopId, Nanos};

pub(crate) fn write(process: &Process, to: &mut Writer) {
    to.count(process.loops.len());
    process.loops.iter().for_each(|one| write_loop(one, to));
    to.count(process.marks.len());
    let mut before = 0u64;
    for mark in &process.marks {
        to.signed(mark.at.get().wrapping_sub(before) as i64);
        to.number(mark.live.get());
        write_kind(&mark.kind, to);
        before = mark.at.get();
    }
    to.count(process.histories.len());
    process.histories.iter().for_each(|history| write_history(history, to));
    if process.loops.iter().any(|one| one.runs > 0) {
        process.loops.iter().for_each(|one| to.number(one.runs));
    }
}

pub(crate) fn read(process: &mut Process, from: &mut Reader<'_>) -> Outcome {
    from.rows(8, &mut process.loops, read_loop)?;
    let mut at = 0u64;
    from.rows(3, &mut process.marks, |from| {
        at = at.wrapping_add(from.signed()? as u64);
        Ok(Mark { at: Nanos::new(at), live: Bytes::new(from.number()?), kind: read_kind(from)? })
    })?;
    from.rows(2, &mut process.histories, read_history)?;
    // Format 2.13 ends here.
    if from.left() > 0 {
        for one in &mut process.loops {
            one.runs = from.number()?;
        }
    }
    Ok(())
}

fn write_loop(one: &Loop, to: &mut Writer) {
    to.number(one.code.get().into());
    to.number(one.line.into());
    to.number(one.around.map_or(0, |around| around.get().into()));
    to.number(one.thread.into());
    to.number(one.iterations);
    to.number(one.is_exact.into());
    to.number(one.first.get());
    to.number(one.last.get());
}

fn read_loop(from: &mut Reader<'_>) -> Result<Loop, PayloadFault> {
    Ok(Loop {
        code: CodeId::new(from.small()?),
        line: from.small()?,
        around: Some(from.small()?).filter(|&around| around != 0).map(LoopId::new),
        thread: from.small()?,
        iterations: from.number()?,
        is_exact: from.number()? != 0,
        runs: 0,
        first: Nanos::new(from.number()?),
        last: Nanos::new(from.number()?),
    })
}

fn write_kind(kind: &MarkKind, to: &mut Writer) {
    match kind {
        MarkKind::Iteration { of_loop, iterations } => {
            to.number(1);
            to.number(of_loop.get().into());
            to.number(*iterations);
        }
        MarkKind::User { number, label } => {
            to.number(2);
            to.number(*number);
            to.text(label);
        }
        MarkKind::EndOfScript => to.number(3),
        MarkKind::Interval => to.number(7),
        MarkKind::Run { number } => {
            to.number(8);
            to.number(*number);
        }
        MarkKind::Section { number, pass, is_end } => {
            to.number(9 + u64::from(*is_end));
            to.number((*number).into());
            to.number(*pass);
        }
        MarkKind::Test { stage, rss } => {
            to.number(tag_of(*stage));
            to.number(rss.get());
        }
    }
}

const fn tag_of(stage: Stage) -> u64 {
    match stage {
        Stage::Before => 4,
        Stage::Collected => 5,
        Stage::Trimmed => 6,
    }
}

fn read_kind(from: &mut Reader<'_>) -> Result<MarkKind, PayloadFault> {
    match from.number()? {
        1 => Ok(MarkKind::Iteration { of_loop: LoopId::new(from.small()?), iterations: from.number()? }),
        2 => Ok(MarkKind::User { number: from.number()?, label: from.text()?.into() }),
        3 => Ok(MarkKind::EndOfScript),
        4 => test(Stage::Before, from),
        5 => test(Stage::Collected, from),
        6 => test(Stage::Trimmed, from),
        7 => Ok(MarkKind::Interval),
        8 => Ok(MarkKind::Run { number: from.number()? }),
        tag @ (9 | 10) => {
            Ok(MarkKind::Section { number: from.small()?, pass: from.number()?, is_end: tag == 10 })
        }
        tag => Err(PayloadFault::UnknownTag(tag)),
    }
}

fn test(stage: Stage, from: &mut Reader<'_>) -> Result<MarkKind, PayloadFault> {
    Ok(MarkKind::Test { stage, rss: Bytes::new(from.number()?) })
}

fn write_history(history: &History, to: &mut Writer) {
    to.number(history.site.into());
    to.count(history.changes.len());
    let mut before = 0;
    for change in &history.changes {
        to.number(change.until.wrapping_sub(before).into());
        write_amount(change.live, to);
        before = change.until;
    }
}

fn read_history(from: &mut Reader<'_>) -> Result<History, PayloadFault> {
    let (site, mut changes, mut until) = (from.small()?, Vec::new(), 0u32);
    from.rows(3, &mut changes, |from| {
        until = until.wrapping_add(from.small()?);
        Ok(Change { until, live: read_amount(from)? })
    })?;
    Ok(History { site, changes })
}
