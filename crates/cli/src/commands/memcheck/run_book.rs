//! Options of Valgrind that stand in run-books and that a leak check from the outside does not need. Those that only say how
//! Valgrind does its work are passed over in silence; one that asks for something that will not come is told of, and one that
//! cannot be obeyed at all is an error, before the program runs.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::failure::{Failure, tell};

/// How Valgrind works, which does not matter here: emulation, its own tables, and errors other than leaks.
const SILENT: &[&str] = &[
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

/// What will not come: the value that asks for nothing (with any other it is told of), and why.
const TOLD: &[(&str, &str, &str)] = &[
    ("demangle", "yes", "names are always written as people read them"),
    (
        "error-markers",
        "none",
        "records have no markers; --json and --xml=yes are for programs that read them",
    ),
    (
        "leak-check-heuristics",
        "all",
        "stdstring, length64 and newarray are always on, multipleinheritance is not there",
    ),
    ("exit-on-first-error", "no", "leaks are found when the program has ended"),
    ("progress-interval", "0", "nothing is reported before the program ends"),
    ("stats", "no", "there are no such statistics"),
    ("time-stamp", "no", "all lines are written at the end"),
    ("trace-malloc", "no", "single calls are not written; heaplens run tells which lines allocate"),
    ("track-fds", "no", "open files are not looked at"),
    ("vgdb-error", "999999999", "a debugger cannot be attached to a check"),
    ("vgdb-stop-at", "none", "a debugger cannot be attached to a check"),
    ("xtree-leak", "no", "there is no such file; --json has all records with their stacks"),
    ("xtree-leak-file", "", "there is no such file; --json has all records with their stacks"),
    ("xtree-memory", "none", "there is no such file; heaplens run records who allocates what"),
    ("xtree-memory-file", "", "there is no such file; heaplens run records who allocates what"),
];

/// What cannot be obeyed: the value with which it can, why, and the way out.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("log-socket", "", "nothing is sent over a network", "use --log-file=FILE"),
    (
        "tool",
        "memcheck",
        "of Valgrind's tools only the leak check of memcheck is here",
        "leave the option out",
    ),
    (
        "track-origins",
        "no",
        "heaplens looks for leaks, not for values that were never set",
        "leave the option out; valgrind finds such values",
    ),
    ("xml-socket", "", "nothing is sent over a network", "use --xml-file=FILE"),
];

/// Options of these lists, as they were typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunBook(Vec<(&'static str, String)>);

impl RunBook {
    /// Says what will not come; the first that cannot be obeyed is an error.
    pub(super) fn explain(&self) -> Result<(), Failure> {
        for (name, value) in &self.0 {
            let refused = REFUSED.iter().find(|refused| refused.0 == *name && refused.1 != value);
            if let Some((_, _, why, way_out)) = refused {
                return Err(Failure::new(format!("--{name}={value}: {why}")).hint(way_out));
            }
            let told = TOLD.iter().find(|told| told.0 == *name && told.1 != value);
            if let Some((_, _, why)) = told {
                tell(&format!("heaplens: --{name} is passed over: {why}"));
            }
        }
        Ok(())
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let told = TOLD.iter().map(|told| told.0);
    SILENT.iter().copied().chain(told).chain(REFUSED.iter().map(|refused| refused.0))
}

impl Args for RunBook {
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

impl FromArgMatches for RunBook {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |name: &'static str| {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            values.map(move |value| (name, value.clone()))
        };
        Ok(Self(names().flat_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> RunBook {
        let command = RunBook::augment_args(Command::new("memcheck").no_binary_name(true));
        RunBook::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn no_option_stands_in_two_lists() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn what_only_valgrind_needs_is_passed_over() {
        let words = ["--max-stackframe=8000000", "--smc-check=all", "--tool=memcheck", "--track-origins=no"];
        assert_eq!(typed(&words).explain(), Ok(()));
        assert_eq!(typed(&["--fair-sched=try", "--fair-sched=yes"]).0.len(), 2);
    }

    #[test]
    fn what_cannot_be_obeyed_is_an_error() {
        for words in ["--tool=massif", "--track-origins=yes", "--log-socket=127.0.0.1"] {
            assert!(typed(&[words]).explain().is_err(), "{words}");
        }
    }
}
