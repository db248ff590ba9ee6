//! Formats of findings and of the ledger: SARIF, Valgrind's XML, CSV.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use heaplens_format::recording::{Amount, LeakCheck, LeakKind, LostSite, Process, decode, encode};
use serde_json::Value;

use super::readers::{node, read};
use super::{FEW, MANY, NATIVE, export, exported, growing_line, refused};
use crate::harness::{Finished, Heaplens};

fn log(run: &Finished) -> Value {
    serde_json::from_slice(&export(run, "sarif", &[]).stdout).expect("JSON")
}

/// Results of rules whose identifier begins with a letter: growth, or lost blocks.
fn results(log: &Value, letter: char) -> Vec<&Value> {
    let all = log["runs"][0]["results"].as_array().expect("results").iter();
    all.filter(|result| result["ruleId"].as_str().is_some_and(|id| id.starts_with(letter))).collect()
}

#[test]
fn findings_are_valid_sarif() {
    for (run, name) in [(&*FEW, "few.sarif"), (&*NATIVE, "native.sarif")] {
        let file = exported(run, "sarif", name, &[]);
        let Some(said) = node("export::findings::findings_are_valid_sarif", "sarif.js", &file) else {
            return;
        };
        assert_eq!(said, "valid\n");
    }
}

#[test]
fn a_finding_is_a_result_at_its_line_with_its_rule() {
    let log = log(&FEW);
    let run = &log["runs"][0];
    let result = &run["results"][0];
    let (file, line) =
        growing_line(&FEW).split_once(':').map(|(f, l)| (f.to_owned(), l.parse::<u64>().unwrap())).unwrap();
    let location = &result["locations"][0]["physicalLocation"];
    assert!(location["artifactLocation"]["uri"].as_str().unwrap().ends_with(&file), "{location}");
    assert_eq!(location["region"]["startLine"], line);
    assert_eq!([&result["ruleId"], &result["level"]], ["G1", "error"]);
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "G1");
    assert_eq!(run["tool"]["driver"]["rules"][0]["name"], "site-growth");
    let growing = |log: &Value| results(log, 'G').len();
    assert_eq!([growing(&log), growing(&self::log(&NATIVE))], [1, 0], "{log}");
}

#[test]
fn the_fingerprint_of_a_cause_is_the_same_in_another_run() {
    let [few, many] =
        [&*FEW, &*MANY].map(|run| log(run)["runs"][0]["results"][0]["partialFingerprints"].clone());
    assert!(few["heaplensCause/v1"].is_string(), "{few}");
    assert_eq!(few, many);
}

#[test]
fn the_rows_of_the_ledger_add_up_and_end_as_the_report_says() {
    let text = String::from_utf8(export(&MANY, "csv", &[]).stdout).expect("text");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let head = rows.next().expect("a head");
    assert_eq!(head[..5], ["seconds", "moment", "rss", "pss", "uss"]);
    let number = |word: &str| word.parse::<u64>().expect("bytes");
    let rows: Vec<Vec<&str>> = rows.collect();
    for row in &rows {
        assert_eq!(row[5..].iter().map(|word| number(word)).sum::<u64>(), number(row[2]), "{text}");
    }
    let last = rows.last().expect("a ledger");
    for line in MANY.report().0["ledger"].as_array().expect("a ledger") {
        let column =
            head.iter().position(|name| *name == line["layer"]).unwrap_or_else(|| panic!("{line}: {text}"));
        assert_eq!(number(last[column]), line["end"], "{line}");
    }
}

/// The native recording, with other lost blocks.
fn with_lost(name: &str, lost: impl FnOnce(&Process) -> Option<LeakCheck>) -> PathBuf {
    let bytes = std::fs::read(NATIVE.recording()).expect("a recording");
    let mut recording = decode(&bytes).expect("it is one").recording;
    recording.processes[0].leaks = lost(&recording.processes[0]);
    let path = NATIVE.folder.file(name);
    std::fs::write(&path, encode(&recording)).expect("the folder is writable");
    path
}

/// All blocks of the first site are lost.
fn first_site_lost(process: &Process) -> Option<LeakCheck> {
    let direct = process.sites[0].live;
    let lost = LostSite { site: 0, kind: LeakKind::DefinitelyLost, direct, indirect: Amount::default() };
    Some(LeakCheck::Done(vec![lost]))
}

fn export_of(recording: &Path, format: &str) -> Output {
    Heaplens::bare(["export", "-f", format]).arg(recording).output().expect("heaplens starts")
}

#[test]
fn lost_blocks_are_valgrinds_xml_and_results_of_sarif() {
    let test = "export::findings::lost_blocks_are_valgrinds_xml_and_results_of_sarif";
    let recording = with_lost("lost.hlr", first_site_lost);
    let log: Value = serde_json::from_slice(&export_of(&recording, "sarif").stdout).expect("JSON");
    let [lost] = results(&log, 'L')[..] else { panic!("{log}") };
    let bytes = lost["properties"]["bytes"].as_u64().expect("bytes");
    assert!([4_788_000, 8_998_000, 10_009_900].contains(&bytes), "{lost}");
    let file = NATIVE.folder.file("lost.xml");
    std::fs::write(&file, export_of(&recording, "valgrind").stdout).expect("the folder is writable");
    let mut xmllint = Command::new("xmllint");
    xmllint.args(["--xpath", "sum(/valgrindoutput/error[kind='Leak_DefinitelyLost']/xwhat/leakedbytes)"]);
    let Some(said) = read(test, xmllint.arg(&file)) else { return };
    assert_eq!(said.trim().parse::<f64>().expect("bytes") as u64, bytes);
}

#[test]
fn a_recording_that_knows_of_no_lost_blocks_is_no_empty_list() {
    let output = export_of(&with_lost("unknown.hlr", |_| None), "valgrind");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("which blocks were lost") && said.contains("memcheck"), "{said}");
}

#[test]
fn what_a_format_cannot_say_is_refused_with_the_reason() {
    let said = refused(&NATIVE, "massif", &[&"--base", &FEW.recording()]);
    assert!(
        said.contains("--base cannot be used with --format massif") && said.contains("heaplens diff"),
        "{said}"
    );
    let said = refused(&NATIVE, "pprof", &[&"--what", &"peak"]);
    assert!(said.contains("--what cannot be used with --format pprof"), "{said}");
    let said = refused(&NATIVE, "collapsed", &[&"--at", &"pass:3"]);
    assert!(said.contains("no loop was found"), "{said}");
}
