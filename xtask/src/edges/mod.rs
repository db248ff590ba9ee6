//! Which crate may depend on which, and which file of a crate on which other. The two banks, inside the program and outside, meet in
//! `format`, and in `cpython`, which knows nothing of either; files of a crate import each other one way.

mod imports;
mod modules;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use modules::Circle;

use crate::workspace::{cargo, printed, succeed, target};

/// Every crate with what it may depend on inside the workspace.
const EDGES: &[(&str, &[&str])] = &[
    ("heaplens-format", &[]),
    ("heaplens-cpython", &[]),
    ("heaplens-tracker", &["heaplens-cpython", "heaplens-format"]),
    ("heaplens-agent", &["heaplens-tracker", "heaplens-cpython", "heaplens-format"]),
    ("heaplens-snapshot", &["heaplens-cpython", "heaplens-format"]),
    ("heaplens-record", &["heaplens-snapshot", "heaplens-cpython", "heaplens-format"]),
    ("heaplens-analyze", &["heaplens-snapshot", "heaplens-cpython", "heaplens-format"]),
    ("heaplens-report", &["heaplens-analyze", "heaplens-format"]),
    (
        "heaplens",
        &["heaplens-record", "heaplens-analyze", "heaplens-report", "heaplens-snapshot", "heaplens-format"],
    ),
    ("heaplens-unwind-check", &["heaplens-tracker", "heaplens-format"]),
    ("heaplens-interleavings", &["heaplens-tracker", "heaplens-format"]),
    ("xtask", &[]),
];

/// Crates that live inside the program, and the foreign crates that they may bring along, without `std`.
const INSIDE: &[&str] = &["heaplens-format", "heaplens-cpython", "heaplens-tracker", "heaplens-agent"];
/// Those of them that bring nothing at all.
const ALONE: &[&str] = &["heaplens-format", "heaplens-cpython"];
const ALLOWED_INSIDE: &[&str] = &["libc", "framehop", "hashbrown", "arrayvec"];

/// Checks the edges and what the built agent needs.
pub fn run() -> Result<()> {
    let metadata = printed(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata prints JSON")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let wrong: Vec<String> =
        packages.iter().flat_map(wrong_edges).chain(packages.iter().flat_map(wrong_inside)).collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    check_needed()?;
    println!("{} crates depend on each other as they may; the agent needs libc alone", packages.len());
    Ok(())
}

/// What is wrong inside a crate: files that import each other in circles, names of types that mean more than one thing.
fn wrong_inside(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let files = match modules::Crate::read(&manifest.with_file_name("src")) {
        Ok(files) => files,
        Err(error) => return vec![format!("{error:#}")],
    };
    let circles =
        files.circles().iter().map(|circle| format!("{name}: {}", listed(circle))).collect::<Vec<_>>();
    let ambiguous = files.ambiguous_types().into_iter();
    let types =
        ambiguous.map(|(kind, files)| format!("{name}: {kind} is a type of {}", files.join(" and of ")));
    circles.into_iter().chain(types).collect()
}

fn listed(circle: &Circle) -> String {
    let lines =
        circle.iter().map(|(module, imported)| format!("\n  {module} imports {}", imported.join(", ")));
    format!("{} files import each other in a circle:{}", circle.len(), lines.collect::<String>())
}

fn wrong_edges(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some((_, allowed)) = EDGES.iter().find(|(crate_name, _)| *crate_name == name) else {
        return vec![format!("{name} is not listed in xtask/src/edges")];
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    dependencies.iter().filter_map(|dependency| objection(name, allowed, dependency)).collect()
}

fn objection(name: &str, allowed: &[&str], dependency: &Value) -> Option<String> {
    let other = dependency["name"].as_str().unwrap_or_default();
    let ours = EDGES.iter().any(|(crate_name, _)| *crate_name == other);
    if ours {
        return (!allowed.contains(&other)).then(|| format!("{name} may not depend on {other}"));
    }
    // Test dependencies run outside the program.
    if !INSIDE.contains(&name) || dependency["kind"] == "dev" {
        return None;
    }
    if ALONE.contains(&name) || !ALLOWED_INSIDE.contains(&other) {
        return Some(format!("{name} lives inside the program and may not bring {other} there"));
    }
    (dependency["uses_default_features"] != false)
        .then(|| format!("{name} takes {other} with its default features (std)"))
}

/// The agent is loaded into every program: whatever it needs, every program would need.
fn check_needed() -> Result<()> {
    succeed(&mut cargo(&["build", "--quiet", "--package", "heaplens-agent", "--profile", "agent"]))?;
    let agent = target().join("agent/libheaplens.so");
    let dynamic = printed(Command::new("readelf").arg("--dynamic").arg(&agent))?;
    for line in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        if !line.contains("[libc.so.6]") && !line.contains("[ld-linux-x86-64.so.2]") {
            bail!("the agent needs more than libc: {}", line.trim());
        }
    }
    let symbols = printed(Command::new("readelf").args(["--dyn-syms", "--wide"]).arg(&agent))?;
    match symbols.lines().find(|line| is_unresolved(line)) {
        Some(line) => bail!("the agent needs a symbol that libc does not have: {}", line.trim()),
        None => Ok(()),
    }
}

/// Whether a line of readelf's symbol table is one that some library has to define, and that is not libc's.
fn is_unresolved(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [_, _, _, _, "GLOBAL", _, "UND", name, ..] => !name.contains("@GLIBC"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_no_libc_has_is_found() {
        assert!(is_unresolved("  7: 0000000000000000     0 NOTYPE  GLOBAL DEFAULT  UND rust_eh_personality"));
        assert!(!is_unresolved(
            "  8: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND write@GLIBC_2.2.5 (2)"
        ));
        assert!(!is_unresolved("  9: 0000000000000000     0 NOTYPE  WEAK   DEFAULT  UND __gmon_start__"));
        assert!(!is_unresolved(" 10: 0000000000001234    10 FUNC    GLOBAL DEFAULT   12 malloc"));
    }

    #[test]
    fn the_two_banks_meet_only_where_neither_is_known() {
        // The checks of the unwinder and of the tables are programs with the tracker inside.
        let inside =
            ["heaplens-agent", "heaplens-tracker", "heaplens-unwind-check", "heaplens-interleavings"];
        for (name, allowed) in EDGES.iter().filter(|(name, _)| !inside.contains(name)) {
            assert!(allowed.iter().all(|other| !inside.contains(other)), "{name}");
        }
    }
}
