//! The programs of the campaign: short ones of `tests/programs`, built once.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::random::Random;
use crate::workspace::{root, succeed};

/// A program, its words, and whether it prints the same every time.
const CHOICES: &[(&str, &[&str], Output)] = &[
    ("plain.c", &[], Output::Same),
    ("peak.c", &[], Output::Same),
    ("signals.c", &[], Output::Same),
    ("threads.c", &[], Output::Same),
    ("thread_exit.cpp", &[], Output::Same),
    ("fork_tree.c", &[], Output::Same),
    ("exec_chain.c", &[], Output::Same),
    ("exceptions.cpp", &[], Output::Same),
    ("coroutines.c", &[], Output::Same),
    ("raw_clone.c", &[], Output::Same),
    ("atexit.cpp", &[], Output::Same),
    ("many_coroutines.c", &["50"], Output::Same),
    ("ten_million.c", &["50000"], Output::Same),
    ("stacks.cpp", &["300"], Output::Same),
    ("fork_storm.c", &["4"], Output::Varies),
    ("signal_storm.c", &["200"], Output::Varies),
    ("contention.c", &[], Output::Varies),
];

/// What can be compared of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// Every line, once process numbers are out and the order of processes is forgotten.
    Same,
    /// Which processes spoke to their end.
    Varies,
}

/// A program that was built.
#[derive(Debug)]
pub struct Program {
    source: &'static str,
    words: &'static [&'static str],
    output: Output,
    path: PathBuf,
}

impl Program {
    /// What reports of the campaign call it.
    pub fn name(&self) -> &'static str {
        self.source
    }

    /// The file and its words.
    pub fn command(&self) -> Vec<&str> {
        std::iter::once(self.path.to_str().unwrap_or_default()).chain(self.words.iter().copied()).collect()
    }

    /// What of its output must be the same each time.
    pub fn essence(&self, stdout: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(stdout);
        let kept = |line: &&str| self.output == Output::Same || line.starts_with("truth-end ");
        let mut lines: Vec<String> = text.lines().filter(kept).map(without_process).collect();
        lines.sort();
        lines
    }
}

/// The second word of the lines of `truth.h` is a process.
fn without_process(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    if matches!(words[0], "truth" | "chain" | "truth-end") && words.len() > 1 {
        words.remove(1);
    }
    words.join(" ")
}

/// All programs.
#[derive(Debug)]
pub struct Programs(Vec<Program>);

impl Programs {
    /// Compiles what is not there.
    pub fn build(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let built = CHOICES.iter().map(|&(source, words, output)| {
            let path = compile(source, folder)?;
            Ok(Program { source, words, output, path })
        });
        built.collect::<Result<_>>().map(Self)
    }

    /// Any of them.
    pub fn choose(&self, random: &mut Random) -> &Program {
        &self.0[random.between(0, self.0.len() as u64) as usize]
    }
}

fn compile(source: &str, folder: &Path) -> Result<PathBuf> {
    let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
    let output = folder.join(source.split('.').next().unwrap_or(source));
    let mut command = Command::new(compiler);
    command.args(["-O2", "-g", "-w", "-pthread"]).args((compiler == "cc").then_some("-D_GNU_SOURCE"));
    succeed(command.arg(root().join("tests/programs").join(source)).arg("-o").arg(&output).arg("-ldl"))?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(output: Output) -> Program {
        Program { source: "x.c", words: &[], output, path: PathBuf::new() }
    }

    #[test]
    fn process_numbers_and_their_order_do_not_matter() {
        let same = program(Output::Same);
        let one = same.essence(b"truth 7 native x.c 1 2\ntruth-end 7\ntruth-end 8\n");
        assert_eq!(one, same.essence(b"truth-end 3\ntruth 4 native x.c 1 2\ntruth-end 4\n"));
        assert_ne!(one, same.essence(b"truth 7 native x.c 1 3\ntruth-end 7\ntruth-end 8\n"));
    }

    #[test]
    fn a_program_that_varies_still_has_to_speak_to_its_end() {
        let varies = program(Output::Varies);
        assert_eq!(varies.essence(b"truth 7 a\ntruth-end 7\n"), varies.essence(b"truth 9 b\ntruth-end 9\n"));
        assert_ne!(varies.essence(b"truth-end 7\n"), varies.essence(b""));
    }
}
