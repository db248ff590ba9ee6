//! Tables as Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::opcodes::Opcodes;
use super::probe::Probe;
use crate::workspace::root;

/// The file of one version.
pub fn table(minor: u8, probe: &Probe, opcodes: &Opcodes) -> Result<String> {
    let mut text = format!(
        "//! CPython {}. Written by `cargo xtask cpython-tables`: not to be edited.\n\n\
         use crate::bytecode::Opcodes;\n",
        probe.version
    );
    let layout = layout(probe)?;
    let types = names_of_types(&layout);
    writeln!(text, "use crate::layout::{{{}}};\nuse crate::lines::LineTable;", types.join(", "))?;
    let parts = if probe.words.is_empty() { "Table" } else { "{DebugWords, Table}" };
    writeln!(text, "use crate::table::{parts};\n")?;
    let words = if probe.words.is_empty() { "None" } else { "Some(&WORDS)" };
    writeln!(
        text,
        "/// Of 3.{minor}.\npub(super) static TABLE: Table = Table {{ layout: &LAYOUT, opcodes: &OPCODES, words: {words} }};\n"
    )?;
    writeln!(text, "static LAYOUT: Layout = Layout {{ {layout} }};\n")?;
    write_opcodes(&mut text, opcodes)?;
    if !probe.words.is_empty() {
        let fields: Vec<String> =
            probe.words.iter().map(|(name, index)| format!("{name}: {index}")).collect();
        writeln!(text, "\nstatic WORDS: DebugWords = DebugWords {{ {} }};", fields.join(", "))?;
    }
    Ok(text)
}

/// Fields of a layout: those of one structure together. What has no structure of its own is a value.
fn layout(probe: &Probe) -> Result<String> {
    let mut structures: Vec<(&str, Vec<String>)> = Vec::new();
    let mut text = String::new();
    for (path, value) in &probe.layout {
        let Some((structure, field)) = path.split_once('.') else {
            write!(text, "{path}: {value}, ")?;
            continue;
        };
        let entry = format!("{field}: {value}");
        match structures.iter_mut().find(|known| known.0 == structure) {
            Some(known) => known.1.push(entry),
            None => structures.push((structure, vec![entry])),
        }
    }
    for (structure, fields) in structures {
        write!(text, "{structure}: {} {{ {} }}, ", camel_case(structure), fields.join(", "))?;
    }
    Ok(text)
}

fn camel_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

/// What a layout is written with, and has to be imported.
fn names_of_types(layout: &str) -> Vec<String> {
    let words = layout.split(|character: char| !character.is_alphanumeric() && character != ':');
    let names = words.map(|word| word.split(':').next().unwrap_or_default());
    let is_type =
        |name: &&str| name.starts_with(char::is_uppercase) && !["Some", "None", "LineTable"].contains(name);
    let names: BTreeSet<&str> = names.filter(is_type).chain(["Layout"]).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn write_opcodes(text: &mut String, opcodes: &Opcodes) -> Result<()> {
    writeln!(text, "static OPCODES: Opcodes = Opcodes {{ extended: {},", opcodes.extended)?;
    let lists = [
        ("for_iter", &opcodes.for_iter),
        ("absolute", &opcodes.absolute),
        ("backward", &opcodes.backward),
        ("forward", &opcodes.forward),
        ("terminal", &opcodes.terminal),
        ("yields", &opcodes.yields),
        ("handlers", &opcodes.handlers),
    ];
    for (name, list) in lists {
        writeln!(text, "{name}: &{:?},", list.iter().collect::<Vec<_>>())?;
    }
    writeln!(text, "bytes_per_unit: {},", opcodes.bytes_per_unit)?;
    write_caches(text, &opcodes.caches)?;
    writeln!(text, "}};")?;
    Ok(())
}

fn write_caches(text: &mut String, caches: &[(u8, u8, u8)]) -> Result<()> {
    if caches.is_empty() {
        *text += "caches: &[],\n";
        return Ok(());
    }
    writeln!(text, "#[rustfmt::skip]\n    caches: &[")?;
    for runs in caches.chunks(9) {
        let runs: Vec<String> = runs.iter().map(|run| format!("{run:?},")).collect();
        writeln!(text, "        {}", runs.join(" "))?;
    }
    writeln!(text, "    ],")?;
    Ok(())
}

/// The file of what is the same in all versions.
pub fn fixed(values: &BTreeMap<String, (u64, String)>) -> String {
    let mut text = String::from(
        "//! What is the same in all versions. Written by `cargo xtask cpython-tables`: not to be edited.\n",
    );
    let mut module = "";
    for (path, (value, expression)) in values {
        let (group, name) = path.split_once('.').unwrap_or((path, ""));
        if group != module {
            text += if module.is_empty() { "\n" } else { "}\n\n" };
            text += &format!("/// `{group}`\npub mod {group} {{\n");
            module = group;
        }
        let value =
            if group.ends_with("_flag") { format!("1 << {}", value.ilog2()) } else { value.to_string() };
        text += &format!("/// `{}`\npub const {}: u64 = {value};\n", spelt(expression), name.to_uppercase());
    }
    text + "}\n"
}

/// `AT(type, field)` as people write it.
fn spelt(expression: &str) -> String {
    let field = expression.strip_prefix("AT(").and_then(|rest| rest.strip_suffix(')'));
    match field.and_then(|rest| rest.split_once(", ")) {
        Some((of, field)) => format!("{of}.{field}"),
        None => expression.to_owned(),
    }
}

/// What such a file says.
#[cfg(test)]
pub fn parse_fixed(text: &str) -> BTreeMap<String, u64> {
    let (mut values, mut module) = (BTreeMap::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("pub mod ").and_then(|line| line.strip_suffix(" {")) {
            module = name.to_owned();
        } else if let Some((name, value)) =
            line.strip_prefix("pub const ").and_then(|line| line.strip_suffix(';')?.split_once(": u64 = "))
        {
            let value = match value.strip_prefix("1 << ") {
                Some(bit) => 1 << bit.parse::<u32>().unwrap(),
                None => value.parse().unwrap(),
            };
            values.insert(format!("{module}.{}", name.to_lowercase()), value);
        }
    }
    values
}

/// As rustfmt writes it.
pub fn formatted(text: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--emit", "stdout", "--config-path"]).arg(root());
    let mut child =
        rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start rustfmt")?;
    child.stdin.take().context("stdin is a pipe")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt does not take this:\n{text}");
    Ok(String::from_utf8(output.stdout)?)
}
