//! Collects the rules: every file of a folder of rules is one, so that a new rule is listed nowhere.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let [from, to] = ["CARGO_MANIFEST_DIR", "OUT_DIR"]
        .map(|name| PathBuf::from(env::var_os(name).expect("cargo sets it for build scripts")));
    for (folder, list) in folders(&from)? {
        println!("cargo::rerun-if-changed={}", folder.display());
        fs::write(to.join(list), listed(&folder)?)?;
    }
    Ok(())
}

/// The folders of rules, and what the list of each is called: `rules.rs`, and `NAME_rules.rs` of each framework.
fn folders(package: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut folders = vec![(package.join("src/diagnose/rules"), "rules.rs".to_owned())];
    let frameworks = package.join("../../frameworks");
    println!("cargo::rerun-if-changed={}", frameworks.display());
    for entry in fs::read_dir(&frameworks)? {
        let entry = entry?;
        let folder = entry.path().join("rules");
        if folder.is_dir() {
            folders.push((folder, format!("{}_rules.rs", entry.file_name().display())));
        }
    }
    Ok(folders)
}

/// A module for each file but the folder's own, and all their rules.
fn listed(folder: &Path) -> io::Result<String> {
    let files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    let is_rule = |path: &&PathBuf| {
        path.extension().is_some_and(|end| end == "rs") && path.file_stem().is_some_and(|name| name != "mod")
    };
    let mut rules: Vec<(String, &PathBuf)> = files
        .iter()
        .filter(is_rule)
        .filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
        .collect();
    rules.sort();
    let modules: String =
        rules.iter().map(|(name, path)| format!("#[path = {path:?}]\npub(crate) mod {name};\n")).collect();
    let names: String = rules.iter().map(|(name, _)| format!("    &{name}::RULE,\n")).collect();
    Ok(format!(
        "{modules}\n/// Every rule of this folder.\npub(crate) const RULES: &[&crate::diagnose::rule::Rule] = &[\n{names}];\n"
    ))
}
