//! Which Python packages a process had loaded, and their versions: known only where the files are the very ones that it ran.
//!
//! ```text
//!   module  …/site-packages/tensorflow/libtensorflow_cc.so.2   its build id is that of the recording
//!      └──▶ …/site-packages/tensorflow_cpu-2.21.0.dist-info    the one whose RECORD lists tensorflow/__init__.py
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use heaplens_format::recording::Module;

use crate::symbols::has_build_id;

/// Folders that packages are installed into.
const FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// A package with native code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// What it is imported as.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The packages that these object files belong to, by name.
pub fn packages(modules: &[Module]) -> Vec<Package> {
    let mut one_of_each = BTreeMap::<(PathBuf, String), &Module>::new();
    for module in modules {
        if let Some(home) = home_of(Path::new(&module.path)) {
            one_of_each.entry(home).or_insert(module);
        }
    }
    let package = |((folder, name), module): ((PathBuf, String), &Module)| {
        let version = version_of(&folder, &name).filter(|_| has_build_id(module))?;
        Some(Package { name, version })
    };
    one_of_each.into_iter().filter_map(package).collect()
}

/// The folder that a package is in, and its name.
fn home_of(path: &Path) -> Option<(PathBuf, String)> {
    let folder = path
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| FOLDERS.iter().any(|known| name == *known)))?;
    let name = path.strip_prefix(folder).ok()?.components().next()?;
    let name = name.as_os_str().to_str().filter(|name| !name.contains('.'))?;
    Some((folder.to_owned(), name.to_owned()))
}

fn version_of(folder: &Path, name: &str) -> Option<String> {
    let first = format!("{name}/__init__.py,");
    let is_its = |folder: &PathBuf| {
        let record = std::fs::read_to_string(folder.join("RECORD")).unwrap_or_default();
        record.lines().any(|line| line.starts_with(&first))
    };
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut infos: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "dist-info")).collect();
    infos.sort();
    let metadata = std::fs::read_to_string(infos.into_iter().find(is_its)?.join("METADATA")).ok()?;
    let version = metadata.lines().find_map(|line| line.strip_prefix("Version: "))?;
    Some(version.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(folder: &Path, info: &str, version: &str, package: &str) {
        let info = folder.join(info);
        std::fs::create_dir_all(&info).unwrap();
        std::fs::write(info.join("RECORD"), format!("{package}/__init__.py,sha256=x,1\n")).unwrap();
        std::fs::write(info.join("METADATA"), format!("Name: x\nVersion: {version}\n\nVersion: no\n"))
            .unwrap();
    }

    #[test]
    fn a_version_is_that_of_what_installed_the_package() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("site-packages");
        installed(&folder, "tensor_cpu-2.21.0.dist-info", "2.21.0", "tensor");
        installed(&folder, "tensor_extras-1.0.dist-info", "1.0", "tensor_extras");
        let library = folder.join("tensor/deep/libtensor.so.2");
        assert_eq!(home_of(&library), Some((folder.clone(), "tensor".to_owned())));
        assert_eq!(version_of(&folder, "tensor"), Some("2.21.0".to_owned()));
        assert_eq!(version_of(&folder, "other"), None);
        assert_eq!(home_of(Path::new("/usr/lib/libc.so.6")), None);
    }

    #[test]
    fn a_file_that_is_another_by_now_gives_no_version() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("site-packages");
        installed(&folder, "tensor-2.0.dist-info", "2.0", "tensor");
        let library = folder.join("tensor/libtensor.so");
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        std::fs::copy(std::env::current_exe().unwrap(), &library).unwrap();
        let module =
            Module { path: library.display().to_string(), build_id: vec![1, 2, 3], ..Module::default() };
        assert_eq!(packages(std::slice::from_ref(&module)), []);
        let build_id = crate::symbols::build_id_of(&library).unwrap();
        let found = packages(&[Module { build_id, ..module }]);
        assert_eq!(found, [Package { name: "tensor".to_owned(), version: "2.0".to_owned() }]);
    }
}
