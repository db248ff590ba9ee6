//! A thread slot: what one thread needs between two events. Slots are taken at a thread's first event and given back at its end,
//! so ten thousand threads that come and go one after another use one.

use core::ffi::c_void;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use heaplens_format::Addr;
use heaplens_format::arena::Pseudo;
use heaplens_format::arena::table::SiteIdentity;
use heaplens_format::atomic::{AtomicPtr, AtomicU32};

use super::spare_stack::SpareStack;
use super::words::thread_distance;
use crate::python::PythonScratch;
use crate::sys;
use crate::tables::sampling::Distance;
use crate::tables::slot_id::SlotId;
use crate::unwind::memo::Memo;
use crate::unwind::stacks;

/// The most threads at a time that have a slot.
const CAPACITY: usize = SiteIdentity::MAX_SLOT as usize;
pub(super) static SLOTS: [AtomicPtr<ThreadSlot>; CAPACITY] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; CAPACITY];
pub(super) static COUNT: AtomicU32 = AtomicU32::new(0);

/// What one thread needs between two events. Lives in pages of its own, most of which are never touched.
#[repr(C)]
pub struct ThreadSlot {
    pub(crate) busy: u32,
    pub(crate) taken: AtomicU32,
    pub(super) id: SlotId,
    /// Counts events, to time some of them.
    pub events: u32,
    /// The thread's own stack.
    low: Addr,
    high: Addr,
    /// At or below this stack pointer the stack was found too deep to remember.
    pub too_deep_below: u64,
    /// The interval by which the distance to the thread's next sampled object of Python was drawn; 0: none was.
    pub object_interval: u64,
    /// What the blocks are that come now, where they are not ordinary ones.
    pub kind: Option<Pseudo>,
    /// Whether the stacks that are asked for now are kept as they are, also inside imports.
    pub keeps_imports: bool,
    /// How often the program has said that what this thread allocates is kept on purpose, without taking it back.
    pub ignoring: u32,
    /// The previous stack.
    pub memo: Memo,
    /// Scratch buffers to name a stack with Python in it.
    pub python: PythonScratch,
    /// Where stacks are walked that are not the thread's own: a coroutine's may be of 4 KiB.
    pub(crate) spare_stack: SpareStack,
}

impl ThreadSlot {
    /// Its number.
    #[inline(always)]
    pub fn id(&self) -> SlotId {
        self.id
    }

    /// What the blocks are that come until the answer is given back to this function.
    #[inline(always)]
    pub fn change_kind(&mut self, kind: Option<Pseudo>) -> Option<Pseudo> {
        core::mem::replace(&mut self.kind, kind)
    }

    /// The end of the thread's own stack, when the stack pointer is on it.
    #[inline(always)]
    pub fn own_stack_end(&self, rsp: u64) -> Option<Addr> {
        let rsp = Addr::new(rsp);
        (rsp >= self.low && rsp < self.high).then_some(self.high)
    }

    /// A thread takes it, whose blocks are sampled at this mean distance.
    pub(crate) fn init(&mut self, interval: u64) {
        (self.low, self.high) = own_stack();
        self.memo.forget_stack();
        self.too_deep_below = 0;
        self.kind = None;
        self.keeps_imports = false;
        self.ignoring = 0;
        self.object_interval = 0;
        let thread = u64::from(sys::thread_id()) << 32 ^ sys::monotonic_ns();
        // SAFETY: the words belong to this thread.
        unsafe { *thread_distance() = Distance::new(thread, interval.max(1)) };
    }
}

/// In a forked child only the calling thread lives: all other slots are free, and the arena is another.
pub fn on_fork(own: SlotId) {
    for entry in &SLOTS[..count()] {
        // SAFETY: entries below the count point to slots that are never unmapped; the child has its own copy.
        if let Some(slot) = unsafe { entry.load(Acquire).as_mut() } {
            slot.memo.clear();
            slot.python.clear();
            slot.taken.store(u32::from(slot.id == own), Relaxed);
        }
    }
}

/// How many slots are taken now.
pub fn taken() -> usize {
    let is_taken = |entry: &&AtomicPtr<ThreadSlot>| {
        // SAFETY: entries below the count are null or point to slots that are never unmapped.
        unsafe { entry.load(Acquire).as_ref() }.is_some_and(|slot| slot.taken.load(Relaxed) != 0)
    };
    SLOTS[..count()].iter().filter(is_taken).count()
}

fn count() -> usize {
    (COUNT.load(Acquire) as usize).min(CAPACITY)
}

pub(crate) fn free_slot() -> Option<*mut ThreadSlot> {
    for entry in &SLOTS[..count()] {
        let slot = entry.load(Acquire);
        // SAFETY: entries below the count are null or point to slots that are never unmapped.
        if let Some(there) = unsafe { slot.as_ref() }
            // Acquire: pairs with the Release in `on_thread_end`; what the last holder wrote is ours now.
            && there.taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
        {
            return Some(slot);
        }
    }
    None
}

/// Why a thread has no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// All are taken.
    AllTaken,
    /// There is no memory for another one.
    NoMemory,
}

/// One more slot, which nobody has had before.
pub(crate) fn new_slot() -> Result<*mut ThreadSlot, NoSlot> {
    let index = COUNT.fetch_add(1, AcqRel) as usize;
    if index >= CAPACITY {
        COUNT.fetch_sub(1, AcqRel);
        return Err(NoSlot::AllTaken);
    }
    let slot = sys::private_pages(size_of::<ThreadSlot>()).ok_or(NoSlot::NoMemory)? as *mut ThreadSlot;
    // SAFETY: fresh zeroed pages are an idle slot: every field is a number, or an option whose zero is `None`.
    unsafe {
        (*slot).id = SlotId::new(index as u32 + 1);
        (*slot).taken.store(1, Relaxed);
    }
    SLOTS[index].store(slot, Release);
    Ok(slot)
}

unsafe extern "C" {
    /// Where the first thread's stack begins, from the dynamic linker.
    static __libc_stack_end: *const c_void;
}

fn own_stack() -> (Addr, Addr) {
    if sys::thread_id() == sys::process_id() { first_stack() } else { pthread_stack() }
}

fn first_stack() -> (Addr, Addr) {
    const UNLIMITED: u64 = 64 << 30;
    // SAFETY: set by the dynamic linker before any library runs, never changed.
    let high = unsafe { __libc_stack_end } as u64;
    let low = high.saturating_sub(sys::soft_limit(libc::RLIMIT_STACK).min(UNLIMITED));
    (Addr::new(low), Addr::new(high))
}

/// Of any other thread: the mapping that it runs on. `pthread_getattr_np` would say, but it holds the thread's own lock
/// while it allocates, and a thread whose first allocation is that one would wait for itself (JVM threads do).
fn pthread_stack() -> (Addr, Addr) {
    let here = 0u8;
    stacks::mapping_of(Addr::new(&raw const here as u64)).unwrap_or_default()
}
