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

use heaplens_format::arena::python::CodeLoop;

/// The most loops of one code object, and parts of them, that are kept.
pub const MOST_LOOPS: usize = 48;

/// How a version writes its instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opcodes {
    extended: u8,
    /// Every form of `FOR_ITER`.
    for_iter: &'static [u8],
    /// Jumps with an absolute target.
    absolute: &'static [u8],
    /// Jumps backwards by a distance. Those of `await`, which cannot be interrupted, are no loops of the user's.
    backward: &'static [u8],
    /// What begins a handler of exceptions: since 3.12 these stand behind everything else and jump back from there.
    handler: Option<u8>,
    /// Jumps forwards by a distance.
    forward: &'static [u8],
    /// What does not go on to the next instruction.
    terminal: &'static [u8],
    /// How many bytes a unit of a jump's argument is: 1 before 3.10.
    bytes_per_unit: u32,
    /// (first, last, units of cache behind it) of all instructions; empty where there are no caches.
    caches: &'static [(u8, u8, u8)],
}

/// 3.8 and 3.9.
pub const OLDEST: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[93],
    absolute: &[111, 112, 113, 114, 115, 121],
    backward: &[],
    forward: &[110, 122, 143, 154, 162],
    terminal: &[48, 83, 110, 113, 130],
    handler: None,
    bytes_per_unit: 1,
    caches: &[],
};

/// 3.10.
pub const PYTHON_3_10: Opcodes = Opcodes {
    absolute: &[111, 112, 113, 114, 115, 121],
    forward: &[110, 122, 143, 154],
    terminal: &[83, 110, 113, 119, 130],
    bytes_per_unit: 2,
    ..OLDEST
};

/// 3.11.
pub const PYTHON_3_11: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[93],
    absolute: &[],
    backward: &[38, 140, 173, 174, 175, 176],
    forward: &[110, 111, 112, 114, 115, 123, 128, 129],
    terminal: &[38, 83, 110, 119, 130, 134, 140],
    handler: None,
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 8, 1), (9, 12, 0), (13, 14, 1), (15, 15, 0), (16, 16, 1), (17, 25, 4), (26, 29, 2), (30, 38, 0),
        (39, 43, 4), (44, 46, 0), (47, 48, 5), (49, 54, 0), (55, 55, 5), (56, 59, 10), (60, 60, 1), (61, 61, 0),
        (62, 63, 10), (64, 67, 1), (68, 71, 0), (72, 73, 1), (74, 75, 0), (76, 81, 1), (82, 91, 0), (92, 92, 1),
        (93, 94, 0), (95, 95, 4), (96, 105, 0), (106, 106, 4), (107, 107, 2), (108, 112, 0), (113, 113, 1), (114, 115, 0),
        (116, 116, 5), (117, 120, 0), (121, 122, 1), (123, 126, 0), (127, 127, 1), (128, 140, 0), (141, 141, 1),
        (142, 142, 0), (143, 143, 1), (144, 152, 0), (153, 154, 4), (155, 157, 0), (158, 159, 4), (160, 160, 10),
        (161, 165, 0), (166, 166, 1), (167, 167, 0), (168, 170, 1), (171, 171, 4), (172, 176, 0), (177, 180, 1),
    ],
};

/// 3.12.
pub const PYTHON_3_12: Opcodes = Opcodes {
    extended: 144,
    for_iter: &[62, 63, 64, 65, 93],
    absolute: &[],
    backward: &[140],
    forward: &[110, 114, 115, 123, 128, 129, 168],
    terminal: &[83, 110, 119, 121, 130, 134, 140],
    handler: Some(35),
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 5, 0), (6, 8, 1), (9, 9, 0), (10, 10, 1), (11, 12, 0), (13, 14, 1), (15, 15, 0), (16, 16, 1), (17, 17, 0),
        (18, 22, 1), (23, 24, 3), (25, 25, 1), (26, 27, 0), (28, 29, 3), (30, 33, 0), (34, 34, 3), (35, 37, 0), (38, 48, 3),
        (49, 55, 0), (56, 56, 3), (57, 60, 1), (61, 61, 0), (62, 67, 1), (68, 69, 0), (70, 70, 9), (71, 71, 0), (72, 73, 9),
        (74, 75, 0), (76, 82, 9), (83, 91, 0), (92, 93, 1), (94, 94, 0), (95, 95, 4), (96, 105, 0), (106, 106, 9),
        (107, 107, 1), (108, 110, 0), (111, 113, 4), (114, 115, 0), (116, 116, 4), (117, 121, 0), (122, 123, 1),
        (124, 140, 0), (141, 141, 1), (142, 147, 0), (148, 148, 4), (149, 152, 0), (153, 153, 4), (154, 158, 0),
        (159, 161, 1), (162, 165, 0), (166, 168, 1), (171, 171, 3), (172, 176, 0),
    ],
};

/// 3.13.
pub const PYTHON_3_13: Opcodes = Opcodes {
    extended: 71,
    for_iter: &[72, 187, 188, 189, 190],
    absolute: &[],
    backward: &[77],
    forward: &[79, 97, 98, 99, 100, 104, 208],
    terminal: &[36, 77, 78, 79, 101, 102, 103],
    handler: Some(33),
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 3, 1), (4, 4, 0), (5, 5, 1), (6, 38, 0), (39, 39, 1), (40, 40, 3), (41, 44, 0), (45, 45, 1),
        (46, 52, 0), (53, 53, 3), (54, 57, 0), (58, 59, 1), (60, 69, 0), (71, 71, 0), (72, 72, 1), (73, 76, 0), (77, 77, 1),
        (78, 81, 0), (82, 82, 9), (83, 90, 0), (91, 91, 4), (92, 92, 0), (93, 93, 1), (94, 96, 0), (97, 100, 1),
        (101, 103, 0), (104, 104, 1), (105, 107, 0), (108, 108, 4), (109, 116, 0), (117, 117, 1), (118, 118, 0),
        (149, 149, 0), (150, 161, 1), (162, 181, 3), (182, 190, 1), (191, 202, 9), (203, 204, 4), (205, 206, 1),
        (207, 207, 0), (208, 208, 1), (209, 211, 4), (212, 213, 1), (214, 219, 3), (220, 222, 1),
    ],
};

/// 3.14.
pub const PYTHON_3_14: Opcodes = Opcodes {
    extended: 69,
    for_iter: &[70, 171, 172, 173, 174],
    absolute: &[],
    backward: &[75, 175, 176],
    forward: &[77, 100, 101, 102, 103, 106, 197],
    terminal: &[35, 75, 76, 77, 104, 105, 175, 176],
    handler: Some(32),
    bytes_per_unit: 2,
    #[rustfmt::skip]
    caches: &[
        (0, 2, 0), (3, 3, 5), (4, 37, 0), (38, 38, 1), (39, 39, 3), (40, 43, 0), (44, 44, 5), (45, 51, 0), (52, 52, 3),
        (53, 54, 0), (55, 55, 3), (56, 57, 1), (58, 69, 0), (70, 70, 1), (71, 74, 0), (75, 75, 1), (76, 79, 0), (80, 80, 9),
        (81, 91, 0), (92, 92, 4), (93, 95, 0), (96, 96, 1), (97, 99, 0), (100, 103, 1), (104, 105, 0), (106, 106, 1),
        (107, 109, 0), (110, 110, 4), (111, 118, 0), (119, 119, 1), (120, 120, 0), (128, 128, 0), (129, 142, 5),
        (143, 165, 3), (166, 176, 1), (177, 189, 9), (190, 191, 0), (192, 193, 4), (194, 195, 1), (196, 196, 0),
        (197, 197, 1), (198, 200, 4), (201, 202, 1), (203, 208, 3), (209, 211, 1),
    ],
};

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

    fn of_items(first: u32, begin: u32, end: u32) -> CodeLoop {
        CodeLoop { first, begin, end, has_iterator: 1 }
    }

    #[test]
    fn what_a_return_does_behind_the_loop_is_not_inside_it() {
        // 3.11: 0 FOR_ITER → 7; 1 NOP; 2 POP_JUMP_FORWARD_IF_FALSE → 6; 3 POP_TOP (the iterator); 4 NOP (a `with` ends);
        // 5 RETURN_VALUE; 6 JUMP_BACKWARD → 0; 7 NOP
        let code = [93, 6, 9, 0, 114, 3, 1, 0, 9, 0, 83, 0, 140, 7, 9, 0];
        assert_eq!(Loops::read(&PYTHON_3_11, &code).all(), [of_items(0, 0, 3), of_items(0, 6, 7)]);
    }

    #[test]
    fn a_for_loop_ends_where_its_iterator_does_and_a_while_loop_at_its_jump() {
        // 3.11: FOR_ITER to 4; NOP; JUMP_BACKWARD 3 to the FOR_ITER; then NOP; POP_JUMP_BACKWARD_IF_TRUE 2 to the NOP
        let code = [93, 2, 9, 0, 140, 3, 9, 0, 176, 2, 9, 0];
        let loops = Loops::read(&PYTHON_3_11, &code);
        let other = CodeLoop { first: 3, begin: 3, end: 5, has_iterator: 0 };
        assert_eq!(loops.all(), [of_items(0, 0, 3), other]);
    }

    #[test]
    fn what_stands_in_a_cache_is_no_instruction() {
        // BINARY_OP of 3.11 has one unit of cache, which looks like a jump back.
        assert!(Loops::read(&PYTHON_3_11, &[122, 0, 140, 1, 9, 0]).all().is_empty());
    }

    #[test]
    fn specialised_instructions_are_those_that_they_stand_for() {
        // 3.14: 0 FOR_ITER_RANGE → 9, a cache; 2 CALL_LEN, three caches; 6 JUMP_BACKWARD_NO_JIT → 0, a cache; 8 END_FOR
        let code = [173, 6, 0, 0, 154, 0, 75, 9, 75, 9, 75, 9, 176, 8, 0, 0, 9, 0];
        assert_eq!(Loops::read(&PYTHON_3_14, &code).all(), [of_items(0, 0, 8)]);
        let plain = [70, 6, 0, 0, 52, 0, 75, 9, 75, 9, 75, 9, 75, 8, 0, 0, 9, 0];
        assert_eq!(Loops::read(&PYTHON_3_14, &plain).all(), [of_items(0, 0, 8)]);
    }

    #[test]
    fn an_unknown_instruction_leaves_the_code_without_loops() {
        assert!(Loops::read(&PYTHON_3_12, &[93, 1, 0, 0, 140, 3, 255, 0]).all().is_empty());
    }

    #[test]
    fn of_nested_loops_the_outer_one_comes_first() {
        // 3.10, absolute jumps: 0 FOR_ITER → 6; 1 NOP; 2 FOR_ITER → 4; 3 JUMP 2; 4 NOP; 5 JUMP 0; 6 NOP
        let code = [93, 5, 9, 0, 93, 1, 113, 2, 9, 0, 113, 0, 9, 0];
        let loops = Loops::read(&PYTHON_3_10, &code);
        assert_eq!(loops.all(), [of_items(0, 0, 6), of_items(2, 2, 4)]);
    }
}
