//! The root set: memory and registers outside of blocks that the program reaches by itself, and the order in which roots are searched
//! for a reference path.

use crate::span::Span;

/// What kind of memory a root lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RootKind {
    /// Data of a module, or of a file that is mapped.
    Data,
    /// The state of Python's interpreter, a part of a module's data.
    PythonRuntime,
    /// The used part of a stack, with the thread-local data after it.
    Stack {
        /// The thread, as the kernel numbers it.
        thread: u32,
    },
    /// Memory that the program mapped itself.
    Mapped {
        /// The stack that mapped it, as the tables number them.
        site: u32,
    },
    /// Anonymous memory of no known owner.
    Anonymous,
}

impl RootKind {
    /// When roots of this kind are searched.
    pub const fn rank(self) -> Rank {
        match self {
            Self::Data => Rank::Data,
            Self::PythonRuntime => Rank::PythonRuntime,
            Self::Stack { .. } => Rank::Stack,
            Self::Mapped { .. } => Rank::Mapped,
            Self::Anonymous => Rank::Anonymous,
        }
    }
}

/// How early a root is searched for a reference path to a block. Ranks are searched one by one, and the first root that leads to a
/// block names its path: what a variable of the user's own program leads to is held by it, whatever else points there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rank {
    /// Variables of Python's `__main__`.
    MainModule,
    /// Local variables of the user's own Python functions that run.
    Local,
    /// Those of functions of libraries: they hold for a while what others hold for good.
    LibraryLocal,
    /// Variables of other Python modules.
    Module,
    /// Data of modules.
    Data,
    /// Stacks and registers.
    Stack,
    /// Memory that the program mapped itself.
    Mapped,
    /// Memory without a name.
    Anonymous,
    /// What the interpreter keeps for itself under a name.
    Interpreter,
    /// What Python functions that run have not yet given a name.
    Temporary,
    /// Other words of the interpreter's state: behind the last entry of a free list stand objects that it gave away.
    PythonRuntime,
}

impl Rank {
    /// All of them, in the order of search.
    pub const ALL: [Self; 11] = [
        Self::MainModule,
        Self::Local,
        Self::LibraryLocal,
        Self::Module,
        Self::Data,
        Self::Stack,
        Self::Mapped,
        Self::Anonymous,
        Self::Interpreter,
        Self::Temporary,
        Self::PythonRuntime,
    ];
}

/// Memory in no block that the program reaches by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRange {
    /// Where it lies.
    pub span: Span,
    /// What it is.
    pub kind: RootKind,
}

/// A register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRegister {
    /// The thread, as the kernel numbers it; 0 where that is not recorded.
    pub thread: u32,
    /// What is in it: a pointer or any other number.
    pub word: u64,
}

impl RootRegister {
    /// When registers are searched.
    pub const RANK: Rank = Rank::Stack;
}

/// Registers of a stopped thread by which the functions that it is in are found, and its thread-local variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread, as the kernel numbers it.
    pub thread: u32,
    /// The next instruction.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
    /// What functions preserve for their callers: rbx, rbp, r12, r13, r14, r15.
    pub preserved: [u64; 6],
    /// Where its control block is; its thread-local variables lie before that.
    pub control_block: u64,
}

/// Everything outside of blocks that may lead to them. Roots of one rank are searched in the order in which they are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootSet {
    /// Data segments, stacks with thread-local storage, mappings.
    pub ranges: Vec<RootRange>,
    /// Data of the C library, where its allocator keeps pointers to the chunks after blocks.
    pub allocator_data: Vec<RootRange>,
    /// Registers of threads.
    pub registers: Vec<RootRegister>,
    /// Threads that were stopped while they ran; none that exits.
    pub threads: Vec<ThreadState>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_listed_in_the_order_in_which_they_are_searched() {
        assert!(Rank::ALL.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn names_of_the_users_program_come_before_any_memory_and_temporaries_after_all_of_it() {
        let memory = [
            RootKind::Data,
            RootKind::Stack { thread: 1 },
            RootKind::Mapped { site: 1 },
            RootKind::Anonymous,
        ];
        for kind in memory {
            assert!(Rank::Module < kind.rank() && kind.rank() < Rank::Interpreter, "{kind:?}");
        }
        assert_eq!(RootRegister::RANK, RootKind::Stack { thread: 1 }.rank());
    }
}
