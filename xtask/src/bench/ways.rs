//! The columns: bare, Heaplens and its peers, each with the command line and the environment that starts a program under it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::rows::{Amount, Program, Row};
use crate::workspace::root;

const HEAPTRACK: &str = "/usr/lib/heaptrack/libheaptrack_preload.so";
const GPERFTOOLS: &str = "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4";
const LEAK_SANITIZER: &str = "/usr/lib/x86_64-linux-gnu/liblsan.so.0";
const VALGRIND: &str = "/usr/bin/valgrind";

/// A run that takes longer is given up. A bare run takes seconds.
pub const LIMIT_S: u32 = 180;

/// The columns that targets speak of.
pub const BARE: &str = "bare";
pub const EXACT: &str = "Heaplens";
pub const SAMPLED: &str = "Heaplens, 512 KiB samples";
pub const PEER: &str = "heaptrack";

/// Where the built things are.
#[derive(Debug)]
pub struct Places {
    /// The command.
    pub heaplens: PathBuf,
    /// A Python that has TensorFlow, when a row needs it.
    pub python: Option<PathBuf>,
    /// Programs, and what tools leave behind.
    pub folder: PathBuf,
}

/// One column.
#[derive(Debug)]
pub struct Way {
    /// What the table says.
    pub name: &'static str,
    /// Ours has to work; what a peer cannot do is only told.
    pub ours: bool,
    /// Why it cannot be had here.
    pub missing: Option<String>,
    /// Slow tools do this part of the units of a row, and do it once.
    pub divisor: u32,
    environment: Vec<(&'static str, OsString)>,
    prefix: Vec<OsString>,
}

/// All columns. Those that cannot be had are there too, with the reason.
pub fn all(places: &Places) -> Vec<Way> {
    vec![
        ours(BARE, Vec::new()),
        ours(EXACT, heaplens(places, &[])),
        ours(SAMPLED, heaplens(places, &["--sample", "512KiB"])),
        preloaded(PEER, HEAPTRACK, 1, vec![("DUMP_HEAPTRACK_OUTPUT", "/dev/null".into())]),
        preloaded(
            "gperftools HEAPPROFILE",
            GPERFTOOLS,
            20,
            vec![("HEAPPROFILE", places.folder.join("gperftools").into())],
        ),
        // Names for the leaks that it finds at the end are not asked for: nobody reads them here.
        preloaded("LSan", LEAK_SANITIZER, 1, vec![("LSAN_OPTIONS", "exitcode=0:symbolize=0".into())]),
        memcheck(),
    ]
}

impl Way {
    /// The row's program under this tool, with a limit. What it says on stderr is nobody's.
    pub fn command(&self, row: &Row, places: &Places) -> Command {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=5").arg(LIMIT_S.to_string()).arg("env");
        command.args(["TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=", "PYTHONHASHSEED=0"]);
        command.args(self.environment.iter().map(|(name, value)| assignment(name, value)));
        command.args(&self.prefix).args(program(row, places)).args(row.arguments);
        command.arg(self.amount(row).to_string()).stderr(Stdio::null()).stdin(Stdio::null());
        command
    }

    /// How much work the program is given.
    pub fn amount(&self, row: &Row) -> u32 {
        match row.amount {
            Amount::Fixed(amount) => amount,
            Amount::Units(units) => (units / self.divisor).max(1),
        }
    }

    /// Whether one run has to do.
    pub fn is_slow(&self) -> bool {
        self.divisor > 1
    }
}

fn assignment(name: &str, value: &OsString) -> OsString {
    let mut assignment = OsString::from(name);
    assignment.push("=");
    assignment.push(value);
    assignment
}

fn program(row: &Row, places: &Places) -> Vec<PathBuf> {
    match row.program {
        Program::Cpp(name) => vec![places.folder.join(name)],
        Program::TensorFlow => {
            let python = places.python.clone().unwrap_or_else(|| "python3".into());
            vec![python, root().join("bench/tensorflow_steps.py")]
        }
    }
}

fn ours(name: &'static str, prefix: Vec<OsString>) -> Way {
    Way { name, ours: true, missing: None, divisor: 1, environment: Vec::new(), prefix }
}

fn heaplens(places: &Places, options: &[&str]) -> Vec<OsString> {
    let recording = places.folder.join("bench.hlr");
    let mut words: Vec<OsString> = vec![places.heaplens.clone().into(), "run".into(), "-q".into()];
    words.extend(options.iter().map(OsString::from));
    words.extend(["-o".into(), recording.into(), "--".into()]);
    words
}

fn preloaded(
    name: &'static str,
    library: &'static str,
    divisor: u32,
    mut environment: Vec<(&'static str, OsString)>,
) -> Way {
    environment.push(("LD_PRELOAD", library.into()));
    Way { name, ours: false, missing: missing(library), divisor, environment, prefix: Vec::new() }
}

/// Leaks are looked for after the program's end, which is not what is measured here.
fn memcheck() -> Way {
    let prefix = [VALGRIND, "-q", "--leak-check=no"].map(OsString::from).to_vec();
    let environment = Vec::new();
    Way { name: "Memcheck", ours: false, missing: missing(VALGRIND), divisor: 10, environment, prefix }
}

fn missing(file: &str) -> Option<String> {
    (!Path::new(file).exists()).then(|| format!("{file} is not there"))
}

#[cfg(test)]
mod tests {
    use super::super::rows::ROWS;
    use super::*;

    fn places() -> Places {
        Places { heaplens: "/b/heaplens".into(), python: Some("/p/python".into()), folder: "/b/bench".into() }
    }

    fn line(way: &str, row: &str) -> String {
        let places = places();
        let ways = all(&places);
        let way = ways.iter().find(|known| known.name == way).unwrap();
        let row = ROWS.iter().find(|known| known.name == row).unwrap();
        let command = way.command(row, &places);
        let words: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn the_tool_is_set_for_the_program_and_not_for_the_timeout_around_it() {
        let line = line(PEER, "mixed");
        assert!(line.starts_with(&format!("--kill-after=5 {LIMIT_S} env ")), "{line}");
        assert!(line.ends_with(&format!("LD_PRELOAD={HEAPTRACK} /b/bench/mixed 120")), "{line}");
    }

    #[test]
    fn a_slow_tool_does_fewer_units_of_the_same_work() {
        assert!(line("Memcheck", "mixed").ends_with("--leak-check=no /b/bench/mixed 12"));
        assert!(line("Memcheck", "nodes").ends_with("/b/bench/nodes 3"), "a whole is not cut");
    }

    #[test]
    fn samples_are_asked_for_by_the_option_that_users_have() {
        let line = line(SAMPLED, "tf-eager");
        assert!(
            line.contains("/b/heaplens run -q --sample 512KiB -o /b/bench/bench.hlr -- /p/python"),
            "{line}"
        );
        assert!(line.ends_with("tensorflow_steps.py eager 1500"), "{line}");
    }
}
