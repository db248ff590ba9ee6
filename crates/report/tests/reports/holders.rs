//! Who holds what grows, what is lost, and the page of a heap snapshot.

use heaplens_format::recording::{
    Amount, ClassRow, Decoded, GrowingNode, HeapMoment, HeapView, Holder, LeakCheck, LeakKind, LostSite,
    PathNode, Step,
};
use heaplens_format::{Bytes, Nanos};
use heaplens_report::text;
use heaplens_report::text::heap::HeapOptions;

use super::sample::python::growing;
use super::{parsed, profiled, written};

fn amount(bytes: u64, blocks: u64) -> Amount {
    Amount { bytes: Bytes::new(bytes), blocks }
}

fn node(parent: Option<u32>, step: Step, name: &str, class: &str) -> PathNode {
    let address = parent.map_or(0, |parent| 0x7f00_0000_0000 + 0x1000 * u64::from(parent));
    PathNode {
        parent,
        step,
        name: name.into(),
        class: class.into(),
        address,
        size: Bytes::new(56),
        retained: amount(40 << 20, 812),
    }
}

fn view(moment: HeapMoment, variable: &str) -> HeapView {
    HeapView {
        at: Nanos::new(2_000_000_000),
        moment,
        pause: Nanos::new(12_000_000),
        others_ran: false,
        took: Nanos::new(300_000_000),
        live: amount(64 << 20, 10_000),
        classes: vec![
            ClassRow { class: "numpy.ndarray".into(), live: amount(40 << 20, 812) },
            ClassRow { class: "dict".into(), live: amount(1 << 20, 4000) },
        ],
        nodes: vec![
            node(None, Step::Module, "__main__", "module"),
            node(Some(0), Step::Variable, variable, "list"),
            node(Some(1), Step::Item, "811", "numpy.ndarray"),
        ],
        holders: vec![Holder { site: 0, node: 2, inspected: 64, alike: 63 }],
        retainers: vec![1],
        growing: vec![GrowingNode { node: 1, before: amount(20 << 20, 406), elements: [406, 812] }],
        unreachable: None,
        ..HeapView::default()
    }
}

fn held() -> Decoded {
    let mut decoded = growing("/home/user/shop/train.py");
    decoded.recording.processes[0].heap.views =
        vec![view(HeapMoment::Running { iterations: 812 }, "results"), view(HeapMoment::Exit, "gone")];
    decoded
}

#[test]
fn a_finding_names_who_held_it_while_the_program_ran() {
    let profile = profiled(&held());
    let page = written(text::write, &profile);
    let expected = "     held by    module __main__ → results (list) → [811] ndarray · 406 → 812 elements · 63 of 64 inspected\n                blocks";
    assert!(page.contains(expected), "{page}");
    let holder = &parsed(&profile)["findings"][0]["holder"];
    assert_eq!(holder["path"], serde_json::json!(["module __main__", "results (list)", "[811] ndarray"]));
    assert_eq!(holder["retained_bytes"], 40u64 << 20);
    assert_eq!(holder["elements"], serde_json::json!([406, 812]));
}

#[test]
fn without_a_snapshot_no_holder_is_named() {
    let profile = profiled(&growing("/home/user/shop/train.py"));
    assert!(!written(text::write, &profile).contains("held by"));
    let finding = &parsed(&profile)["findings"][0];
    assert_eq!(finding["holder"], serde_json::Value::Null);
    assert_eq!(finding["holder_unknown"], "no heap snapshot was taken");
    let mut refused = growing("/home/user/shop/train.py");
    refused.recording.processes[0].heap.refusal = Some("too little memory".into());
    let page = written(text::write, &profiled(&refused));
    assert!(page.contains("not known: no heap snapshot could be taken: too little memory"), "{page}");
}

#[test]
fn what_is_lost_is_held_by_nothing() {
    let mut decoded = held();
    let process = &mut decoded.recording.processes[0];
    let live = process.sites[0].live;
    process.leaks = Some(LeakCheck::Done(vec![LostSite {
        site: 0,
        kind: LeakKind::DefinitelyLost,
        direct: live,
        indirect: Amount::default(),
    }]));
    let page = written(text::write, &profiled(&decoded));
    assert!(page.contains("held by    nothing: "), "{page}");
    let is_sum = |line: &str| line.starts_with("  Definitely lost: ") && line.ends_with(" blocks");
    assert!(page.lines().any(is_sum) && !page.contains("indirectly"), "{page}");
}

#[test]
fn a_run_that_only_lost_blocks_is_called_lost() {
    let mut decoded = growing("/home/user/shop/train.py");
    let process = &mut decoded.recording.processes[0];
    process.histories.clear();
    process.timeline.clear();
    assert_eq!(parsed(&profiled(&decoded))["verdict"], "clean");
    let lost = |kind, blocks| LostSite {
        site: 0,
        kind,
        direct: amount(64 * blocks, blocks),
        indirect: Amount::default(),
    };
    decoded.recording.processes[0].leaks = Some(LeakCheck::Done(vec![lost(LeakKind::PossiblyLost, 9)]));
    assert_eq!(parsed(&profiled(&decoded))["verdict"], "clean", "possibly is not lost");
    decoded.recording.processes[0].leaks = Some(LeakCheck::Done(vec![lost(LeakKind::DefinitelyLost, 3)]));
    assert_eq!(parsed(&profiled(&decoded))["verdict"], "lost");
    let page = written(text::write, &profiled(&decoded));
    assert!(page.contains("no growth, but 192 B in 3 blocks definitely lost"), "{page}");
}

fn heap_page(address: Option<u64>) -> String {
    let profile = profiled(&held());
    let mut bytes = Vec::new();
    let options = HeapOptions { top: 1, address };
    text::heap::write(&profile, &profile.holders.views()[0], text::Options::default(), options, &mut bytes)
        .unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_page_of_a_heap_snapshot() {
    insta::assert_snapshot!(heap_page(None));
}

#[test]
fn the_reference_path_to_an_address_is_written_step_by_step() {
    let page = heap_page(Some(0x7f00_0000_1008));
    let way = "  module __main__\n    results (list)   0x7f0000000000, 56 B\n      [811] ndarray   0x7f0000001000, 56 B\n";
    assert!(page.ends_with(way), "{page}");
    assert!(heap_page(Some(0x10)).contains("is in none of the 2 blocks whose reference path was kept"));
}
