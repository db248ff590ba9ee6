//! The options that say how memory errors are looked for, and the code of the lines that they name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use heaplens_analyze::code_of_line;
use heaplens_format::environment::{self, Checks, Guarding};

use crate::failure::Failure;

/// Which blocks are guarded, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct GuardArguments {
    /// Put blocks on pages of their own, so that an access outside of them, or after they were freed, is caught where it is made: those
    /// that FILE:LINE allocates, one of N blocks (sample:N), or as many as there is memory for (all)
    #[arg(long, value_name = "FILE:LINE|sample:N|all", value_parser = guard)]
    guard: Option<Guard>,
    /// Which side of a guarded block is next to a page that cannot be accessed: end finds overruns, begin finds underruns
    #[arg(long, value_name = "SIDE", default_value = "end")]
    guard_side: Side,
    /// Alignment of guarded blocks in bytes; with 1, no byte after a block escapes, but a program may rely on more
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = alignment)]
    guard_align: u32,
    /// After an access to a guard page was reported: let the program continue, or end it by SIGSEGV
    #[arg(long, value_name = "WHAT", default_value = "continue")]
    on_error: OnError,
}

/// Which blocks are guarded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Guard {
    All,
    Sample(u32),
    Line(String, u32),
}

/// A side of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    /// After its last byte
    End,
    /// Before its first byte
    Begin,
}

/// What happens after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnError {
    /// The program continues
    Continue,
    /// The program ends
    Stop,
}

fn guard(text: &str) -> Result<Guard, String> {
    const WRONG: &str = "expected FILE:LINE, sample:N or all";
    if text == "all" {
        return Ok(Guard::All);
    }
    let (file, number) = text.rsplit_once(':').ok_or(WRONG)?;
    let number: u32 = number.parse().map_err(|_| WRONG)?;
    match (file, number) {
        ("", _) | (_, 0) => Err(WRONG.to_owned()),
        ("sample", 1) => Ok(Guard::All),
        ("sample", blocks) => Ok(Guard::Sample(blocks)),
        (file, line) => Ok(Guard::Line(file.to_owned(), line)),
    }
}

fn alignment(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number: &u32| number.is_power_of_two() && *number <= 4096);
    number.ok_or_else(|| "expected a power of two up to 4096".to_owned())
}

/// What the agent is asked to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedChecks {
    pub(crate) checks: Checks,
    /// For `--guard=FILE:LINE`: where its code is.
    pub(crate) guarded_code: String,
}

impl GuardArguments {
    /// Adds canaries and a quarantine of so many bytes for `memcheck`. `command` is what will run.
    pub(crate) fn wanted(
        &self,
        quarantine: Option<u64>,
        command: &[OsString],
    ) -> Result<WantedChecks, Failure> {
        let (guarding, guarded_code) = match &self.guard {
            None => (Guarding::None, String::new()),
            Some(Guard::All) => (Guarding::All, String::new()),
            Some(Guard::Sample(blocks)) => (Guarding::Sample(*blocks), String::new()),
            Some(Guard::Line(file, line)) => (Guarding::Lines, code(file, *line, command)?),
        };
        let checks = Checks {
            canaries: quarantine.is_some(),
            quarantine: quarantine.unwrap_or(0),
            guarding,
            side: match self.guard_side {
                Side::End => environment::GuardSide::End,
                Side::Begin => environment::GuardSide::Begin,
            },
            alignment: self.guard_align,
            stops: self.on_error == OnError::Stop,
        };
        Ok(WantedChecks { checks, guarded_code })
    }
}

/// The code of a line in the program and its libraries, as the agent reads it.
fn code(file: &str, line: u32, command: &[OsString]) -> Result<String, Failure> {
    let mut text = String::new();
    for object in objects(command) {
        let ranges = code_of_line(&object, file, line);
        if !ranges.is_empty() {
            let ranges: Vec<_> = ranges.iter().map(|(start, end)| format!("{start:x}-{end:x}")).collect();
            text += &format!("{}|{}|", object.display(), ranges.join(","));
        }
    }
    if text.is_empty() {
        let why = format!("--guard={file}:{line}: the program and its libraries have no code for this line");
        let hint = "compile with -g; name a line that has code; libraries that the program loads later are found where they lie beside it";
        return Err(Failure::new(why).hint(hint));
    }
    Ok(text)
}

/// The program, the libraries that it is linked with, and those beside its files: Python's extension modules, plug-ins.
fn objects(command: &[OsString]) -> Vec<PathBuf> {
    let Some(program) = command.first().and_then(|word| heaplens_record::find_program(word).ok()) else {
        return Vec::new();
    };
    let mut objects = vec![program.clone()];
    objects.extend(linked_libraries(&program));
    let arguments = command.iter().map(PathBuf::from).filter(|path| path.is_file());
    let folders = arguments.filter_map(|path| path.parent().map(Path::to_owned)).chain([PathBuf::from(".")]);
    objects.extend(folders.flat_map(|folder| {
        libraries_in(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder })
    }));
    let mut known: Vec<_> = objects.iter().filter_map(|path| path.canonicalize().ok()).collect();
    known.sort();
    known.dedup();
    known
}

/// As the dynamic linker would find them; it starts nothing.
fn linked_libraries(program: &Path) -> Vec<PathBuf> {
    const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";
    let Ok(output) = Command::new(LINKER).arg("--list").arg(program).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    text.lines().filter_map(path).collect()
}

fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "so")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded_is_a_line_a_sample_or_all() {
        assert_eq!(guard("all"), Ok(Guard::All));
        assert_eq!(guard("sample:1000"), Ok(Guard::Sample(1000)));
        assert_eq!(guard("sample:1"), Ok(Guard::All));
        assert_eq!(guard("src/a.c:17"), Ok(Guard::Line("src/a.c".to_owned(), 17)));
        for wrong in ["", "some", "a.c:", "a.c:x", ":3", "sample:0"] {
            assert!(guard(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn alignments_are_powers_of_two() {
        assert_eq!((alignment("1"), alignment("4096")), (Ok(1), Ok(4096)));
        assert!(alignment("0").is_err() && alignment("24").is_err() && alignment("8192").is_err());
    }
}
