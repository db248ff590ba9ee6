//! Memoised unwinding: a thread remembers its previous stack and unwinds only what changed.
//!
//! An unwinder is a function of (slot, code address, rbp) and the words it loads. So the frames of the previous stack are
//! kept with every word that was loaded for them; at the next capture these words are compared with memory (plain loads,
//! outermost first), the changed top is unwound by rules until it meets a kept frame in the same state, and the two are
//! joined. The result is that of a full walk, exactly.
//!
//! ```text
//!      frames   [0]      [1]      [2]      [3]      [4]          outermost first; kept from the last capture
//!      checks   ■■       ■        ■■■      ■        ■            words loaded to reach the frame: compared
//!                                  ▲ verified up to here
//!      fresh                       └── join ◀─ step ◀─ step ◀─ the hook's registers
//! ```
//!
//! A saved rbp is a word like others, but compilers save it in nearly every frame and the unwinder rarely needs it: it is
//! compared only where it is *live*, that is, used by an outer step before it is loaded again.

use heaplens_format::Addr;
use heaplens_format::arena::Pseudo;
use heaplens_format::arena::frame::frame_word;

use super::cache::Unwinder;
use super::thread_cache::ThreadCache;
use super::walk::{CUT, Caller, Cursor, LOADED_RBP, NEXT, USED_RBP, cut_reason, load};
use crate::tables::arena::Arena;
use crate::tables::trie::{ROOT_HASH, extend_hash};

/// The deepest stack that is remembered. Deeper ones are cut.
pub const MAX_DEPTH: usize = 16_384;
/// At most this many words are kept: a frame loads one to three, a signal frame four.
const MAX_CHECKS: usize = 3 * MAX_DEPTH;
/// Checks that one more frame may need.
const CHECKS_PER_FRAME: usize = 8;

/// A frame of the stack that is remembered.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct NativeFrame {
    slot: u64,
    lookup: u64,
    rbp: u64,
    /// The hash of the path from the root down to here.
    pub hash: u64,
    /// As the trie keeps it.
    pub word: u64,
    /// The node of this path, 0 while it is not known.
    pub node: u32,
    /// The site of this path, 0 while it is not known.
    pub site: u32,
    /// The number of checks that hold this frame and all outer ones.
    checks: u32,
    state: u32,
}

/// In `NativeFrame::state`: rbp matters to an outer step.
const RBP_IS_LIVE: u32 = 1;
/// The frame lies directly below a signal frame: it depends on registers that are not kept.
const NEVER_JOIN: u32 = 2;

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Check {
    address: u64,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Fresh {
    slot: u64,
    lookup: u64,
    rbp: u64,
    rbp_slot: u64,
    word: u64,
    checks: u32,
    outcome: u32,
    is_exact: bool,
}

/// The previous stack of one thread, and a scratch buffer to unwind the next. Zero pages are an empty memo.
#[repr(C)]
pub struct Memo {
    depth: usize,
    generation: u32,
    /// The stack led through a signal frame to another one, whose words may be unmapped before the next capture: none of
    /// them may be read again.
    leads_away: bool,
    bottom: Option<Pseudo>,
    /// The deepest that it ever was: how much of the arrays is resident.
    deepest: usize,
    /// Rules and sites that it needs again and again.
    pub cache: ThreadCache,
    frames: [NativeFrame; MAX_DEPTH],
    checks: [Check; MAX_CHECKS],
    fresh: [Fresh; MAX_DEPTH],
    fresh_checks: [Check; MAX_CHECKS],
}

/// The changed top of a stack: how many frames are kept below it, how many are fresh, how many words the fresh ones
/// depend on, and where the unwinder stood in the end.
struct Top {
    kept: usize,
    fresh: usize,
    checks: usize,
    last: Cursor,
}

/// The stack is deeper than a memo holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDeep;

impl Memo {
    /// Forgets the previous stack: the thread is another.
    pub fn forget_stack(&mut self) {
        self.depth = 0;
    }

    /// Forgets everything: the arena was replaced.
    pub fn clear(&mut self) {
        self.forget_stack();
        self.cache.clear();
    }

    /// Why the stack ends below its outermost frame; `None`: it is complete.
    pub fn bottom(&self) -> Option<Pseudo> {
        self.bottom
    }

    /// The stack of the last capture, outermost frame first.
    #[inline(always)]
    pub fn frames(&mut self) -> &mut [NativeFrame] {
        // SAFETY: `depth` ≤ MAX_DEPTH, an invariant of `capture`.
        unsafe { self.frames.get_unchecked_mut(..self.depth) }
    }

    /// Bytes of the memo that this and earlier captures touched, when it is more than ever before.
    pub fn newly_resident(&mut self) -> Option<u64> {
        let cache = self.cache.newly_resident();
        if self.depth <= self.deepest {
            return (cache != 0).then_some(cache);
        }
        let pages = |depth: usize| {
            let arrays = [
                size_of::<NativeFrame>(),
                2 * size_of::<Check>(),
                size_of::<Fresh>(),
                2 * size_of::<Check>(),
            ];
            arrays.iter().map(|size| (size * depth).div_ceil(4096) as u64).sum::<u64>()
        };
        let grown = (pages(self.depth) - pages(self.deepest)) * 4096 + cache;
        self.deepest = self.depth;
        Some(grown)
    }

    /// Captures the stack of a hook's caller, on a stack that ends at `end`.
    ///
    /// Benchmark: `cargo xtask bench`, pairs at depth 10 / 30 / 80.
    #[inline]
    pub fn capture(
        &mut self,
        unwinder: &Unwinder,
        arena: &Arena,
        caller: Caller,
        end: Addr,
    ) -> Result<(), TooDeep> {
        let generation = unwinder.generation();
        if self.generation != generation {
            self.generation = generation;
            self.depth = 0;
            self.cache.forget_rules();
        }
        if self.leads_away {
            self.depth = 0;
        }
        let verified = self.verify(caller.rsp);
        let top = self.unwind_top(unwinder, arena, caller, end, verified)?;
        self.leads_away = top.last.end != end.get();
        self.splice(&top)
    }

    /// How many of the remembered frames, from the outermost on, are still what they were.
    #[inline(always)]
    fn verify(&self, rsp: u64) -> usize {
        let mut depth = self.depth;
        while depth > 0 && self.frame(depth - 1).slot < rsp {
            depth -= 1; // returned from since then
        }
        if depth == 0 {
            return 0;
        }
        let wanted = self.frame(depth - 1).checks as usize;
        let holding = self.count_holding(wanted);
        if holding < wanted {
            while depth > 0 && self.frame(depth - 1).checks as usize > holding {
                depth -= 1;
            }
        }
        depth
    }

    /// How many of the first `wanted` checks hold. Four at a time: the loads do not depend on each other.
    #[inline(always)]
    fn count_holding(&self, wanted: usize) -> usize {
        let differs = |index: usize| {
            let check = self.check(index);
            load(check.address) ^ check.value
        };
        let mut index = 0;
        while index + 4 <= wanted {
            if differs(index) | differs(index + 1) | differs(index + 2) | differs(index + 3) != 0 {
                break;
            }
            index += 4;
        }
        while index < wanted && differs(index) == 0 {
            index += 1;
        }
        index
    }

    /// Unwinds until a verified frame is met in the same state.
    #[inline(always)]
    fn unwind_top(
        &mut self,
        unwinder: &Unwinder,
        arena: &Arena,
        caller: Caller,
        end: Addr,
        verified: usize,
    ) -> Result<Top, TooDeep> {
        let mut cursor = Cursor::new(caller, end);
        let (mut kept, mut fresh, mut checks) = (verified, 0, 1);
        *self.fresh_check(0) = Check { address: cursor.slot, value: cursor.lookup.wrapping_add(1) };
        loop {
            while kept > 0 && self.frame(kept - 1).slot < cursor.slot {
                kept -= 1;
            }
            if kept > 0 && self.frame(kept - 1).joins(&cursor) {
                return Ok(Top { kept, fresh, checks, last: cursor });
            }
            if fresh + 1 >= MAX_DEPTH || checks + CHECKS_PER_FRAME >= MAX_CHECKS {
                self.depth = 0;
                return Err(TooDeep);
            }
            let rule = self.cache.rule(unwinder, arena, Addr::new(cursor.lookup));
            // Word by word: a copy of the whole cursor would wait for stores that are still on their way.
            let item = self.fresh(fresh);
            item.slot = cursor.slot;
            item.lookup = cursor.lookup;
            item.rbp = cursor.rbp;
            item.rbp_slot = cursor.rbp_slot;
            item.word = frame_word(rule.module(), cursor.lookup.wrapping_add(1));
            item.is_exact = cursor.context != 0;
            let reached = checks;
            let outcome = cursor.step(rule, |address, value| {
                *self.fresh_check(checks) = Check { address, value };
                checks += 1;
            });
            // The words that ended the stack belong to its outermost frame; others to the frame that they lead to.
            let own = if outcome & NEXT == 0 { checks } else { reached };
            let item = self.fresh(fresh);
            item.checks = own as u32;
            item.outcome = outcome;
            fresh += 1;
            if outcome & NEXT == 0 {
                self.bottom = if outcome & CUT == 0 { None } else { cut_reason(outcome) };
                return Ok(Top { kept: 0, fresh, checks, last: cursor });
            }
        }
    }

    /// Puts the fresh frames on top of the kept ones, with their hashes and the checks they depend on.
    #[inline(always)]
    fn splice(&mut self, top: &Top) -> Result<(), TooDeep> {
        let (kept, fresh) = (top.kept, top.fresh);
        if kept + fresh > MAX_DEPTH {
            self.depth = 0;
            return Err(TooDeep);
        }
        let (mut hash, mut checks, mut live) = self.state_below(kept);
        if checks + top.checks + fresh + 1 >= MAX_CHECKS {
            self.depth = 0;
            return Err(TooDeep);
        }
        if kept > 0 && fresh > 0 {
            checks = self.keep_joint(top, checks, live);
        }
        let mut depth = kept;
        for index in (0..fresh).rev() {
            let item = *self.fresh(index);
            if item.outcome & USED_RBP != 0 {
                live = true;
            } else if item.outcome & LOADED_RBP != 0 {
                live = false;
            }
            let first = if index > 0 { self.fresh(index - 1).checks as usize } else { 0 };
            for number in first..item.checks as usize {
                *self.check_mut(checks) = *self.fresh_check(number);
                checks += 1;
            }
            if live && item.rbp_slot != 0 {
                *self.check_mut(checks) = Check { address: item.rbp_slot, value: item.rbp };
                checks += 1;
            }
            hash = extend_hash(hash, item.word);
            *self.frame_mut(depth) = NativeFrame::new(&item, hash, checks, live);
            depth += 1;
        }
        self.depth = depth;
        Ok(())
    }

    /// Hash, number of checks and liveness of rbp at the join.
    #[inline(always)]
    fn state_below(&self, kept: usize) -> (u64, usize, bool) {
        if kept == 0 {
            let hash = self.bottom.map_or(ROOT_HASH, |reason| extend_hash(ROOT_HASH, reason.frame()));
            return (hash, 0, false);
        }
        let frame = self.frame(kept - 1);
        (frame.hash, frame.checks as usize, frame.state & RBP_IS_LIVE != 0)
    }

    /// The words that led from the last fresh frame to the kept one. The kept frame has the words that led to it when it
    /// was fresh itself, maybe from another frame: only what these do not cover is added.
    #[inline(always)]
    fn keep_joint(&mut self, top: &Top, mut checks: usize, live: bool) -> usize {
        for number in self.fresh(top.fresh - 1).checks as usize..top.checks {
            let check = *self.fresh_check(number);
            if check.address != top.last.slot {
                *self.check_mut(checks) = check;
                checks += 1;
            }
        }
        if live && top.last.rbp_slot != 0 {
            *self.check_mut(checks) = Check { address: top.last.rbp_slot, value: top.last.rbp };
            checks += 1;
        }
        checks
    }

    #[inline(always)]
    fn frame(&self, index: usize) -> &NativeFrame {
        // SAFETY: callers keep index < depth ≤ MAX_DEPTH.
        unsafe { self.frames.get_unchecked(index) }
    }

    #[inline(always)]
    fn frame_mut(&mut self, index: usize) -> &mut NativeFrame {
        // SAFETY: `splice` checked kept + fresh ≤ MAX_DEPTH.
        unsafe { self.frames.get_unchecked_mut(index) }
    }

    #[inline(always)]
    fn check(&self, index: usize) -> Check {
        // SAFETY: callers keep index below a frame's `checks`, which `splice` kept below MAX_CHECKS.
        unsafe { *self.checks.get_unchecked(index) }
    }

    #[inline(always)]
    fn check_mut(&mut self, index: usize) -> &mut Check {
        // SAFETY: `splice` checked the sum of all checks against MAX_CHECKS before it began.
        unsafe { self.checks.get_unchecked_mut(index) }
    }

    #[inline(always)]
    fn fresh(&mut self, index: usize) -> &mut Fresh {
        // SAFETY: `unwind_top` stops before MAX_DEPTH.
        unsafe { self.fresh.get_unchecked_mut(index) }
    }

    #[inline(always)]
    fn fresh_check(&mut self, index: usize) -> &mut Check {
        // SAFETY: `unwind_top` stops CHECKS_PER_FRAME before MAX_CHECKS, and a step loads fewer words than that.
        unsafe { self.fresh_checks.get_unchecked_mut(index) }
    }
}

impl NativeFrame {
    /// The address that holds its return address: everything of the frame itself lies above.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    #[inline(always)]
    fn new(item: &Fresh, hash: u64, checks: usize, live: bool) -> Self {
        let state = if live { RBP_IS_LIVE } else { 0 } | if item.is_exact { NEVER_JOIN } else { 0 };
        Self {
            slot: item.slot,
            lookup: item.lookup,
            rbp: item.rbp,
            hash,
            word: item.word,
            node: 0,
            site: 0,
            checks: checks as u32,
            state,
        }
    }

    /// Whether a full walk that stands at the cursor would go on as this frame did.
    #[inline(always)]
    fn joins(&self, cursor: &Cursor) -> bool {
        self.slot == cursor.slot
            && self.lookup == cursor.lookup
            && (self.rbp == cursor.rbp || self.state & RBP_IS_LIVE == 0)
            && self.state & NEVER_JOIN == 0
            && cursor.context == 0
    }
}
