//! All reasons why something may go unrecorded. A loss is counted where it happens and shown in the report.

macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $words:literal;)*) => {
        /// A kind of loss; the number is its slot in the arena header and its tag in a recording.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Loss { $($(#[$doc])* $name = $number),* }

        impl Loss {
            /// All kinds, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What the report calls it: a plural noun phrase.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words),* }
            }

            /// The kind with this number.
            pub const fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

losses! {
    /// A hook was entered while this thread was inside one (a signal handler that allocates).
    Reentered = 0, "allocations made inside another allocation (signal handlers)";
    /// The arena could not grow: no memory, no disk, a limit. What came after is not recorded.
    ArenaFull = 1, "allocations not recorded because the arena could not grow";
    /// `free` of a block that was never recorded.
    UnknownFree = 2, "frees of blocks that were not recorded";
    /// `free` in a forked child of a block that its parent allocated.
    InheritedFree = 3, "frees of blocks inherited from the parent process";
    /// A block was recorded at an address that was still live: its `free` was not seen.
    Overwritten = 4, "blocks whose free was not seen";
    /// More threads at once than thread slots: recorded, but without the cheap path.
    NoSlot = 5, "allocations by threads beyond the limit of concurrent threads";
    /// Two threads met while the value of a site at the peak was taken.
    PeakRace = 6, "site values at the peak that may be off by an event in flight";
    /// The table of mappings was busy or full.
    MappingLost = 7, "mappings not recorded";
    /// More modules than the table holds.
    ModuleLost = 8, "stacks cut because the module table is full";
    /// Stacks that end in code without unwind information.
    StackNoUnwindInfo = 9, "stacks cut at code without unwind information";
    /// Stacks deeper than the limit: only the innermost frames are kept.
    StackTooDeep = 10, "stacks cut because they are too deep";
    /// Stacks that lead out of the stack they are on.
    StackBroken = 11, "stacks cut at a frame that leads nowhere";
    /// Entries of a table that made no sense when it was read (the program was killed while writing).
    TornEntry = 12, "table entries that were torn when the program was killed";
    /// A child that began by `fork` could not make an arena; counted in its parent's.
    ProcessUnseen = 13, "child processes not recorded";
    /// The program brings its own `malloc`, which our hooks cannot see into.
    OwnMalloc = 14, "programs with a malloc of its own, whose blocks are not seen";
    /// The table of what sites had at marks was full.
    ValueLost = 15, "values of sites at marks that were not kept";
    /// A mark was asked for while another one was made, or after the last that there is room for.
    MarkLost = 16, "marks that were not made";
    /// The probe could not run, or what it calls failed.
    ProbeFailed = 17, "interpreters in which Heaplens could not prepare itself";
    /// A hook of a framework's function was called, but no library in the process defines the function.
    FunctionMissing = 18, "calls of functions that no library defines";
    /// More different memory errors than the table holds.
    ErrorLost = 19, "memory errors beyond the first 256";
    /// A block that was to be guarded is an ordinary one: too many mappings, too much memory, or its size or alignment.
    NotGuarded = 20, "blocks without a guard page, beyond the limits of mappings and memory";
}

/// The number of loss counters in an arena header; kinds beyond it cannot be counted inside the program.
pub const LOSS_SLOTS: usize = 24;
