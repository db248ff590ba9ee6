//! A page in a headless browser: `tests/readers/page.js` opens and uses it, and says what it saw.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::skip;

const CHROMIUM: &str = "/usr/bin/chromium";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/readers/page.js");
const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/readers/guide.js");

/// What was seen.
pub struct Seen(pub Value);

/// Opens a page and searches its flame graph for these words; `None`, with a word about it, where there is no browser. Pictures go
/// to the folder that HEAPLENS_PAGE_PICTURES names.
pub fn opened(test: &str, page: &Path, words: &str) -> Option<Seen> {
    let mut command = script(test, SCRIPT)?;
    command.arg(page).arg(words).args(std::env::var_os("HEAPLENS_PAGE_PICTURES"));
    Some(Seen(said(command)))
}

/// Takes the pictures of the guide; their names.
pub fn pictured(test: &str, page: &Path, folder: &Path) -> Option<Vec<String>> {
    let mut command = script(test, GUIDE)?;
    command.arg(page).arg(folder);
    Some(serde_json::from_value(said(command)).expect("names"))
}

/// A script that drives a browser; another browser than the system's is named by HEAPLENS_CHROMIUM.
fn script(test: &str, path: &str) -> Option<Command> {
    let modules = std::env::var_os("HEAPLENS_NODE_READERS").map(PathBuf::from);
    let Some(modules) = modules.filter(|folder| folder.join("node_modules/puppeteer-core").exists()) else {
        skip(test, "HEAPLENS_NODE_READERS names no folder with puppeteer-core and axe-core");
        return None;
    };
    let browser = std::env::var_os("HEAPLENS_CHROMIUM").unwrap_or_else(|| CHROMIUM.into());
    if !Path::new(&browser).exists() {
        skip(test, "chromium is not installed");
        return None;
    }
    let mut command = Command::new("node");
    command.arg(path).arg(modules.join("node_modules"));
    Some(command)
}

fn said(mut command: Command) -> Value {
    let output = command.output().expect("node is there where its packages are");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

impl Seen {
    /// All that is to be read.
    pub fn text(&self) -> &str {
        self.0["text"].as_str().expect("text")
    }

    /// Panics if the page or the browser said anything, if something else was loaded, or if anything ran that is not ours.
    pub fn assert_quiet(&self) {
        let nothing = json!({ "console": [], "errors": [], "dialogs": [], "requests": [] });
        assert_eq!(self.0["heard"], nothing);
        assert_eq!(self.0["elements"], json!({ "scripts": 2, "images": 0, "frames": 0, "ran": null }));
    }
}

/// What screen readers say of the frames that are drawn.
pub fn labels(boxes: &Value) -> Vec<&str> {
    let label = |one: &'_ Value| one["label"].as_str().map(str::len);
    let boxes = boxes.as_array().expect("frames");
    assert!(boxes.iter().all(|one| label(one).is_some_and(|length| length > 0)));
    boxes.iter().filter_map(|one| one["label"].as_str()).collect()
}
