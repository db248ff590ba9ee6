//! `cargo xtask cpython-tables`: writes crates/cpython/src/generated from the interpreters of this machine, their headers and
//! their `dis` modules. Tables are compared with what is committed by the tests below, for the interpreters that are here.
//!
//! ```text
//!   headers ─▶ probe.c ─▶ lines ─┬─▶ python_3_N.rs   what differs between versions
//!   `dis` ───────────────────────┘   fixed.rs        what is the same in all of them
//! ```

mod debug_information;
mod interpreter;
mod opcodes;
mod probe;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::workspace::root;
use interpreter::{Interpreter, MINORS};
use probe::Probe;

/// Writes all tables: every version has to be here.
pub fn run() -> Result<()> {
    let interpreters = interpreter::found();
    let missing: Vec<String> = MINORS
        .filter(|minor| interpreters.iter().all(|one| one.minor != *minor))
        .map(|minor| format!("3.{minor}"))
        .collect();
    ensure!(
        missing.is_empty(),
        "no headers of CPython {} here: pyenv has most versions, `cargo xtask soak interpreters` the newest",
        missing.join(", ")
    );
    let mut fixed = Fixed::default();
    for interpreter in &interpreters {
        let probe = Probe::run(interpreter)?;
        fixed.add(&probe)?;
        let confirmed = confirmed(interpreter, &probe)?;
        println!("CPython {}: {confirmed} of {} offsets confirmed", probe.version, probe.offsets.len());
        write(&file_of(interpreter.minor), &table_of(interpreter, &probe)?)?;
    }
    write("fixed.rs", &text::formatted(&text::fixed(&fixed.values))?)
}

/// Constants that every version agrees on, with what they are called in C.
#[derive(Default)]
struct Fixed {
    values: BTreeMap<String, (u64, String)>,
}

impl Fixed {
    fn add(&mut self, probe: &Probe) -> Result<()> {
        for (path, value, expression) in &probe.fixed {
            let known = self.values.insert(path.clone(), (*value, expression.clone()));
            ensure!(
                known.as_ref().is_none_or(|known| known.0 == *value),
                "{path} is {value} in {}, and was {known:?} before: it differs between versions",
                probe.version
            );
        }
        Ok(())
    }
}

/// How many offsets debug information has, too. That it has others is an error.
fn confirmed(interpreter: &Interpreter, probe: &Probe) -> Result<usize> {
    let said = debug_information::offsets(interpreter, &probe.offsets).unwrap_or_default();
    let differing: Vec<_> = said.iter().filter(|(of, said)| probe.offsets.get(of) != Some(said)).collect();
    ensure!(differing.is_empty(), "debug information of CPython {} says {differing:?}", probe.version);
    Ok(said.len())
}

fn table_of(interpreter: &Interpreter, probe: &Probe) -> Result<String> {
    let opcodes = opcodes::of(interpreter, probe)?;
    text::formatted(&text::table(interpreter.minor, probe, &opcodes)?)
}

fn file_of(minor: u8) -> String {
    format!("python_3_{minor}.rs")
}

fn folder() -> PathBuf {
    root().join("crates/cpython/src/generated")
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = folder().join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Says what was not run, past libtest's capture. The run that every change has to pass takes the interpreters that are here;
    /// `cargo xtask test --all` wants all of them.
    fn skip(test: &str, what: &str) {
        if std::env::var("HEAPLENS_TEST_SCOPE").is_ok_and(|scope| scope == "change") {
            return;
        }
        writeln!(std::io::stderr().lock(), "skipped: {test}: {what}").expect("stderr is open");
    }

    /// Every interpreter whose headers are here, with what they say.
    fn probes(test: &str) -> Vec<(Interpreter, Probe)> {
        let found = interpreter::found();
        for minor in MINORS.filter(|minor| found.iter().all(|one| one.minor != *minor)) {
            skip(test, &format!("no headers of CPython 3.{minor} here"));
        }
        found
            .into_iter()
            .map(|one| {
                let probe = Probe::run(&one).unwrap();
                (one, probe)
            })
            .collect()
    }

    fn committed(name: &str) -> String {
        std::fs::read_to_string(folder().join(name)).unwrap()
    }

    /// Lines of a table that are the same in every patch release: states of interpreters are not.
    fn of_every_release(table: &str) -> Vec<&str> {
        let is_of_release = |line: &&str| {
            let line = line.trim_start();
            line.starts_with("//!") || line.starts_with("runtime:") || line.starts_with("interpreter:")
        };
        table.lines().filter(|line| !is_of_release(line)).collect()
    }

    #[test]
    fn tables_are_what_headers_and_instructions_of_the_interpreters_give() {
        let test = "cpython_tables::tables_are_what_headers_and_instructions_of_the_interpreters_give";
        for (interpreter, probe) in probes(test) {
            let (found, known) =
                (table_of(&interpreter, &probe).unwrap(), committed(&file_of(interpreter.minor)));
            if known.contains(&format!("CPython {}.", probe.version)) {
                assert_eq!(found, known, "{}: run `cargo xtask cpython-tables`", probe.version);
            } else {
                assert_eq!(of_every_release(&found), of_every_release(&known), "{}", probe.version);
            }
        }
    }

    #[test]
    fn constants_are_the_same_in_every_version() {
        let (mut fixed, known) = (Fixed::default(), text::parse_fixed(&committed("fixed.rs")));
        for (_, probe) in probes("cpython_tables::constants_are_the_same_in_every_version") {
            fixed.add(&probe).unwrap();
            for (path, value, _) in &probe.fixed {
                assert_eq!(known.get(path), Some(value), "{path} of {}", probe.version);
            }
        }
    }

    #[test]
    fn offsets_are_those_of_debug_information() {
        let test = "cpython_tables::offsets_are_those_of_debug_information";
        for (interpreter, probe) in probes(test) {
            match confirmed(&interpreter, &probe).unwrap() {
                0 => skip(test, &format!("no gdb, or no debug information of CPython {}", probe.version)),
                // Structures of extension modules are not in the interpreter's own file.
                confirmed => assert!(confirmed + 1 >= probe.offsets.len(), "{}: {confirmed}", probe.version),
            }
        }
    }
}
