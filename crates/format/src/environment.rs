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

/// `1`: do not follow child programs across `exec`.
pub const NO_FOLLOW: &str = "HEAPLENS_NO_FOLLOW";

/// `1`: no reclaim test is run in the program, such as running Python's collector.
pub const PASSIVE: &str = "HEAPLENS_PASSIVE";

/// `1`: leaks are looked for at the end of every process, however it ends, as far as it can be seen.
pub const LEAK_CHECK: &str = "HEAPLENS_LEAK_CHECK";

/// `1`: nothing is known of frameworks: no probe, and their pools are blocks as any other.
pub const NO_FRAMEWORKS: &str = "HEAPLENS_NO_FRAMEWORKS";

/// A number: after so many runs of a session from one line its graph is finalized. Read by the probe of TensorFlow.
pub const FINALIZE: &str = "HEAPLENS_FINALIZE_GRAPH";

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
