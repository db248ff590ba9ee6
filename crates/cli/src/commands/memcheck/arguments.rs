//! The arguments of `heaplens memcheck`: the options of Valgrind's Memcheck, spelled as it spells them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use heaplens_analyze::heap::Heuristics;
use heaplens_analyze::suppressions;
use heaplens_format::recording::LeakKind;

use super::valgrind_options::ValgrindOptions;
use crate::checks::GuardArguments;
use crate::values::{Color, YesNo};

/// `heaplens memcheck`. Options are spelled as Memcheck spells them.
#[derive(Debug, Args)]
pub(crate) struct MemcheckArguments {
    /// Engine: heaplens; valgrind for uninitialized values too (default with --track-origins=yes); or valgrind-only
    #[arg(long, value_name = "ENGINE", hide_possible_values = true)]
    pub(super) engine: Option<EngineChoice>,
    /// Whether to check for leaks at exit, and how to report them
    #[arg(long, value_name = "HOW", default_value = "summary", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    pub(super) leak_check: LeakDetail,
    /// Interior pointers that count as pointers to the start of a block: a list of stdstring, length64, newarray, multipleinheritance; or
    /// all, or none
    #[arg(long, value_name = "HOW", default_value = "all", value_parser = heuristics)]
    pub(super) leak_check_heuristics: Heuristics,
    /// How many callers must match for two leaks to be merged
    #[arg(long, value_name = "HOW", default_value = "high")]
    pub(super) leak_resolution: Resolution,
    /// Leak kinds to show: a list of definite, indirect, possible, reachable; or all, or none
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    pub(super) show_leak_kinds: KindSet,
    /// Leak kinds that count as errors (same values)
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    pub(super) errors_for_leak_kinds: KindSet,
    /// yes: same as --show-leak-kinds=all
    #[arg(long, value_name = "yes|no", hide = true)]
    pub(super) show_reachable: Option<YesNo>,
    /// no: same as --show-leak-kinds=definite
    #[arg(long, value_name = "yes|no", hide = true)]
    pub(super) show_possibly_lost: Option<YesNo>,
    /// Exit with status N if there are errors (0: with the status of the program)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) error_exitcode: u8,
    /// Number of frames to show per stack
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(super) num_callers: usize,
    /// Show full source paths, or the part after TEXT; may be repeated
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) fullpath_after: Vec<String>,
    /// Suppress the leaks listed in FILE, in the syntax of Valgrind or LeakSanitizer; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) suppressions: Vec<PathBuf>,
    /// Use the built-in suppressions for Python and TensorFlow
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) default_suppressions: YesNo,
    /// Print a suppression for each leak
    #[arg(long, value_name = "no|yes|all", default_value = "no", hide_possible_values = true)]
    pub(super) gen_suppressions: GenSuppressions,
    /// List used suppressions
    #[arg(short = 's')]
    pub(super) show_suppressed: bool,
    /// yes: same as -s
    #[arg(long, value_name = "yes|no", default_value = "no", hide = true)]
    pub(super) show_error_list: YesNo,
    /// Same as -s, and print the duration of the leak check
    #[arg(short, long, action = clap::ArgAction::Count, hide = true)]
    pub(super) verbose: u8,
    /// Also check programs that the program starts (follow exec)
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    pub(super) trace_children: YesNo,
    /// Whether to show blocks that are freed by another function than the one that belongs to their allocation (free for new)
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) show_mismatched_frees: YesNo,
    /// Keep up to N bytes of freed blocks, to find writes to them; 0: none
    #[arg(long, value_name = "N", default_value_t = 20_000_000)]
    pub(super) freelist_vol: u64,
    #[command(flatten)]
    pub(super) guard: GuardArguments,
    /// Check only what is allocated between two marks: heaplens_mark("LABEL"), or start
    #[arg(long, value_name = "MARK")]
    pub(super) leak_check_from: Option<String>,
    /// The mark that ends this check, or end (the default)
    #[arg(long = "to", value_name = "MARK", requires = "leak_check_from")]
    pub(super) leak_check_to: Option<String>,
    /// Write the output to FILE instead of stderr (%p: process ID, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    pub(super) log_file: Option<OsString>,
    /// Write the output to this file descriptor
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) log_fd: u32,
    /// Write Valgrind XML (protocol 4) to the file given with --xml-file
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    pub(super) xml: YesNo,
    /// File for --xml=yes (%p: process ID, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    pub(super) xml_file: Option<OsString>,
    /// File descriptor for --xml=yes
    #[arg(long, value_name = "N")]
    pub(super) xml_fd: Option<u32>,
    /// Text to include in the XML
    #[arg(long, value_name = "TEXT", hide = true)]
    pub(super) xml_user_comment: Option<String>,
    /// Also write the report to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// When to color the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: Color,
    #[command(flatten)]
    pub(super) valgrind_options: ValgrindOptions,
    /// Program to run, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub(super) command: Vec<OsString>,
}

/// Which engine looks for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineChoice {
    /// Heaplens itself
    Heaplens,
    /// Heaplens for leaks, then Valgrind for uninitialized values and invalid accesses: the program runs twice
    Valgrind,
    /// Valgrind alone, for leaks too: the program runs once
    ValgrindOnly,
}

/// How leaks are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LeakDetail {
    /// No leak check
    No,
    /// Totals of each leak kind
    Summary,
    /// Totals, and each leak with its stack
    #[value(alias = "yes")]
    Full,
}

/// When two leaks are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Resolution {
    /// One caller
    Low,
    /// Three callers
    Med,
    /// The whole stack
    High,
}

impl Resolution {
    /// The number of frames to compare, as in Memcheck including the allocating function.
    pub(super) fn callers(self) -> Option<usize> {
        match self {
            Self::Low => Some(1),
            Self::Med => Some(3),
            Self::High => None,
        }
    }
}

/// Whether suppressions are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum GenSuppressions {
    /// None
    No,
    /// Memcheck asks for each one; here, the same as all
    Yes,
    /// All
    All,
}

/// A set of leak kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KindSet(pub(super) BTreeSet<LeakKind>);

fn kinds(text: &str) -> Result<KindSet, String> {
    let kinds = suppressions::kinds_of(text).map(KindSet);
    kinds.ok_or_else(|| {
        "leak kinds are definite, indirect, possible and reachable, or all, or none".to_owned()
    })
}

fn heuristics(list: &str) -> Result<Heuristics, String> {
    Heuristics::parse(list).ok_or_else(|| {
        "heuristics are stdstring, length64, newarray and multipleinheritance, or all, or none".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_spelled_as_memcheck_spells_them() {
        let only = |kinds: &[LeakKind]| Ok(KindSet(kinds.iter().copied().collect()));
        assert_eq!(kinds("definite,possible"), only(&[LeakKind::DefinitelyLost, LeakKind::PossiblyLost]));
        assert_eq!(kinds("all"), only(&LeakKind::ALL));
        assert_eq!(kinds("none"), only(&[]));
        assert!(kinds("definite,lost").unwrap_err().contains("reachable"));
    }
}
