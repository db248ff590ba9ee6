//! The environment variables by which the recorder speaks to the agent. They are inherited by the whole process tree.

/// The directory of the session: every process of the tree puts its arena there, as `PID.N.arena` (N counts its execs).
pub const DIRECTORY: &str = "HEAPLENS_DIR";

/// The path of the agent, so that it can put itself back into an environment that a program cleaned before `exec`.
pub const AGENT: &str = "HEAPLENS_AGENT";

/// The mean distance between two samples in bytes; absent or 0: every allocation is recorded.
pub const SAMPLE: &str = "HEAPLENS_SAMPLE";

/// `1`: do not follow child programs across `exec`.
pub const NO_FOLLOW: &str = "HEAPLENS_NO_FOLLOW";

/// The dynamic linker's list of libraries to load first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// What an arena's file name ends with.
pub const ARENA_SUFFIX: &str = ".arena";
