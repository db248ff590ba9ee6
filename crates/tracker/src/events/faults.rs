//! Accesses that the program must not make, as the kernel reports them: to a guard page, and those that end the program.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::Family;
use heaplens_format::arena::error::{self, ErrorKind};
use heaplens_format::{Addr, Bytes, NodeId};

use super::checks::what;
use crate::checks::{Guarded, SlotState, instruction};
use crate::lifecycle::is_recording;
use crate::process::settings;
use crate::sys;
use crate::tables::errors::{self, NewError};
use crate::thread::guard::{Guard, Nesting};
use crate::tracker::Tracker;
use crate::unwind::Caller;

/// An access that was caught.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// What was accessed; 0 where the kernel does not know it.
    pub address: usize,
    /// What the kernel says of it.
    pub code: u32,
    /// Whether it was a write.
    pub is_write: bool,
    /// Whether the program wanted to go on there.
    pub is_jump: bool,
    /// Of the code, and of the thread at that moment.
    pub instruction: u64,
    /// See above.
    pub caller: Caller,
}

/// What to do with a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAnswer {
    /// It is the program's.
    NotOurs,
    /// It was reported; the program goes on.
    GoOn,
    /// It was reported, and the program is to end.
    Stop,
}

impl Tracker {
    /// A signal says that memory was accessed that may not be.
    #[cold]
    pub fn on_fault(&self, access: Access) -> FaultAnswer {
        if !self.checks.guards.contains(access.address) {
            return FaultAnswer::NotOurs;
        }
        let Some(found) = self.checks.guards.around(access.address) else { return FaultAnswer::NotOurs };
        if let Some(guard) = Guard::enter(Nesting::Expected)
            && is_recording(&guard)
        {
            self.report_access(&guard, access, found);
        }
        match settings().checks.stops || !self.checks.guards.let_pass(access.address) {
            true => FaultAnswer::Stop,
            false => FaultAnswer::GoOn,
        }
    }

    fn report_access(&self, guard: &Guard, access: Access, found: Guarded<'_>) {
        let addr = Addr::new(found.start as u64);
        let known = self.blocks.find(&self.arena, addr).filter(|_| found.state == SlotState::Live);
        let family = known.map_or(Family::Malloc, |block| block.family);
        let node = |number: u32| (number != 0).then(|| NodeId::new(number));
        let kind = if access.is_write { ErrorKind::InvalidWrite } else { ErrorKind::InvalidRead };
        let stack = self.interrupted_stack(guard, access).unwrap_or(NodeId::new(0));
        let error = NewError {
            site: known.map(|block| block.site),
            allocated: node(found.slot.allocated.load(Relaxed)),
            freed: node(found.slot.freed.load(Relaxed)).filter(|_| found.state == SlotState::Freed),
            start: addr,
            size: Bytes::new(found.size as u64),
            ..NewError::at(what(kind, family), stack, Addr::new(access.address as u64))
        };
        errors::record(&self.arena, &error);
    }

    /// An access is about to end the program, which has no handler. The stack's own end, which recursion reaches, is not told from here.
    #[cold]
    pub fn on_fatal_access(&self, access: Access) {
        let below_stack = access.caller.rsp.wrapping_sub(access.address as u64).wrapping_add(NEAR_STACK);
        if !access.is_jump && below_stack < 2 * NEAR_STACK || self.checks.guards.contains(access.address) {
            return;
        }
        let Some(guard) = Guard::enter(Nesting::Expected).filter(is_recording) else { return };
        let Some(kind) = kind_of(access) else { return };
        let stack = match kind {
            ErrorKind::InvalidJump if !is_on_memory(access.caller.rsp) => None,
            ErrorKind::InvalidJump => self.node(&guard, access.caller),
            _ => self.interrupted_stack(&guard, access),
        };
        if let Some(stack) = stack {
            let what = what(kind, Family::Malloc);
            let error = NewError::at(what, stack, Addr::new(access.address as u64));
            errors::record(&self.arena, &NewError { extra: access.code.into(), ..error });
        }
    }

    /// The stack of the code that was interrupted. A hook's stack begins at a return address in memory, so the instruction is put where the
    /// return address of a call would be that has just returned: the word is the thread's own, and gets back what it held.
    fn interrupted_stack(&self, guard: &Guard, access: Access) -> Option<NodeId> {
        let slot = access.caller.rsp.wrapping_sub(8);
        if !is_on_memory(slot) {
            return None;
        }
        let word = slot as *mut u64;
        // SAFETY: the word was read just now; it lies below the stack pointer of the code that is interrupted, on this thread's stack, and
        // only that code may have something in it, which is put back.
        unsafe {
            let before = word.read_volatile();
            word.write_volatile(access.instruction.wrapping_add(1));
            let node = self.node(guard, Caller { rsp: slot, rbp: access.caller.rbp });
            word.write_volatile(before);
            node
        }
    }
}

/// Whether a word of a stack can be read where the program's stack pointer leads.
fn is_on_memory(slot: u64) -> bool {
    slot.is_multiple_of(8) && sys::read_words::<1>(slot).1 == 1
}

/// An access so near to the stack pointer is one of the stack.
const NEAR_STACK: u64 = 1 << 16;

/// What it was; `None` where that cannot be told.
fn kind_of(access: Access) -> Option<ErrorKind> {
    let is_write = match u64::from(access.code) {
        error::GENERAL_PROTECTION => {
            let mut bytes = [0; instruction::LONGEST];
            let length = sys::read_bytes(access.instruction, &mut bytes);
            instruction::writes(bytes.get(..length)?)?
        }
        _ if access.is_jump => return Some(ErrorKind::InvalidJump),
        _ => access.is_write,
    };
    Some(if is_write { ErrorKind::InvalidWrite } else { ErrorKind::InvalidRead })
}
