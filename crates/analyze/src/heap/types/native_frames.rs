//! The functions that threads are in, found from their registers and stacks, so that a word of a stack has the name of a variable.

use heaplens_format::Addr;
use heaplens_snapshot::{ReadMemory, Span, ThreadState};

use super::globals::{Globals, OwnVariable};
use crate::symbols::{FRAME_POINTER, FrameRegisters, STACK_POINTER};

/// Functions of a thread that are searched.
const DEEPEST: usize = 512;
/// The numbers that DWARF gives to what functions preserve.
const PRESERVED: [u16; 6] = [3, FRAME_POINTER, 12, 13, 14, 15];

/// The frames of all threads.
#[derive(Debug, Default)]
pub(crate) struct NativeFrames {
    /// In the order of addresses.
    frames: Vec<Frame>,
    control_blocks: Vec<Addr>,
}

/// The memory of a function that runs.
#[derive(Clone, Copy, Debug)]
struct Frame {
    span: Span,
    /// The instruction that it is at.
    at: Addr,
    registers: FrameRegisters,
}

impl NativeFrames {
    /// Of stopped threads; as far as files say how to get from a function to its caller.
    pub(crate) fn new(threads: &[ThreadState], globals: &mut Globals, memory: &impl ReadMemory) -> Self {
        let mut frames: Vec<Frame> =
            threads.iter().flat_map(|thread| frames_of(thread, globals, memory)).collect();
        frames.sort_by_key(|frame| frame.span.start);
        Self {
            frames,
            control_blocks: threads.iter().map(|thread| Addr::new(thread.control_block)).collect(),
        }
    }

    /// The variable that an address lies in: a local one of a function that runs, or one that is a thread's.
    pub(crate) fn variable(&self, address: Addr, globals: &mut Globals) -> Option<OwnVariable> {
        let after = self.frames.partition_point(|frame| frame.span.start <= address);
        let frame = self.frames[..after].last().filter(|frame| frame.span.contains(address));
        match frame {
            Some(frame) => globals.local(frame.at, frame.span.end, frame.registers, address),
            None => globals.thread_local(address, &self.control_blocks),
        }
    }
}

fn frames_of(thread: &ThreadState, globals: &mut Globals, memory: &impl ReadMemory) -> Vec<Frame> {
    let mut registers = FrameRegisters::default();
    PRESERVED.iter().zip(thread.preserved).for_each(|(&number, value)| registers.set(number, Some(value)));
    registers.set(STACK_POINTER, Some(thread.stack));
    registers.set_instruction(thread.instruction);
    let word = |address: u64| {
        let mut bytes = [0; 8];
        (memory.read(address, &mut bytes) == bytes.len()).then(|| u64::from_le_bytes(bytes))
    };
    let mut frames: Vec<Frame> = Vec::new();
    while frames.len() < DEEPEST {
        let (Some(next), Some(start)) = (registers.instruction(), registers.get(STACK_POINTER)) else {
            break;
        };
        // A return address is that of the next instruction, which may be another function's.
        let at = Addr::new(if frames.is_empty() { next } else { next.saturating_sub(1) });
        let Some(caller) = globals.caller(at, &registers, word) else { break };
        let Some(end) = caller.get(STACK_POINTER).filter(|&end| end > start) else { break };
        frames.push(Frame { span: Span::new(Addr::new(start), Addr::new(end)), at, registers });
        registers = caller;
    }
    frames
}
