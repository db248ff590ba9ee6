//! A [`Guard`] proves that the thread is inside one of our hooks and nobody else is: a signal handler that allocates in the middle //! the thread slot busy and stays out. How a thread enters is decided in `lifecycle::threads`, since it may have to take a slot first.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::AcqRel;
use core::sync::atomic::compiler_fence;

use heaplens_format::Bytes;

use super::thread_slot::ThreadSlot;
use super::words::{NO_SLOT, NO_SLOT_BUSY_SHIFT, thread_distance, thread_object_distance, thread_word};
use crate::process;
use crate::tables::sampling::Distance;
use crate::tables::slot_id::SlotId;

/// Whether the real function that runs under a guard is known to call other hooked functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Nesting {
    /// It is not: whoever enters meanwhile is a signal handler, and what it allocates is a loss.
    Never = 1,
    /// It is: whoever enters meanwhile belongs to this event.
    Expected = 2,
    /// It is `operator new`, which calls `malloc`: what that gives belongs to this event. Where it gives nothing, the
    /// program's new-handler runs and exceptions are made, all of it events of their own: the guard is dropped early.
    New = 3,
}

/// Proof that this thread is inside a hook, alone.
#[derive(Debug)]
pub struct Guard {
    slot: *mut ThreadSlot,
    stays_here: PhantomData<*mut ()>,
}

impl Guard {
    /// The guard of a thread that has just entered; null: without a slot.
    #[inline(always)]
    pub(crate) const fn entered(slot: *mut ThreadSlot) -> Self {
        Self { slot, stays_here: PhantomData }
    }

    /// The guard of `operator new` that was forgotten on the way through its frame in assembly; `None` when
    /// [`Guard::on_failed_malloc`] dropped it.
    ///
    /// # Safety
    /// This thread entered a guard with [`Nesting::New`], forgot it, and did not resume it yet.
    #[inline(always)]
    pub unsafe fn resume_new() -> Option<Self> {
        let (slot, busy) = holder();
        (busy == Nesting::New as u32).then_some(Self { slot, stays_here: PhantomData })
    }

    /// A `malloc` that found the thread inside a hook failed: if that hook is `operator new`, its guard ends here.
    #[cold]
    pub fn on_failed_malloc() {
        // SAFETY: a guard with `Nesting::New` is only ever held by a frame that asks for it by `resume_new`.
        drop(unsafe { Self::resume_new() });
    }

    /// The slot, where the thread has one.
    #[inline(always)]
    #[expect(
        clippy::mut_from_ref,
        reason = "a guard exists once per thread at a time, and a slot belongs to one thread"
    )]
    pub fn slot(&self) -> Option<&mut ThreadSlot> {
        // SAFETY: null or held by this thread; busy, so that no other guard of this thread exists.
        unsafe { self.slot.as_mut() }
    }

    /// Bytes until the thread's next sample; only a thread with a slot keeps count.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "as for the slot")]
    pub fn distance(&self) -> Option<&mut Distance> {
        // SAFETY: the words belong to this thread, and a guard exists once per thread at a time.
        self.slot().map(|_| unsafe { &mut *thread_distance() })
    }

    /// Bytes until the thread's next sampled object of Python.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "as for the slot")]
    pub fn object_distance(&self) -> &mut Distance {
        // SAFETY: as in `distance`.
        unsafe { &mut *thread_object_distance() }
    }

    /// The number of the slot, or nobody's.
    #[inline(always)]
    pub fn slot_id(&self) -> SlotId {
        self.slot().map_or(SlotId::NONE, |slot| slot.id())
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(AcqRel);
        // SAFETY: the slot is held by this thread, and so is the word.
        unsafe {
            match self.slot.is_null() {
                false => (&raw mut (*self.slot).busy).write_volatile(0),
                true => *thread_word() = NO_SLOT,
            }
        }
    }
}

/// The slot of this thread, where it has one and no hook is at work: for what needs no guard, since no signal handler does
/// it, such as making objects of Python.
#[inline(always)]
pub fn current<'a>() -> Option<&'a mut ThreadSlot> {
    let (slot, busy) = holder();
    // SAFETY: null or held by this thread; not busy, so that no guard of this thread exists.
    if busy == 0 { unsafe { slot.as_mut() } } else { None }
}

/// The slot of this thread, or null, and who is busy on it.
#[inline(always)]
fn holder() -> (*mut ThreadSlot, u32) {
    // SAFETY: the word belongs to this thread; a pointer in it leads to the slot that the thread holds.
    unsafe {
        let word = *thread_word();
        match word & NO_SLOT {
            _ if word == 0 => (core::ptr::null_mut(), 0),
            0 => (word as *mut ThreadSlot, (&raw const (*(word as *mut ThreadSlot)).busy).read_volatile()),
            _ => (core::ptr::null_mut(), (word >> NO_SLOT_BUSY_SHIFT) as u32),
        }
    }
}

/// Whether an allocation is no sample and needs nothing from us: the hook may call the real function at once.
///
/// Benchmark: `cargo xtask bench --only mixed`, the sampled column.
#[inline(always)]
pub fn passes_by(size: usize) -> bool {
    // Inside a hook (`operator new` calls `malloc`) the event is that hook's, and so is the distance.
    process::is_quick()
        && holder().1 == 0
        // SAFETY: the words belong to this thread; a signal handler that meets them halfway loses a few bytes.
        && unsafe { (*thread_distance()).passes_by(Bytes::new(size as u64)) }
}
