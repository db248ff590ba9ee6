//! A signal to the recorder marks the moment, in a program that knows nothing of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

use heaplens_format::arena::header::MARKS_WANTED_OFFSET;

use super::interpreters;
use crate::harness::{Heaplens, Report};

/// Says where its arena is, waits for a line, and makes enough events that some are timed.
const PROGRAM: &str = "import os, sys
print(os.path.join(os.environ['HEAPLENS_DIR'], '%d.0.arena' % os.getpid()), flush=True)
sys.stdin.readline()
kept = [bytearray(2000) for _ in range(5000)]
";

/// How often the arena is read: the recorder needs some milliseconds at most.
const READS: usize = 50_000_000;

#[test]
fn sigusr2_to_the_recorder_makes_a_mark_and_does_not_reach_the_program() {
    let test = "python::signal::sigusr2_to_the_recorder_makes_a_mark_and_does_not_reach_the_program";
    let python = &interpreters::all(test)[0];
    let (folder, mut command) = Heaplens::on(&python.path, &[]).arg("-c").arg(PROGRAM).into_parts();
    let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
    let mut said = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
    let mut arena = String::new();
    said.read_line(&mut arena).expect("the program says where its arena is");
    let kill = Command::new("kill").args(["-USR2", &run.id().to_string()]).status();
    assert!(kill.expect("kill starts").success());
    assert!((0..READS).any(|_| wants_mark(Path::new(arena.trim_end()))), "the recorder asks for a mark");
    run.stdin.take().expect("stdin is a pipe").write_all(b"go\n").expect("the program listens");
    said.read_to_end(&mut Vec::new()).expect("the program ends");
    assert_eq!(run.wait().expect("heaplens ends").code(), Some(0), "SIGUSR2 would have killed the program");
    let report = Report::parse(&std::fs::read(folder.file("run.json")).expect("a report"));
    let labels: Vec<_> =
        report.0["marks"].as_array().into_iter().flatten().map(|mark| &mark["label"]).collect();
    assert_eq!(
        labels,
        [&serde_json::json!("SIGUSR2"), &serde_json::Value::Null],
        "and the end of the script"
    );
}

fn wants_mark(arena: &Path) -> bool {
    let mut word = [0; 4];
    let file = std::fs::File::open(arena).expect("the arena is there while the program runs");
    file.read_exact_at(&mut word, MARKS_WANTED_OFFSET as u64).is_ok() && u32::from_le_bytes(word) == 1
}
