//! The outputs as snapshots, and invariants of them.

mod diff;
#[path = "reports/growth.rs"]
mod growth;
#[path = "reports/holders.rs"]
mod holders;
mod sample;
#[path = "reports/tree.rs"]
mod tree_of_processes;

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use heaplens_analyze::{Profile, profile};
use heaplens_format::recording::{Decoded, Interpreter, Reading};
use heaplens_format::{Bytes, Nanos, Pid};
use heaplens_report::export::collapsed;
use heaplens_report::{json, text};
use serde_json::Value;

use sample::python::{growing, script};
use sample::{recording, tree, with_ledgers};

fn profiled(decoded: &Decoded) -> Profile {
    profile(decoded, None).unwrap()
}

fn written(write: fn(&Profile, &mut dyn std::io::Write) -> std::io::Result<()>, profile: &Profile) -> String {
    let mut out = Vec::new();
    write(profile, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parsed(profile: &Profile) -> Value {
    serde_json::from_str(&written(json::write, profile)).unwrap()
}

fn sampled() -> Decoded {
    let mut decoded = recording();
    decoded.recording.run.sample_interval = Some(Bytes::new(512 * 1024));
    decoded
}

#[test]
fn the_page_of_a_plain_run() {
    insta::assert_snapshot!(written(text::write, &profiled(&recording())));
}

#[test]
fn the_page_of_a_tree_with_losses_and_damage() {
    insta::assert_snapshot!(written(text::write, &profiled(&tree())));
}

#[test]
fn the_page_of_a_run_with_ledgers() {
    insta::assert_snapshot!(written(text::write, &profiled(&with_ledgers(true))));
}

#[test]
fn the_page_has_a_note_when_there_was_no_reading_at_exit() {
    let page = written(text::write, &profiled(&with_ledgers(false)));
    assert!(page.contains("No reading at exit: the last column was read at 1.30 s"), "{page}");
}

#[test]
fn the_rows_of_the_ledger_without_heaplens_add_up_to_the_resident_memory() {
    let report = parsed(&profiled(&with_ledgers(true)));
    let rows = report["ledger"].as_array().unwrap();
    for moment in ["start", "peak", "end"] {
        let program = rows.iter().filter(|row| row["layer"] != "heaplens");
        let sum: u64 = program.map(|row| row[moment].as_u64().unwrap()).sum();
        let quoted = report["rss"][moment].as_u64().unwrap();
        assert_eq!(sum, quoted, "{moment}");
    }
    let mapped: Vec<&str> = report["ledger_details"]["mappings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mapping| mapping["how"].as_str().unwrap())
        .collect();
    assert_eq!(mapped, ["unhooked", "hooked", "unhooked"]);
    assert!(!report["ledger_details"]["mappings"][1]["stack"].as_array().unwrap().is_empty());
}

#[test]
fn the_page_of_a_sampled_run() {
    insta::assert_snapshot!(written(text::write, &profiled(&sampled())));
}

#[test]
fn the_page_of_a_python_script() {
    insta::assert_snapshot!(written(text::write, &profiled(&script("/home/user/shop/train.py"))));
}

#[test]
fn the_page_of_a_script_that_grows() {
    insta::assert_snapshot!(written(text::write, &profiled(&growing("/home/user/shop/train.py"))));
}

#[test]
fn the_text_for_an_issue_names_files_and_lines_and_no_folder() {
    let text = written(text::diagnose::write, &profiled(&growing("/home/user/shop/train.py")));
    assert!(text.contains("train.py:") && !text.contains("shop") && !text.contains("home"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_json_of_a_script_that_grows_says_where_and_how_fast() {
    let report = parsed(&profiled(&growing("/home/user/shop/train.py")));
    assert_eq!(report["verdict"], "leak");
    let finding = &report["findings"][0];
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() / expected - 1.0).abs() < 0.001;
    assert!(near(&finding["bytes_per_iteration"], 400.0 * 1024.0), "{finding}");
    assert!(near(&report["rss"]["bytes_per_iteration"], 400.0 * 1024.0), "{}", report["rss"]);
    assert!(near(&finding["evidence"][0]["value"], 4.0), "blocks per iteration: {finding}");
    let is = |field: &str, value: Value| assert_eq!(finding[field], value, "{field}");
    is("rule", "G1".into());
    is("verdict", "leak (your code)".into());
    is("live_bytes", (99 * 400 * 1024).into());
    is("holder", Value::Null);
    is(
        "location",
        serde_json::json!({"file": "/home/user/shop/train.py", "line": 5, "function": "Model.step", "source": null}),
    );
    assert_eq!(report["rss"]["shape"], "linear");
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    let slopes: Vec<f64> = report["sites"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|site| site["bytes_per_iteration"].as_f64())
        .collect();
    assert_eq!(slopes.iter().filter(|slope| **slope > 0.0).count(), 1, "the others do not grow: {slopes:?}");
}

#[test]
fn the_text_of_the_users_line_is_shown_while_its_file_is_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.py");
    std::fs::write(&path, "import numpy\n\n\ndef step(rows):\n    rows.append(\x1b[2J load())\n").unwrap();
    let changed = path.metadata().unwrap().modified().unwrap().duration_since(UNIX_EPOCH).unwrap();
    let mut decoded = script(path.to_str().unwrap());
    let page_of_a_run_at = |decoded: &mut Decoded, start: u128| {
        decoded.recording.run.started_unix = Nanos::new(start as u64);
        written(text::write, &profiled(decoded))
    };
    let page = page_of_a_run_at(&mut decoded, changed.as_nanos());
    assert!(page.contains("  rows.append(?[2J load())\n"), "{page}");
    let page = page_of_a_run_at(&mut decoded, changed.as_nanos() - 1);
    assert!(!page.contains("rows.append"), "the file was changed after the run began");
}

#[test]
fn unsupported_python_is_reported_once_with_the_reason() {
    let words = [
        (Reading::UnknownVersion, "unsupported version, stacks are native only"),
        (Reading::FreeThreaded, "free-threaded builds are not supported, stacks are native only"),
        (Reading::DebugBuild, "debug builds are not supported, stacks are native only"),
    ];
    for (reading, words) in words {
        let mut decoded = recording();
        decoded.recording.processes[0].python = Some(Interpreter { reading, major: 3, minor: 7 });
        let page = written(text::write, &profiled(&decoded));
        assert_eq!(page.matches(&format!("  Python 3.7      {words}\n")).count(), 1, "{page}");
    }
    assert!(!written(text::write, &profiled(&script("train.py"))).contains("native only"));
}

#[test]
fn imports_stand_apart_and_nothing_is_counted_twice() {
    let page = written(text::write, &profiled(&script("train.py")));
    let (places, imports) = page.split_once("Live at exit, from imports").unwrap();
    assert!(!places.contains("numpy"), "{places}");
    assert!(imports.contains("13.0 MiB") && imports.contains("import numpy  train.py:1"), "{imports}");
    assert_eq!(places.matches("13.5 MiB").count(), 1, "one row for all of them: {places}");
}

#[test]
fn what_the_interpreter_takes_for_itself_is_one_row_where_its_frames_are_read() {
    let mut decoded = script("train.py");
    let row = "512 KiB   0.8 %           5 blocks    the Python interpreter itself";
    assert!(written(text::write, &profiled(&decoded)).contains(row));
    let python = decoded.recording.processes[0].python.as_mut().unwrap();
    python.reading = Reading::UnknownVersion;
    assert!(!written(text::write, &profiled(&decoded)).contains("itself"), "it would be all there is");
}

#[test]
fn small_objects_have_their_own_table_and_are_no_part_of_the_heap() {
    let profile = profiled(&script("train.py"));
    assert_eq!(profile.heap().live.bytes.get(), 59 * (1 << 20) + 1024);
    let page = written(text::write, &profile);
    assert!(page.contains("  Python objects  8.00 MiB ± "), "{page}");
    let (_, table) = page.split_once("Python objects at exit").unwrap();
    assert!(table.lines().nth(1).unwrap().contains("train.py:5  Model.step"), "{table}");
    let report = parsed(&profile);
    assert_eq!(report["python_objects"]["live_bytes"], 8 << 20);
    let objects = report["sites"].as_array().unwrap().iter().find(|site| site["kind"] == "python-object");
    assert_eq!(objects.unwrap()["layer"], "python");
}

#[test]
fn python_frames_in_the_json_say_so() {
    let report = parsed(&profiled(&script("train.py")));
    let site = &report["sites"][0];
    let languages: Vec<&Value> = site["stack"].as_array().unwrap().iter().map(|f| &f["language"]).collect();
    assert_eq!(languages, ["native", "python", "python", "python", "python", "python", "native"]);
    let step = &site["stack"][2];
    let expected = serde_json::json!({
        "function": "Model.step", "file": "train.py", "line": 5, "module": null, "offset": 0,
        "language": "python",
    });
    assert_eq!(step, &expected);
    let python = serde_json::json!({ "version": "3.11", "frames": true, "reason": null, "object_interval_bytes": 4096 });
    assert_eq!(report["python"], python);
}

#[test]
fn collapsed_python_frames_have_their_lines() {
    let lines = written(collapsed::write_live, &profiled(&script("/home/user/train.py")));
    assert!(lines.contains(";<module> (train.py:9);Trainer.fit (trainer.py:300);"), "{lines}");
}

#[test]
fn the_page_of_a_run_that_was_not_recorded() {
    let mut decoded = recording();
    decoded.recording.processes.clear();
    insta::assert_snapshot!(written(text::write, &profiled(&decoded)));
}

#[test]
fn a_file_torn_before_its_first_process_says_so() {
    let mut decoded = tree();
    decoded.recording.processes.clear();
    assert!(written(text::write, &profiled(&decoded)).contains("the recording is damaged at byte 40960"));
}

#[test]
fn the_json_of_a_plain_run() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&parsed(&profiled(&recording()))).unwrap());
}

#[test]
fn the_collapsed_stacks_of_a_plain_run() {
    insta::assert_snapshot!(written(collapsed::write_live, &profiled(&recording())));
}

#[test]
fn colour_changes_nothing_but_emphasis() {
    let profile = profiled(&recording());
    let mut coloured = Vec::new();
    text::write_with(&profile, text::Options { colour: true, ..text::Options::default() }, &mut coloured)
        .unwrap();
    let plain = String::from_utf8(coloured).unwrap().replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert_eq!(plain, written(text::write, &profile));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for decoded in [recording(), tree(), sampled(), script("/home/user/shop/train.py")] {
        let mut page = Vec::new();
        let options = text::Options { width: 80, ..text::Options::default() };
        text::write_with(&profiled(&decoded), options, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    }
}

#[test]
fn the_page_does_not_judge_what_is_only_live() {
    for decoded in [recording(), tree(), sampled(), script("/home/user/shop/train.py")] {
        assert!(!written(text::write, &profiled(&decoded)).contains("leak"));
    }
}

#[test]
fn a_name_cannot_write_its_own_lines() {
    let mut decoded = recording();
    let process = &mut decoded.recording.processes[0];
    process.symbols[0].functions[0].name = Some("evil\n\x1b[2Jname;x".into());
    let profile = profiled(&decoded);
    assert!(written(text::write, &profile).contains("evil??[2Jname;x"));
    assert!(written(collapsed::write_live, &profile).contains("evil\\n\\u{1b}[2Jname\\x3bx"));
}

#[test]
fn the_json_has_every_field_of_the_schema() {
    let report = parsed(&profiled(&recording()));
    let fields: BTreeSet<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    for field in [
        "schema",
        "heaplens",
        "command",
        "exit",
        "processes",
        "cost",
        "verdict",
        "iterations",
        "rss",
        "findings",
        "ledger",
        "lost",
        "sections",
        "sites",
        "losses",
    ] {
        assert!(fields.contains(field), "{field} is missing");
    }
    for absent in ["ledger", "lost", "sampled", "python", "python_objects"] {
        assert!(report[absent].is_null(), "{absent} has no data yet");
    }
    assert_eq!(report["schema"], "heaplens-report/1");
    assert_eq!(report["iterations"]["per"], "second", "no loop was found");
}

#[test]
fn the_sums_of_the_json_are_its_totals() {
    let report = parsed(&profiled(&recording()));
    let heap: Vec<&Value> =
        report["sites"].as_array().unwrap().iter().filter(|site| site["layer"] == "native").collect();
    for field in
        ["live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "allocated_bytes", "allocated_blocks"]
    {
        let sum: u64 = heap.iter().map(|site| site[field].as_u64().unwrap()).sum();
        assert_eq!(report["totals"][field], sum, "{field}");
    }
}

#[test]
fn the_collapsed_lines_add_up_to_the_live_total() {
    let profile = profiled(&recording());
    let lines = written(collapsed::write_live, &profile);
    let sum: u64 = lines.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, profile.heap().live.bytes.get());
}

#[test]
fn another_process_of_the_tree_can_be_shown() {
    let profile = profile(&tree(), Some(Pid::new(4713))).unwrap();
    let report = parsed(&profile);
    assert_eq!(report["pid"], 4713);
    let shown: Vec<_> =
        report["processes"].as_array().unwrap().iter().filter(|row| row["main"] == true).collect();
    assert_eq!((shown.len(), &shown[0]["pid"]), (1, &Value::from(4713)));
}

/// A run of 3,000 sites whose stacks are 100 frames deep: three times what the JSON has room for.
fn deep() -> Decoded {
    use heaplens_format::recording::{Amount, Frame, Node, Site, SiteKind};
    use heaplens_format::{Addr, NodeId};
    let mut decoded = recording();
    let process = &mut decoded.recording.processes[0];
    (process.nodes, process.sites) = (Vec::new(), Vec::new());
    for site in 0..3_000u64 {
        for depth in 0..100 {
            let parent = if depth == 0 { 0 } else { process.nodes.len() as u32 };
            let frame = Frame::Unknown { address: Addr::new(site * 4096 + depth) };
            process.nodes.push(Node { parent: NodeId::new(parent), frame });
        }
        let amount = |bytes: u64| Amount { bytes: Bytes::new(bytes), blocks: 1 };
        process.sites.push(Site {
            node: NodeId::new(process.nodes.len() as u32),
            kind: SiteKind::Heap,
            live: amount(site),
            peak: amount(3_000 - site),
            allocated: amount(10_000),
        });
    }
    decoded
}

#[test]
fn json_beyond_its_budget_keeps_the_leading_sites_and_the_sum_of_the_others() {
    let report = parsed(&profiled(&deep()));
    let sites = report["sites"].as_array().unwrap();
    let sum = |field: &str| sites.iter().map(|site| site[field].as_u64().unwrap()).sum::<u64>();
    let omitted = &report["sites_omitted"];
    assert!((1_000..1_003).contains(&sites.len()), "{} sites", sites.len());
    assert_eq!(sites.len() as u64 + omitted["count"].as_u64().unwrap(), 3_000);
    let truths = [
        ("live_bytes", (0..3_000).sum()),
        ("live_blocks", 3_000),
        ("peak_bytes", (1..=3_000).sum::<u64>()),
        ("peak_blocks", 3_000),
        ("allocated_bytes", 30_000_000),
    ];
    for (field, truth) in truths {
        assert_eq!(sum(field) + omitted[field].as_u64().unwrap(), truth, "{field}");
    }
    assert_eq!(sites[0]["live_bytes"], 2_999);
    assert!(sites.iter().any(|site| site["peak_bytes"] == 3_000), "the site that led at the peak is there");
}
