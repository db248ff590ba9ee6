//! The frameworks that Heaplens knows: a folder each, and a line each in the registry at the end.
//!
//! This file is compiled twice. Inside the program, in the agent (its feature `inside`), a framework is a probe, hooks, and the paths
//! that it is noticed by. Outside, in the analysis, it is rules, suppressions and words. The halves do not know each other: what
//! a probe counts goes through the recording by name. Nothing else in the repository knows a framework.

#[cfg(feature = "inside")]
use core::ffi::CStr;

#[cfg(not(feature = "inside"))]
use crate::diagnose::remark::RemarkKind;
#[cfg(not(feature = "inside"))]
use crate::diagnose::rule::Rule;

/// What is known of a framework inside the program.
#[cfg(feature = "inside")]
pub(crate) struct Framework {
    /// Parts of the paths of its object files. When code of one first appears on a stack, the probe is installed.
    pub(crate) modules: &'static [&'static str],
    /// Python code that watches the framework (`python::probes` says what it is given).
    pub(crate) probe: &'static CStr,
}

/// What is known of a framework outside.
#[cfg(not(feature = "inside"))]
pub(crate) struct Framework {
    /// Causes of growth.
    pub(crate) rules: &'static [&'static Rule],
    /// Leaks that healthy programs are full of, in Valgrind's syntax.
    pub(crate) suppressions: &'static str,
    /// What it has to say of a run besides.
    pub(crate) remarks: &'static [RemarkKind],
    /// What its runs are called, where a hook marks each of them.
    pub(crate) runs: Option<&'static str>,
}

/// A text of Python that ends with a zero.
#[cfg(feature = "inside")]
const fn source(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a text with one zero, at its end"),
    }
}

macro_rules! frameworks {
    ($($(#[$attribute:meta])* $name:ident;)*) => {
        $($(#[$attribute])* mod $name;)*

        /// All of them.
        pub(crate) const ALL: &[&Framework] = &[$($(#[$attribute])* &$name::FRAMEWORK),*];
    };
}

frameworks! {
    tensorflow;
    #[cfg(feature = "toy")] toy;
}
