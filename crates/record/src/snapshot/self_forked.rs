//! Images that a program makes of itself, because the kernel lets nobody stop its threads, and that tell of their memory because
//! it lets nobody read it: see [`heaplens_format::arena::self_fork`]. Where memory may be read from the outside, it is.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use heaplens_format::arena::header::{HEADER_SIZE, SELF_FORK_OFFSET};
use heaplens_format::arena::self_fork::{MOST_ADDRESSES, MOST_BYTES, SELF_FORK_SUFFIX, SelfFork as Words};
use heaplens_format::atomic::AtomicU32;
use heaplens_format::{Nanos, Pid};
use memmap2::{MmapOptions, MmapRaw};

use crate::ledger::PAGE;
use crate::procfs;

/// How long a program may take to make one: it does when it allocates. It is not held up meanwhile.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);
/// A question costs two changes of the process that runs: small reads have this much read ahead, which never changes.
const AHEAD: usize = 64 << 10;
/// Reads that are at most as long have.
const SMALL: usize = 4 << 10;
/// So many of these parts are kept.
const KEPT: usize = 256;

/// How long one sleeps between two looks at a word that somebody wakes.
const LOOK: Duration = Duration::from_millis(20);

/// Those that live, by their numbers: memory of a process is read through its number.
static SELF_FORKS: Mutex<Vec<Arc<Questions>>> = Mutex::new(Vec::new());

/// Why there is none.
#[derive(Debug)]
pub(crate) enum NoSelfFork {
    /// The files for it cannot be made, or the program could not make it.
    Failed(io::Error),
    /// The program did not notice.
    Silent,
}

impl From<io::Error> for NoSelfFork {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// One that lives. It ends when this is dropped, or with this process.
#[derive(Debug)]
pub(crate) struct SelfFork(Arc<Questions>);

/// How it is asked.
#[derive(Debug)]
struct Questions {
    words: SharedWords,
    /// Its answers; locked, which it looks at.
    file: File,
    path: PathBuf,
    process: Pid,
    /// What was read ahead. Whoever has this asks.
    kept: Mutex<Kept>,
}

/// Parts of a memory that never changes, the oldest first.
#[derive(Debug, Default)]
struct Kept(VecDeque<(u64, Vec<u8>)>);

impl Kept {
    /// Copies what it has from an address on: how much, where it has that place at all.
    fn read(&self, address: u64, into: &mut [u8]) -> Option<usize> {
        let part_at = |(start, part): &(u64, Vec<u8>)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            // A part that ends where nothing can be read says so itself; one that is whole does not know what is behind it.
            let has_all = at + into.len() <= part.len() || (at < part.len() && part.len() < AHEAD);
            has_all.then_some(at)
        };
        let (at, part) = self.0.iter().rev().find_map(|kept| Some((part_at(kept)?, &kept.1)))?;
        let length = into.len().min(part.len() - at);
        into[..length].copy_from_slice(&part[at..at + length]);
        Some(length)
    }

    fn keep(&mut self, start: u64, part: Vec<u8>) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back((start, part));
    }
}

impl SelfFork {
    /// Has a program make one. `arena` is its own.
    pub(crate) fn of(arena: &File) -> Result<Self, NoSelfFork> {
        let arena = std::fs::read_link(format!("/proc/self/fd/{}", arena.as_raw_fd()))?;
        let words = SharedWords::map(&File::options().read(true).write(true).open(&arena)?)?;
        let mut path = arena.into_os_string();
        path.push(SELF_FORK_SUFFIX);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        let (path, kept) = (PathBuf::from(path), Mutex::default());
        let mut questions = Questions { words, file, path, process: Pid::new(0), kept };
        questions.process = questions.words.await_self_fork()?;
        let questions = Arc::new(questions);
        self_forks().push(questions.clone());
        Ok(Self(questions))
    }

    /// Its number.
    pub(crate) fn process(&self) -> Pid {
        self.0.process
    }

    /// The thread that made it, and where its stack began.
    pub(crate) fn maker(&self) -> (u32, u64) {
        let words = self.0.words.get();
        (words.thread.load(Relaxed), words.stack.load(Relaxed))
    }

    /// How long that thread was held up.
    pub(crate) fn pause(&self) -> Nanos {
        Nanos::new(self.0.words.get().pause_ns.load(Relaxed))
    }
}

impl Drop for SelfFork {
    fn drop(&mut self) {
        self_forks().retain(|copy| !Arc::ptr_eq(copy, &self.0));
    }
}

impl Drop for Questions {
    /// It looks at the lock when it is woken.
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
        self.file.unlock().ok();
        let words = self.words.get();
        words.length.store(0, Relaxed);
        words.asked.store(words.asked.load(Relaxed).wrapping_add(1), Release);
        wake(&words.asked);
    }
}

/// Reads memory of a copy that will not be read from the outside; nothing where the process is none.
pub(crate) fn read(process: Pid, address: u64, into: &mut [u8]) -> usize {
    let Some(copy) = find(process) else { return 0 };
    let mut done = 0;
    while done < into.len() {
        let part = (into.len() - done).min(MOST_BYTES as usize);
        let read = copy.read(address + done as u64, &mut into[done..done + part]);
        done += read;
        if read < part {
            break;
        }
    }
    done
}

/// Reads `each` bytes from some of the addresses, one after the other, up to the first that cannot be read: the bytes.
pub(crate) fn read_many(process: Pid, from: &[u64], each: usize, into: &mut [u8]) -> usize {
    find(process).map_or(0, |copy| copy.read_many(from, each, into))
}

fn self_forks() -> MutexGuard<'static, Vec<Arc<Questions>>> {
    SELF_FORKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(process: Pid) -> Option<Arc<Questions>> {
    self_forks().iter().find(|copy| copy.process == process).cloned()
}

impl Questions {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if into.len() > SMALL {
            return self.ask(address, into);
        }
        if let Some(read) = kept.read(address, into) {
            return read;
        }
        let (start, mut part) = (address - address % PAGE, vec![0; AHEAD]);
        let read = self.ask(start, &mut part);
        part.truncate(read);
        kept.keep(start, part);
        kept.read(address, into).unwrap_or(0)
    }

    fn ask(&self, address: u64, into: &mut [u8]) -> usize {
        self.words.get().addresses.store(0, Relaxed);
        self.words.get().address.store(address, Relaxed);
        self.answer(into.len(), into)
    }

    fn read_many(&self, from: &[u64], each: usize, into: &mut [u8]) -> usize {
        let _one = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let count = from.len().min(MOST_ADDRESSES).min(MOST_BYTES as usize / each.max(1));
        let addresses: Vec<u8> = from[..count].iter().flat_map(|address| address.to_le_bytes()).collect();
        if self.file.write_all_at(&addresses, MOST_BYTES).is_err() {
            return 0;
        }
        self.words.get().addresses.store(count as u32, Relaxed);
        let length = (count * each).min(into.len());
        self.answer(each, &mut into[..length])
    }

    /// Puts the question and takes what the file has then.
    fn answer(&self, length: usize, into: &mut [u8]) -> usize {
        let words = self.words.get();
        words.length.store(length as u64, Relaxed);
        let number = words.asked.load(Relaxed).wrapping_add(1);
        words.asked.store(number, Release); // the copy reads the question behind it
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
        self.file.read_exact_at(&mut into[..count], 0).map_or(0, |()| count)
    }
}

/// The first pages of an arena, which the program has mapped, too.
#[derive(Debug)]
struct SharedWords(MmapRaw);

impl SharedWords {
    fn map(arena: &File) -> io::Result<Self> {
        let is_whole = arena.metadata()?.len() >= HEADER_SIZE as u64;
        if !is_whole {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self(MmapOptions::new().len(HEADER_SIZE).map_raw(arena)?))
    }

    fn get(&self) -> &Words {
        // SAFETY: the mapping has `HEADER_SIZE` bytes, in which the words lie, aligned as in the header; they are atomics, and the
        // agent has reserved the pages before it published the arena.
        unsafe { &*self.0.as_ptr().add(SELF_FORK_OFFSET).cast::<Words>() }
    }

    /// Says that one is wanted, and waits for it: its number. One that did not come is wanted no more.
    fn await_self_fork(&self) -> Result<Pid, NoSelfFork> {
        let (words, deadline) = (self.get(), Instant::now() + TIMEOUT);
        let number = words.begun.load(Relaxed).max(words.wanted.load(Relaxed)).wrapping_add(1);
        words.wanted.store(number, Release);
        loop {
            let made = words.made.load(Acquire); // pairs with the agent: the rest was written before
            if made == number {
                break;
            }
            if Instant::now() >= deadline {
                words.wanted.store(words.begun.load(Relaxed), Relaxed);
                return Err(NoSelfFork::Silent);
            }
            wait(&words.made, made);
        }
        match words.error.load(Relaxed) {
            0 => Ok(Pid::new(words.process.load(Relaxed))),
            error => Err(io::Error::from_raw_os_error(error as i32).into()),
        }
    }
}

/// Sleeps until the word is woken or has another value; false when it took too long.
fn wait(word: &AtomicU32, value: u32) -> bool {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as libc::c_long };
    let at = std::ptr::from_ref(word);
    // SAFETY: the kernel reads the word and the time, which both outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAIT, value, &raw const timeout) == 0 }
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word is only an address to the kernel.
    unsafe { libc::syscall(libc::SYS_futex, std::ptr::from_ref(word), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_was_read_ahead_is_used_as_far_as_it_reaches() {
        let (mut kept, mut bytes) = (Kept::default(), [0; 4]);
        assert_eq!(kept.read(0x1000, &mut bytes), None);
        kept.keep(0x1000, (0..100).collect());
        assert_eq!((kept.read(0x1001, &mut bytes), bytes), (Some(4), [1, 2, 3, 4]));
        assert_eq!(kept.read(0x1062, &mut bytes), Some(2), "behind it nothing can be read");
        assert_eq!(kept.read(0x1064, &mut bytes), None);
        kept.keep(0x9000, vec![7; AHEAD]);
        assert_eq!(kept.read(0x9000 + AHEAD as u64 - 2, &mut bytes), None, "behind it there may be more");
    }

    #[test]
    fn the_oldest_part_is_given_up_first() {
        let (mut kept, mut bytes) = (Kept::default(), [0; 1]);
        for number in 0..=KEPT as u64 {
            kept.keep(number * PAGE, vec![1]);
        }
        assert_eq!(kept.read(0, &mut bytes), None);
        assert_eq!(kept.read(PAGE, &mut bytes), Some(1));
    }
}
