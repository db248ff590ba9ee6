//! Memory for what is done before a program is started: the stack of who starts it may be small.
//!
//! `exec` is also called in the child of a `vfork`, which runs on its parent's memory and can give nothing back once it has succeeded. So
//! each thread keeps the memory that it took first, and a child of `vfork` takes that of the thread that waits for it: to both of them the
//! thread pointer is the same.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicUsize};

use crate::sys;

/// Bytes of it.
pub const SIZE: usize = 20 << 10;

/// Threads that may start programs; those beyond do it without the memory.
const MOST: usize = 512;

/// The memory of a thread.
struct Place {
    /// Its thread pointer; 0 where the place is nobody's.
    thread: AtomicUsize,
    /// The task that uses it now, or did when it became another program.
    user: AtomicU32,
    /// Where it is, 0 at first.
    memory: AtomicUsize,
}

static PLACES: [Place; MOST] =
    [const { Place { thread: AtomicUsize::new(0), user: AtomicU32::new(0), memory: AtomicUsize::new(0) } };
        MOST];

/// Calls `action` with the address of this thread's memory, which was zero at first, or without where there is none: a signal handler that
/// starts a program may have interrupted a thread that is about to. Until `action` returns nobody else has it: whoever has the same thread
/// pointer waits, as a parent of a `vfork` does, or has become another program.
pub fn with_memory<R>(action: impl FnOnce(Option<usize>) -> R) -> R {
    let Some(place) = place_of_thread() else { return action(None) };
    let task = sys::thread_id();
    if place.user.load(Relaxed) == task {
        return action(None);
    }
    place.user.store(task, Relaxed);
    let result = action(place.memory());
    place.user.store(0, Relaxed);
    result
}

fn place_of_thread() -> Option<&'static Place> {
    let thread = sys::thread_pointer();
    let take = |place: &&Place| {
        place.thread.load(Acquire) == thread
            || place.thread.compare_exchange(0, thread, AcqRel, Relaxed).is_ok()
    };
    PLACES.iter().find(take)
}

impl Place {
    fn memory(&self) -> Option<usize> {
        if self.memory.load(Acquire) == 0 {
            let memory = sys::private_pages(SIZE)?;
            self.memory.store(memory, Release);
        }
        Some(self.memory.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Option<usize> {
        with_memory(|memory| memory)
    }

    #[test]
    fn a_thread_keeps_its_memory_and_shares_it_with_none() {
        let own = address().expect("there is memory");
        assert_eq!(address(), Some(own));
        let others = std::thread::spawn(address).join().expect("no panic").expect("there is memory");
        assert_ne!(others, own);
    }

    #[test]
    fn a_signal_handler_in_between_goes_without() {
        with_memory(|memory| {
            assert!(memory.is_some());
            assert_eq!(address(), None);
        });
        assert!(address().is_some());
    }
}
