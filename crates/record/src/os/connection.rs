//! What the recorder shares with a program that is to serve a copy of itself: the words of the arena's header by which the copy and
//! its memory are requested, and the locked file for its answers (see [`heaplens_format::arena::self_fork`]). What is stored in the
//! words is decided elsewhere.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

use heaplens_format::arena::header::{HEADER_SIZE, SELF_FORK_OFFSET};
use heaplens_format::arena::self_fork::{SELF_FORK_SUFFIX, SelfFork};
use heaplens_format::atomic::AtomicU32;
use memmap2::{MmapOptions, MmapRaw};

/// The longest sleep before a word is read again, in case a wake-up was lost.
const SLEEP: Duration = Duration::from_millis(20);

/// Lasts as long as a copy is wanted: the copy ends when this is dropped, or with this process.
#[derive(Debug)]
pub(crate) struct Connection {
    words: SharedWords,
    /// For the answers; locked, which the copy checks.
    file: File,
    path: PathBuf,
}

impl Connection {
    /// To the program whose arena this is.
    pub(crate) fn open(arena: &File) -> io::Result<Self> {
        let arena = std::fs::read_link(format!("/proc/self/fd/{}", arena.as_raw_fd()))?;
        let words = SharedWords::map(&File::options().read(true).write(true).open(&arena)?)?;
        let mut path = arena.into_os_string();
        path.push(SELF_FORK_SUFFIX);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        file.try_lock().map_err(io::Error::from)?;
        Ok(Self { words, file, path: PathBuf::from(path) })
    }

    /// The words.
    pub(crate) fn words(&self) -> &SelfFork {
        self.words.get()
    }

    /// The file for answers.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Connection {
    /// The copy checks the lock when it is woken.
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
        self.file.unlock().ok();
        let words = self.words();
        words.length.store(0, Relaxed);
        words.asked.store(words.asked.load(Relaxed).wrapping_add(1), Release);
        wake(&words.asked);
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

    fn get(&self) -> &SelfFork {
        // SAFETY: the mapping has `HEADER_SIZE` bytes, in which the words lie, aligned as in the header; they are atomics, and the
        // agent has reserved the pages before it published the arena.
        unsafe { &*self.0.as_ptr().add(SELF_FORK_OFFSET).cast::<SelfFork>() }
    }
}

/// Sleeps until the word is woken or has another value; false when it took too long.
pub(crate) fn wait(word: &AtomicU32, value: u32) -> bool {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: SLEEP.as_nanos() as libc::c_long };
    let at = std::ptr::from_ref(word);
    // SAFETY: the kernel reads the word and the time, which both outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAIT, value, &raw const timeout) == 0 }
}

/// Wakes whoever sleeps on the word.
pub(super) fn wake(word: &AtomicU32) {
    // SAFETY: the word is only an address to the kernel.
    unsafe { libc::syscall(libc::SYS_futex, std::ptr::from_ref(word), libc::FUTEX_WAKE, i32::MAX) };
}
