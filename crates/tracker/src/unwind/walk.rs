//! One step from a frame to its caller, and a plain walk for stacks that no thread remembers.
//!
//! A frame is known by the *slot* that holds its return address. Code is looked up at `return address − 1`, which lies in
//! the call instruction; below a signal frame the address is exact and nothing is subtracted. The trie keeps
//! `lookup + 1` for both, so that readers subtract one always.

use heaplens_format::Addr;
use heaplens_format::arena::Pseudo;
use heaplens_format::arena::frame::frame_word;

use super::cache::Unwinder;
use super::rule::{Kind, Rule};
use super::stacks;
use crate::tables::arena::Arena;

/// The registers at the entry of a hook: rsp points to the return address.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Stack pointer.
    pub rsp: u64,
    /// Frame pointer, or whatever the caller keeps there.
    pub rbp: u64,
}

/// The step reached the caller.
pub const NEXT: u32 = 1;
/// The step used rbp for the CFA or to find the saved rbp; also where it ended the stack.
pub const USED_RBP: u32 = 2;
/// The step loaded the caller's rbp from memory.
pub const LOADED_RBP: u32 = 4;
/// The outermost frame was reached.
pub const COMPLETE: u32 = 8;
/// The stack is cut; the pseudo frame's number is above these bits.
pub const CUT: u32 = 16;
const CUT_SHIFT: u32 = 8;

/// The red zone: an epilogue may have popped rbp's slot already, which then lies below rsp.
const RED_ZONE: u64 = 128;

/// The dynamic linker's entry (`_dl_start_user`) has no unwind information, and needs none: nothing is above it. Its frame
/// is known by its position, this close to the end of the first stack.
const OUTERMOST: u64 = 64;

/// Where the registers, in the order of DWARF (rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 … r15), are in the context of a
/// signal.
const CONTEXT_PLACES: [u64; 16] = [13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7];

const fn cut(reason: Pseudo) -> u32 {
    CUT | (reason.number() as u32) << CUT_SHIFT
}

/// Why a step ended the stack; `None`: it was complete.
pub fn cut_reason(outcome: u32) -> Option<Pseudo> {
    if outcome & CUT == 0 {
        return None;
    }
    Pseudo::from_frame(frame_word(
        heaplens_format::arena::FRAME_PSEUDO_MODULE,
        u64::from(outcome >> CUT_SHIFT),
    ))
}

/// Where an unwinder stands.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    /// The address that holds the return address of this frame.
    pub slot: u64,
    /// The address at which its code is looked up.
    pub lookup: u64,
    /// Its rbp.
    pub rbp: u64,
    /// The slot from which `rbp` was loaded, 0 when it was not.
    pub rbp_slot: u64,
    /// The registers of the signal context directly above, 0 where there is none.
    pub context: u64,
    /// The first address after the stack that the frame is on.
    pub end: u64,
    /// The address by which `end` was looked up, where it was.
    anchor: u64,
}

impl Cursor {
    /// At the caller of a hook, on a stack that ends at `end`.
    #[inline(always)]
    pub fn new(caller: Caller, end: Addr) -> Self {
        let lookup = load(caller.rsp).wrapping_sub(1);
        let (rsp, end) = (caller.rsp, end.get());
        Self { slot: rsp, lookup, rbp: caller.rbp, rbp_slot: 0, context: 0, end, anchor: rsp }
    }

    /// Moves to the caller; `loaded` gets every word that the result depends on, except the saved rbp, which is in
    /// `rbp_slot`.
    #[inline(always)]
    pub fn step(&mut self, rule: Rule, mut loaded: impl FnMut(u64, u64)) -> u32 {
        if !rule.is_simple() {
            // By value, so that the cursor of the ordinary path can stay in registers.
            let rare = self.step_rare(rule);
            *self = rare.cursor;
            rare.loads[..rare.count].iter().for_each(|&(address, value)| loaded(address, value));
            return rare.outcome;
        }
        let base = if rule.is_rbp_based() { self.rbp } else { self.slot + 8 };
        let cfa = base.wrapping_add(rule.cfa_offset() as u64);
        let used = if rule.is_rbp_based() { USED_RBP } else { 0 };
        if !self.may_be_cfa(cfa) {
            self.end = self.grown_end().unwrap_or(self.end);
            if !self.may_be_cfa(cfa) {
                return cut(Pseudo::Broken) | used;
            }
        }
        let mut flags = NEXT | used;
        self.rbp_slot = 0;
        if rule.saves_rbp_at_cfa() {
            let saved = cfa.wrapping_add(rule.rbp_offset() as u64);
            if !self.may_hold_rbp(saved) {
                return cut(Pseudo::Broken) | used;
            }
            self.rbp_slot = saved;
            self.rbp = load(saved);
            flags |= LOADED_RBP;
        }
        let slot = cfa - 8;
        let address = load(slot);
        loaded(slot, address);
        self.arrive(slot, address, flags)
    }

    #[cold]
    #[inline(never)]
    fn step_rare(self, rule: Rule) -> Rare {
        let rare = self.try_rare(rule);
        if cut_reason(rare.outcome) != Some(Pseudo::Broken) {
            return rare;
        }
        match self.grown_end() {
            Some(end) => Self { end, ..self }.try_rare(rule),
            None => rare,
        }
    }

    /// The end of the stack, where it has grown since it was looked up.
    #[inline(always)]
    fn grown_end(&self) -> Option<u64> {
        stacks::grown_end(Addr::new(self.anchor), Addr::new(self.end)).map(Addr::get)
    }

    fn try_rare(mut self, rule: Rule) -> Rare {
        let mut loads = Loads { items: [(0, 0); MOST_LOADS], count: 0 };
        let outcome = self.step_by_kind(rule, &mut loads);
        Rare { cursor: self, outcome, loads: loads.items, count: loads.count }
    }

    fn step_by_kind(&mut self, rule: Rule, loads: &mut Loads) -> u32 {
        let rsp = self.slot + 8;
        let cfa = match rule.kind() {
            Kind::End => return COMPLETE,
            Kind::Signal => return self.step_signal(loads),
            Kind::Unknown if self.end - self.slot <= OUTERMOST => return COMPLETE,
            Kind::Unknown => return cut(Pseudo::NoUnwindInfo),
            Kind::Rsp => Some(rsp.wrapping_add(rule.cfa_offset() as u64)),
            Kind::Rbp => Some(self.rbp.wrapping_add(rule.cfa_offset() as u64)),
            // Only an exact address is ever in a stub: it jumps, it does not call.
            Kind::Plt => {
                let pushed = self.lookup & 15 >= rule.cfa_offset() as u64 >> 3;
                Some(rsp + if pushed { 16 } else { 8 })
            }
            Kind::Register if self.context == 0 => return cut(Pseudo::NoUnwindInfo),
            Kind::Register => {
                let (number, offset) = rule.register_and_offset();
                Some(loads.load(self.context + CONTEXT_PLACES[number] * 8).wrapping_add(offset as u64))
            }
            Kind::DerefRbp => self.deref(self.rbp, rule, loads),
            Kind::DerefRspPlus8 => self.deref(rsp, rule, loads).map(|value| value.wrapping_add(8)),
        };
        let of_rbp = matches!(rule.kind(), Kind::Rbp | Kind::DerefRbp) || rule.saves_rbp_at_rbp();
        let used = if of_rbp { USED_RBP } else { 0 };
        let Some(cfa) = cfa.filter(|&cfa| self.may_be_cfa(cfa)) else { return cut(Pseudo::Broken) | used };
        let mut flags = NEXT | used;
        self.rbp_slot = 0;
        if rule.saves_rbp_at_cfa() || rule.saves_rbp_at_rbp() {
            let base = if rule.saves_rbp_at_cfa() { cfa } else { self.rbp };
            let saved = base.wrapping_add(rule.rbp_offset() as u64);
            if !self.may_hold_rbp(saved) {
                return cut(Pseudo::Broken) | used;
            }
            self.rbp_slot = saved;
            self.rbp = load(saved);
            flags |= LOADED_RBP;
        }
        let address = loads.load(cfa - 8);
        self.arrive(cfa - 8, address, flags)
    }

    /// The word at `base` + the rule's offset, when it lies on the stack.
    fn deref(&self, base: u64, rule: Rule, loads: &mut Loads) -> Option<u64> {
        let at = base.wrapping_add(rule.cfa_offset() as u64);
        (at > self.slot && at <= self.end - 8 && at & 7 == 0).then(|| loads.load(at))
    }

    /// Through a signal frame: the kernel put a `ucontext_t` on the stack, with all registers in it.
    fn step_signal(&mut self, loads: &mut Loads) -> u32 {
        const REGISTERS: u64 = 40; // offset of uc_mcontext.gregs in ucontext_t
        const RBP: u64 = 10;
        const RSP: u64 = 15;
        const RIP: u64 = 16;
        let registers = self.slot + 8 + REGISTERS;
        if registers + RIP * 8 > self.end - 8 {
            return cut(Pseudo::Broken);
        }
        let (rsp, rip) = (loads.load(registers + RSP * 8), loads.load(registers + RIP * 8));
        let (rbp_slot, rbp) = (registers + RBP * 8, load(registers + RBP * 8));
        // A handler with a stack of its own (sigaltstack) interrupted code on another one.
        let same = rsp > self.slot && rsp < self.end;
        // A step may read the red zone below the frame, so that must be of the same mapping.
        let lowest = rsp.saturating_sub(8 + RED_ZONE);
        let (end, anchor) =
            if same { (self.end, self.anchor) } else { (stacks::end_of(Addr::new(lowest)).get(), lowest) };
        if rip == 0 || rsp & 7 != 0 || end < rsp.saturating_add(8) {
            return cut(Pseudo::Broken);
        }
        *self = Self { slot: rsp - 8, lookup: rip, rbp, rbp_slot, context: registers, end, anchor };
        NEXT | LOADED_RBP
    }

    /// Takes the frame whose return address is in `slot`.
    #[inline(always)]
    fn arrive(&mut self, slot: u64, address: u64, flags: u32) -> u32 {
        self.slot = slot;
        self.lookup = address.wrapping_sub(1);
        self.context = 0;
        if address == 0 { COMPLETE | flags & USED_RBP } else { flags }
    }

    /// Above this frame, inside the stack, aligned.
    #[inline(always)]
    fn may_be_cfa(&self, cfa: u64) -> bool {
        cfa.wrapping_sub(self.slot + 9) < self.end.wrapping_sub(self.slot + 8) && cfa & 7 == 0
    }

    #[inline(always)]
    fn may_hold_rbp(&self, at: u64) -> bool {
        let low = self.slot - RED_ZONE;
        at.wrapping_sub(low) <= (self.end - 8).wrapping_sub(low) && at & 7 == 0
    }
}

/// The result of a step that is not simple.
struct Rare {
    cursor: Cursor,
    outcome: u32,
    loads: [(u64, u64); MOST_LOADS],
    count: usize,
}

/// The most words that one step depends on: two registers of a context, or a pointer and the return address.
const MOST_LOADS: usize = 3;

/// Words that were read, with their addresses.
struct Loads {
    items: [(u64, u64); MOST_LOADS],
    count: usize,
}

impl Loads {
    fn load(&mut self, address: u64) -> u64 {
        let value = load(address);
        if let Some(item) = self.items.get_mut(self.count) {
            *item = (address, value);
            self.count += 1;
        }
        value
    }
}

/// Reads a word of the program's stack.
#[inline(always)]
pub fn load(address: u64) -> u64 {
    // SAFETY: callers check that the address is aligned and lies between the hook's stack pointer (less the red zone)
    // and the end of the same stack, all of which is mapped while the thread runs on it.
    unsafe { (address as *const u64).read_volatile() }
}

/// Walks a stack without memory of the last one; frames go to `frames`, innermost first, their number and the outcome
/// come back. A stack that does not fit is cut as too deep.
pub fn walk(
    unwinder: &Unwinder,
    arena: &Arena,
    caller: Caller,
    end: Addr,
    frames: &mut [u64],
) -> (usize, u32) {
    let mut cursor = Cursor::new(caller, end);
    for (count, frame) in frames.iter_mut().enumerate() {
        let rule = unwinder.rule(arena, Addr::new(cursor.lookup));
        *frame = frame_word(rule.module(), cursor.lookup.wrapping_add(1));
        let outcome = cursor.step(rule, |_, _| ());
        if outcome & NEXT == 0 {
            return (count + 1, outcome);
        }
    }
    (frames.len(), cut(Pseudo::TooDeep))
}

/// Whether a stack is known to its end and no signal handler is on it.
pub fn is_outside_handlers(unwinder: &Unwinder, arena: &Arena, caller: Caller, end: Addr) -> bool {
    const DEEPEST: usize = 4096;
    let mut cursor = Cursor::new(caller, end);
    for _ in 0..DEEPEST {
        let rule = unwinder.rule(arena, Addr::new(cursor.lookup));
        if rule.kind() == Kind::Signal {
            return false;
        }
        let outcome = cursor.step(rule, |_, _| ());
        if outcome & NEXT == 0 {
            return outcome & COMPLETE != 0;
        }
    }
    false
}
