//! Which instructions of a version jump and where to, by their names: from the interpreter's own `dis`, and from its headers
//! what specialised forms and caches they have.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::interpreter::Interpreter;
use super::probe::Probe;
use crate::workspace::printed;

/// Instructions of one version, as `heaplens_cpython::bytecode::Opcodes` has them.
#[derive(Debug, Default)]
pub struct Opcodes {
    /// The prefix of a longer argument.
    pub extended: u8,
    /// Every form of `FOR_ITER`.
    pub for_iter: BTreeSet<u8>,
    /// Jumps with an absolute target.
    pub absolute: BTreeSet<u8>,
    /// Jumps backwards by a distance, except those of `await`.
    pub backward: BTreeSet<u8>,
    /// Jumps forwards by a distance.
    pub forward: BTreeSet<u8>,
    /// What does not go on to the next instruction.
    pub terminal: BTreeSet<u8>,
    /// What gives a value to whoever iterates a generator.
    pub yields: BTreeSet<u8>,
    /// What begins a handler of exceptions, where these stand behind everything else.
    pub handlers: BTreeSet<u8>,
    /// Bytes that a unit of a jump's argument is.
    pub bytes_per_unit: u32,
    /// (first, last, units of cache) of all instructions; empty where there are no caches.
    pub caches: Vec<(u8, u8, u8)>,
}

/// What does not go on to the next instruction.
const TERMINAL: [&str; 8] = [
    "RETURN_VALUE",
    "RETURN_CONST",
    "RERAISE",
    "RAISE_VARARGS",
    "JUMP_FORWARD",
    "JUMP_ABSOLUTE",
    "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT",
];

/// `dis` counts these among jumps. `await` goes back by the first, which is no loop of the user's; of the second the argument only
/// tells tracers where the loop began (3.14).
const NO_JUMPS: [&str; 2] = ["JUMP_BACKWARD_NO_INTERRUPT", "END_ASYNC_FOR"];

/// What begins a handler of exceptions, and from which version to which it goes back from the end of the code with a jump that a loop has, too. That of
/// an `await` does so in 3.12 only.
const HANDLERS: [(&str, RangeInclusive<u8>); 2] =
    [("PUSH_EXC_INFO", 12..=u8::MAX), ("CLEANUP_THROW", 12..=12)];

/// What stands where another instruction was while somebody traces, or compiled code took its place: what is below is not known.
fn is_in_place_of_another(name: &str) -> bool {
    name.starts_with("INSTRUMENTED_") || matches!(name, "ENTER_EXECUTOR" | "RESERVED")
}

fn is_backward(name: &str) -> bool {
    name == "JUMP_BACKWARD" || name.starts_with("POP_JUMP_BACKWARD")
}

/// Of an interpreter.
pub fn of(interpreter: &Interpreter, probe: &Probe) -> Result<Opcodes> {
    let named = Named::ask(interpreter)?;
    let forms = Forms { named: &named, deopt: &probe.deopt };
    let relative = |wanted: fn(&str) -> bool| {
        forms.of(named.relative.iter().filter(|name| wanted(name) && !NO_JUMPS.contains(&name.as_str())))
    };
    let opcodes = Opcodes {
        extended: named.number("EXTENDED_ARG")?,
        for_iter: relative(|name| name == "FOR_ITER"),
        absolute: forms.of(named.absolute.iter()),
        backward: relative(is_backward),
        forward: relative(|name| name != "FOR_ITER" && !is_backward(name)),
        terminal: forms.of(TERMINAL.iter()),
        yields: forms.of(["YIELD_VALUE"].iter()),
        handlers: HANDLERS
            .iter()
            .filter(|(_, versions)| versions.contains(&interpreter.minor))
            .filter_map(|(name, _)| named.number(name).ok())
            .collect(),
        bytes_per_unit: if interpreter.minor >= 10 { 2 } else { 1 },
        caches: forms.caches(&probe.caches),
    };
    ensure!(!opcodes.for_iter.is_empty() && !opcodes.forward.is_empty(), "no jumps: {named:?}");
    Ok(opcodes)
}

/// Instructions as `dis` has them.
#[derive(Debug)]
struct Named {
    numbers: BTreeMap<String, u8>,
    relative: Vec<String>,
    absolute: Vec<String>,
}

impl Named {
    fn ask(interpreter: &Interpreter) -> Result<Self> {
        const QUESTION: &str = "import dis, json
print(json.dumps([dis.opmap, [dis.opname[n] for n in dis.hasjrel], [dis.opname[n] for n in dis.hasjabs]]))";
        let answer = printed(Command::new(&interpreter.program).args(["-I", "-c", QUESTION]))?;
        let answer: Value = serde_json::from_str(&answer).context("`dis` is told as JSON")?;
        let numbers = answer[0].as_object().context("opmap is a dict")?;
        let number = |(name, number): (&String, &Value)| {
            // Numbers beyond a byte are the compiler's own.
            let number = number.as_u64().and_then(|number| u8::try_from(number).ok())?;
            (!is_in_place_of_another(name)).then(|| (name.clone(), number))
        };
        let numbers: BTreeMap<String, u8> = numbers.iter().filter_map(number).collect();
        let names = |list: &Value| -> Vec<String> {
            let names = list.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.filter(|name| numbers.contains_key(*name)).map(str::to_owned).collect()
        };
        Ok(Self { relative: names(&answer[1]), absolute: names(&answer[2]), numbers })
    }

    fn number(&self, name: &str) -> Result<u8> {
        self.numbers.get(name).copied().with_context(|| format!("no instruction {name}"))
    }
}

/// Instructions with their specialised forms.
struct Forms<'a> {
    named: &'a Named,
    deopt: &'a BTreeMap<u8, u8>,
}

impl Forms<'_> {
    fn of<S: AsRef<str>>(&self, names: impl Iterator<Item = S>) -> BTreeSet<u8> {
        let plain: BTreeSet<u8> =
            names.filter_map(|name| self.named.numbers.get(name.as_ref()).copied()).collect();
        let forms = self.specialised().filter(|(_, base)| plain.contains(base)).map(|(form, _)| form);
        forms.chain(plain.iter().copied()).collect()
    }

    /// Numbers that are no instruction have 0 in the table.
    fn specialised(&self) -> impl Iterator<Item = (u8, u8)> {
        let pairs = self.deopt.iter().map(|(&form, &base)| (form, base));
        pairs.filter(|&(form, base)| base != 0 && base != form && self.is_plain(base))
    }

    fn is_plain(&self, opcode: u8) -> bool {
        self.named.numbers.values().any(|&plain| plain == opcode)
    }

    fn caches(&self, units: &BTreeMap<u8, u8>) -> Vec<(u8, u8, u8)> {
        let mut runs: Vec<(u8, u8, u8)> = Vec::new();
        if units.is_empty() {
            return runs;
        }
        let plain = self.named.numbers.values().map(|&opcode| (opcode, opcode));
        let all: BTreeMap<u8, u8> = plain.chain(self.specialised()).collect();
        for (opcode, base) in all {
            let caches = units.get(&base).copied().unwrap_or(0);
            match runs.last_mut() {
                Some(run) if run.1 + 1 == opcode && run.2 == caches => run.1 = opcode,
                _ => runs.push((opcode, opcode, caches)),
            }
        }
        runs
    }
}
