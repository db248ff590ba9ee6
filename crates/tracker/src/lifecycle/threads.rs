//! How threads come and go: one enters a hook, takes a seat at its first event, and gives it back at its end.

use core::ffi::c_void;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicU32, compiler_fence};

use heaplens_format::Loss;

use crate::process::{Life, life};
use crate::tables::sampling::Distance;
use crate::thread::guard::{Guard, Nesting};
use crate::thread::names;
use crate::thread::thread_slot::{NoSeat, Seat, free_seat, new_seat};
use crate::thread::words::{
    UNSEATED, UNSEATED_BUSY_SHIFT, thread_distance, thread_object_distance, thread_word,
};
use crate::tracker::tracker;
use crate::unwind::stacks;

static THREAD_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

impl Guard {
    /// Enters; `None` when the thread is inside a hook already.
    #[inline(always)]
    pub fn enter(nesting: Nesting) -> Option<Self> {
        let word = thread_word();
        // SAFETY: the word belongs to this thread; it is 0, tagged, or a pointer to a seat that this thread holds.
        unsafe {
            if *word & UNSEATED == 0 && *word != 0 {
                return Self::enter_seat(*word as *mut Seat, nesting);
            }
        }
        Self::enter_without_seat(word, nesting)
    }

    /// # Safety
    /// The seat must be held by this thread.
    #[inline(always)]
    unsafe fn enter_seat(seat: *mut Seat, nesting: Nesting) -> Option<Self> {
        // SAFETY: as the caller says; volatile because a signal handler of this thread may look at any moment.
        unsafe {
            let busy = &raw mut (*seat).busy;
            if busy.read_volatile() != 0 {
                return count_reentry(busy.read_volatile());
            }
            busy.write_volatile(nesting as u32);
        }
        compiler_fence(AcqRel);
        Some(Self::entered(seat))
    }

    #[cold]
    fn enter_without_seat(word: *mut u64, nesting: Nesting) -> Option<Self> {
        // SAFETY: the word belongs to this thread.
        unsafe {
            if *word == 0 && life() == Life::Blind {
                return None; // nothing will be recorded, and a seat takes address space
            }
            if *word == 0 {
                *word = take_seat().map_or(UNSEATED, |seat| seat as u64);
                if *word & UNSEATED == 0 {
                    return Self::enter_seat(*word as *mut Seat, nesting);
                }
            }
            let busy = (*word >> UNSEATED_BUSY_SHIFT) as u32;
            if busy != 0 {
                return count_reentry(busy);
            }
            *word = UNSEATED | (nesting as u64) << UNSEATED_BUSY_SHIFT;
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

fn take_seat() -> Option<*mut Seat> {
    let seat = match free_seat().map_or_else(new_seat, Ok) {
        Ok(seat) => seat,
        Err(NoSeat::AllTaken) => {
            tracker().lose(Loss::NoSlot);
            return None;
        }
        Err(NoSeat::NoMemory) => return None,
    };
    let key = THREAD_KEY.load(Acquire);
    // SAFETY: `seat` is ours alone: `taken` was 0 before we set it. errno is restored, since both calls may set it.
    unsafe {
        let errno = *libc::__errno_location();
        (*seat).busy = Nesting::Expected as u32; // the calls below allocate
        *thread_word() = seat as u64;
        (*seat).sit_down(tracker().sample_interval());
        if key != u32::MAX {
            libc::pthread_setspecific(key, seat.cast());
        }
        names::on_seated(&tracker().arena, (*seat).id());
        (*seat).busy = 0;
        *libc::__errno_location() = errno;
    }
    Some(seat)
}

/// The thread is ending: its seat is free, and what comes now goes the slow way.
unsafe extern "C" fn on_thread_end(seat: *mut c_void) {
    let word = thread_word();
    // SAFETY: glibc passes what `take_seat` set for this thread; the word is this thread's.
    unsafe {
        if *word != seat as u64 {
            return;
        }
        *word = UNSEATED;
        *thread_distance() = Distance::NONE;
        *thread_object_distance() = Distance::NONE;
        names::on_left(&tracker().arena, (*seat.cast::<Seat>()).id());
        // Release: pairs with the Acquire in `free_seat`.
        (*seat.cast::<Seat>()).taken.store(0, Release);
    }
    stacks::forget();
}
