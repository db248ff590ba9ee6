//! A seat: what one thread needs between two events. Seats are taken at a thread's first event and given back at its end,
//! so ten thousand threads that come and go one after another use one.
//!
//! The way to it is one word of initial-exec thread-local storage (a `thread_local!` in a preloaded library calls
//! `__tls_get_addr`, which may allocate):
//!
//! ```text
//!   0            no seat yet
//!   …xx01        no seat any more (the thread is ending) or ever (all are taken); xx: busy, as in Seat::busy
//!   pointer      the seat
//! ```
//!
//! Behind it stand the distances to the thread's next sampled block and to its next sampled object of Python, so that an
//! event that is none needs no seat at all, and where the thread says what operation of a framework it runs (`work`).
//!
//! A [`Guard`] proves that the thread is inside one of our hooks and nobody else is: a signal handler that allocates in
//! the middle finds the seat busy and stays out.

use core::arch::{asm, global_asm};
use core::ffi::c_void;
use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::compiler_fence;

use heaplens_format::arena::Pseudo;
use heaplens_format::arena::table::SiteIdentity;
use heaplens_format::atomic::{AtomicPtr, AtomicU32};
use heaplens_format::{Bytes, Loss};

use crate::lifecycle::start::{self as process, Life};
use crate::python::Room;
use crate::sys;
use crate::tables::sampling::Distance;
use crate::thread::names as threads;
use crate::thread::work::Annotation;
use crate::tracker::tracker;
use crate::unwind::memo::Memo;
use crate::unwind::stacks;

global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".type heaplens_thread_word,@tls_object",
    ".size heaplens_thread_word,56",
    ".hidden heaplens_thread_word",
    ".globl heaplens_thread_word",
    "heaplens_thread_word:",
    ".zero 56",
    ".text"
);

/// The number of a seat, from 1; 0 is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct SeatId(u32);

impl SeatId {
    /// A thread without a seat.
    pub const NONE: Self = Self(0);

    /// Wraps a number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }
}

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

const UNSEATED: u64 = 1;
const UNSEATED_BUSY_SHIFT: u32 = 1;

/// The most threads at a time that have a seat.
const CAPACITY: usize = SiteIdentity::MAX_SEAT as usize;
pub(super) static SEATS: [AtomicPtr<Seat>; CAPACITY] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; CAPACITY];
pub(super) static COUNT: AtomicU32 = AtomicU32::new(0);
static THREAD_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// What one thread needs between two events. Lives in pages of its own, most of which are never touched.
#[repr(C)]
pub struct Seat {
    pub(super) busy: u32,
    pub(super) taken: AtomicU32,
    pub(super) id: SeatId,
    /// Counts events, to time some of them.
    pub events: u32,
    /// The thread's own stack.
    low: u64,
    high: u64,
    /// At or below this stack pointer the stack was found too deep to remember.
    pub too_deep_below: u64,
    /// The interval by which the distance to the thread's next sampled object of Python was drawn; 0: none was.
    pub object_interval: u64,
    /// What the blocks are that come now, where they are not ordinary ones.
    pub ground: Option<Pseudo>,
    /// The previous stack.
    pub memo: Memo,
    /// Room to name a stack with Python in it.
    pub python: Room,
}

impl Seat {
    /// Its number.
    #[inline(always)]
    pub fn id(&self) -> SeatId {
        self.id
    }

    /// The end of the thread's own stack, when the stack pointer is on it.
    #[inline(always)]
    pub fn own_stack_end(&self, rsp: u64) -> Option<u64> {
        (rsp >= self.low && rsp < self.high).then_some(self.high)
    }

    fn sit_down(&mut self) {
        (self.low, self.high) = own_stack();
        self.memo.forget_stack();
        self.too_deep_below = 0;
        self.ground = None;
        self.object_interval = 0;
        let thread = u64::from(sys::thread_id()) << 32 ^ sys::monotonic_ns();
        // SAFETY: the words belong to this thread.
        unsafe { *thread_distance() = Distance::new(thread, tracker().sample_interval().max(1)) };
    }
}

/// Proof that this thread is inside a hook, alone.
#[derive(Debug)]
pub struct Guard {
    seat: *mut Seat,
    stays_here: PhantomData<*mut ()>,
}

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
        Some(Self { seat, stays_here: PhantomData })
    }

    #[cold]
    fn enter_without_seat(word: *mut u64, nesting: Nesting) -> Option<Self> {
        // SAFETY: the word belongs to this thread.
        unsafe {
            if *word == 0 && process::life() == Life::Blind {
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
        Some(Self { seat: core::ptr::null_mut(), stays_here: PhantomData })
    }

    /// The guard of `operator new` that was forgotten on the way through its frame in assembly; `None` when
    /// [`Guard::on_failed_malloc`] dropped it.
    ///
    /// # Safety
    /// This thread entered a guard with [`Nesting::New`], forgot it, and did not resume it yet.
    #[inline(always)]
    pub unsafe fn resume_new() -> Option<Self> {
        let (seat, busy) = holder();
        (busy == Nesting::New as u32).then_some(Self { seat, stays_here: PhantomData })
    }

    /// A `malloc` that found the thread inside a hook failed: if that hook is `operator new`, its guard ends here.
    #[cold]
    pub fn on_failed_malloc() {
        // SAFETY: a guard with `Nesting::New` is only ever held by a frame that asks for it by `resume_new`.
        drop(unsafe { Self::resume_new() });
    }

    /// The seat, where the thread has one.
    #[inline(always)]
    #[expect(
        clippy::mut_from_ref,
        reason = "a guard exists once per thread at a time, and a seat belongs to one thread"
    )]
    pub fn seat(&self) -> Option<&mut Seat> {
        // SAFETY: null or held by this thread; busy, so that no other guard of this thread exists.
        unsafe { self.seat.as_mut() }
    }

    /// Bytes until the thread's next sample; only a thread with a seat keeps count.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "as for the seat")]
    pub fn distance(&self) -> Option<&mut Distance> {
        // SAFETY: the words belong to this thread, and a guard exists once per thread at a time.
        self.seat().map(|_| unsafe { &mut *thread_distance() })
    }

    /// Bytes until the thread's next sampled object of Python.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "as for the seat")]
    pub fn object_distance(&self) -> &mut Distance {
        // SAFETY: as in `distance`.
        unsafe { &mut *thread_object_distance() }
    }

    /// The number of the seat, or nobody's.
    #[inline(always)]
    pub fn seat_id(&self) -> SeatId {
        self.seat().map_or(SeatId::NONE, |seat| seat.id())
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(AcqRel);
        // SAFETY: the seat is held by this thread, and so is the word.
        unsafe {
            match self.seat.is_null() {
                false => (&raw mut (*self.seat).busy).write_volatile(0),
                true => *thread_word() = UNSEATED,
            }
        }
    }
}

/// The seat of this thread, where it has one and no hook is at work: for what needs no guard, since no signal handler does
/// it, such as making objects of Python.
#[inline(always)]
pub fn current<'a>() -> Option<&'a mut Seat> {
    let (seat, busy) = holder();
    // SAFETY: null or held by this thread; not busy, so that no guard of this thread exists.
    if busy == 0 { unsafe { seat.as_mut() } } else { None }
}

/// The seat of this thread, or null, and who is busy on it.
#[inline(always)]
fn holder() -> (*mut Seat, u32) {
    // SAFETY: the word belongs to this thread; a pointer in it leads to the seat that the thread holds.
    unsafe {
        let word = *thread_word();
        match word & UNSEATED {
            _ if word == 0 => (core::ptr::null_mut(), 0),
            0 => (word as *mut Seat, (&raw const (*(word as *mut Seat)).busy).read_volatile()),
            _ => (core::ptr::null_mut(), (word >> UNSEATED_BUSY_SHIFT) as u32),
        }
    }
}

#[cold]
fn count_reentry(busy: u32) -> Option<Guard> {
    if busy == Nesting::Never as u32 {
        tracker().lose(Loss::Reentered);
    }
    None
}

#[inline(always)]
fn thread_word() -> *mut u64 {
    let word: *mut u64;
    // SAFETY: reads the offset of the word from the GOT and adds the thread pointer: the initial-exec access of the ABI.
    unsafe {
        asm!("mov {0}, qword ptr [rip + heaplens_thread_word@GOTTPOFF]", "add {0}, qword ptr fs:[0]",
            out(reg) word, options(pure, readonly, nostack));
    }
    word
}

/// The words behind the thread word.
#[inline(always)]
fn thread_distance() -> *mut Distance {
    thread_word().wrapping_add(1).cast()
}

/// Those behind them.
#[inline(always)]
fn thread_object_distance() -> *mut Distance {
    thread_distance().wrapping_add(1)
}

/// Where this thread says which operation of a framework it runs.
#[inline(always)]
pub fn annotation<'a>() -> &'a mut Annotation {
    // SAFETY: the last of the words, which belong to this thread alone; zeros say that it never did.
    unsafe { &mut *thread_object_distance().wrapping_add(1).cast() }
}

/// Whether an object of Python is no sample and needs nothing from us. Where every object is recorded, none passes by: the
/// distance is never drawn.
///
/// Benchmark: `cargo xtask bench --only py-objects`.
#[inline(always)]
pub fn object_passes_by(size: usize) -> bool {
    // SAFETY: the words belong to this thread, and no signal handler makes objects.
    unsafe { (*thread_object_distance()).passes_by(Bytes::new(size as u64)) }
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

/// Prepares the hook at the end of threads. Called once, before the first guard.
pub fn watch_thread_ends() {
    let mut key = 0;
    // SAFETY: the function writes one key; the destructor has the type it asks for.
    if unsafe { libc::pthread_key_create(&mut key, Some(on_thread_end)) } == 0 {
        THREAD_KEY.store(key, Release);
    }
}

/// In a forked child only the calling thread lives: all other seats are free, and the arena is another.
pub fn on_fork(own: SeatId) {
    for entry in &SEATS[..count()] {
        // SAFETY: entries below the count point to seats that are never unmapped; the child has its own copy.
        if let Some(seat) = unsafe { entry.load(Acquire).as_mut() } {
            seat.memo.clear();
            seat.python.clear();
            seat.taken.store(u32::from(seat.id == own), Relaxed);
        }
    }
}

fn count() -> usize {
    (COUNT.load(Acquire) as usize).min(CAPACITY)
}

fn take_seat() -> Option<*mut Seat> {
    let seat = free_seat().or_else(new_seat)?;
    let key = THREAD_KEY.load(Acquire);
    // SAFETY: `seat` is ours alone: `taken` was 0 before we set it. errno is restored, since both calls may set it.
    unsafe {
        let errno = *libc::__errno_location();
        (*seat).busy = Nesting::Expected as u32; // the calls below allocate
        *thread_word() = seat as u64;
        (*seat).sit_down();
        if key != u32::MAX {
            libc::pthread_setspecific(key, seat.cast());
        }
        threads::on_seated((*seat).id);
        (*seat).busy = 0;
        *libc::__errno_location() = errno;
    }
    Some(seat)
}

pub(super) fn free_seat() -> Option<*mut Seat> {
    for entry in &SEATS[..count()] {
        let seat = entry.load(Acquire);
        // SAFETY: entries below the count are null or point to seats that are never unmapped.
        if let Some(there) = unsafe { seat.as_ref() }
            // Acquire: pairs with the Release in `on_thread_end`; what the last holder wrote is ours now.
            && there.taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
        {
            return Some(seat);
        }
    }
    None
}

pub(super) fn new_seat() -> Option<*mut Seat> {
    let index = COUNT.fetch_add(1, AcqRel) as usize;
    if index >= CAPACITY {
        COUNT.fetch_sub(1, AcqRel);
        tracker().lose(Loss::NoSeat);
        return None;
    }
    let seat = sys::private_pages(size_of::<Seat>())? as *mut Seat;
    // SAFETY: fresh zeroed pages are an idle seat: every field is a number, or an option whose zero is `None`.
    unsafe {
        (*seat).id = SeatId(index as u32 + 1);
        (*seat).taken.store(1, Relaxed);
    }
    SEATS[index].store(seat, Release);
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
        threads::on_left((*seat.cast::<Seat>()).id);
        // Release: pairs with the Acquire in `free_seat`.
        (*seat.cast::<Seat>()).taken.store(0, Release);
    }
    stacks::forget();
}

unsafe extern "C" {
    /// Where the first thread's stack begins, from the dynamic linker.
    static __libc_stack_end: *const c_void;
}

fn own_stack() -> (u64, u64) {
    if sys::thread_id() == sys::process_id() { first_stack() } else { pthread_stack() }
}

fn first_stack() -> (u64, u64) {
    const UNLIMITED: u64 = 64 << 30;
    // SAFETY: set by the dynamic linker before any library runs, never changed.
    let high = unsafe { __libc_stack_end } as u64;
    (high.saturating_sub(sys::soft_limit(libc::RLIMIT_STACK).min(UNLIMITED)), high)
}

/// Of any other thread: the mapping that it runs on. `pthread_getattr_np` would tell, but it holds the thread's own lock
/// while it allocates, and a thread whose first allocation is that one would wait for itself (JVM threads do).
fn pthread_stack() -> (u64, u64) {
    let here = 0u8;
    stacks::mapping_of(&raw const here as u64).unwrap_or((0, 0))
}
