//! CPython's own tests: the twelve largest modules and those about memory, threads and processes.
//!
//! An interpreter built from source leaves `test_multiprocessing_fork` and its like out, Debian's leaves `test_capi` out: what
//! the first interpreter does not have is run on another one that has it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::suites::{self, Known, Suite, SuiteVerdict, judge, not_judged};
use crate::check::Count;
use crate::workspace::{heaplens, printed};

/// No module is begun after this.
const MOST: Duration = Duration::from_secs(45 * 60);
/// A single test that takes longer hangs, and a whole module.
const MOST_SECONDS_OF_A_TEST: u64 = 300;
const MOST_SECONDS_OF_A_MODULE: u64 = 900;

const NAMED: [&str; 8] = [
    "test_gc",
    "test_sys",
    "test_threading",
    "test_capi",
    "test_multiprocessing_fork",
    "test_multiprocessing_forkserver",
    "test_multiprocessing_main_handling",
    "test_multiprocessing_spawn",
];

const KNOWN: [Known; 1] = [Known {
    test: "test.test_sys.SysModuleTest.test_debugmallocstats",
    reason: "the statistics of small objects are left out while another allocator stands before Python's own, \
             as under -X tracemalloc",
}];

/// Tests that hang alone on some machines, with the module that they are in.
const LEFT_OUT: [(&str, &str); 1] = [
    // On a virtual machine whose sockets of this kind lead to its host nobody ever connects.
    ("test_socket", "*ThreadedVSOCKSocketStreamTest*"),
];

/// Prints the version, then the twelve largest modules and their sizes, then which of the named ones there are.
const ASK: &str = "
import os, sys, test
folder = os.path.dirname(test.__file__)
size = lambda name: os.path.getsize(os.path.join(folder, name))
modules = sorted((name for name in os.listdir(folder) if name.startswith('test_') and name.endswith('.py')), key=size)
print(sys.executable, sys.version.split()[0])
for name in modules[:-13:-1]: print(name[:-3], size(name))
for name in sys.argv[1:]:
    if name + '.py' in modules or os.path.exists(os.path.join(folder, name, '__init__.py')): print(name, 0)
";

/// An interpreter with the modules that it has.
struct Library {
    python: PathBuf,
    version: String,
    /// With their sizes, 0 for one that is asked for by its name.
    modules: Vec<(String, u64)>,
}

impl Library {
    fn of(python: &Path) -> Option<Self> {
        let text = printed(Command::new(python).args(["-c", ASK]).args(NAMED)).ok()?;
        let mut pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
        let (python, version) = pairs.next()?;
        let modules = pairs.map(|(name, size)| (name.to_owned(), size.parse().unwrap_or_default())).collect();
        Some(Self { python: python.into(), version: version.to_owned(), modules })
    }
}

/// Runs all modules, or those of them that are asked for; a line on each and more on what differed.
pub fn run(asked: &[&str]) -> Result<(Vec<String>, Count)> {
    let heaplens = heaplens()?;
    let libraries: Vec<Library> =
        suites::interpreters().iter().filter_map(|python| Library::of(python)).collect();
    let first = libraries.first().context("no Python on this machine brings its tests along")?;
    let mut verdicts = vec![reported(first)];
    let start = Instant::now();
    let is_wanted = |module: &str| asked.is_empty() || asked.contains(&module);
    for (library, module) in plan(&libraries).into_iter().filter(|(_, module)| is_wanted(module)) {
        let name = format!("{module}, Python {}", library.version);
        verdicts.push(if start.elapsed() < MOST {
            judge(&heaplens, &suite(library, module, &name), &KNOWN, &suites::folder(module))?
        } else {
            not_judged(format!("{name}: not run, the time is over"))
        });
    }
    verdicts
        .extend(absent(&libraries).map(|module| not_judged(format!("{module}: not run, no Python has it"))));
    let count = verdicts.iter().fold(Count::default(), |count, verdict| count.and(verdict.count));
    Ok((verdicts.into_iter().flat_map(|verdict| verdict.lines).collect(), count))
}

/// Which interpreter and why these modules.
fn reported(first: &Library) -> SuiteVerdict {
    let largest = first.modules.iter().filter(|(_, size)| *size > 0);
    let largest: Vec<String> = largest.map(|(name, size)| format!("{name} {size}")).collect();
    let line = format!("Python {}, its largest modules by bytes: {}", first.version, largest.join(", "));
    let left_out =
        LEFT_OUT.map(|(module, pattern)| format!("left out of {module}, it may hang alone: {pattern}"));
    let lines: Vec<String> = [line].into_iter().chain(left_out).collect();
    lines.iter().for_each(|line| println!("{line}"));
    SuiteVerdict { count: Count::default(), lines }
}

/// Everything of the first interpreter, and of the others what was asked for by name and is still missing.
fn plan(libraries: &[Library]) -> Vec<(&Library, &str)> {
    let mut seen = BTreeSet::new();
    let mut plan = Vec::new();
    for (index, library) in libraries.iter().enumerate() {
        for (module, size) in &library.modules {
            if (index == 0 || *size == 0) && seen.insert(module.as_str()) {
                plan.push((library, module.as_str()));
            }
        }
    }
    plan
}

fn absent(libraries: &[Library]) -> impl Iterator<Item = &'static str> {
    let has = |name: &str| libraries.iter().flat_map(|library| &library.modules).any(|(one, _)| one == name);
    NAMED.into_iter().filter(move |name| !has(name))
}

fn suite(library: &Library, module: &str, name: &str) -> Suite {
    let mut words = vec!["--timeout".to_owned(), MOST_SECONDS_OF_A_TEST.to_string()];
    for (_, pattern) in LEFT_OUT.iter().filter(|(one, _)| *one == module) {
        words.extend(["--ignore".to_owned(), (*pattern).to_owned()]);
    }
    words.push(module.to_owned());
    Suite {
        name: name.to_owned(),
        python: library.python.clone(),
        runner: "test",
        words,
        most_seconds: MOST_SECONDS_OF_A_MODULE,
    }
}
