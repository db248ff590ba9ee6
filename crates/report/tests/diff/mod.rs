//! Comparisons as snapshots.

use heaplens_analyze::Profile;
use heaplens_analyze::diff::{Moment, Side, of_moments, of_recordings};
use heaplens_analyze::profile::StackFrame;
use heaplens_format::recording::{Amount, Decoded, Line};
use heaplens_format::{Bytes, Nanos};
use heaplens_report::{json, text};
use serde_json::Value;

use crate::sample::python::growing;
use crate::sample::{recording, with_ledgers};

/// The plain run as another version of the program might run: it loads less, parses more, and names a line anew.
fn other() -> Decoded {
    let mut decoded = with_ledgers(true);
    let process = &mut decoded.recording.processes[0];
    process.sites[0].live.bytes = Bytes::new(20 << 20);
    process.sites[1].live = Amount { bytes: Bytes::new(7 << 20), blocks: 7_000 };
    let fill = process.symbols[3].functions.last_mut().unwrap();
    fill.line = Some(47);
    let ledger = process.ledgers.last_mut().unwrap();
    ledger.lines.set(Line::NATIVE, Bytes::new(1_020 << 20));
    ledger.lines.set(Line::ALLOCATOR_FREE, Bytes::new(4 << 20));
    ledger.rss = ledger.lines.iter().map(|(_, bytes)| bytes).sum();
    process.modules[0].path = "/home/user/other/rows".into();
    decoded
}

fn whole(decoded: &Decoded) -> Side {
    Side::whole(decoded, None).unwrap()
}

/// One line has a text.
fn source(_: &Profile, frame: &StackFrame) -> Option<String> {
    (frame.function.as_deref() == Some("shop::Rows::fill")).then(|| "rows.reserve(count);".to_owned())
}

fn page(from: &Side, to: &Side, is_one: bool) -> String {
    let compare = if is_one { of_moments } else { of_recordings };
    let diff = compare(from, to, &mut source);
    let mut out = Vec::new();
    text::diff::write(&diff, ("a.hlr", from), ("b.hlr", to), text::Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parsed(from: &Side, to: &Side) -> Value {
    let diff = of_recordings(from, to, &mut source);
    let mut out = Vec::new();
    json::diff::write(&diff, ("a.hlr", from), ("b.hlr", to), &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn the_page_of_two_recordings() {
    insta::assert_snapshot!(page(&whole(&with_ledgers(true)), &whole(&other()), false));
}

#[test]
fn the_page_of_two_recordings_of_which_one_is_sampled_and_has_no_ledger() {
    let mut sampled = recording();
    sampled.recording.run.sample_interval = Some(Bytes::new(512 * 1024));
    insta::assert_snapshot!(page(&whole(&with_ledgers(true)), &whole(&sampled), false));
}

#[test]
fn the_page_of_two_passes() {
    let decoded = growing("/home/user/shop/train.py");
    let side = |pass| Side::from(&decoded, None, &Moment::Iteration(pass)).unwrap();
    insta::assert_snapshot!(page(&side(20), &side(60), true));
}

#[test]
fn the_json_of_two_recordings() {
    let diff = parsed(&whole(&with_ledgers(true)), &whole(&other()));
    insta::assert_snapshot!(serde_json::to_string_pretty(&diff).unwrap());
}

#[test]
fn what_the_lines_changed_by_is_what_the_totals_changed_by() {
    let diff = parsed(&whole(&recording()), &whole(&other()));
    let lines = diff["lines"].as_array().unwrap();
    let sum: i64 = lines.iter().map(|line| line["bytes"].as_i64().unwrap()).sum();
    let total = |name: &str| diff["totals"][name]["bytes"].as_i64().unwrap_or(0);
    assert_eq!(sum, total("heap") + total("mapped_anonymous"));
}

#[test]
fn a_moment_that_is_not_kept_is_the_nearest_that_is() {
    let mut decoded = growing("/home/user/shop/train.py");
    decoded.recording.processes[0].marks.truncate(50);
    let side = Side::to(&decoded, None, &Moment::Iteration(90)).unwrap();
    assert_eq!(side.name, "pass 50");
    assert!(side.at > Some(Nanos::new(0)));
    let page = page(&Side::from(&decoded, None, &Moment::Iteration(3)).unwrap(), &side, true);
    assert!(page.contains("pass 90 was not kept"), "{page}");
}
