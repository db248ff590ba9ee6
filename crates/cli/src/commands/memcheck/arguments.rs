//! What `heaplens memcheck` takes: the options of Valgrind's Memcheck, spelled as it spells them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use heaplens_analyze::suppressions;
use heaplens_format::recording::LeakKind;

use super::run_book::RunBook;
use crate::values::{Color, YesNo};

/// `heaplens memcheck`. Options are spelled as Memcheck spells them.
#[derive(Debug, Args)]
pub(crate) struct MemcheckArguments {
    /// How much is said about blocks that are live at the end
    #[arg(long, value_name = "HOW", default_value = "summary", num_args = 0..=1, require_equals = true, default_missing_value = "full")]
    pub(super) leak_check: LeakDetail,
    /// How many callers two leaks must share to be told of as one: one, three or all
    #[arg(long, value_name = "HOW", default_value = "high")]
    pub(super) leak_resolution: Resolution,
    /// Kinds of leaks to show, of: definite, indirect, possible, reachable; or all, or none
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    pub(super) show_leak_kinds: KindSet,
    /// Kinds of leaks that count as errors (the same words)
    #[arg(long, value_name = "KINDS", default_value = "definite,possible", value_parser = kinds)]
    pub(super) errors_for_leak_kinds: KindSet,
    /// yes: the same as --show-leak-kinds=all
    #[arg(long, value_name = "yes|no", hide = true)]
    pub(super) show_reachable: Option<YesNo>,
    /// no: the same as --show-leak-kinds=definite
    #[arg(long, value_name = "yes|no", hide = true)]
    pub(super) show_possibly_lost: Option<YesNo>,
    /// Exit with this status when there are errors, instead of the program's own
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) error_exitcode: u8,
    /// Frames of a stack to show
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(super) num_callers: usize,
    /// Show whole paths of source files, or what follows TEXT in them; may be given several times
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) fullpath_after: Vec<String>,
    /// A file of leaks that are known, in the syntax of Valgrind or of the leak sanitizer; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) suppressions: Vec<PathBuf>,
    /// Leave out what healthy Python and TensorFlow programs are known to hold by pointers into blocks
    #[arg(long, value_name = "yes|no", default_value = "yes", hide_possible_values = true)]
    pub(super) default_suppressions: YesNo,
    /// Write behind each leak a suppression that means it and no other
    #[arg(long, value_name = "no|yes|all", default_value = "no", hide_possible_values = true)]
    pub(super) gen_suppressions: GenSuppressions,
    /// Name the suppressions that were used
    #[arg(short = 's')]
    pub(super) show_suppressed: bool,
    /// yes: the same as -s
    #[arg(long, value_name = "yes|no", default_value = "no", hide = true)]
    pub(super) show_error_list: YesNo,
    /// The same as -s, and how long the look took
    #[arg(short, long, action = clap::ArgAction::Count, hide = true)]
    pub(super) verbose: u8,
    /// Look at programs that the program starts, too
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    pub(super) trace_children: YesNo,
    /// Write the page to FILE instead of stderr (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    pub(super) log_file: Option<OsString>,
    /// Write the page to this descriptor
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(super) log_fd: u32,
    /// Write Valgrind's XML (protocol 4) to the file that --xml-file names
    #[arg(long, value_name = "yes|no", default_value = "no", hide_possible_values = true)]
    pub(super) xml: YesNo,
    /// The file for --xml=yes (%p: process id, %q{VAR}: environment variable, %%: percent sign)
    #[arg(long, value_name = "FILE")]
    pub(super) xml_file: Option<OsString>,
    /// The descriptor for --xml=yes
    #[arg(long, value_name = "N")]
    pub(super) xml_fd: Option<u32>,
    /// Copied into the XML
    #[arg(long, value_name = "TEXT", hide = true)]
    pub(super) xml_user_comment: Option<String>,
    /// Write the report as JSON too
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Colour in the report
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(super) color: Color,
    #[command(flatten)]
    pub(super) run_book: RunBook,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_names = ["PROGRAM", "ARGS"])]
    pub(super) command: Vec<OsString>,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LeakDetail {
    /// Nothing
    No,
    /// The sum of each kind
    Summary,
    /// Each stack, too
    #[value(alias = "yes")]
    Full,
}

/// What counts as one leak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Resolution {
    /// The same caller
    Low,
    /// The same three callers
    Med,
    /// The same stack
    High,
}

impl Resolution {
    /// Memcheck counts the allocating function, too.
    pub(super) fn callers(self) -> Option<usize> {
        match self {
            Self::Low => Some(1),
            Self::Med => Some(3),
            Self::High => None,
        }
    }
}

/// Whether suppressions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum GenSuppressions {
    /// None
    No,
    /// Memcheck asks for each one; here they are all written
    Yes,
    /// All
    All,
}

/// Kinds of leaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KindSet(pub(super) BTreeSet<LeakKind>);

fn kinds(words: &str) -> Result<KindSet, String> {
    let known = suppressions::kinds_of(words).map(KindSet);
    known.ok_or_else(|| "kinds are definite, indirect, possible, reachable, or all, or none".to_owned())
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
