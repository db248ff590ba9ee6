//! The files that a program left, compared byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What lies at a path.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    Link(PathBuf),
    File { mode: u32, length: u64 },
    Other,
}

/// Every difference between two folders, one line each; empty when there is none.
pub fn differences(alone: &Path, recorded: &Path) -> String {
    let (left, right) = (entries(alone), entries(recorded));
    let mut lines = String::new();
    for path in left.keys().chain(right.keys().filter(|path| !left.contains_key(*path))) {
        if let Some(what) =
            difference(left.get(path), right.get(path), &alone.join(path), &recorded.join(path))
        {
            writeln!(lines, "{}: {what}", path.display()).expect("a string takes all");
        }
    }
    lines
}

fn difference(left: Option<&Entry>, right: Option<&Entry>, alone: &Path, recorded: &Path) -> Option<String> {
    if left != right {
        return Some(format!("alone {left:?}, recorded {right:?}"));
    }
    let is_file = matches!(left, Some(Entry::File { .. }));
    (is_file && read(alone) != read(recorded)).then(|| "other contents".to_owned())
}

fn entries(root: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in std::fs::read_dir(&folder).expect("the folder is readable").flatten() {
            let entry = entry(&child.path());
            if entry == Entry::Folder {
                folders.push(child.path());
            }
            let path = child.path();
            found.insert(path.strip_prefix(root).expect("a child lies below").to_owned(), entry);
        }
    }
    found
}

fn entry(path: &Path) -> Entry {
    let metadata = path.symlink_metadata().expect("nobody else is in the folder");
    let kind = metadata.file_type();
    if kind.is_dir() {
        Entry::Folder
    } else if kind.is_symlink() {
        Entry::Link(path.read_link().expect("a link leads somewhere"))
    } else if kind.is_file() {
        Entry::File { mode: metadata.permissions().mode(), length: metadata.len() }
    } else {
        Entry::Other
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the file is readable")
}

#[test]
fn a_changed_a_missing_and_a_new_file_are_distinguished() {
    let folder = crate::harness::Folder::new();
    for (path, text) in
        [("a/same", "1"), ("a/changed", "1"), ("a/gone", ""), ("b/same", "1"), ("b/changed", "2")]
    {
        let file = folder.file(path);
        std::fs::create_dir_all(file.parent().expect("a file lies in a folder"))
            .expect("the folder is writable");
        std::fs::write(file, text).expect("the folder is writable");
    }
    std::fs::create_dir(folder.file("b/new")).expect("the folder is writable");
    let found = differences(&folder.file("a"), &folder.file("b"));
    let names: Vec<&str> = found.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["changed", "gone", "new"], "{found}");
}
