//! Loops of a code object, found in its instructions: a jump backwards closes one. Read once, when the code is first seen;
//! nothing is run and nothing is changed.
//!
//! ```text
//!   for x in items:        while condition:
//!       body                   body
//!
//!   first ▶ FOR_ITER ──┐   first ▶ body
//!           body       │           …
//!           jump back  │           jump back to first
//!   end   ▶ … ◀────────┘   end   ▶ …
//! ```
//!
//! While a `for` loop runs, its iterator lies on the frame's stack. But not all instructions between its first and its last run
//! in it: a `return` inside takes the iterator away, and then what stands around the loop ends, a `with` or a `finally`. So only
//! instructions from which the loop can go on count as inside it (`live`).
//!
//! Instructions are units of two bytes. Since 3.11 some have inline caches behind them whose contents look like anything,
//! so each version says how many; an instruction that is not in its table ends the reading, and the code has no loops.

mod live;

use crate::generated;
use crate::version::Version;

/// The most loops of one code object, and parts of them, that are kept.
pub const MOST_LOOPS: usize = 48;

/// A part of a loop in a code object: instructions that run inside it. Most loops have one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CodeLoop {
    /// The instruction that it is known by: the first; of a `for` loop the one that takes the next item.
    pub first: u32,
    /// Where this part of it begins.
    pub begin: u32,
    /// The first instruction behind this part.
    pub end: u32,
    /// 1 for a `for` loop, whose iterator lies on the frame's stack meanwhile; 0 for any other.
    pub has_iterator: u32,
}

/// How a version writes its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcodes {
    /// The prefix of a longer argument.
    pub extended: u8,
    /// Every form of `FOR_ITER`.
    pub for_iter: &'static [u8],
    /// Jumps with an absolute target.
    pub absolute: &'static [u8],
    /// Jumps backwards by a distance. Those of `await`, which cannot be interrupted, are no loops of the user's.
    pub backward: &'static [u8],
    /// What begins a handler of exceptions: since 3.12 these stand behind everything else and jump back from there.
    pub handler: Option<u8>,
    /// Jumps forwards by a distance.
    pub forward: &'static [u8],
    /// What does not go on to the next instruction.
    pub terminal: &'static [u8],
    /// How many bytes a unit of a jump's argument is: 1 before 3.10.
    pub bytes_per_unit: u32,
    /// (first, last, units of cache behind it) of all instructions; empty where there are no caches.
    pub caches: &'static [(u8, u8, u8)],
}

/// An instruction with its prefixes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// Where it begins: that is what is jumped to.
    pub(super) begin: u32,
    pub(super) opcode: u8,
    argument: u32,
    /// Where the next one begins.
    pub(super) next: u32,
}

/// The instructions of a code object up to its handlers of exceptions. The last is `None` when one is not known.
pub(super) fn instructions(opcodes: &Opcodes, code: &[u8]) -> impl Iterator<Item = Option<Instruction>> {
    let (mut at, mut is_over) = (0, false);
    core::iter::from_fn(move || {
        let (begin, mut argument) = (at as u32, 0u32);
        while let Some(&[opcode, low]) = code.get(2 * at..2 * at + 2).filter(|_| !is_over) {
            let Some(caches) = opcodes.caches_of(opcode) else {
                is_over = true;
                return Some(None);
            };
            if opcodes.handler == Some(opcode) {
                return None;
            }
            argument = argument << 8 | u32::from(low);
            at += 1 + usize::from(caches);
            if opcode != opcodes.extended {
                return Some(Some(Instruction { begin, opcode, argument, next: at as u32 }));
            }
        }
        None
    })
}

impl Instruction {
    /// Where it may jump to; an absolute jump forwards is one, too.
    pub(super) fn target(&self, opcodes: &Opcodes) -> Option<u32> {
        let distance = self.argument.saturating_mul(opcodes.bytes_per_unit) / 2;
        if opcodes.absolute.contains(&self.opcode) {
            return Some(distance);
        }
        if opcodes.backward.contains(&self.opcode) {
            return Some(self.next.saturating_sub(distance));
        }
        let is_forward = opcodes.forward.contains(&self.opcode) || opcodes.for_iter.contains(&self.opcode);
        is_forward.then(|| self.next.saturating_add(distance))
    }

    /// Whether the next instruction may follow.
    pub(super) fn falls_through(&self, opcodes: &Opcodes) -> bool {
        !opcodes.terminal.contains(&self.opcode)
    }
}

/// Loops of one code object.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    count: usize,
    loops: [CodeLoop; MOST_LOOPS],
}

impl Default for Loops {
    fn default() -> Self {
        Self { count: 0, loops: [CodeLoop::default(); MOST_LOOPS] }
    }
}

impl Loops {
    /// Reads the instructions of a code object.
    pub fn read(opcodes: &Opcodes, code: &[u8]) -> Self {
        let mut found = Self::default();
        for instruction in instructions(opcodes, code) {
            let Some(instruction) = instruction else { return Self::default() };
            found.note(opcodes, &instruction);
        }
        let mut loops = Self::default();
        for &one in found.all() {
            match one.has_iterator {
                1 => live::parts(opcodes, code, one, |part| loops.add(part)),
                _ => loops.add(one),
            }
        }
        loops.sort();
        loops
    }

    /// The loops, an outer one before those inside it. One with an iterator has an entry for each of its parts.
    pub fn all(&self) -> &[CodeLoop] {
        &self.loops[..self.count]
    }

    fn note(&mut self, opcodes: &Opcodes, instruction: &Instruction) {
        let Instruction { begin, opcode, next, .. } = *instruction;
        let Some(target) = instruction.target(opcodes) else { return };
        if opcodes.for_iter.contains(&opcode) {
            self.add(CodeLoop { first: begin, begin, end: target, has_iterator: 1 });
        } else if target <= begin {
            self.add_backward(target, next);
        }
    }

    /// The jump back of a `for` loop, of a `continue`, or of another loop, which it closes or lengthens.
    fn add_backward(&mut self, first: u32, end: u32) {
        let known = self.loops[..self.count].iter_mut().find(|known| known.first == first);
        match known {
            Some(known) if known.has_iterator == 1 => {}
            Some(known) => known.end = known.end.max(end),
            None => self.add(CodeLoop { first, begin: first, end, has_iterator: 0 }),
        }
    }

    fn add(&mut self, new: CodeLoop) {
        if self.count < MOST_LOOPS {
            self.loops[self.count] = new;
            self.count += 1;
        }
    }

    fn sort(&mut self) {
        self.loops[..self.count].sort_unstable_by_key(|one| (one.first, one.begin));
    }
}

impl Opcodes {
    /// Of a version.
    pub fn of(version: Version) -> Option<&'static Self> {
        generated::table(version).map(|table| table.opcodes)
    }

    fn caches_of(&self, opcode: u8) -> Option<u8> {
        if self.caches.is_empty() {
            return Some(0);
        }
        let run = self.caches.iter().find(|&&(first, last, _)| (first..=last).contains(&opcode));
        run.map(|&(_, _, caches)| caches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_minor(minor: u8) -> &'static Opcodes {
        Opcodes::of(Version::new(3, minor)).unwrap()
    }

    fn of_items(first: u32, begin: u32, end: u32) -> CodeLoop {
        CodeLoop { first, begin, end, has_iterator: 1 }
    }

    #[test]
    fn what_a_return_does_behind_the_loop_is_not_inside_it() {
        // 3.11: 0 FOR_ITER → 7; 1 NOP; 2 POP_JUMP_FORWARD_IF_FALSE → 6; 3 POP_TOP (the iterator); 4 NOP (a `with` ends);
        // 5 RETURN_VALUE; 6 JUMP_BACKWARD → 0; 7 NOP
        let code = [93, 6, 9, 0, 114, 3, 1, 0, 9, 0, 83, 0, 140, 7, 9, 0];
        assert_eq!(Loops::read(of_minor(11), &code).all(), [of_items(0, 0, 3), of_items(0, 6, 7)]);
    }

    #[test]
    fn a_for_loop_ends_where_its_iterator_does_and_a_while_loop_at_its_jump() {
        // 3.11: FOR_ITER to 4; NOP; JUMP_BACKWARD 3 to the FOR_ITER; then NOP; POP_JUMP_BACKWARD_IF_TRUE 2 to the NOP
        let code = [93, 2, 9, 0, 140, 3, 9, 0, 176, 2, 9, 0];
        let loops = Loops::read(of_minor(11), &code);
        let other = CodeLoop { first: 3, begin: 3, end: 5, has_iterator: 0 };
        assert_eq!(loops.all(), [of_items(0, 0, 3), other]);
    }

    #[test]
    fn what_stands_in_a_cache_is_no_instruction() {
        // BINARY_OP of 3.11 has one unit of cache, which looks like a jump back.
        assert!(Loops::read(of_minor(11), &[122, 0, 140, 1, 9, 0]).all().is_empty());
    }

    #[test]
    fn specialised_instructions_are_those_that_they_stand_for() {
        // 3.14: 0 FOR_ITER_RANGE → 9, a cache; 2 CALL_LEN, three caches; 6 JUMP_BACKWARD_NO_JIT → 0, a cache; 8 END_FOR
        let code = [173, 6, 0, 0, 154, 0, 75, 9, 75, 9, 75, 9, 176, 8, 0, 0, 9, 0];
        assert_eq!(Loops::read(of_minor(14), &code).all(), [of_items(0, 0, 8)]);
        let plain = [70, 6, 0, 0, 52, 0, 75, 9, 75, 9, 75, 9, 75, 8, 0, 0, 9, 0];
        assert_eq!(Loops::read(of_minor(14), &plain).all(), [of_items(0, 0, 8)]);
    }

    #[test]
    fn an_unknown_instruction_leaves_the_code_without_loops() {
        assert!(Loops::read(of_minor(12), &[93, 1, 0, 0, 140, 3, 255, 0]).all().is_empty());
    }

    #[test]
    fn of_nested_loops_the_outer_one_comes_first() {
        // 3.10, absolute jumps: 0 FOR_ITER → 6; 1 NOP; 2 FOR_ITER → 4; 3 JUMP 2; 4 NOP; 5 JUMP 0; 6 NOP
        let code = [93, 5, 9, 0, 93, 1, 113, 2, 9, 0, 113, 0, 9, 0];
        let loops = Loops::read(of_minor(10), &code);
        assert_eq!(loops.all(), [of_items(0, 0, 6), of_items(2, 2, 4)]);
    }
}
