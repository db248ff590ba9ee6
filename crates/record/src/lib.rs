//! The recorder: starts a program under the agent, follows its process tree, and turns the arenas that the agent left
//! into a recording. It never links the agent and never names a frame.
//!
//! ```text
//!   run: launch ─▶ watch ─▶ seal ─▶ Recording        collect, recorded_process: the same for a session that another recorder began
//!
//!   run_engine: the same program under Valgrind, whose output a reader gets
//!
//!   which room imports which:   seal ─▶ watch ─▶ snapshot ─▶ ledger ─▶ address_space ─▶ arena ─▶ agent
//!                               launch, tracing, and all of these ─▶ os
//! ```

pub mod arena;

mod address_space;
mod agent;
mod collect;
mod engine;
mod launch;
mod ledger;
mod os;
mod recorded_process;
mod run;
mod seal;
mod session;
mod snapshot;
mod thinning;
mod tracing;
mod watch;

pub use agent::{AgentFile, NoDirectoryForAgent};
pub use collect::{Asked, CollectError, collect, collect_with};
pub use engine::{EngineError, EngineOptions, EngineRun, EngineXml, SecondInput, Valgrind, run_engine};
pub use launch::{BareReason, LookupError, find_program};
pub use recorded_process::{NotRecorded, RecordedProcess, Unanswered};
pub use run::{LeakCheckMarks, Outcome, Recorded, RunError, RunOptions, install_agent, run, run_with};
pub use seal::Warning;
pub use session::{Session, SessionError};
pub use snapshot::{Examiner, SnapshotError};
pub use tracing::NotStopped;
pub use watch::{Listeners, Progress, ProgressListener};
