//! `--html`: the page is opened in a headless Chromium, used as people do, and asked what it shows. puppeteer-core (Apache-2.0) tells
//! the browser what to do, axe-core (MPL-2.0) has the rules of accessibility; both serve the tests alone and are in nothing that is
//! shipped.

mod browser;
mod guide;
mod hostile;
mod tensorflow;

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::harness::{Finished, Heaplens, program, program_with};
use crate::python::{interpreters, script};
use browser::{Seen, labels, opened};

/// What an iteration of the script keeps, in a page of 40 of them.
const SIZE: u64 = 12345;
static GROWING: LazyLock<Finished> = LazyLock::new(|| {
    let run = Heaplens::on(interpreters::any(), &["-q"]).arg(script("python_grows.py")).arg("40");
    run.finish().expect_status(0)
});
static GROWING_SEEN: LazyLock<Option<Seen>> =
    LazyLock::new(|| opened("html", &page(&GROWING), "python_grows.py"));
/// A native program that loses a block.
static LOSING: LazyLock<Finished> =
    LazyLock::new(|| Heaplens::on(&losing(), &["-q"]).finish().expect_status(0));
static LOSING_SEEN: LazyLock<Option<Seen>> = LazyLock::new(|| opened("html", &page(&LOSING), "main"));

fn losing() -> PathBuf {
    program_with("leak_in_main.c", "leak_in_main", &["-O0"]).expect("an ordinary program compiles")
}

/// The page of a run, made from its recording.
fn page(run: &Finished) -> PathBuf {
    let file = run.folder.file("page.html");
    let output = Heaplens::bare(["report"])
        .arg(run.recording())
        .arg("--html")
        .arg(&file)
        .output()
        .expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "it went to the file");
    file
}

#[test]
fn the_page_opens_without_a_word_and_asks_nobody() {
    for seen in [&*GROWING_SEEN, &*LOSING_SEEN] {
        let Some(seen) = seen else { return };
        seen.assert_quiet();
    }
}

#[test]
fn the_verdict_and_the_line_that_grows_are_to_be_read() {
    let Some(seen) = &*GROWING_SEEN else { return };
    let text = seen.text();
    assert!(text.contains("Leak") && text.contains("12.1 KiB/iteration"), "{text}");
    assert!(text.contains("malloc(SIZE)"), "the source of the line: {text}");
    assert!(text.contains("G1 site-growth"), "{text}");
    assert!(seen.0["title"].as_str().is_some_and(|title| title.contains("Leak")), "{}", seen.0["title"]);
}

#[test]
fn sums_are_those_of_the_json_report_to_the_byte() {
    for (run, seen) in [(&*GROWING, &*GROWING_SEEN), (&*LOSING, &*LOSING_SEEN)] {
        let Some(seen) = seen else { return };
        let (report, bytes) = (run.report().0, &seen.0["bytes"]);
        for moment in ["live", "peak", "allocated"] {
            let expected = &report["totals"][format!("{moment}_bytes")];
            assert_eq!(bytes["figures"][moment], json!([expected]), "{moment}");
        }
        assert_eq!(bytes["figures"]["rss"][0], report["rss"]["peak"]);
        assert_eq!(bytes["flame"][0], json!(held(&report)));
        for kind in ["definitely", "indirectly", "possibly", "suppressed"] {
            if report["lost"].is_object() {
                assert_eq!(bytes["lost"][kind], json!([report["lost"][kind]["bytes"]]), "{kind}");
            }
        }
        for (line, layer) in [("Native", "native"), ("Python", "python"), ("MappedFiles", "mapped-files")] {
            assert_ledger(&report, bytes, line, layer);
        }
    }
}

/// What all stacks of the heap and of small objects held at the end; these programs leave without a clean-up.
fn held(report: &Value) -> u64 {
    let of = |part: &str| report[part]["live_bytes"].as_u64();
    of("totals").expect("the heap has a sum") + of("python_objects").unwrap_or(0)
}

fn assert_ledger(report: &Value, bytes: &Value, line: &str, layer: &str) {
    let rows = report["ledger"].as_array().expect("a ledger");
    let row = rows.iter().find(|row| row["layer"] == layer).expect("the layer");
    // Lines that would read 0.0 are left out.
    if let Some(shown) = bytes["ledger"][line].as_array() {
        assert_eq!(shown, &[row["start"].clone(), row["peak"].clone(), row["end"].clone()], "{layer}");
    }
}

#[test]
fn what_is_searched_for_is_found_and_can_be_opened() {
    let Some(seen) = &*GROWING_SEEN else { return };
    let flame = &seen.0["flame"];
    let found = flame["found"].as_str().expect("words");
    assert!(found.contains(" match") && found.contains(", in stacks with "), "{found}");
    let hits = labels(&flame["hits"]);
    assert!(hits.iter().any(|hit| hit.contains("main (python_grows.py:")), "{hits:?}");
    let (whole, zoomed) = (labels(&flame["whole"]), labels(&flame["zoomed"]));
    assert!(zoomed.len() <= whole.len() && zoomed[0].starts_with("all, "), "{zoomed:?}");
    assert!(flame["zoomed"][0]["classes"].as_str().is_some_and(|classes| classes.contains("outside")));
    assert!(
        flame["details"].as_str().is_some_and(|details| details.contains("python_grows.py")),
        "{}",
        flame["details"]
    );
    assert_eq!(flame["back"].as_u64(), Some(whole.len() as u64), "Escape leads back");
}

#[test]
fn growth_is_shown_per_iteration() {
    let Some(seen) = &*GROWING_SEEN else { return };
    assert_eq!(seen.0["bytes"]["flame"][2], json!(SIZE), "what an iteration keeps");
    assert_eq!(seen.0["flame"]["values"]["2"], "Total 12.1 KiB per iteration");
}

#[test]
fn reversed_it_begins_with_what_allocates() {
    let Some(seen) = &*GROWING_SEEN else { return };
    let reversed = labels(&seen.0["flame"]["reversed"]);
    assert!(reversed[0].starts_with("all allocating functions, "), "{reversed:?}");
    let whole = labels(&seen.0["flame"]["whole"]);
    assert_ne!(reversed[1], whole[1], "the outermost frame is no longer first");
}

#[test]
fn frames_of_one_language_are_shown_alone() {
    let Some(seen) = &*GROWING_SEEN else { return };
    for (language, other) in [("python", ["kind-0"].as_slice()), ("native", &["kind-1", "kind-2"])] {
        let boxes = seen.0["flame"][language].as_array().expect("boxes");
        assert!(boxes.len() > 1, "{language}");
        for one in boxes {
            let classes = one["classes"].as_str().expect("classes");
            assert!(other.iter().all(|other| !classes.contains(other)), "{language}: {one}");
        }
    }
}

#[test]
fn the_time_line_shows_what_was_resident_at_a_moment() {
    let Some(seen) = &*GROWING_SEEN else { return };
    let time = &seen.0["time"];
    let (first, last) = (time["first"].as_str().expect("words"), time["last"].as_str().expect("words"));
    assert!(first.starts_with("at ") && first.contains("RSS "), "{first}");
    assert_ne!(first, last);
    assert_eq!(time["again"], time["last"], "End leads back");
    assert!(time["shapes"].as_u64() >= Some(1), "{time}");
}

#[test]
fn rules_of_accessibility_are_kept_in_light_and_dark() {
    for seen in [&*GROWING_SEEN, &*LOSING_SEEN] {
        let Some(seen) = seen else { return };
        assert_eq!(seen.0["broken"], json!({ "light": [], "dark": [] }));
        assert!(["light", "dark"].contains(&seen.0["theme"].as_str().unwrap_or_default()));
        assert_eq!(seen.0["narrow"].as_u64(), Some(400), "nothing sticks out of a narrow window");
    }
}

#[test]
fn run_writes_the_page_of_its_own_process() {
    let run = Heaplens::on(&program("sampled.c"), &["-q"]);
    let (folder, command) = run.into_parts();
    let mut words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let at = words.iter().position(|word| word == "--").expect("the program follows");
    words.splice(at..at, ["--html".into(), folder.file("page.%p.html").into()]);
    let output = Heaplens::bare(words).output().expect("heaplens starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = std::fs::read_dir(folder.path()).expect("a folder").filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        name.strip_prefix("page.")?.strip_suffix(".html")?.parse::<u32>().ok()
    });
    assert_eq!(pages.count(), 1, "one page, with the number of the process in its name");
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_program_runs() {
    let output = Heaplens::bare(["run", "-q", "--html", "/no/such/folder/page.html", "--", "echo", "ran"]);
    let output = { output }.output().expect("heaplens starts");
    assert_eq!(output.status.code(), Some(125));
    assert!(output.stdout.is_empty(), "the program did not run");
}
