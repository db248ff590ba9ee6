//! What a self-forked copy does for as long as it lives: it has the kernel write what lies at an address to a file, for whoever asks.
//! It makes system calls and nothing else.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::arena::self_fork::{MOST_ADDRESSES, MOST_BYTES, SELF_FORK_SUFFIX, SelfFork};
use heaplens_format::atomic::AtomicU32;

use crate::process::path::PathBuffer;
use crate::sys::{self, Descriptor, syscall};

/// How long the copy waits for a request before it checks whether there is somebody left to ask.
const TIMEOUT_S: i64 = 1;

/// Answers until nobody is left to ask, beside the arena at this path.
pub(super) fn serve(words: &SelfFork, arena: PathBuffer, stack: u64) {
    let mut path = arena;
    path.push(SELF_FORK_SUFFIX.as_bytes());
    close_all();
    let Ok(file) = Descriptor::open(path.as_c_str(), libc::O_RDWR, 0) else { return };
    let mut answered = words.asked.load(Relaxed);
    words.answered.store(answered, Relaxed);
    words.process.store(sys::process_numbers().pid, Relaxed);
    words.stack.store(stack, Relaxed);
    words.error.store(0, Relaxed);
    words.made.store(words.begun.load(Relaxed), Release); // the recorder reads the rest after it
    sys::wake(&words.made);
    while is_wanted(&file) {
        wait(&words.asked, answered);
        let asked = words.asked.load(Acquire); // pairs with the recorder: the request is there
        if asked != answered {
            words.count.store(answer(words, &file), Relaxed);
            answered = asked;
            words.answered.store(answered, Release); // the answer is there
            sys::wake(&words.answered);
        }
    }
}

/// Bytes that are in the file now.
fn answer(words: &SelfFork, file: &Descriptor) -> u64 {
    let length = words.length.load(Relaxed).min(MOST_BYTES);
    match words.addresses.load(Relaxed) as usize {
        0 => write(file, words.address.load(Relaxed), length, 0),
        count => answer_many(file, count.min(MOST_ADDRESSES), length),
    }
}

/// One after the other, up to the first that cannot be read.
fn answer_many(file: &Descriptor, count: usize, length: u64) -> u64 {
    let mut bytes = [0u8; MOST_ADDRESSES * 8];
    let addresses = file.read_at(&mut bytes[..count * 8], MOST_BYTES).as_chunks::<8>().0;
    let mut done = 0;
    for address in addresses.iter().map(|address| u64::from_le_bytes(*address)) {
        if done + length > MOST_BYTES || write(file, address, length, done) < length {
            break;
        }
        done += length;
    }
    done
}

/// The kernel reads the memory, and stops where there is none.
fn write(file: &Descriptor, address: u64, length: u64, at: u64) -> u64 {
    let args = [file.number() as usize, address as usize, length as usize, at as usize, 0, 0];
    // SAFETY: the kernel only reads, and says where it cannot.
    unsafe { syscall(libc::SYS_pwrite64, args) }.unwrap_or(0) as u64
}

/// Whoever asks has the file locked, until it lets go of it or is killed.
fn is_wanted(file: &Descriptor) -> bool {
    let args = [file.number() as usize, (libc::LOCK_EX | libc::LOCK_NB) as usize, 0, 0, 0, 0];
    // SAFETY: flock takes no pointer.
    unsafe { syscall(libc::SYS_flock, args) }.is_err()
}

/// Before Linux 5.9 there is no such call: then they stay open for as long as the copy is there.
fn close_all() {
    // SAFETY: this process has nothing open that it needs.
    let _ = unsafe { syscall(libc::SYS_close_range, [0, u32::MAX as usize, 0, 0, 0, 0]) };
}

fn wait(word: &AtomicU32, value: u32) {
    let timeout = [TIMEOUT_S, 0i64];
    let args = [
        &raw const *word as usize,
        libc::FUTEX_WAIT as usize,
        value as usize,
        timeout.as_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: the kernel reads one word and one time.
    let _ = unsafe { syscall(libc::SYS_futex, args) };
}
