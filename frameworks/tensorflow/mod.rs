//! TensorFlow, and Keras on top of it.
//!
//! ```text
//!   inside    probe.py    graphs, sessions, functions, registries, models, tapes, iterators: counted by the user's line
//!             hooks       pools (their regions are no blocks, their parts are), runs of sessions, which line a thread works for
//!   outside   counters    what the probe counts, by name
//!             rules       causes of growth
//!             remarks     what became of a graph that was finalized for the user
//!             suppressions.supp
//! ```

#[cfg(not(feature = "inside"))]
mod counters;
#[cfg(feature = "inside")]
mod hooks;
#[cfg(not(feature = "inside"))]
mod remarks;
#[cfg(not(feature = "inside"))]
mod rules;

use super::Framework;

#[cfg(feature = "inside")]
pub(crate) static FRAMEWORK: Framework = Framework {
    // The folder that the package is installed in.
    modules: &["/tensorflow/"],
    probe: super::source(concat!(include_str!("probe.py"), "\0")),
};

#[cfg(not(feature = "inside"))]
pub(crate) static FRAMEWORK: Framework = Framework {
    rules: rules::RULES,
    suppressions: include_str!("suppressions.supp"),
    remarks: &[remarks::FINALIZED],
    runs: Some("runs of Session::Run"),
};
