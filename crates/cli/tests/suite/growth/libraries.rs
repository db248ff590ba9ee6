//! Libraries that a program loads in a loop: under a new name each time they stay for ever, under the same name or unloaded they do not.

use serde_json::Value;

use super::{python, write};
use crate::harness::{Folder, Heaplens};

const SCRIPT: &str = "\
import _ctypes, ctypes, os, shutil, sys, tempfile
folder = tempfile.mkdtemp()
for step in range(600):
    path = os.path.join(folder, 'library-%d.so' % (step if sys.argv[1] != 'same' else 0))
    if not os.path.exists(path): shutil.copyfile(_ctypes.__file__, path)
    library = ctypes.CDLL(path)
    if sys.argv[1] == 'unloads': _ctypes.dlclose(library._handle)
shutil.rmtree(folder)
";

/// The verdict, and the finding of the rule where there is one.
fn found(word: &str) -> (Value, Option<Value>) {
    let folder = Folder::new();
    let script = folder.file("loads.py");
    write(&script, SCRIPT);
    let report = Heaplens::on(python(), &[]).arg(script).arg(word).finish().expect_status(0).report().0;
    let findings = report["findings"].as_array().expect("findings");
    let found = findings.iter().find(|finding| finding["rule"] == "G5").cloned();
    (report["verdict"].clone(), found)
}

#[test]
fn libraries_that_are_loaded_under_new_names_are_reported_where_they_are_loaded() {
    let (verdict, found) = found("new");
    let found = found.expect("it is found");
    assert_eq!((&verdict, &found["location"]["line"]), (&"leak".into(), &6.into()), "{found:#}");
}

#[test]
fn a_library_that_is_loaded_again_or_unloaded_is_not_reported() {
    for word in ["same", "unloads"] {
        assert_eq!(found(word).1, None, "{word}");
    }
}
