//! A scenario is run once, whoever asks first; its last line says what it found.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Index;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::program::program;

const DEFAULT_SEED: &str = "20240229";

/// One scenario of the program, and about how many stacks it shall check.
pub struct Scenario {
    name: &'static str,
    captures: u64,
    summary: OnceLock<Summary>,
}

/// All of them.
pub static SCENARIOS: [Scenario; 16] = [
    Scenario::new("tree", 150_000),
    Scenario::new("gaps", 200_000),
    Scenario::new("exceptions", 150_000),
    Scenario::new("jumps", 150_000),
    Scenario::new("threads", 150_000),
    Scenario::new("steps", 200_000),
    Scenario::new("steps-on-alternate-stack", 100_000),
    Scenario::new("timer", 60_000),
    Scenario::new("timer-on-alternate-stack", 60_000),
    Scenario::new("coroutines", 150_000),
    Scenario::new("signals-in-coroutines", 60_000),
    Scenario::new("growing-stacks", 4_000),
    Scenario::new("reload", 20_000),
    Scenario::new("hostile", 30_000),
    Scenario::new("endings", 30_000),
    Scenario::new("deep", 60),
];

impl Scenario {
    const fn new(name: &'static str, captures: u64) -> Self {
        Self { name, captures, summary: OnceLock::new() }
    }

    /// The one with this name.
    pub fn named(name: &str) -> &'static Self {
        SCENARIOS.iter().find(|scenario| scenario.name == name).expect("tests ask for scenarios that exist")
    }

    /// What it found.
    pub fn summary(&self) -> &Summary {
        self.summary.get_or_init(|| self.run())
    }

    fn run(&self) -> Summary {
        let arenas = Folder::fresh(self.name);
        let seed = std::env::var("HEAPLENS_UNWIND_SEED").unwrap_or_else(|_| DEFAULT_SEED.to_owned());
        let mut command = Command::new(program());
        command.args([self.name, &seed, &self.captures.to_string()]).env("HEAPLENS_DIR", &arenas.0);
        let output = command.output().expect("the program was built just now");
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        eprint!("{stderr}");
        assert!(output.status.success(), "scenario {} seed {seed}: {}", self.name, output.status);
        Summary::parse(stdout.lines().last().unwrap_or_default())
    }
}

/// The numbers of the last line, by their names. One that was never counted is 0.
pub struct Summary {
    line: String,
    numbers: HashMap<String, u64>,
}

impl Summary {
    fn parse(line: &str) -> Self {
        let pairs = line.split(' ').filter_map(|word| word.split_once('='));
        let numbers =
            pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect();
        let summary = Self { line: line.to_owned(), numbers };
        assert!(summary["captures"] > 0, "no summary in {line:?}");
        summary
    }
}

impl Index<&str> for Summary {
    type Output = u64;

    fn index(&self, name: &str) -> &u64 {
        self.numbers.get(name).unwrap_or(&0)
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// A folder for the arena of one process, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn fresh(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("arenas-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the build folder is writable");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is in the build folder and harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
