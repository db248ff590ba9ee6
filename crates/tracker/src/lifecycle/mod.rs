//! The life of this process as the agent sees it: start, `fork`, `exec`, exit; and how its threads come and go. It owns the order in
//! which tables come up and what is written at the end; what the tables hold is theirs.

mod exit;
mod start;
mod threads;

pub use exit::{
    Departure, after_failed_exec, before_death, before_exec, before_test_at_exit, on_exit, on_leaving,
};
pub use start::{is_recording, start};
