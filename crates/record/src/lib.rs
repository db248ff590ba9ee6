//! The recorder: starts a program under the agent, follows its process tree, and turns what the agent left behind into a
//! recording. It never links the agent and never names a frame.
//!
//! ```text
//!   lookup ─▶ inspect ─▶ session + agent_file ─▶ launch ─▶ watch ─▶ seal ─▶ Recording
//!   (PATH)    (can it?)  (where arenas go)                 (20 ms)  (arenas)
//! ```

pub mod arena;

mod agent_cache;
mod agent_file;
mod code_pages;
mod codes;
mod collect;
mod counters;
mod frozen;
mod headroom;
mod image;
mod inject;
mod inspect;
mod intervals;
mod kernel;
mod labels;
mod launch;
mod ledger;
mod looks;
mod lookup;
mod marks;
mod procfs;
mod progress;
mod ptrace;
mod python;
mod run;
mod seal;
mod self_fork;
mod session;
mod snapshot;
mod snapshots;
mod stacks;
mod stopwatch;
mod threads;
mod timeline;
mod trace;
mod trampoline;
mod wake_up;
mod watch;
mod watched;

pub use agent_file::{AgentFile, NoPlaceForAgent};
pub use collect::{Asked, CollectError, collect, collect_with};
pub use frozen::{Examined, Examiner, Frozen, LiveBlock, MappedArea, NotFrozen, RootKind, RootRange};
pub use inspect::BareReason;
pub use lookup::LookupError;
pub use progress::{Audience, Progress};
pub use run::{Listeners, Outcome, Recorded, RunError, RunOptions, place_agent, run, run_with};
pub use seal::Warning;
pub use session::{Session, SessionError};
pub use snapshot::{NotRecorded, RecordedProcess, Unanswered};
pub use trace::NotStopped;
