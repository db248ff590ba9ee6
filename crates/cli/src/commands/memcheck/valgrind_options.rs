//! Options of Valgrind that are accepted, so that existing scripts run unchanged, but that have no effect on Heaplens itself. Those that
//! only tune Valgrind are passed on where it is the engine and else ignored silently, those that ask for unsupported output print a
//! warning, and those that ask for another tool are errors before the program runs.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::failure::{Failure, eprint};

/// For Valgrind alone: emulation, its tables, and errors other than leaks.
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
    "sigill-diagnostics",
    "sim-hints",
    "smc-check",
    "soname-synonyms",
    "trace-children-skip",
    "trace-children-skip-by-arg",
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
    ("xml-socket", "", "output cannot be sent over a socket", "use --xml-file=FILE"),
];

/// Those that ask for Valgrind as the engine: yes or no.
const ENGINE: &[&str] = &["track-origins", "undef-value-errors"];

/// Options of the engine that Heaplens sets itself, or that have no meaning when nobody looks at it.
const NOT_PASSED_ON: &[&str] = &["child-silent-after-fork", "command-line-only", "input-fd"];

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

    /// The value of an option that is yes or no, if it is given; of two the later one.
    pub(super) fn switch(&self, wanted: &str) -> Result<Option<bool>, Failure> {
        let given = self.0.iter().rev().find(|(name, _)| *name == wanted);
        given.map_or(Ok(None), |(name, value)| match value.as_str() {
            "yes" => Ok(Some(true)),
            "no" => Ok(Some(false)),
            _ => Err(Failure::new(format!("--{name}={value}: the value must be yes or no"))),
        })
    }

    /// The options that Valgrind gets where it is the engine.
    pub(super) fn for_valgrind(&self) -> Vec<String> {
        let is_for_it = |name: &str| {
            (IGNORED.contains(&name) || ENGINE.contains(&name)) && !NOT_PASSED_ON.contains(&name)
        };
        let given = self.0.iter().filter(|(name, _)| is_for_it(name));
        given.map(|(name, value)| format!("--{name}={value}")).collect()
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let unsupported = UNSUPPORTED.iter().map(|option| option.0);
    IGNORED
        .iter()
        .copied()
        .chain(ENGINE.iter().copied())
        .chain(unsupported)
        .chain(REJECTED.iter().map(|option| option.0))
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
        for arg in ["--tool=massif", "--log-socket=127.0.0.1"] {
            assert!(parsed(&[arg]).check().is_err(), "{arg}");
        }
    }

    #[test]
    fn what_tunes_valgrind_is_passed_on_and_what_heaplens_decides_is_not() {
        let args = [
            "--track-origins=yes",
            "--freelist-big-blocks=1000",
            "--child-silent-after-fork=no",
            "--stats=yes",
        ];
        assert_eq!(parsed(&args).for_valgrind(), ["--freelist-big-blocks=1000", "--track-origins=yes"]);
    }

    #[test]
    fn a_switch_is_yes_or_no_and_the_later_one_counts() {
        let switch = |args: &[&str]| parsed(args).switch("track-origins");
        assert_eq!(switch(&[]), Ok(None));
        assert_eq!(switch(&["--track-origins=yes", "--track-origins=no"]), Ok(Some(false)));
        assert!(switch(&["--track-origins=maybe"]).is_err());
    }
}
