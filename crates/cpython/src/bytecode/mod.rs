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
//! An instruction that is not in the table of its version ends the reading, and the code has no loops.

mod instructions;
mod live;
mod yields;

pub use instructions::Opcodes;
use instructions::{Instruction, instructions};
pub use live::CodeLoop;

/// The most loops of one code object, and parts of them, that are kept.
pub const MOST_LOOPS: usize = 48;

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
            let one = CodeLoop { yields: yields::of(opcodes, code, one, found.all()), ..one };
            match one.has_iterator() {
                true => live::parts(opcodes, code, one, |part| loops.add(part)),
                false => loops.add(one),
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
            self.add(CodeLoop { first: begin, begin, end: target, item_units: next - begin, yields: 0 });
        } else if target <= begin {
            self.add_backward(target, next);
        }
    }

    /// The jump back of a `for` loop, of a `continue`, or of another loop, which it closes or lengthens.
    fn add_backward(&mut self, first: u32, end: u32) {
        let known = self.loops[..self.count].iter_mut().find(|known| known.first == first);
        match known {
            Some(known) if known.has_iterator() => {}
            Some(known) => known.end = known.end.max(end),
            None => self.add(CodeLoop { first, begin: first, end, item_units: 0, yields: 0 }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    fn of_minor(minor: u8) -> &'static Opcodes {
        Opcodes::of(Version::new(3, minor)).unwrap()
    }

    fn of_items(first: u32, begin: u32, end: u32) -> CodeLoop {
        CodeLoop { first, begin, end, item_units: 1, yields: 0 }
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
        let other = CodeLoop { item_units: 0, ..of_items(3, 3, 5) };
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
        let with_cache = CodeLoop { item_units: 2, ..of_items(0, 0, 8) };
        assert!(with_cache.takes_item(1) && !with_cache.takes_item(2));
        assert_eq!(Loops::read(of_minor(14), &code).all(), [with_cache]);
        let plain = [70, 6, 0, 0, 52, 0, 75, 9, 75, 9, 75, 9, 75, 8, 0, 0, 9, 0];
        assert_eq!(Loops::read(of_minor(14), &plain).all(), [with_cache]);
    }

    #[test]
    fn what_an_await_does_with_an_exception_is_no_loop() {
        // 3.12: 0 NOP; 1 END_SEND; 2 RETURN_VALUE; 3 CLEANUP_THROW; 4 JUMP_BACKWARD → 1
        assert!(Loops::read(of_minor(12), &[9, 0, 5, 0, 83, 0, 55, 0, 140, 4]).all().is_empty());
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
