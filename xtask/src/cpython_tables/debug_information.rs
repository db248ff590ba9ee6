//! Offsets as the debug information of an interpreter has them: what its own compiler made of the structures, also of those that no
//! header has. Read by gdb, where it is here.

use std::collections::BTreeMap;
use std::process::Command;

use super::interpreter::Interpreter;
use crate::workspace::target;

/// Asks for these offsets; those that are not told are left out. `None`: nothing is told at all.
pub fn offsets(
    interpreter: &Interpreter,
    wanted: &BTreeMap<(String, String), u64>,
) -> Option<BTreeMap<(String, String), u64>> {
    let debug_files = target().join("interpreters/usr/lib/debug");
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-ex"]).arg(format!("set debug-file-directory {}", debug_files.display()));
    gdb.arg("-ex").arg(format!("file {}", interpreter.object_file().display()));
    for (number, (of, field)) in wanted.keys().enumerate() {
        let question = format!("printf \"{number} %lu\\n\", (unsigned long)&(({of} *)0)->{field}");
        gdb.arg("-ex").arg(question);
    }
    let output = gdb.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answer = |line: &str| {
        let (number, offset) = line.split_once(' ')?;
        let of = wanted.keys().nth(number.parse().ok()?)?;
        Some((of.clone(), offset.parse().ok()?))
    };
    let answers: BTreeMap<_, _> = text.lines().filter_map(answer).collect();
    (!answers.is_empty()).then_some(answers)
}
