//! The environment variables by which the recorder speaks to the agent. They are inherited by the whole process tree.

/// The directory of the session: every process of the tree puts its arena there, as `PID.N.arena` (N counts its execs).
pub const DIRECTORY: &str = "HEAPLENS_DIR";

/// The path of the agent, so that it can put itself back into an environment that a program cleaned before `exec`.
pub const AGENT: &str = "HEAPLENS_AGENT";

/// The mean distance between two samples in bytes; absent or 0: every allocation is recorded.
pub const SAMPLE: &str = "HEAPLENS_SAMPLE";

/// Which small objects of Python are recorded: [`Objects::word`], or samples of them when absent.
pub const OBJECTS: &str = "HEAPLENS_OBJECTS";

/// Which small objects of Python are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objects {
    /// A sample, whose density adapts.
    #[default]
    Sampled,
    /// Every one.
    All,
    /// None.
    None,
}

impl Objects {
    /// As the environment says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::All => "all",
            Self::None => "none",
        }
    }

    /// What the environment says.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        [Self::Sampled, Self::All, Self::None].into_iter().find(|objects| objects.word().as_bytes() == word)
    }
}

/// What is kept of stacks inside imports: [`Imports::word`], or folded ones when absent.
pub const IMPORTS: &str = "HEAPLENS_IMPORTS";

/// What is kept of stacks inside imports of libraries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Imports {
    /// The line that imports, and the modules that are being loaded.
    #[default]
    Folded,
    /// Everything.
    Full,
}

impl Imports {
    /// As the environment says it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Full => "full",
        }
    }

    /// What the environment says.
    pub fn from_word(word: &[u8]) -> Option<Self> {
        [Self::Folded, Self::Full].into_iter().find(|imports| imports.word().as_bytes() == word)
    }
}

/// `1`: do not follow child programs across `exec`.
pub const NO_FOLLOW: &str = "HEAPLENS_NO_FOLLOW";

/// `1`: no reclaim test is run in the program, such as running Python's collector.
pub const PASSIVE: &str = "HEAPLENS_PASSIVE";

/// `1`: leaks are looked for at the end of every process, however it ends, as far as it can be seen.
pub const LEAK_CHECK: &str = "HEAPLENS_LEAK_CHECK";

/// `1`: nothing is known of frameworks: no probe, and their pools are blocks as any other.
pub const NO_FRAMEWORKS: &str = "HEAPLENS_NO_FRAMEWORKS";

/// `1`: stacks of frees are kept, and the arguments of functions of the C library are checked, as Memcheck does.
pub const MEMCHECK: &str = "HEAPLENS_MEMCHECK";

/// The label of the mark that begins a leak check of a section, or [`LEAK_CHECK_START`].
pub const LEAK_CHECK_FROM: &str = "HEAPLENS_LEAK_CHECK_FROM";

/// The label of the mark that ends it, or [`LEAK_CHECK_END`].
pub const LEAK_CHECK_TO: &str = "HEAPLENS_LEAK_CHECK_TO";

/// In place of a label: the start of a process.
pub const LEAK_CHECK_START: &str = "start";

/// In place of a label: the end of a process.
pub const LEAK_CHECK_END: &str = "end";

/// A number: after so many runs of a session from one line its graph is finalized. Read by the probe of TensorFlow.
pub const FINALIZE: &str = "HEAPLENS_FINALIZE_GRAPH";

/// What is done to find memory errors: [`Checks`] as text; nothing when absent.
pub const CHECKS: &str = "HEAPLENS_CHECKS";

/// The code that makes the blocks to be guarded, for [`Guarding::Lines`]: for each object file its path, and ranges of addresses in it,
/// in hexadecimal: `PATH|START-END,START-END|PATH|…`.
pub const GUARDED_CODE: &str = "HEAPLENS_GUARDED_CODE";

/// Which blocks are guarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarding {
    /// None.
    #[default]
    None,
    /// As many as can be.
    All,
    /// One of so many.
    Sample(u32),
    /// Those that certain lines allocate.
    Lines,
}

/// Which end of a guarded block is at a page that nobody may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GuardSide {
    /// The last byte: overruns are caught.
    #[default]
    End,
    /// The first byte: underruns are caught.
    Begin,
}

/// What is done to find memory errors of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Whether there is a canary behind each block.
    pub canaries: bool,
    /// The most bytes of blocks that are kept after they were freed.
    pub quarantine: u64,
    /// Which blocks are guarded.
    pub guarding: Guarding,
    /// At which end.
    pub side: GuardSide,
    /// The least alignment of a guarded block: a power of two, up to 4096.
    pub alignment: u32,
    /// Whether the program ends at the first access that is caught, by the signal that it would have got.
    pub stops: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self::NONE
    }
}

impl Checks {
    /// Nothing is checked.
    pub const NONE: Self = Self {
        canaries: false,
        quarantine: 0,
        guarding: Guarding::None,
        side: GuardSide::End,
        alignment: 16,
        stops: false,
    };

    /// Whether blocks are not what the program asked for, and no more.
    pub fn are_on(&self) -> bool {
        self.canaries || self.guarding != Guarding::None
    }

    /// From its text; a word that is not known means nothing.
    pub fn from_text(text: &[u8]) -> Self {
        let mut checks = Self::NONE;
        for word in text.split(|&byte| byte == b',') {
            let colon = word.iter().position(|&byte| byte == b':').unwrap_or(word.len());
            let number = word.get(colon + 1..).and_then(decimal);
            match (&word[..colon], number) {
                (b"canaries", _) => checks.canaries = true,
                (b"quarantine", Some(bytes)) => checks.quarantine = bytes,
                (b"guard-all", _) => checks.guarding = Guarding::All,
                (b"guard-lines", _) => checks.guarding = Guarding::Lines,
                (b"guard-sample", Some(blocks)) => {
                    checks.guarding = Guarding::Sample(u32::try_from(blocks).unwrap_or(u32::MAX).max(1));
                }
                (b"begin", _) => checks.side = GuardSide::Begin,
                (b"align", Some(bytes)) if bytes.is_power_of_two() && bytes <= 4096 => {
                    checks.alignment = bytes as u32
                }
                (b"stop", _) => checks.stops = true,
                _ => {}
            }
        }
        checks
    }
}

impl core::fmt::Display for Checks {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "quarantine:{},align:{}", self.quarantine, self.alignment)?;
        if self.canaries {
            write!(out, ",canaries")?;
        }
        match self.guarding {
            Guarding::None => {}
            Guarding::All => write!(out, ",guard-all")?,
            Guarding::Sample(blocks) => write!(out, ",guard-sample:{blocks}")?,
            Guarding::Lines => write!(out, ",guard-lines")?,
        }
        if self.side == GuardSide::Begin {
            write!(out, ",begin")?;
        }
        if self.stops { write!(out, ",stop") } else { Ok(()) }
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Without a recorder: how the names of heap profiles begin that the program writes itself. This and the next four are
/// gperftools' own variables.
pub const PROFILE: &str = "HEAPPROFILE";

/// Set in the first byte of its value, as gperftools does, by a program that writes profiles: what it starts has the name of its
/// process in the names of its files.
pub const PROFILE_INHERITED: u8 = 0x80;

/// Bytes: a profile whenever so many more were allocated.
pub const PROFILE_ALLOCATED: &str = "HEAP_PROFILE_ALLOCATION_INTERVAL";

/// Bytes: a profile whenever so many more are in use than ever before.
pub const PROFILE_IN_USE: &str = "HEAP_PROFILE_INUSE_INTERVAL";

/// Seconds: a profile whenever so many have passed.
pub const PROFILE_SECONDS: &str = "HEAP_PROFILE_TIME_INTERVAL";

/// The number of a signal: a profile whenever it comes.
pub const PROFILE_SIGNAL: &str = "HEAPPROFILESIGNAL";

/// The dynamic linker's list of libraries to load first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// The wake-up FIFO in the session's directory: whoever opens it for writing has the recorder read the arenas at once.
pub const WAKE_UP_FIFO: &str = "wake-up";

/// What an arena's file name ends with.
pub const ARENA_SUFFIX: &str = ".arena";

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn checks_read_back_as_they_were_written() {
        for guarding in [Guarding::None, Guarding::All, Guarding::Sample(1000), Guarding::Lines] {
            for (side, flag) in [(GuardSide::End, false), (GuardSide::Begin, true)] {
                let checks = Checks {
                    canaries: flag,
                    quarantine: 20_000_000,
                    guarding,
                    side,
                    alignment: 1,
                    stops: flag,
                };
                assert_eq!(Checks::from_text(checks.to_string().as_bytes()), checks);
            }
        }
        assert_eq!(Checks::from_text(b""), Checks::NONE);
        assert_eq!(Checks::from_text(b"what:9,align:3,guard-sample:x"), Checks::NONE);
        assert!(!Checks::NONE.are_on());
    }
}
