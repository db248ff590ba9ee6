//! Compiles crates/cpython/probe/probe.c against the headers of an interpreter, runs it, and takes its lines apart.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::interpreter::Interpreter;
use crate::workspace::{printed, root, succeed, target};

/// What the headers of an interpreter say.
#[derive(Debug, Default)]
pub struct Probe {
    /// Such as `3.11.7`.
    pub version: String,
    /// Paths and values of what differs between versions, in order.
    pub layout: Vec<(String, String)>,
    /// Paths, values and C expressions of what does not.
    pub fixed: Vec<(String, u64, String)>,
    /// Indices of words of `_Py_DebugOffsets`.
    pub words: Vec<(String, u64)>,
    /// The instruction that an instruction is a form of; empty before 3.11.
    pub deopt: BTreeMap<u8, u8>,
    /// Units of cache after an instruction.
    pub caches: BTreeMap<u8, u8>,
    /// Every offset that was used: type and field, as C writes them.
    pub offsets: BTreeMap<(String, String), u64>,
}

impl Probe {
    /// Compiles and runs it.
    pub fn run(interpreter: &Interpreter) -> Result<Self> {
        let folder = target().join("cpython-tables");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // Tests run beside each other, each with a program of its own.
        let name = format!("probe-3.{}-{:?}", interpreter.minor, std::thread::current().id());
        let program = folder.join(name.replace(['(', ')'], ""));
        let include = interpreter.prefix.join("include");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-w", "-I"]).arg(interpreter.headers());
        compiler.arg("-I").arg(interpreter.headers().join("internal/mimalloc"));
        // Debian has `pyconfig.h` beside the headers; those of the machine's own C library come first.
        compiler.arg("-idirafter").arg(&include);
        compiler.arg(root().join("crates/cpython/probe/probe.c")).arg("-o").arg(&program);
        succeed(&mut compiler)?;
        let lines = printed(&mut Command::new(&program))?;
        lines.lines().try_fold(Self::default(), Self::with)
    }

    fn with(mut self, line: &str) -> Result<Self> {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (path, value) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "version" => self.version = rest.to_owned(),
            "layout" => self.layout.push((path.to_owned(), value.to_owned())),
            "fixed" => {
                let (number, expression) = value.split_once(' ').unwrap_or((value, ""));
                self.fixed.push((path.to_owned(), number.parse()?, expression.to_owned()));
            }
            "words" => self.words.push((path.to_owned(), value.parse()?)),
            "deopt" => self.deopt.extend([(path.parse::<u8>()?, value.parse::<u8>()?)]),
            "caches" => self.caches.extend([(path.parse::<u8>()?, value.parse::<u8>()?)]),
            "at" => {
                let (of, offset) = rest.rsplit_once(' ').context("an offset is a number")?;
                let (of, field) = of.split_once('|').context("a field is of a type")?;
                self.offsets.insert((of.to_owned(), field.to_owned()), offset.parse()?);
            }
            _ => bail!("the headers of CPython {} are not as they were: {line}", self.version),
        }
        Ok(self)
    }
}
