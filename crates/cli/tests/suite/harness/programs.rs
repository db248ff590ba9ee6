//! Builds the test programs with the machine's own compilers, once, and finds other allocators.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");

/// A program of `tests/programs`, built as users build theirs: optimised, with line numbers.
pub fn program(source: &str) -> PathBuf {
    program_with(source, stem(source), &[]).expect("an ordinary program compiles")
}

/// The same with more compiler flags, under another name; the compiler's words when it cannot.
pub fn program_with(source: &str, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let compiler = if source.ends_with(".cpp") { "c++" } else { "cc" };
    let mut command = Command::new(compiler);
    command.args(["-O2", "-g", "-w", "-pthread"]).args((compiler == "cc").then_some("-D_GNU_SOURCE"));
    command.args(flags);
    build(command, source, name)
}

/// A library of `tests/programs`.
pub fn shared_library(source: &str) -> PathBuf {
    let name = format!("lib{}.so", stem(source));
    program_with(source, &name, &["-shared", "-fPIC"]).expect("an ordinary library compiles")
}

/// A Rust program of `tests/programs`.
pub fn rust_program(source: &str) -> PathBuf {
    let mut command = Command::new("rustc");
    command.args(["-O", "-g", "--edition", "2024"]);
    build(command, source, stem(source)).expect("an ordinary program compiles")
}

/// Another allocator that can be preloaded, by its file name; `None` when its package is not installed.
pub fn allocator(file_name: &str) -> Option<PathBuf> {
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .iter()
        .map(|folder| Path::new(folder).join(file_name))
        .find(|path| path.exists())
}

/// Whether the tests run as root.
pub fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("`id` is part of every system");
    id.stdout == b"0\n"
}

fn stem(source: &str) -> &str {
    source.split('.').next().unwrap_or(source)
}

/// Nothing is compiled twice in a run, nor by two processes at a time.
fn build(command: Command, source: &str, name: &str) -> Result<PathBuf, String> {
    static BUILT: Mutex<Option<HashMap<String, Result<PathBuf, String>>>> = Mutex::new(None);
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let results = built.get_or_insert_default();
    results.entry(name.to_owned()).or_insert_with(|| compile(command, source, name)).clone()
}

fn compile(mut command: Command, source: &str, name: &str) -> Result<PathBuf, String> {
    let source = Path::new(SOURCES).join(source);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-programs");
    let output = folder.join(name);
    std::fs::create_dir_all(&folder).expect("the build folder is writable");
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("the build folder is writable");
    lock.lock().expect("a file of ours can be locked");
    if is_fresh(&output) {
        return Ok(output);
    }
    let result = command.arg(&source).arg("-o").arg(&output).args(libraries(&source)).output();
    let result = result.map_err(|error| format!("cannot run the compiler: {error}"))?;
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into_owned());
    }
    Ok(output)
}

fn libraries(source: &Path) -> Option<&'static str> {
    (source.extension() != Some(OsStr::new("rs"))).then_some("-ldl")
}

/// Newer than every source: they include each other.
fn is_fresh(output: &Path) -> bool {
    let Some(built) = changed(output) else { return false };
    let sources = std::fs::read_dir(SOURCES).expect("the test programs are part of the repository");
    sources.flatten().all(|entry| changed(&entry.path()).is_some_and(|source| source < built))
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}
