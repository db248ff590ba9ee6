//! How many values an iteration of a generator's loop gives to whoever iterates the generator: those whose instruction no iteration misses. It is not
//! followed what conditions are; a value that a jump may pass over, or that an inner loop gives, counts for nothing.

use super::instructions::{Instruction, Opcodes, instructions};
use super::live::CodeLoop;

/// Of one of the loops of a code object; `all` are these.
pub fn of(opcodes: &Opcodes, code: &[u8], one: CodeLoop, all: &[CodeLoop]) -> u32 {
    let is_inner =
        |inner: &CodeLoop| (inner.first, inner.end) != (one.first, one.end) && one.first <= inner.first;
    let is_in_inner =
        |at: u32| all.iter().any(|inner| is_inner(inner) && (inner.first..inner.end).contains(&at));
    let is_missed = |at: u32| inside(opcodes, code, one).any(|jump| passes(opcodes, &jump, one, at));
    let gives = |instruction: &Instruction| {
        opcodes.yields.contains(&instruction.opcode)
            && !is_in_inner(instruction.begin)
            && !is_missed(instruction.begin)
    };
    inside(opcodes, code, one).filter(gives).count() as u32
}

fn inside(opcodes: &Opcodes, code: &[u8], one: CodeLoop) -> impl Iterator<Item = Instruction> {
    let is_inside = move |instruction: &Instruction| (one.first..one.end).contains(&instruction.begin);
    instructions(opcodes, code).map_while(|instruction| instruction).filter(is_inside)
}

/// Whether the loop goes on after a jump that stands before an instruction and leads past it: to a later one, or to the next iteration.
fn passes(opcodes: &Opcodes, jump: &Instruction, one: CodeLoop, at: u32) -> bool {
    let goes_on = |target: u32| target == one.first || (at + 1..one.end).contains(&target);
    jump.begin < at && jump.target(opcodes).is_some_and(goes_on)
}

#[cfg(test)]
mod tests {
    use super::super::Loops;
    use super::*;
    use crate::version::Version;
    use std::vec::Vec;

    /// How many values the loops of some code of 3.11 give.
    fn yields(code: &[u8]) -> Vec<u32> {
        let opcodes = Opcodes::of(Version::new(3, 11)).unwrap();
        Loops::read(opcodes, code).all().iter().map(|one| one.yields).collect()
    }

    #[test]
    fn an_iteration_gives_what_no_jump_passes_over() {
        // 0 NOP; 1 YIELD_VALUE; 2 YIELD_VALUE; 3 POP_JUMP_BACKWARD_IF_TRUE 4 → 0
        assert_eq!(yields(&[9, 0, 86, 0, 86, 0, 176, 4]), [2]);
        // 0 POP_JUMP_FORWARD_IF_FALSE 1 → 2; 1 YIELD_VALUE; 2 YIELD_VALUE; 3 POP_JUMP_BACKWARD_IF_TRUE 4 → 0
        assert_eq!(yields(&[114, 1, 86, 0, 86, 0, 176, 4]), [1], "under a condition");
        // 0 NOP; 1 POP_JUMP_BACKWARD_IF_TRUE 2 → 0 (`continue`); 2 YIELD_VALUE; 3 POP_JUMP_BACKWARD_IF_TRUE 4 → 0
        assert_eq!(yields(&[9, 0, 176, 2, 86, 0, 176, 4]), [0], "after a `continue`");
        // 0 NOP; 1 POP_JUMP_FORWARD_IF_FALSE 2 → 4, behind the loop; 2 YIELD_VALUE; 3 POP_JUMP_BACKWARD_IF_TRUE 4 → 0; 4 RETURN_VALUE
        assert_eq!(yields(&[9, 0, 114, 2, 86, 0, 176, 4, 83, 0]), [1], "a way out of the loop");
    }

    #[test]
    fn what_an_inner_loop_gives_is_its_own() {
        // 0 NOP; 1 YIELD_VALUE; 2 POP_JUMP_BACKWARD_IF_TRUE 2 → 1; 3 POP_JUMP_BACKWARD_IF_TRUE 4 → 0
        assert_eq!(yields(&[9, 0, 86, 0, 176, 2, 176, 4]), [0, 1]);
    }

    #[test]
    fn what_another_generator_gives_through_this_one_is_not_counted() {
        // 0 NOP; 1 SEND 2 → 4; 2 YIELD_VALUE; 3 JUMP_BACKWARD_NO_INTERRUPT 3 → 1; 4 POP_JUMP_BACKWARD_IF_TRUE 5 → 0
        assert_eq!(yields(&[9, 0, 123, 2, 86, 0, 134, 3, 176, 5]), [0]);
    }
}
