//! From a snapshot to what goes into a recording: lost blocks, and the view of the heap, with names and sums and no memory of the
//! program.
//!
//! ```text
//!   limits, reference_paths, literals, native_names ◀── namer ◀── typed_heap ◀─┬─ heap_view ◀── analysis
//!                                                         samples, reused ◀┘
//! ```

mod analysis;
mod heap_view;
mod limits;
mod literals;
#[cfg(test)]
mod mappings_tests;
mod namer;
mod native_names;
mod reference_paths;
mod reused;
mod samples;
mod typed_heap;

pub use analysis::Analysis;
