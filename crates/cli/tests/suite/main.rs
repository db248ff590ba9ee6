//! Heaplens against programs that print the truth about themselves (`tests/programs`), through the command line alone.
//!
//! One file per theme. A test that cannot run on this machine prints `skipped: NAME: REASON` and passes; `cargo xtask test`
//! counts it as skipped.

mod bad_input;
mod bounded;
mod concurrent_targets;
mod cut_short;
mod diff;
mod errors;
mod exactness;
mod exit;
mod export;
mod fragmentation;
mod frameworks;
mod growth;
mod harness;
mod heap_profiles;
mod holders;
mod hostile;
mod html;
mod kill;
mod ledger;
mod lost_by_tensorflow;
mod lost_by_tensorflow_natively;
mod lost_by_tensorflow_planted;
mod manual;
mod memcheck;
mod memcheck_ends;
mod memcheck_engine;
mod memcheck_suppressions;
mod native_tensorflow;
mod process_tree;
mod processes;
mod python;
mod real_programs;
mod recorder_killed;
mod refused;
mod report;
mod requests;
mod sampling;
mod sections;
mod snapshots;
mod stacks;
mod status;
mod tensorflow_cases;
mod tensorflow_finalize;
mod tensorflow_kernels;
mod tensorflow_pools;
mod tensorflow_rules;
mod tensorflow_workers;
mod unrecordable;
