//! The first pages of an arena: what process this is, how it ended, counters, where the regions are.

use core::mem::offset_of;

use super::marks::Moment;
use super::section::{MOST_SECTIONS, SectionRecord, SectionView};
use super::self_fork::SelfFork;
use crate::atomic::{AtomicI32, AtomicU32, AtomicU64};
use crate::loss::LOSS_SLOTS;

/// The first word of an arena.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HLARENA\x0a");

/// The unit in which PAGES is handed out; also the page size of x86-64.
pub const PAGE: usize = 4096;

/// A table of the arena. The number is its row in [`Header::regions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Region {
    /// [`Header`], the executable's path, the command line.
    Header = 0,
    /// Level 1 of the block table.
    Top = 1,
    /// [`super::table::ModuleRecord`] records.
    Modules = 2,
    /// Paths and build ids of modules.
    Strings = 3,
    /// [`super::table::MappingRecord`] records.
    Mappings = 4,
    /// [`super::python::CodeRecord`] records.
    Codes = 5,
    /// [`super::marks::LoopRecord`] records.
    Loops = 6,
    /// [`super::marks::MarkRecord`] records.
    Marks = 7,
    /// [`super::counter::NoteRecord`] records.
    Notes = 8,
    /// The same for the names of counters.
    Counters = 9,
    /// [`super::thread::Thread`] records, by the number of their thread slot.
    Threads = 10,
    /// [`super::error::ErrorRecord`] records.
    Errors = 11,
    /// [`super::marks::ChangeRecord`] records.
    Changes = 12,
    /// [`super::table::SiteRecord`] records.
    Sites = 13,
    /// [`super::table::NodeRecord`] records.
    Nodes = 14,
    /// Pages handed out one by one.
    Pages = 15,
}

/// The number of regions.
pub const REGIONS: usize = 16;

/// Where one region lies in the file and how much of it exists.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RegionExtent {
    /// File offset of the region.
    pub offset: AtomicU64,
    /// The most bytes it may ever have.
    pub capacity: AtomicU64,
    /// Bytes that are reserved, hence safe to touch.
    pub reserved: AtomicU64,
    /// Bytes handed out to records; may run ahead of `reserved` for a moment.
    pub used: AtomicU64,
}

/// How a process (more exactly: one program image of it) ended, as far as the agent saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum End {
    /// No end was seen: still running, or killed.
    Unseen = 0,
    /// `exit` or `_exit`, with the code.
    Exited = 1,
    /// Replaced by `exec`.
    Replaced = 2,
}

/// Set in [`Header::flags`] when two blocks can share a 32-byte granule (an allocator other than glibc's).
pub const FLAG_SHARED_GRANULES: u32 = 1;
/// Set when the process began by `fork` from a tracked parent: its inherited blocks are not in the tables.
pub const FLAG_FORKED: u32 = 2;
/// Set when the program leaves: what it does from now on is taking itself down.
pub const FLAG_LEAVING: u32 = 4;

/// Offset of the executable's path, zero-terminated, at most one page.
pub const EXECUTABLE_OFFSET: usize = PAGE;
/// Offset of the command line as in `/proc/PID/cmdline`, zero-terminated words, at most one page.
pub const COMMAND_OFFSET: usize = 2 * PAGE;
/// Size of the header region.
pub const HEADER_SIZE: usize = 4 * PAGE;

/// Registers that functions keep for their callers, without the stack pointer.
pub const KEPT_REGISTERS: usize = 6;
/// General registers of a thread that a signal interrupted.
pub const LEAVING_REGISTERS: usize = 16;

/// The fields of the header. All of them are atomics because the recorder reads while the agent writes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Header {
    /// [`MAGIC`], stored last: a file without it is not an arena yet.
    pub magic: AtomicU64,
    /// The process.
    pub pid: AtomicU32,
    /// Its parent when the arena was made.
    pub parent: AtomicU32,
    /// `FLAG_*`.
    pub flags: AtomicU32,
    /// [`End`] as a number.
    pub end: AtomicU32,
    /// The exit code, where `end` is [`End::Exited`].
    pub end_code: AtomicI32,
    /// Mean distance of samples in bytes; 0: exact.
    pub sample_interval: AtomicU64,
    /// Monotonic clock when the arena was made.
    pub start_ns: AtomicU64,
    /// Monotonic clock at the end, 0 while none was seen.
    pub end_ns: AtomicU64,
    /// Resident bytes of the program when the arena was made, our own subtracted.
    pub rss_start: AtomicU64,
    /// The same at the end, 0 while none was seen.
    pub rss_end: AtomicU64,
    /// Time stamp counter ticks spent in hooks, estimated from one event of some 250, and what was timed whole.
    pub hook_ticks: AtomicU64,
    /// Private memory of the agent outside the arena, in bytes (thread slots, rule cache): an upper bound.
    pub private_bytes: AtomicU64,
    /// [`super::python::Interpreter`] as one word.
    pub python: AtomicU32,
    /// Modules of Python packages that were seen to run: while it rises, something is imported.
    pub imports: AtomicU32,
    /// Mean distance of samples of small Python objects in bytes; 0: all are recorded, or none.
    pub object_interval: AtomicU64,
    /// Marks that the recorder wants, counted from the start. This and the next are the words that are written from outside.
    pub marks_wanted: AtomicU32,
    /// Reclaim tests that are wanted, counted from the start.
    pub tests_wanted: AtomicU32,
    /// Of these, how many were made.
    pub tests_made: AtomicU32,
    /// A ledger that the agent wants to be taken while it waits: [`super::ledger::LedgerMoment`], 0 for none.
    pub ledger_wanted: AtomicU32,
    /// The one that was taken: written from the outside, and the agent waits for it.
    pub ledger_given: AtomicU32,
    /// Heap snapshots that the program has asked for, counted from the start.
    pub snapshots_wanted: AtomicU32,
    /// Of these, how many were taken, or are not going to be: written from the outside, and whoever asked waits for it.
    pub snapshots_taken: AtomicU32,
    /// Which of the snapshots that were asked for is the last one because the main loop is over; 0 for none.
    pub snapshot_of_loop: AtomicU32,
    /// Leak checks that the program has asked for while it runs, counted from the start.
    pub leak_checks_wanted: AtomicU32,
    /// How many blocks were definitely lost at the last one: written from the outside, before the next word.
    pub leak_check_lost: AtomicU32,
    /// Of these checks, how many were made, or are not going to be: whoever asked waits for it.
    pub leak_checks_made: AtomicU32,
    /// Where the table of the agent's private memory is: [`super::ledger::OwnRanges`], in the process itself.
    pub own_ranges: AtomicU64,
    /// Sequence lock of [`Region::Mappings`]: odd while it is being changed.
    pub mappings_sequence: AtomicU64,
    /// Live mappings.
    pub mappings: AtomicU64,
    /// Blocks that got guard pages.
    pub guarded_blocks: AtomicU64,
    /// Families whose blocks have a canary behind them ([`crate::canary`]), as bits by their numbers.
    pub canary_families: AtomicU32,
    /// Where the range of addresses begins in which blocks have guard pages, and no such canary.
    pub guard_start: AtomicU64,
    /// Its length.
    pub guard_length: AtomicU64,
    /// Where the stack of the thread that ends the process began when it began to: what lies below was left by functions
    /// that have returned. 0 while it does not, or where that was not seen.
    pub leaving_stack: AtomicU64,
    /// An address on the stack on which that thread went on, below which it waits: of a signal handler, this may be another stack.
    pub leaving_from: AtomicU64,
    /// What the registers held then: those that functions keep for their callers (rbx, rbp, r12 to r15), and zeros; at a signal all of
    /// them.
    pub leaving_registers: [AtomicU64; LEAVING_REGISTERS],
    /// Where the sampled small objects of Python are: [`super::python::OBJECT_SAMPLES`] records of
    /// [`super::python::ObjectSample`], in the process itself.
    pub object_samples: AtomicU64,
    /// Where the [`super::trampoline::Trampoline`] is, in the process itself.
    pub trampoline: AtomicU64,
    /// A copy that the process forks itself.
    pub self_fork: SelfFork,
    /// Parts of the program whose leaks are checked; their numbers are their bits in a set.
    pub sections: [SectionRecord; MOST_SECTIONS],
    /// One counter per [`crate::Loss`].
    pub losses: [AtomicU64; LOSS_SLOTS],
    /// The regions.
    pub regions: [RegionExtent; REGIONS],
    /// The hottest words, alone on their cache lines.
    pub hot: Hot,
}

/// Live bytes and their maximum. Every event writes the one and reads the other: on one line, and on lines that processors
/// fetch in pairs, threads would wait for the second whenever another had changed the first.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Hot {
    /// Bytes in live heap blocks (weighted when sampled).
    pub live_bytes: AtomicU64,
    apart: [u64; 15],
    /// [`super::marks::Moment`]: the largest value that `live_bytes` had, and how many marks there were.
    pub moment: AtomicU64,
}

const _: () = assert!(size_of::<Header>() <= PAGE);

/// Where [`Header::marks_wanted`] is in the file.
pub const MARKS_WANTED_OFFSET: usize = offset_of!(Header, marks_wanted);
/// Where [`Header::tests_wanted`] is in the file.
pub const TESTS_WANTED_OFFSET: usize = offset_of!(Header, tests_wanted);

/// Where [`Header::self_fork`] is in the file.
pub const SELF_FORK_OFFSET: usize = offset_of!(Header, self_fork);

/// Where [`Hot::moment`] is in the file.
pub const MOMENT_OFFSET: usize = offset_of!(Header, hot.moment);

/// Where [`Header::ledger_given`] is in the file.
pub const LEDGER_GIVEN_OFFSET: usize = offset_of!(Header, ledger_given);

/// Where [`Header::snapshots_taken`] is in the file.
pub const SNAPSHOTS_TAKEN_OFFSET: usize = offset_of!(Header, snapshots_taken);

/// Where [`Header::leak_check_lost`] is in the file.
pub const LEAK_CHECK_LOST_OFFSET: usize = offset_of!(Header, leak_check_lost);

/// Where [`Header::leak_checks_made`] is in the file.
pub const LEAK_CHECKS_MADE_OFFSET: usize = offset_of!(Header, leak_checks_made);

/// A header as read from a file: plain bytes, every access bounded.
#[derive(Clone, Copy, Debug)]
pub struct HeaderView<'a>(&'a [u8]);

macro_rules! field {
    ($(#[$doc:meta])* $name:ident: $ty:ty = $($path:tt)+) => {
        $(#[$doc])*
        pub fn $name(&self) -> $ty {
            const AT: usize = offset_of!(Header, $($path)+);
            <$ty>::from_le_bytes(self.bytes(AT))
        }
    };
}

impl<'a> HeaderView<'a> {
    /// Takes the first [`HEADER_SIZE`] bytes of a file; `None` when it is shorter or not (yet) an arena.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let view = Self(bytes.get(..HEADER_SIZE)?);
        (view.magic() == MAGIC).then_some(view)
    }

    field!(
        /// See [`Header::magic`].
        magic: u64 = magic
    );
    field!(
        /// See [`Header::pid`].
        pid: u32 = pid
    );
    field!(
        /// See [`Header::parent`].
        parent: u32 = parent
    );
    field!(
        /// See [`Header::flags`].
        flags: u32 = flags
    );
    field!(
        /// See [`Header::end_code`].
        end_code: i32 = end_code
    );
    field!(
        /// See [`Header::sample_interval`].
        sample_interval: u64 = sample_interval
    );
    field!(
        /// See [`Header::start_ns`].
        start_ns: u64 = start_ns
    );
    field!(
        /// See [`Header::end_ns`].
        end_ns: u64 = end_ns
    );
    field!(
        /// See [`Header::rss_start`].
        rss_start: u64 = rss_start
    );
    field!(
        /// See [`Header::rss_end`].
        rss_end: u64 = rss_end
    );
    field!(
        /// See [`Header::hook_ticks`].
        hook_ticks: u64 = hook_ticks
    );
    field!(
        /// See [`Header::private_bytes`].
        private_bytes: u64 = private_bytes
    );
    field!(
        /// See [`Header::object_interval`].
        object_interval: u64 = object_interval
    );
    field!(
        /// See [`Header::tests_wanted`].
        tests_wanted: u32 = tests_wanted
    );
    field!(
        /// See [`Header::tests_made`].
        tests_made: u32 = tests_made
    );
    field!(
        /// See [`Header::python`].
        python: u32 = python
    );
    field!(
        /// See [`Header::imports`].
        imports: u32 = imports
    );
    field!(
        /// See [`Header::ledger_wanted`].
        ledger_wanted: u32 = ledger_wanted
    );
    field!(
        /// See [`Header::snapshots_wanted`].
        snapshots_wanted: u32 = snapshots_wanted
    );
    field!(
        /// See [`Header::snapshot_of_loop`].
        snapshot_of_loop: u32 = snapshot_of_loop
    );
    field!(
        /// See [`Header::ledger_given`].
        ledger_given: u32 = ledger_given
    );
    field!(
        /// See [`Header::own_ranges`].
        own_ranges: u64 = own_ranges
    );
    field!(
        /// See [`Header::leaving_stack`].
        leaving_stack: u64 = leaving_stack
    );

    field!(
        /// See [`Header::leak_checks_wanted`].
        leak_checks_wanted: u32 = leak_checks_wanted
    );
    field!(
        /// See [`Header::leak_checks_made`].
        leak_checks_made: u32 = leak_checks_made
    );
    field!(
        /// See [`Header::leaving_from`].
        leaving_from: u64 = leaving_from
    );

    field!(
        /// See [`Header::object_samples`].
        object_samples: u64 = object_samples
    );

    field!(
        /// See [`Header::trampoline`].
        trampoline: u64 = trampoline
    );

    /// See [`Header::leaving_registers`].
    pub fn leaving_registers(&self) -> [u64; LEAVING_REGISTERS] {
        let at = |register: usize| offset_of!(Header, leaving_registers) + 8 * register;
        core::array::from_fn(|register| u64::from_le_bytes(self.bytes(at(register))))
    }

    /// See [`Header::sections`]: those that were ever opened.
    pub fn sections(&self) -> impl Iterator<Item = (u32, SectionView)> {
        (0..MOST_SECTIONS as u32)
            .map(|number| (number, self.section(number)))
            .filter(|(_, one)| one.name != 0)
    }

    fn section(&self, number: u32) -> SectionView {
        let row = offset_of!(Header, sections) + number as usize * size_of::<SectionRecord>();
        let small = |at: usize| u32::from_le_bytes(self.bytes(row + at));
        SectionView {
            name: u64::from_le_bytes(self.bytes(row + offset_of!(SectionRecord, name))),
            passes: small(offset_of!(SectionRecord, passes)),
            open: small(offset_of!(SectionRecord, open)),
            begun: small(offset_of!(SectionRecord, begun)),
            snapshot: small(offset_of!(SectionRecord, snapshot)),
        }
    }

    field!(
        /// See [`Header::mappings_sequence`].
        mappings_sequence: u64 = mappings_sequence
    );
    field!(
        /// See [`Header::guarded_blocks`].
        guarded_blocks: u64 = guarded_blocks
    );
    field!(
        /// See [`Header::canary_families`].
        canary_families: u32 = canary_families
    );
    field!(
        /// See [`Header::guard_start`].
        guard_start: u64 = guard_start
    );
    field!(
        /// See [`Header::guard_length`].
        guard_length: u64 = guard_length
    );
    field!(
        /// See [`Header::mappings`].
        mappings: u64 = mappings
    );
    field!(
        /// See [`Hot::live_bytes`].
        live_bytes: u64 = hot.live_bytes
    );
    field!(
        /// See [`Hot::moment`].
        raw_moment: u64 = hot.moment
    );

    /// See [`Hot::moment`].
    pub fn moment(&self) -> Moment {
        Moment::from_raw(self.raw_moment())
    }

    /// The peak of the live bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.moment().peak()
    }

    /// See [`Header::end`]; an unknown number reads as unseen.
    pub fn end(&self) -> End {
        match u32::from_le_bytes(self.bytes(offset_of!(Header, end))) {
            1 => End::Exited,
            2 => End::Replaced,
            _ => End::Unseen,
        }
    }

    /// The counter of one kind of loss.
    pub fn loss(&self, slot: usize) -> u64 {
        assert!(slot < LOSS_SLOTS, "loss slots are numbered below {LOSS_SLOTS}");
        u64::from_le_bytes(self.bytes(offset_of!(Header, losses) + 8 * slot))
    }

    /// Offset, capacity, reserved and used bytes of a region; `used` is cut to what is reserved.
    pub fn region(&self, region: Region) -> RegionView {
        let row = offset_of!(Header, regions) + region as usize * size_of::<RegionExtent>();
        let word = |at: usize| u64::from_le_bytes(self.bytes(row + at));
        let capacity = word(offset_of!(RegionExtent, capacity));
        let reserved = word(offset_of!(RegionExtent, reserved)).min(capacity);
        RegionView {
            offset: word(offset_of!(RegionExtent, offset)),
            capacity,
            reserved,
            used: word(offset_of!(RegionExtent, used)).min(reserved),
        }
    }

    /// Bytes of the arena that exist, over all regions.
    pub fn reserved_bytes(&self) -> u64 {
        const ALL: [Region; REGIONS] = [
            Region::Header,
            Region::Top,
            Region::Modules,
            Region::Strings,
            Region::Mappings,
            Region::Codes,
            Region::Loops,
            Region::Marks,
            Region::Notes,
            Region::Counters,
            Region::Threads,
            Region::Errors,
            Region::Changes,
            Region::Sites,
            Region::Nodes,
            Region::Pages,
        ];
        ALL.iter().fold(0, |sum, &region| sum.saturating_add(self.region(region).reserved))
    }

    /// The path of the executable, up to its terminator.
    pub fn executable(&self) -> &'a [u8] {
        let page = &self.0[EXECUTABLE_OFFSET..EXECUTABLE_OFFSET + PAGE];
        page.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    /// The words of the command line.
    pub fn command(&self) -> impl Iterator<Item = &'a [u8]> {
        let page = &self.0[COMMAND_OFFSET..COMMAND_OFFSET + PAGE];
        let length = page.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        page[..length].split(|&byte| byte == 0)
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }
}

/// Where a region lies and how much of it may be read.
#[derive(Clone, Copy, Debug)]
pub struct RegionView {
    /// File offset.
    pub offset: u64,
    /// Bytes that it may have.
    pub capacity: u64,
    /// Bytes that exist.
    pub reserved: u64,
    /// Bytes that hold records, at most `reserved`.
    pub used: u64,
}
