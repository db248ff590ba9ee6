//! Exports of recordings that no program makes: names with every character that means something to a format, a stack without
//! frames, nothing at all.

#[expect(dead_code, reason = "other tests take more of the samples")]
mod sample;

use std::io::Write;
use std::sync::Arc;

use heaplens_analyze::{Profile, profile};
use heaplens_format::recording::Decoded;
use heaplens_report::export::{Samples, What, collapsed, dot, gperftools, massif, pprof, sarif, speedscope};
use serde_json::Value;

use sample::recording;

const HOSTILE: &str = "a\"b;c\\d\ne\rf<script>--&]]>\u{202e}\u{7}\0'%0A{}\t";

fn profiled(decoded: &Decoded) -> Profile {
    profile(decoded, None).unwrap()
}

fn hostile() -> Profile {
    let mut decoded = recording();
    for symbol in &mut decoded.recording.processes[0].symbols {
        for function in &mut symbol.functions {
            function.name = function.name.as_ref().map(|name| Arc::from(format!("{name}{HOSTILE}")));
            function.file = function.file.as_ref().map(|file| Arc::from(format!("{file}{HOSTILE}")));
        }
    }
    decoded.recording.run.command.push(HOSTILE.to_owned());
    profiled(&decoded)
}

fn written(write: impl FnOnce(&mut dyn Write)) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes);
    String::from_utf8(bytes).unwrap()
}

/// Bytes of the heap that the sample has live.
const LIVE: i64 = 60 * 1024 * 1024 + 3_000 + 1_024;

#[test]
fn names_with_separators_end_no_stack_and_no_frame() {
    let profile = hostile();
    let text = written(|out| collapsed::write(&Samples::of(&profile, false), What::Live, out).unwrap());
    assert_eq!(text.lines().count(), 3, "{text}");
    let numbers = text.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap());
    assert_eq!(numbers.sum::<i64>(), LIVE);
    let depth = |line: &str| line.split(';').count();
    assert_eq!(text.lines().map(depth).collect::<Vec<_>>(), [5, 3, 3], "{text}");
}

#[test]
fn names_with_control_characters_stay_on_their_line() {
    let profile = hostile();
    let samples = Samples::of(&profile, false);
    for named in [true, false] {
        let text = written(|out| assert_eq!(gperftools::write(&samples, named, out).unwrap(), 0));
        // An object file of the sample is one that most machines have.
        let (stacks, libraries) = text.split_once("MAPPED_LIBRARIES:\n").unwrap();
        assert!(libraries.lines().all(|line| line.contains(" r-xp ")), "{libraries}");
        let known = |line: &str| {
            let starts = ["0x", "---", "binary=", "heap profile:"];
            line.is_empty() || line.starts_with(' ') || starts.iter().any(|start| line.starts_with(start))
        };
        assert!(stacks.lines().all(known), "{text}");
        assert!(!stacks.lines().any(|line| line.starts_with("0x") && line.contains("--")), "{text}");
    }
    let text = written(|out| massif::write(&profile, out).unwrap());
    let is_tree = |line: &str| line.trim_start().starts_with('n') && line.contains(": ");
    let known =
        |line: &str| line.starts_with('#') || line.contains('=') || line.contains(": ") || is_tree(line);
    assert!(text.lines().all(known) && !text.contains('\u{7}'), "{text}");
}

#[test]
fn names_with_quotation_marks_end_no_text() {
    let profile = hostile();
    let samples = Samples::of(&profile, true);
    let file: Value =
        serde_json::from_str(&written(|out| speedscope::write(&samples, &What::ALL, out).unwrap())).unwrap();
    assert_eq!(file["profiles"][0]["endValue"], LIVE + 8 * 1024 * 1024, "with the mapping");
    let log: Value =
        serde_json::from_str(&written(|out| sarif::write(&profile, "/home/user", out).unwrap())).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let graph = written(|out| dot::write(&samples, What::Live, out).unwrap());
    for line in graph.lines() {
        let open = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert_eq!(open % 2, 0, "{line}");
    }
}

#[test]
fn a_run_of_which_nothing_is_known_can_be_written() {
    let profile = Profile::default();
    let samples = Samples::of(&profile, true);
    assert!(!samples.knows_growth() && !samples.has_python());
    let mut zipped = Vec::new();
    pprof::write(&samples, None, &mut zipped).unwrap();
    assert_eq!(zipped[..2], [0x1f, 0x8b], "compressed");
    assert!(written(|out| massif::write(&profile, out).unwrap()).contains("heap_tree=empty"));
    assert!(
        written(|out| _ = gperftools::write(&samples, true, out).unwrap()).contains("     0:        0 [")
    );
    assert!(written(|out| dot::write(&samples, What::Live, out).unwrap()).contains("; 0 B\""));
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    let profile = profiled(&recording());
    let samples = Samples::since(&profile, &profile, true);
    let file: Value =
        serde_json::from_str(&written(|out| speedscope::write(&samples, &[What::Live], out).unwrap()))
            .unwrap();
    assert_eq!(file["profiles"].as_array().unwrap().len(), 2);
    for side in file["profiles"].as_array().unwrap() {
        assert_eq!(side["weights"], Value::Array(vec![]), "{side}");
    }
    let text = written(|out| collapsed::write(&samples, What::Live, out).unwrap());
    for line in text.lines() {
        let numbers: Vec<&str> = line.rsplitn(3, ' ').take(2).collect();
        assert_eq!(numbers[0], numbers[1], "{line}");
    }
}
