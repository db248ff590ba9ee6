//! Collects the rules: every file of a folder of rules is one, so that a new rule is listed nowhere.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of rules, and what the list of each is called.
const FOLDERS: [(&str, &str); 2] =
    [("src/rules", "rules.rs"), ("src/rules/tensorflow", "tensorflow_rules.rs")];

fn main() -> io::Result<()> {
    let [from, to] = ["CARGO_MANIFEST_DIR", "OUT_DIR"]
        .map(|name| PathBuf::from(env::var_os(name).expect("cargo sets it for build scripts")));
    for (folder, list) in FOLDERS {
        let folder = from.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        fs::write(to.join(list), listed(&folder)?)?;
    }
    Ok(())
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
        "{modules}\n/// Every rule of this folder.\npub(crate) const RULES: &[&crate::growth::Rule] = &[\n{names}];\n"
    ))
}
