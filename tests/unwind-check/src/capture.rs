//! One capture, by the path that the tracker would take and by the plain walk.
//!
//! It owns the copy from the unwinder's frames to those of the caller, and the proof that the hash that the memo keeps is
//! that of these frames. What is right is decided elsewhere.

use heaplens_format::Addr;
use heaplens_format::arena::Pseudo;
use heaplens_tracker::tables::trie::{ROOT_HASH, extend_hash};
use heaplens_tracker::thread::thread_slot::ThreadSlot;
use heaplens_tracker::unwind::memo::{Memo, TooDeep};
use heaplens_tracker::unwind::{stacks, walk};
use heaplens_tracker::{Caller, Guard, tracker};

/// Where a stack goes, innermost frame first. The caller sets `frames`, which has room for `capacity` words, and nothing
/// else; it stays valid until the call returns.
#[derive(Debug)]
#[repr(C)]
pub struct Stack {
    frames: *mut u64,
    capacity: u64,
    count: u64,
    /// The number of the [`Pseudo`] frame that the stack ends with, 0 when it is complete.
    cut: u64,
}

/// How a capture was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Way {
    /// It was not: the thread is inside a capture already.
    Refused = 0,
    /// By the memo.
    Memo = 1,
    /// By the plain walk.
    Walk = 2,
    /// By the memo, but its hash is not that of its frames.
    WrongHash = 3,
    /// It was not: the tracker did not start.
    Blind = 4,
}

impl Stack {
    fn buffer(&mut self) -> &mut [u64] {
        // SAFETY: as the type asks its caller for.
        unsafe { core::slice::from_raw_parts_mut(self.frames, self.capacity as usize) }
    }

    fn end(&mut self, count: usize, cut: Option<Pseudo>) {
        self.count = count as u64;
        self.cut = cut.map_or(0, |reason| u64::from(reason.number()));
    }
}

/// Decides as the tracker does for an allocation: the memo on the thread's own stack, unless it is too deep.
pub fn by_memo(guard: &Guard, stack: &mut Stack, caller: Caller) -> Way {
    if let Some(slot) = guard.slot()
        && let Some(end) = slot.own_stack_end(caller.rsp)
        && caller.rsp > slot.too_deep_below
    {
        match slot.memo.capture(&tracker().unwinder, &tracker().arena, caller, end) {
            Ok(()) => return copy(&mut slot.memo, stack),
            Err(TooDeep) => slot.too_deep_below = caller.rsp,
        }
    }
    by_walk(guard, stack, caller)
}

/// Walks the whole stack.
pub fn by_walk(guard: &Guard, stack: &mut Stack, caller: Caller) -> Way {
    let own = guard.slot().and_then(|slot: &mut ThreadSlot| slot.own_stack_end(caller.rsp));
    let end = own.unwrap_or_else(|| stacks::end_of(Addr::new(caller.rsp)));
    if end.get() < caller.rsp + 8 {
        stack.end(0, Some(Pseudo::Broken));
        return Way::Walk;
    }
    let tracker = tracker();
    let (count, outcome) = walk::walk(&tracker.unwinder, &tracker.arena, caller, end, stack.buffer());
    stack.end(count, walk::cut_reason(outcome));
    Way::Walk
}

/// A stack that does not fit is cut, as the walk does it.
fn copy(memo: &mut Memo, stack: &mut Stack) -> Way {
    let bottom = memo.bottom();
    let hash_is_right = has_right_hash(memo);
    let frames = memo.frames();
    let buffer = stack.buffer();
    for (target, frame) in buffer.iter_mut().zip(frames.iter().rev()) {
        *target = frame.word;
    }
    let (count, fits) = (frames.len().min(buffer.len()), frames.len() <= buffer.len());
    stack.end(count, if fits { bottom } else { Some(Pseudo::TooDeep) });
    if hash_is_right { Way::Memo } else { Way::WrongHash }
}

/// The memo carries the hash of the kept frames over from the last capture; it must be that of all frames now.
fn has_right_hash(memo: &mut Memo) -> bool {
    let mut hash = memo.bottom().map_or(ROOT_HASH, |reason| extend_hash(ROOT_HASH, reason.frame()));
    memo.frames().iter().all(|frame| {
        hash = extend_hash(hash, frame.word);
        frame.hash == hash
    })
}
