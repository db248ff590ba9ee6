//! Memory errors of the program, as the agent found them: one record for each kind, stack and block's site.

use crate::atomic::{AtomicU32, AtomicU64};
use crate::environment::GuardSide;
use crate::memory::Family;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        /// What a program did wrong with memory. Numbers are only ever added.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum ErrorKind { $($(#[$doc])* $name = $number),* }

        impl ErrorKind {
            /// All of them, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The kind with this number.
            pub const fn from_number(number: u64) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// A block was freed that had been freed already.
    DoubleFree = 1;
    /// An address was freed at which there never was a block.
    FreeOfNoBlock = 2;
    /// An address inside a live block was freed.
    FreeInside = 3;
    /// Memory of a stack was freed.
    FreeOfStack = 4;
    /// Data of an object file were freed.
    FreeOfStatic = 5;
    /// A block was freed by another function than the one that belongs to the function that allocated it.
    MismatchedFree = 6;
    /// `realloc` was given a block that had been freed already.
    ReallocOfFreed = 7;
    /// A part of a pool was given to `free`.
    FreeOfPool = 8;
    /// Bytes after a block were changed.
    Overrun = 9;
    /// A block was written to after it was freed.
    WriteAfterFree = 10;
    /// A read of memory that belongs to no block was caught, or ended the program.
    InvalidRead = 11;
    /// A write to memory that belongs to no block was caught, or ended the program.
    InvalidWrite = 12;
    /// A function of the C library was given a source and a destination that overlap.
    Overlap = 13;
    /// A size was given that was probably negative.
    FishySize = 14;
    /// `realloc` was called with size 0.
    ReallocZero = 15;
    /// Bytes before a block were changed.
    Underrun = 16;
    /// The program wanted to go on at an address that has no code.
    InvalidJump = 17;
}

/// The function that made a call with an error, where the kind alone does not say it. Numbers are only ever added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CalledFunction(u16);

macro_rules! functions {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        #[expect(missing_docs, reason = "each is the function that its name says")]
        impl CalledFunction {
            $(pub const $name: Self = Self($number);)*

            /// What it is called; `None` where that is not known.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 { $($number => Some($text),)* _ => None }
            }
        }
    };
}

functions! {
    FREE = 1, "free";
    DELETE = 2, "operator delete";
    DELETE_ARRAY = 3, "operator delete[]";
    REALLOC = 4, "realloc";
    MALLOC = 5, "malloc";
    CALLOC = 6, "calloc";
    MEMALIGN = 7, "memalign";
    POSIX_MEMALIGN = 8, "posix_memalign";
    ALIGNED_ALLOC = 9, "aligned_alloc";
    VALLOC = 10, "valloc";
    PVALLOC = 11, "pvalloc";
    REALLOCARRAY = 12, "reallocarray";
    NEW = 13, "operator new";
    NEW_ARRAY = 14, "operator new[]";
    MEMCPY = 20, "memcpy";
    STRCPY = 21, "strcpy";
    STRNCPY = 22, "strncpy";
    STRCAT = 23, "strcat";
    STRNCAT = 24, "strncat";
    STPCPY = 25, "stpcpy";
    MEMPCPY = 26, "mempcpy";
    STPNCPY = 27, "stpncpy";
    MEMCPY_CHK = 28, "__memcpy_chk";
}

impl CalledFunction {
    /// From its number; one that is not known has no name.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number; 0 where the kind says all.
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// One error. `count` is stored last, with Release: a record whose count is 0 is not whole.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ErrorRecord {
    /// How often it was made.
    pub count: AtomicU64,
    /// [`ErrorWhat`] as one word.
    pub what: AtomicU64,
    /// The node of the stack of the call, or of what found it.
    pub stack: AtomicU32,
    /// The node of the stack that allocated the block; 0 where that is not known.
    pub allocated: AtomicU32,
    /// The node of the stack that freed it first; 0 where that is not known.
    pub freed: AtomicU32,
    /// The site of the block: what is the same error is decided by it; 0 where there is no block.
    pub site: AtomicU32,
    /// The address that it is about.
    pub address: AtomicU64,
    /// Bytes of the access; 0 where that is not known.
    pub access: AtomicU64,
    /// Where the block begins; 0 where there is none.
    pub start: AtomicU64,
    /// Its size.
    pub size: AtomicU64,
    /// What else there is to say, by kind; of an overrun or underrun, [`side_of_guard`] of the block; of an
    /// access that ended the program, why: [`NOT_MAPPED`] and its kin.
    pub extra: AtomicU64,
    /// The moment, on the monotonic clock.
    pub at_ns: AtomicU64,
}

/// The size of an [`ErrorRecord`].
pub const ERROR_SIZE: usize = 80;
const _: () = assert!(size_of::<ErrorRecord>() == ERROR_SIZE);

/// The most records of a process; further errors are counted as a loss.
pub const MOST_ERRORS: usize = 256;

/// What an error is.
///
/// ```text
///   │ 63 … 32 0 │ 31 … 16 function │ 15 … 8 family │ 7 … 0 kind │
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorWhat {
    /// Its kind.
    pub kind: ErrorKind,
    /// Which function made the block.
    pub family: Family,
    /// Which function was called.
    pub function: CalledFunction,
}

impl ErrorWhat {
    /// As one word.
    pub const fn word(self) -> u64 {
        self.kind as u64 | (self.family as u64) << 8 | (self.function.0 as u64) << 16
    }

    /// From the word; `None` for a kind that is not known.
    pub const fn from_word(word: u64) -> Option<Self> {
        match ErrorKind::from_number(word & 0xff) {
            Some(kind) => Some(Self {
                kind,
                family: Family::from_bits(word >> 8),
                function: CalledFunction((word >> 16) as u16),
            }),
            None => None,
        }
    }
}

/// Why an access ended the program, as the kernel numbers it: nothing is there.
pub const NOT_MAPPED: u64 = 1;
/// What is there may not be accessed so.
pub const NOT_PERMITTED: u64 = 2;
/// The processor refused it: no program has this address, or the instruction needs another alignment.
pub const GENERAL_PROTECTION: u64 = 128;

/// On which side a block has a page that nobody may touch, as a number; 0 for a block without.
pub const fn side_of_guard(side: Option<GuardSide>) -> u64 {
    match side {
        None => 0,
        Some(GuardSide::End) => 1,
        Some(GuardSide::Begin) => 2,
    }
}

/// The side that [`side_of_guard`] has a number for.
pub const fn guard_side(number: u64) -> Option<GuardSide> {
    match number {
        1 => Some(GuardSide::End),
        2 => Some(GuardSide::Begin),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_is_reads_back() {
        for &kind in ErrorKind::ALL {
            let what = ErrorWhat { kind, family: Family::NewArray, function: CalledFunction::STPCPY };
            assert_eq!(ErrorWhat::from_word(what.word()), Some(what));
        }
        assert_eq!(ErrorWhat::from_word(0), None);
        assert_eq!(CalledFunction::new(999).name(), None);
    }
}
