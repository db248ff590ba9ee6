//! Keys of dicts are data of the program: they stand in nothing that is written unless the user asks for it. Names and constants of
//! the source are not.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::harness::{Finished, Folder, Heaplens};
use crate::python::interpreters;

fn script() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/programs/python_tokens.py")).to_owned()
}

fn run(python: &Path, options: &[&str], html: &Path) -> Finished {
    let html = ["--html", html.to_str().expect("a plain path")];
    Heaplens::on(python, &[options, &html].concat()).arg(script()).finish().expect_status(0)
}

/// What the commands print that read a recording.
fn printed(recording: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    let commands: [&[&str]; 4] = [&["report"], &["heap"], &["diagnose"], &["report", "--format", "json"]];
    for words in commands {
        let output = Heaplens::bare(words).arg(recording).output().expect("heaplens starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        all.extend(output.stdout);
    }
    all
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Which of the outputs have what all keys of the program share: the recording, the report on stderr, JSON, HTML, what is printed later.
fn seen_in(run: &Finished, html: &Path) -> Vec<bool> {
    let shared = run.stdout().lines().next().expect("the program says what its keys share").to_owned();
    assert!(shared.len() > 6 && !std::fs::read_to_string(script()).expect("it is there").contains(&shared));
    let read = |path: &Path| std::fs::read(path).expect("it was written");
    let outputs = [
        read(&run.recording()),
        run.output.stderr.clone(),
        read(&run.folder.file("run.json")),
        read(html),
        printed(&run.recording()),
    ];
    outputs.iter().map(|bytes| contains(bytes, &shared)).collect()
}

#[test]
fn keys_of_dicts_are_written_only_when_the_user_asks_for_them() {
    let test = "holders::keys::keys_of_dicts_are_written_only_when_the_user_asks_for_them";
    let folder = Folder::new();
    let html = folder.file("page.html");
    for python in &interpreters::all(test) {
        let hidden = run(&python.path, &[], &html);
        assert_eq!(seen_in(&hidden, &html), [false; 5], "Python {}", python.version);
        let page = String::from_utf8_lossy(&printed(&hidden.recording())).into_owned();
        for shown in ["[str of 32]", "[bytes of 32]", "[tuple of 2]", "['rows']", "['open']"] {
            assert!(page.contains(shown), "{shown} is not in the page of Python {}: {page}", python.version);
        }
        let mode = std::fs::metadata(hidden.recording()).expect("it was written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let shown = run(&python.path, &["--show-keys"], &html);
        let [recording, _, json, ..] = seen_in(&shown, &html)[..] else { unreachable!("five outputs") };
        assert!(recording && json, "Python {}", python.version);
    }
}

/// The output of `heaplens snapshot` with these options, of the program while it waits; and whether its recording has the keys.
fn snapshot(python: &Path, options: &[&str]) -> (String, bool) {
    let (folder, mut command) = Heaplens::on(python, &["--quiet"]).arg(script()).arg("waits").into_parts();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is a pipe")).lines();
    let [shared, pid] = [(); 2].map(|()| lines.next().expect("the program speaks").expect("as text"));
    let file = folder.file("snapshot.hlr");
    let output = Heaplens::bare(["snapshot", &pid, "--passive", "-o"]).arg(&file).args(options).output();
    let output = output.expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    child.stdin.take().expect("stdin is a pipe").write_all(b"\n").expect("the program listens");
    assert!(child.wait().expect("heaplens ends").success());
    let recording = std::fs::read(&file).expect("it was written");
    (String::from_utf8_lossy(&output.stdout).into_owned(), contains(&recording, &shared))
}

#[test]
fn a_snapshot_of_a_running_program_has_its_keys_only_when_the_user_asks_for_them() {
    let test = "holders::keys::a_snapshot_of_a_running_program_has_its_keys_only_when_the_user_asks_for_them";
    let python = interpreters::all(test).remove(0);
    let (page, has_keys) = snapshot(&python.path, &[]);
    assert!(!has_keys, "{page}");
    let (page, has_keys) = snapshot(&python.path, &["--show-keys"]);
    assert!(has_keys, "{page}");
}
