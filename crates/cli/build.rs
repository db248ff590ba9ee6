//! Builds the agent, which is embedded in the binary, and checks that it can be loaded on any system.
//!
//! The agent is built differently from the rest: no_std, fat LTO, its own panic handler. In the same build it would get the
//! features of the other crates (`--workspace` unifies them), so a separate cargo builds it, with a separate target directory.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::LittleEndian;
use object::elf::DT_NEEDED;
use object::read::elf::{Dyn, ElfFile64, FileHeader};

/// Libraries that every process on a glibc system has loaded anyway.
const ALLOWED: [&str; 2] = ["libc.so.6", "ld-linux-x86-64.so.2"];

/// What the file of the agent may have at most: it is read into every program. Tables that are zero at first take no room in it.
const MOST_BYTES: u64 = 1 << 20;

/// The agent of `heaplens run`, and that of `heaplens memcheck`, which hooks functions that copy.
const FLAVOURS: [(&[&str], &str); 2] = [(&[], "libheaplens.so"), (&["arguments"], "libheaplens-memcheck.so")];

/// Settings of the outer build that must not reach the agent: wrappers (clippy), flags (coverage), another target.
const NOT_INHERITED: [&str; 7] = [
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
];

fn main() {
    // One `cargo::error` per line: cargo shows them and stops.
    for line in carry_agent().err().unwrap_or_default().lines() {
        println!("cargo::error={line}");
    }
}

fn carry_agent() -> Result<(), String> {
    // Read at run time, not at compile time: two checkouts that share a target directory share this script.
    let workspace = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("../..");
    for input in
        ["crates/format", "crates/tracker", "crates/agent", "frameworks", "python/probe", "Cargo.toml"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(input).display());
    }
    for (features, name) in FLAVOURS {
        carry_flavour(&workspace, features, name)?;
    }
    Ok(())
}

fn carry_flavour(workspace: &Path, features: &[&str], name: &str) -> Result<(), String> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    let library = build_agent(workspace, &out.join("agent"), features)?;
    check_needs(&library)?;
    check_size(&library)?;
    let copied = std::fs::copy(&library, out.join(name));
    copied.map(drop).map_err(|error| format!("cannot copy the agent {}: {error}", library.display()))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|error| format!("{name}, which cargo sets for build scripts: {error}"))
}

fn build_agent(workspace: &Path, target: &Path, features: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["build", "--profile", "agent", "-p", "heaplens-agent", "--manifest-path"]);
    cargo.arg(workspace.join("Cargo.toml")).arg("--target-dir").arg(target);
    let toy = env::var_os("CARGO_FEATURE_TOY").map(|_| "toy");
    for feature in features.iter().copied().chain(toy) {
        cargo.args(["--features", feature]);
    }
    for name in NOT_INHERITED {
        cargo.env_remove(name);
    }
    let output = cargo.output().map_err(|error| format!("cannot start cargo for the agent: {error}"))?;
    match output.status.success() {
        true => Ok(target.join("agent/libheaplens.so")),
        false => Err(format!("the agent does not build:\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Other dependencies would be loaded into every program, or fail to load where they are missing.
fn check_needs(library: &Path) -> Result<(), String> {
    let bytes = std::fs::read(library)
        .map_err(|error| format!("cannot read the agent {}: {error}", library.display()))?;
    let needed = needed(&bytes).map_err(|error| format!("the agent is not a valid ELF file: {error}"))?;
    let foreign: Vec<_> = needed.iter().filter(|name| !ALLOWED.contains(&name.as_str())).collect();
    match foreign.is_empty() {
        true => Ok(()),
        false => Err(format!("the agent may depend on {ALLOWED:?} only, but depends on {foreign:?}")),
    }
}

fn check_size(library: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(library);
    let bytes =
        metadata.map_err(|error| format!("cannot read the agent {}: {error}", library.display()))?.len();
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(format!(
            "the agent {} has {bytes} bytes, and may have {MOST_BYTES}: a large static that is not zero at first takes up room",
            library.display()
        )),
    }
}

fn needed(bytes: &[u8]) -> object::read::Result<Vec<String>> {
    let elf = ElfFile64::<LittleEndian>::parse(bytes)?;
    let sections = elf.elf_header().sections(LittleEndian, bytes)?;
    let Some((entries, link)) = sections.dynamic(LittleEndian, bytes)? else { return Ok(Vec::new()) };
    let strings = sections.strings(LittleEndian, bytes, link)?;
    let needed = entries.iter().filter(|entry| entry.d_tag(LittleEndian) == DT_NEEDED);
    needed
        .map(|entry| {
            entry.string(LittleEndian, strings).map(|name| String::from_utf8_lossy(name).into_owned())
        })
        .collect()
}
