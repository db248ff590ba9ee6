//! Which instructions between the first and the last of a `for` loop run with its iterator on the stack: those from which the
//! loop can go on without having been left.

use super::instructions::{Opcodes, instructions};

/// A part of a loop in a code object: instructions that run inside it. Most loops have one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CodeLoop {
    /// The instruction that it is known by: the first; of a `for` loop the one that takes the next item.
    pub first: u32,
    /// Where this part of it begins.
    pub begin: u32,
    /// The first instruction after this part.
    pub end: u32,
    /// Units of the instruction that takes the next item, with its arguments and caches; 0 where it is no `for` loop.
    pub item_units: u32,
    /// Values that each iteration gives to whoever iterates the generator; 0 where it may give none, or is in no generator.
    pub yields: u32,
}

impl CodeLoop {
    /// Whether it is a `for` loop, whose iterator lies on the frame's stack meanwhile.
    pub fn has_iterator(&self) -> bool {
        self.item_units != 0
    }

    /// Whether an instruction is the one that takes the next item.
    pub fn takes_item(&self, instruction: u32) -> bool {
        instruction.wrapping_sub(self.first) < self.item_units
    }
}

/// A loop with more jumps is taken for one whose iterations cannot be counted.
const MOST_JUMPS: usize = 192;

/// An instruction that does not simply go on to the next one. Everything from the one before it up to it fares alike.
#[derive(Clone, Copy, Default)]
struct Jump {
    next: u32,
    /// `u32::MAX` where it leads nowhere.
    target: u32,
    falls_through: bool,
    /// Whether the loop can go on from here.
    is_live: bool,
}

/// Gives the parts of a loop to `take`, in order.
pub fn parts(opcodes: &Opcodes, code: &[u8], one: CodeLoop, mut take: impl FnMut(CodeLoop)) {
    let mut buffer = [Jump::default(); MOST_JUMPS];
    let Some(jumps) = jumps(opcodes, code, one, &mut buffer) else {
        return take(CodeLoop { item_units: 0, ..one });
    };
    while spread(jumps, one) {}
    let mut begin = one.first;
    let mut part: Option<CodeLoop> = None;
    for jump in jumps.iter() {
        match &mut part {
            Some(part) if jump.is_live => part.end = jump.next,
            None if jump.is_live => part = Some(CodeLoop { begin, end: jump.next, ..one }),
            _ => part.take().into_iter().for_each(&mut take),
        }
        begin = jump.next;
    }
    part.into_iter().for_each(take);
}

/// The jumps inside a loop; `None`: they are too many.
fn jumps<'a>(
    opcodes: &Opcodes,
    code: &[u8],
    one: CodeLoop,
    buffer: &'a mut [Jump; MOST_JUMPS],
) -> Option<&'a mut [Jump]> {
    let mut count = 0;
    let inside = |begin: u32| (one.first..one.end).contains(&begin);
    for instruction in instructions(opcodes, code).flatten().filter(|one| inside(one.begin)) {
        let (target, falls_through) = (instruction.target(opcodes), instruction.falls_through(opcodes));
        if target.is_none() && falls_through {
            continue;
        }
        let is_live = instruction.begin == one.first;
        let target = target.unwrap_or(u32::MAX);
        *buffer.get_mut(count)? = Jump { next: instruction.next, target, falls_through, is_live };
        count += 1;
    }
    Some(&mut buffer[..count])
}

/// Finds more of them from which the loop can go on; whether there were any. From the last to the first, since most jumps
/// lead forwards.
fn spread(jumps: &mut [Jump], one: CodeLoop) -> bool {
    let mut has_changed = false;
    for at in (0..jumps.len()).rev() {
        let jump = jumps[at];
        let goes_on = jump.target == one.first
            || (one.first..one.end).contains(&jump.target) && is_live_at(jumps, jump.target)
            || jump.falls_through && jumps.get(at + 1).is_some_and(|next| next.is_live);
        if goes_on && !jump.is_live {
            jumps[at].is_live = true;
            has_changed = true;
        }
    }
    has_changed
}

/// Whether an instruction fares as the first jump at or after it does.
fn is_live_at(jumps: &[Jump], target: u32) -> bool {
    let next = jumps.partition_point(|jump| jump.next <= target);
    jumps.get(next).is_some_and(|jump| jump.is_live)
}
