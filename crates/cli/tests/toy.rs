//! A framework of the tests, from its own folder and one line of the registry to the report: its probe counts, its pool hands out
//! parts, its rule explains. Built with the feature `toy`: `cargo test -p heaplens --features toy --test toy`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs");
const SCRIPT: &str = include_str!("../../../tests/programs/toy_models.py");
const INCLUDE: &str = "import sysconfig; print(sysconfig.get_paths()['include'])";

/// The framework as a package that is installed in a folder; `None` where extensions cannot be compiled.
fn installed(folder: &Path) -> Option<PathBuf> {
    let said = Command::new("python3").args(["-c", INCLUDE]).output().ok()?.stdout;
    let include = PathBuf::from(String::from_utf8(said).ok()?.trim());
    let packages = folder.join("site-packages");
    let (package, source) = (packages.join("toyframework"), Path::new(PROGRAMS).join("toyframework"));
    std::fs::create_dir_all(&package).expect("the folder is writable");
    std::fs::copy(source.join("__init__.py"), package.join("__init__.py")).expect("it can be copied");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-g", "-shared", "-fPIC", "-I"]).arg(&include).arg(source.join("_native.c"));
    let built = compiler.arg("-o").arg(package.join("_native.so")).output().ok()?;
    if !include.join("Python.h").exists() {
        return None;
    }
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(packages)
}

/// The report on the script, and the bytes and blocks that it says that it kept.
fn reported(options: &[&str]) -> Option<(Value, [u64; 2])> {
    let folder = tempfile::tempdir().expect("there is room");
    let Some(packages) = installed(folder.path()) else {
        writeln!(std::io::stderr(), "skipped: toy: python3 has no headers").expect("stderr is open");
        return None;
    };
    let json = folder.path().join("run.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaplens"));
    command.args(["run", "-o"]).arg(folder.path().join("run.hlr")).arg("--json").arg(&json).args(options);
    // Away from its sources, which Python would import instead of what was built from them.
    let script = folder.path().join("toy_models.py");
    std::fs::write(&script, SCRIPT).expect("the folder is writable");
    command.args(["--", "python3"]).arg(script);
    let run = command.env("PYTHONPATH", packages).stdin(Stdio::null()).output().expect("heaplens starts");
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    let words = said.lines().find_map(|line| line.strip_prefix("kept ")).expect("the script counts");
    let kept: Vec<u64> = words.split(' ').map(|word| word.parse().expect("a number")).collect();
    let report = std::fs::read(json).expect("a report");
    Some((serde_json::from_slice(&report).expect("JSON"), [kept[0], kept[1]]))
}

/// The site that holds most at the end of the script: its line, bytes and blocks.
fn heaviest(report: &Value) -> (u64, [u64; 2]) {
    let number = |site: &Value, field: &str| site[field].as_u64().unwrap_or(0);
    let is_script =
        |frame: &&Value| frame["file"].as_str().is_some_and(|file| file.ends_with("toy_models.py"));
    let lines = |site: &Value| {
        let stack = site["stack"].as_array().expect("a stack");
        stack.iter().find(is_script).and_then(|frame| frame["line"].as_u64())
    };
    let sites = report["sites"].as_array().expect("sites").iter().filter(|site| site["kind"] == "heap");
    let of_script = sites.filter_map(|site| Some((lines(site)?, site)));
    let (line, site) = of_script.max_by_key(|(_, site)| number(site, "held_bytes")).expect("a site");
    (line, [number(site, "held_bytes"), number(site, "held_blocks")])
}

fn unused_in_pools(report: &Value) -> f64 {
    let rows = report["ledger"].as_array().expect("a ledger");
    let row = rows.iter().find(|row| row["layer"] == "pool-unused").expect("a row");
    row["end"].as_f64().expect("a number")
}

#[test]
fn a_framework_of_its_own_folder_has_a_counter_a_pool_and_a_rule() {
    let Some((report, kept)) = reported(&[]) else { return };
    let line = SCRIPT.lines().zip(1..).find(|(text, _)| text.ends_with("# kept")).expect("the line").1;
    let findings = report["findings"].as_array().expect("findings");
    let rules: Vec<&str> = findings.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules, ["TOY1"], "{findings:#?}");
    let found = &findings[0];
    assert_eq!((found["name"].as_str(), found["layer"].as_str()), (Some("toy-registry"), Some("toy-model")));
    assert_eq!(found["location"]["line"], line);
    assert_eq!(found["holder"]["path"], serde_json::json!(["module toyframework", "registry (list)"]));
    let evidence = found["evidence"].as_array().expect("evidence");
    let counted = evidence.iter().find(|one| one["what"] == "toy models registered per iteration");
    let per_iteration = counted.and_then(|one| one["value"].as_f64()).expect("what was counted");
    assert!((per_iteration - 1.0).abs() < 0.01, "{per_iteration}");
    // The pool's region is no block, its parts are.
    assert_eq!(heaviest(&report), (line, kept));
    // With the model itself, and what refers to it.
    let bytes = found["bytes_per_iteration"].as_f64().expect("a number");
    assert!((100_000.0..101_000.0).contains(&bytes), "{bytes}");
}

#[test]
fn without_knowledge_of_frameworks_it_is_a_program_as_any_other() {
    let (Some((with, kept)), Some((without, _))) = (reported(&[]), reported(&["--frameworks", "no"])) else {
        return;
    };
    let findings = without["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| finding["rule"] != "TOY1"), "{findings:#?}");
    assert_ne!(heaviest(&without).1, kept, "a region is one block");
    assert!(unused_in_pools(&with) > unused_in_pools(&without), "what the pool has to spare is its own");
}
