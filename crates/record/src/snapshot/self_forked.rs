//! A copy that a program forks itself because the kernel lets nobody stop its threads, and that serves its memory where nobody may read
//! it: see [`heaplens_format::arena::self_fork`].

use std::fs::File;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use heaplens_format::Pid;
use heaplens_format::arena::self_fork::SelfFork;

use crate::memory::{Connection, ServedMemory, wait};

/// How long a program may take to fork the copy: it does when it allocates. It is not held up meanwhile.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);

/// Why there is no copy.
#[derive(Debug)]
pub(crate) enum NoCopy {
    /// The file for its answers cannot be made, or the program could not fork.
    Failed(io::Error),
    /// The program did not notice.
    Silent,
}

impl From<io::Error> for NoCopy {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Has the program fork a copy. `arena` is its own.
pub(crate) fn request(arena: &File) -> Result<ServedMemory, NoCopy> {
    let connection = Connection::open(arena)?;
    let process = await_copy(connection.words())?;
    Ok(ServedMemory::new(process, connection))
}

/// Says that a copy is wanted, and waits for it: its number. One that did not come is wanted no more.
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
