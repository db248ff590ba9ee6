//! How threads come and go: one enters a hook, takes a thread slot at its first event, and gives it back at its end.

use core::ffi::c_void;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicU32, compiler_fence};

use heaplens_format::Loss;

use crate::process::{Life, life};
use crate::tables::sampling::Distance;
use crate::thread::guard::{Guard, Nesting};
use crate::thread::names;
use crate::thread::thread_slot::{NoSlot, ThreadSlot, free_slot, new_slot};
use crate::thread::words::{
    NO_SLOT, NO_SLOT_BUSY_SHIFT, thread_distance, thread_object_distance, thread_word,
};
use crate::tracker::tracker;
use crate::unwind::stacks;

static THREAD_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

impl Guard {
    /// Enters; `None` when the thread is inside a hook already.
    #[inline(always)]
    pub fn enter(nesting: Nesting) -> Option<Self> {
        let word = thread_word();
        // SAFETY: the word belongs to this thread; it is 0, tagged, or a pointer to a slot that this thread holds.
        unsafe {
            if *word & NO_SLOT == 0 && *word != 0 {
                return Self::enter_slot(*word as *mut ThreadSlot, nesting);
            }
        }
        Self::enter_without_slot(word, nesting)
    }

    /// # Safety
    /// The slot must be held by this thread.
    #[inline(always)]
    unsafe fn enter_slot(slot: *mut ThreadSlot, nesting: Nesting) -> Option<Self> {
        // SAFETY: as the caller says; volatile because a signal handler of this thread may read it at any moment.
        unsafe {
            let busy = &raw mut (*slot).busy;
            if busy.read_volatile() != 0 {
                return count_reentry(busy.read_volatile());
            }
            busy.write_volatile(nesting as u32);
        }
        compiler_fence(AcqRel);
        Some(Self::entered(slot))
    }

    #[cold]
    fn enter_without_slot(word: *mut u64, nesting: Nesting) -> Option<Self> {
        // SAFETY: the word belongs to this thread.
        unsafe {
            if *word == 0 && life() == Life::Blind {
                return None; // nothing will be recorded, and a slot takes address space
            }
            if *word == 0 {
                *word = take_slot().map_or(NO_SLOT, |slot| slot as u64);
                if *word & NO_SLOT == 0 {
                    return Self::enter_slot(*word as *mut ThreadSlot, nesting);
                }
            }
            let busy = (*word >> NO_SLOT_BUSY_SHIFT) as u32;
            if busy != 0 {
                return count_reentry(busy);
            }
            *word = NO_SLOT | (nesting as u64) << NO_SLOT_BUSY_SHIFT;
        }
        compiler_fence(AcqRel);
        Some(Self::entered(core::ptr::null_mut()))
    }
}

/// Prepares the hook at the end of threads. Called once, before the first guard.
pub fn watch_thread_ends() {
    let mut key = 0;
    // SAFETY: the function writes one key; the destructor has the type it asks for.
    if unsafe { libc::pthread_key_create(&mut key, Some(on_thread_end)) } == 0 {
        THREAD_KEY.store(key, Release);
    }
}

#[cold]
fn count_reentry(busy: u32) -> Option<Guard> {
    if busy == Nesting::Never as u32 {
        tracker().lose(Loss::Reentered);
    }
    None
}

fn take_slot() -> Option<*mut ThreadSlot> {
    let slot = match free_slot().map_or_else(new_slot, Ok) {
        Ok(slot) => slot,
        Err(NoSlot::AllTaken) => {
            tracker().lose(Loss::NoSlot);
            return None;
        }
        Err(NoSlot::NoMemory) => return None,
    };
    let key = THREAD_KEY.load(Acquire);
    // SAFETY: `slot` is ours alone: `taken` was 0 before we set it. errno is restored, since both calls may set it.
    unsafe {
        let errno = *libc::__errno_location();
        (*slot).busy = Nesting::Expected as u32; // the calls below allocate
        *thread_word() = slot as u64;
        (*slot).init(tracker().sample_interval());
        if key != u32::MAX {
            libc::pthread_setspecific(key, slot.cast());
        }
        names::on_slot_taken(&tracker().arena, (*slot).id());
        (*slot).busy = 0;
        *libc::__errno_location() = errno;
    }
    Some(slot)
}

/// The thread is ending: its slot is free, and what comes now takes the slow path.
unsafe extern "C" fn on_thread_end(slot: *mut c_void) {
    let word = thread_word();
    // SAFETY: glibc passes what `take_slot` set for this thread; the word is this thread's.
    unsafe {
        if *word != slot as u64 {
            return;
        }
        *word = NO_SLOT;
        *thread_distance() = Distance::NONE;
        *thread_object_distance() = Distance::NONE;
        names::on_slot_given_back(&tracker().arena, (*slot.cast::<ThreadSlot>()).id());
        // Release: pairs with the Acquire in `free_slot`.
        (*slot.cast::<ThreadSlot>()).taken.store(0, Release);
    }
    stacks::forget();
}
