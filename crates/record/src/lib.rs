//! The recorder: starts a program under the agent, follows its process tree, and turns what the agent left behind into a
//! recording. It never links the agent and never names a frame.
//!
//! ```text
//!   lookup ─▶ inspect ─▶ session + agent_file ─▶ launch ─▶ watch ─▶ seal ─▶ Recording
//!   (PATH)    (can it?)  (where arenas go)                 (20 ms)  (arenas)
//!                                                          │
//!                          kernel ◀─ memory ◀─ tracing ◀─ ledger ◀─ snapshot
//! ```

pub mod arena;

mod agent_cache;
mod agent_file;
mod codes;
mod collect;
mod counters;
mod inspect;
mod intervals;
mod kernel;
mod launch;
mod ledger;
mod listeners;
mod lookup;
mod marks;
mod memory;
mod procfs;
mod progress;
mod recorded_process;
mod run;
mod seal;
mod session;
mod snapshot;
mod stacks;
mod stopwatch;
mod threads;
mod timeline;
mod tracing;
mod wake_up;
mod watch;
mod watched;

pub use agent_file::{AgentFile, NoPlaceForAgent};
pub use collect::{Asked, CollectError, collect, collect_with};
pub use inspect::BareReason;
pub use listeners::Listeners;
pub use lookup::LookupError;
pub use progress::{Audience, Progress};
pub use recorded_process::{NotRecorded, RecordedProcess, Unanswered};
pub use run::{Outcome, Recorded, RunError, RunOptions, place_agent, run, run_with};
pub use seal::Warning;
pub use session::{Session, SessionError};
pub use snapshot::{Examiner, SnapshotError};
pub use tracing::NotStopped;
