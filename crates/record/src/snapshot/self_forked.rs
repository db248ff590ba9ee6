//! The snapshot of a program whose threads the kernel does not let us stop: the program is asked to fork a copy of itself, and the copy
//! serves its memory where nobody may read it (see [`heaplens_format::arena::self_fork`]). Other threads run on meanwhile: their
//! registers are not seen.

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use heaplens_format::arena::self_fork::SelfFork;
use heaplens_format::{Addr, Nanos, Pid};
use heaplens_snapshot::{Missing, Snapshot};

use super::error::SnapshotError;
use super::feasible::{Program, prepare};
use super::frozen::FrozenProcess;
use crate::arena::Tables;
use crate::ledger::{SeenThreads, UNREADABLE};
use crate::os::{Connection, ServedMemory, wait};

/// How long a program may take to fork the copy, which it does when it allocates. It runs on until then.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Takes a snapshot. `why` is the error of stopping its threads.
pub(super) fn take(program: &Program<'_>, why: io::Error) -> Result<Snapshot, SnapshotError> {
    let mut tables = prepare(program)?.tables;
    let copy = request(program.arena).map_err(|error| match error {
        NoCopy::Failed(error) => SnapshotError::Copy(error),
        NoCopy::Silent => SnapshotError::Silent { why, timeout: TIMEOUT },
    })?;
    tables.fill(program.arena)?;
    let tables = Tables::of_copy(program.arena, &tables).ok_or(SnapshotError::Blocks(UNREADABLE))?;
    let (process, words) = (copy.process(), copy.words());
    let frozen = FrozenProcess {
        program: program.process,
        process,
        threads: SeenThreads::One {
            process: program.process,
            thread: words.thread.load(Relaxed),
            stack: Addr::new(words.stack.load(Relaxed)),
        },
        pause: Nanos::new(words.pause_ns.load(Relaxed)),
        missing: Missing { registers: true },
        keeper: Box::new(copy),
    };
    frozen.snapshot(&mut program.subject_at(process), &tables)
}

/// Why there is no copy.
#[derive(Debug)]
enum NoCopy {
    /// The file for its answers cannot be made, or the program could not fork.
    Failed(io::Error),
    /// The program did not answer.
    Silent,
}

impl From<io::Error> for NoCopy {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Has the program fork a copy. `arena` is its own.
fn request(arena: &File) -> Result<ServedMemory, NoCopy> {
    let connection = Connection::open(arena)?;
    let process = await_copy(connection.words())?;
    Ok(ServedMemory::new(process, connection))
}

/// Requests a copy and waits for it; returns its pid. After a timeout the request is withdrawn.
fn await_copy(words: &SelfFork) -> Result<Pid, NoCopy> {
    let deadline = Instant::now() + TIMEOUT;
    let number = words.begun.load(Relaxed).max(words.wanted.load(Relaxed)).wrapping_add(1);
    words.wanted.store(number, Release);
    loop {
        let made = words.made.load(Acquire); // pairs with the agent: the rest was written before
        if made == number {
            break;
        }
        if Instant::now() >= deadline {
            words.wanted.store(words.begun.load(Relaxed), Relaxed);
            return Err(NoCopy::Silent);
        }
        wait(&words.made, made);
    }
    match words.error.load(Relaxed) {
        0 => Ok(Pid::new(words.process.load(Relaxed))),
        error => Err(io::Error::from_raw_os_error(error as i32).into()),
    }
}
