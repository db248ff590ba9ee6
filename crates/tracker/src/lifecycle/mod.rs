//! The life of this process as the agent sees it: start, `fork`, `exec`, exit.

pub mod start;
