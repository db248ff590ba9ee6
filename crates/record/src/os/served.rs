//! Memory of a self-forked copy that cannot be read from the outside: the copy gets requests, and writes what lies at an
//! address to a file. Its memory never changes, so that what was read ahead stays valid.

use std::collections::VecDeque;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use heaplens_format::arena::self_fork::{MOST_ADDRESSES, MOST_BYTES, SelfFork};
use heaplens_format::{Addr, Bytes, Pid};

use super::connection::{Connection, wait, wake};
use super::procfs;

const PAGE: u64 = heaplens_format::arena::PAGE as u64;
/// A request costs two context switches: small reads have this much read ahead.
const AHEAD: usize = 64 << 10;
/// Reads of at most this length are small.
const SMALL: usize = 4 << 10;
/// The most parts that are kept.
const KEPT: usize = 256;

/// The copies that run: memory of a process is read by its pid.
static SERVED: Mutex<Vec<Arc<Requests>>> = Mutex::new(Vec::new());

/// A copy that serves its memory. It ends when this is dropped, or with this process.
#[derive(Debug)]
pub(crate) struct ServedMemory(Arc<Requests>);

impl ServedMemory {
    /// Of the copy with this number, which answers by this connection.
    pub(crate) fn new(process: Pid, connection: Connection) -> Self {
        let requests = Arc::new(Requests { connection, process, ahead: Mutex::default() });
        served().push(requests.clone());
        Self(requests)
    }

    /// The number of the copy.
    pub(crate) fn process(&self) -> Pid {
        self.0.process
    }

    /// What the copy says of itself.
    pub(crate) fn words(&self) -> &SelfFork {
        self.0.connection.words()
    }
}

impl Drop for ServedMemory {
    fn drop(&mut self) {
        served().retain(|requests| !Arc::ptr_eq(requests, &self.0));
    }
}

/// Reads memory of a copy that cannot be read from the outside; nothing where the process is none.
pub(super) fn read(process: Pid, address: Addr, into: &mut [u8]) -> usize {
    let Some(requests) = find(process) else { return 0 };
    let mut done = 0;
    while done < into.len() {
        let part = (into.len() - done).min(MOST_BYTES as usize);
        let read = requests.read(address + Bytes::new(done as u64), &mut into[done..done + part]);
        done += read;
        if read < part {
            break;
        }
    }
    done
}

/// Reads `each` bytes from some of the addresses, one after the other, up to the first that cannot be read: the bytes.
pub(super) fn read_many(process: Pid, from: &[Addr], each: usize, into: &mut [u8]) -> usize {
    find(process).map_or(0, |requests| requests.read_many(from, each, into))
}

fn served() -> MutexGuard<'static, Vec<Arc<Requests>>> {
    SERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(process: Pid) -> Option<Arc<Requests>> {
    served().iter().find(|requests| requests.process == process).cloned()
}

/// Requests to a copy.
#[derive(Debug)]
struct Requests {
    connection: Connection,
    process: Pid,
    /// What was read ahead. Its lock also allows one request at a time.
    ahead: Mutex<ReadAhead>,
}

impl Requests {
    fn read(&self, address: Addr, into: &mut [u8]) -> usize {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        if into.len() > SMALL {
            return self.ask(address, into);
        }
        if let Some(read) = ahead.read(address, into) {
            return read;
        }
        let (start, mut part) = (Addr::new(address.get() / PAGE * PAGE), vec![0; AHEAD]);
        let read = self.ask(start, &mut part);
        part.truncate(read);
        ahead.keep(start, part);
        ahead.read(address, into).unwrap_or(0)
    }

    fn ask(&self, address: Addr, into: &mut [u8]) -> usize {
        let words = self.connection.words();
        words.addresses.store(0, Relaxed);
        words.address.store(address.get(), Relaxed);
        self.answer(into.len(), into)
    }

    fn read_many(&self, from: &[Addr], each: usize, into: &mut [u8]) -> usize {
        let _one = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let count = from.len().min(MOST_ADDRESSES).min(MOST_BYTES as usize / each.max(1));
        let addresses: Vec<u8> =
            from[..count].iter().flat_map(|address| address.get().to_le_bytes()).collect();
        if self.connection.file().write_all_at(&addresses, MOST_BYTES).is_err() {
            return 0;
        }
        self.connection.words().addresses.store(count as u32, Relaxed);
        let length = (count * each).min(into.len());
        self.answer(each, &mut into[..length])
    }

    /// Makes the request, waits, and reads the answer from the file.
    fn answer(&self, length: usize, into: &mut [u8]) -> usize {
        let words = self.connection.words();
        words.length.store(length as u64, Relaxed);
        let number = words.asked.load(Relaxed).wrapping_add(1);
        words.asked.store(number, Release); // the copy reads the request after it
        wake(&words.asked);
        loop {
            let answered = words.answered.load(Acquire); // pairs with the copy: the answer is there
            if answered == number {
                break;
            }
            if !wait(&words.answered, answered) && procfs::resident(self.process).is_none() {
                return 0;
            }
        }
        let count = (words.count.load(Relaxed) as usize).min(into.len());
        self.connection.file().read_exact_at(&mut into[..count], 0).map_or(0, |()| count)
    }
}

/// Parts of a memory that never changes, the oldest first.
#[derive(Debug, Default)]
struct ReadAhead(VecDeque<(Addr, Vec<u8>)>);

impl ReadAhead {
    /// Copies what it has from an address on: how much, where it has that address at all.
    fn read(&self, address: Addr, into: &mut [u8]) -> Option<usize> {
        let part_at = |(start, part): &(Addr, Vec<u8>)| {
            let at = usize::try_from(address.get().checked_sub(start.get())?).ok()?;
            // After a short part nothing can be read; after a full one there may be more.
            let has_all = at + into.len() <= part.len() || (at < part.len() && part.len() < AHEAD);
            has_all.then_some(at)
        };
        let (at, part) = self.0.iter().rev().find_map(|kept| Some((part_at(kept)?, &kept.1)))?;
        let length = into.len().min(part.len() - at);
        into[..length].copy_from_slice(&part[at..at + length]);
        Some(length)
    }

    fn keep(&mut self, start: Addr, part: Vec<u8>) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((start, part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_read_ahead_is_used_up_to_its_end() {
        let (mut ahead, mut bytes) = (ReadAhead::default(), [0; 4]);
        assert_eq!(ahead.read(Addr::new(0x1000), &mut bytes), None);
        ahead.keep(Addr::new(0x1000), (0..100).collect());
        assert_eq!((ahead.read(Addr::new(0x1001), &mut bytes), bytes), (Some(4), [1, 2, 3, 4]));
        assert_eq!(ahead.read(Addr::new(0x1062), &mut bytes), Some(2), "after it nothing can be read");
        assert_eq!(ahead.read(Addr::new(0x1064), &mut bytes), None);
        ahead.keep(Addr::new(0x9000), vec![7; AHEAD]);
        assert_eq!(
            ahead.read(Addr::new(0x9000 + AHEAD as u64 - 2), &mut bytes),
            None,
            "after it there may be more"
        );
    }

    #[test]
    fn the_oldest_part_is_given_up_first() {
        let (mut ahead, mut bytes) = (ReadAhead::default(), [0; 1]);
        for number in 0..=KEPT as u64 {
            ahead.keep(Addr::new(number * PAGE), vec![1]);
        }
        assert_eq!(ahead.read(Addr::new(0), &mut bytes), None);
        assert_eq!(ahead.read(Addr::new(PAGE), &mut bytes), Some(1));
    }
}
