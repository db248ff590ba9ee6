//! Instructions of a code object, and where they jump to. They are units of two bytes. Since 3.11 some are followed by
//! inline caches whose contents look like anything, so each version says how many.

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
    /// What begins a handler of exceptions: since 3.12 these stand after everything else and jump back from there.
    pub handlers: &'static [u8],
    /// Jumps forwards by a distance.
    pub forward: &'static [u8],
    /// What does not go on to the next instruction.
    pub terminal: &'static [u8],
    /// What gives a value to whoever iterates a generator.
    pub yields: &'static [u8],
    /// How many bytes a unit of a jump's argument is: 1 before 3.10.
    pub bytes_per_unit: u32,
    /// (first, last, units of cache after it) of all instructions; empty where there are no caches.
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
    let (mut at, mut is_done) = (0, false);
    core::iter::from_fn(move || {
        let (begin, mut argument) = (at as u32, 0u32);
        while let Some(&[opcode, low]) = code.get(2 * at..2 * at + 2).filter(|_| !is_done) {
            let Some(caches) = opcodes.caches_of(opcode) else {
                is_done = true;
                return Some(None);
            };
            if opcodes.handlers.contains(&opcode) {
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

impl Opcodes {
    fn caches_of(&self, opcode: u8) -> Option<u8> {
        if self.caches.is_empty() {
            return Some(0);
        }
        let run = self.caches.iter().find(|&&(first, last, _)| (first..=last).contains(&opcode));
        run.map(|&(_, _, caches)| caches)
    }
}
