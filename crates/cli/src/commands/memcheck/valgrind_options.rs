//! Options of Valgrind that are accepted, so that existing scripts run unchanged, but that have no effect here. Those that only
//! tune Valgrind are ignored silently, those that ask for unsupported output print a warning, and those that ask for another tool
//! or check are errors before the program runs.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::failure::{Failure, eprint};

/// Silently ignored: emulation, tables of Valgrind, and errors other than leaks.
const IGNORED: &[&str] = &[
    "alignment",
    "allow-mismatched-debuginfo",
    "aspace-minaddr",
    "avg-transtab-entry-size",
    "child-silent-after-fork",
    "command-line-only",
    "core-redzone-size",
    "debuginfo-server",
    "dsymutil",
    "error-limit",
    "expensive-definedness-checks",
    "extra-debuginfo-path",
    "fair-sched",
    "free-fill",
    "freelist-big-blocks",
    "freelist-vol",
    "ignore-range-below-sp",
    "ignore-ranges",
    "input-fd",
    "keep-debuginfo",
    "keep-stacktraces",
    "kernel-variant",
    "main-stacksize",
    "malloc-fill",
    "max-stackframe",
    "max-threads",
    "merge-recursive-frames",
    "num-transtab-sectors",
    "partial-loads-ok",
    "px-default",
    "px-file-backed",
    "read-inline-info",
    "read-var-info",
    "redzone-size",
    "require-text-symbol",
    "resync-filter",
    "run-cxx-freeres",
    "run-libc-freeres",
    "sanity-level",
    "show-below-main",
    "show-emwarns",
    "show-mismatched-frees",
    "sigill-diagnostics",
    "sim-hints",
    "smc-check",
    "soname-synonyms",
    "trace-children-skip",
    "trace-children-skip-by-arg",
    "undef-value-errors",
    "valgrind-stacksize",
    "vgdb",
    "vgdb-poll",
    "vgdb-prefix",
    "vgdb-shadow-registers",
    "workaround-gcc296-bugs",
];

/// Ignored with a warning: name, the value that needs no warning, and the reason.
const UNSUPPORTED: &[(&str, &str, &str)] = &[
    ("demangle", "yes", "symbol names are always demangled"),
    ("error-markers", "none", "use --json or --xml=yes for output that is read by programs"),
    ("exit-on-first-error", "no", "leaks are detected when the program has exited"),
    ("progress-interval", "0", "nothing is reported before the program exits"),
    ("stats", "no", "not supported"),
    ("time-stamp", "no", "all output is written at exit"),
    ("trace-malloc", "no", "calls are not logged; heaplens run reports which lines allocate"),
    ("track-fds", "no", "file descriptors are not tracked"),
    ("vgdb-error", "999999999", "there is no gdbserver"),
    ("vgdb-stop-at", "none", "there is no gdbserver"),
    ("xtree-leak", "no", "not supported; --json has all leaks with their stacks"),
    ("xtree-leak-file", "", "not supported; --json has all leaks with their stacks"),
    ("xtree-memory", "none", "not supported; heaplens run records allocations by stack"),
    ("xtree-memory-file", "", "not supported; heaplens run records allocations by stack"),
];

/// Errors: name, the value that is accepted, the reason, and the hint.
const REJECTED: &[(&str, &str, &str, &str)] = &[
    ("log-socket", "", "output cannot be sent over a socket", "use --log-file=FILE"),
    ("tool", "memcheck", "only the leak check of memcheck is supported", "omit the option"),
    (
        "track-origins",
        "no",
        "heaplens finds leaks, not uses of uninitialized values",
        "omit the option; use valgrind to find uninitialized values",
    ),
    ("xml-socket", "", "output cannot be sent over a socket", "use --xml-file=FILE"),
];

/// The given options of these lists, with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ValgrindOptions(Vec<(&'static str, String)>);

impl ValgrindOptions {
    /// Prints warnings; the first rejected option is an error.
    pub(super) fn check(&self) -> Result<(), Failure> {
        for (name, value) in &self.0 {
            let rejected = REJECTED.iter().find(|option| option.0 == *name && option.1 != value);
            if let Some((_, _, why, hint)) = rejected {
                return Err(Failure::new(format!("--{name}={value}: {why}")).hint(hint));
            }
            let unsupported = UNSUPPORTED.iter().find(|option| option.0 == *name && option.1 != value);
            if let Some((_, _, why)) = unsupported {
                eprint(&format!("heaplens: --{name} is ignored: {why}"));
            }
        }
        Ok(())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let unsupported = UNSUPPORTED.iter().map(|option| option.0);
    IGNORED.iter().copied().chain(unsupported).chain(REJECTED.iter().map(|option| option.0))
}

impl Args for ValgrindOptions {
    fn augment_args(command: Command) -> Command {
        let option = |name: &'static str| {
            Arg::new(name)
                .long(name)
                .hide(true)
                .num_args(0..=1)
                .require_equals(true)
                .action(ArgAction::Append)
        };
        command.args(names().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ValgrindOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |name: &'static str| {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            values.map(move |value| (name, value.clone()))
        };
        Ok(Self(names().flat_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> ValgrindOptions {
        let command = ValgrindOptions::augment_args(Command::new("memcheck").no_binary_name(true));
        ValgrindOptions::from_arg_matches(&command.try_get_matches_from(args).unwrap()).unwrap()
    }

    #[test]
    fn no_option_is_in_two_lists() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn options_that_tune_valgrind_are_ignored() {
        let args = ["--max-stackframe=8000000", "--smc-check=all", "--tool=memcheck", "--track-origins=no"];
        assert_eq!(parsed(&args).check(), Ok(()));
        assert_eq!(parsed(&["--fair-sched=try", "--fair-sched=yes"]).0.len(), 2);
    }

    #[test]
    fn other_tools_and_checks_are_errors() {
        for arg in ["--tool=massif", "--track-origins=yes", "--log-socket=127.0.0.1"] {
            assert!(parsed(&[arg]).check().is_err(), "{arg}");
        }
    }
}
