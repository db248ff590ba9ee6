//! How a program is started under a tool: the command line, the environment, the limit.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::family::Family;
use super::rows::{Amount, BenchProgram, Row};
use crate::workspace::root;

/// A run that takes longer is given up. A bare run takes seconds.
pub const LIMIT_S: u32 = 180;

/// For all programs. Which words meet in a dict, and what TensorFlow finds, is the same in every run.
const ENVIRONMENT: [&str; 3] = ["TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=", "PYTHONHASHSEED=0"];

/// For the NumPy loop. Threads of its linear algebra that wait for each other burn CPU time that is nobody's work.
const ONE_THREAD: &str = "OPENBLAS_NUM_THREADS=1";

/// Where the built things are.
#[derive(Debug)]
pub struct Paths {
    /// The command.
    pub heaplens: PathBuf,
    /// The command of an earlier version, when versions are compared.
    pub earlier: Option<PathBuf>,
    /// A Python that has what the rows import, when a row is in Python.
    pub python: Option<PathBuf>,
    /// Programs, and what tools leave behind.
    pub folder: PathBuf,
}

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What the table says.
    pub name: &'static str,
    /// The tables that it stands in.
    pub families: &'static [Family],
}

impl Column {
    /// Whether a row and this column meet in some table.
    pub fn is_for(self, row: &Row) -> bool {
        self.families.iter().any(|family| row.program.families().contains(family))
    }
}

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// Its column in the tables.
    pub column: Column,
    /// Ours has to work; what a peer cannot do is only reported.
    pub ours: bool,
    /// Why it cannot be had here.
    pub missing: Option<String>,
    /// Slow tools do this part of the units of a row, and do it once.
    pub divisor: u32,
    /// What it wants set.
    pub environment: Vec<(&'static str, OsString)>,
    /// What stands before the program.
    pub prefix: Vec<OsString>,
    /// What stands between the interpreter and the script: tools that are Python themselves.
    pub interpreter: Vec<OsString>,
    /// What separates the script's arguments from the tool's.
    pub before_arguments: Option<&'static str>,
}

impl Tool {
    /// One that changes nothing: the tools say what they add.
    pub fn plain(column: Column) -> Self {
        Self {
            column,
            ours: false,
            missing: None,
            divisor: 1,
            environment: Vec::new(),
            prefix: Vec::new(),
            interpreter: Vec::new(),
            before_arguments: None,
        }
    }

    /// The row's program under this tool, with a limit. What it says on stderr is nobody's.
    pub fn command(&self, row: &Row, paths: &Paths) -> Command {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=5").arg(LIMIT_S.to_string()).arg("env").args(ENVIRONMENT);
        command.args(matches!(row.program, BenchProgram::Python(_)).then_some(ONE_THREAD));
        command.args(self.environment.iter().map(|(name, value)| assignment(name, value)));
        command.args(&self.prefix).args(self.program(row, paths)).args(row.arguments);
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

    /// The program up to its arguments.
    fn program(&self, row: &Row, paths: &Paths) -> Vec<OsString> {
        let name = row.program.name();
        if !row.program.is_python() {
            return vec![paths.folder.join(name).into()];
        }
        let python = paths.python.clone().unwrap_or_else(|| "python3".into());
        let mut words = vec![python.into()];
        words.extend(self.interpreter.iter().cloned());
        words.push(root().join(format!("bench/{name}.py")).into());
        words.extend(self.before_arguments.map(OsString::from));
        words
    }
}

fn assignment(name: &str, value: &OsString) -> OsString {
    let mut assignment = OsString::from(name);
    assignment.push("=");
    assignment.push(value);
    assignment
}

#[cfg(test)]
mod tests {
    use super::super::columns::{MIXED_PEER, NATIVE_PEER, SAMPLED, all};
    use super::super::rows::ROWS;
    use super::*;

    fn line(tool: &str, row: &str) -> String {
        let (heaplens, python) = ("/b/heaplens".into(), Some("/p/python".into()));
        let paths = Paths { heaplens, earlier: None, python, folder: "/b/bench".into() };
        let tools = all(&paths);
        let tool = tools.iter().find(|known| known.column.name == tool).unwrap();
        let row = ROWS.iter().find(|known| known.name == row).unwrap();
        let command = tool.command(row, &paths);
        let words: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        words.join(" ").replace(root().to_str().unwrap(), "/root")
    }

    #[test]
    fn the_tool_is_set_for_the_program_and_not_for_the_timeout_around_it() {
        let line = line(NATIVE_PEER, "mixed");
        assert!(line.starts_with(&format!("--kill-after=5 {LIMIT_S} env ")), "{line}");
        assert!(line.ends_with("libheaptrack_preload.so /b/bench/mixed 120"), "{line}");
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

    #[test]
    fn a_tool_that_is_python_stands_between_the_interpreter_and_the_script() {
        let line = |tool| line(tool, "tf-function").split_once("/p/python ").unwrap().1.to_owned();
        let script = "/root/bench/tensorflow_steps.py";
        assert_eq!(
            line(MIXED_PEER),
            format!("-m memray run --quiet --force --native -o /b/bench/memray.bin {script} function 4000")
        );
        assert_eq!(line("tracemalloc"), format!("-X tracemalloc {script} function 4000"));
        assert_eq!(
            line("Scalene"),
            format!("-m scalene run --memory -o /b/bench/scalene.json {script} --- function 4000")
        );
    }
}
