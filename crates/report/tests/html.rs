//! The HTML page of recordings that no program makes: a hundred thousand sites, names with every character that means something to
//! HTML or to a script, nothing at all. Pages in a browser are tested with the command line.

#[expect(dead_code, reason = "other tests take more of the samples")]
mod sample;

use std::sync::Arc;

use heaplens_analyze::profile;
use heaplens_format::recording::{
    Amount, Decoded, Frame, FrameSymbol, Function, Node, Recording, Run, Site, SiteKind,
};
use heaplens_format::{Bytes, ModuleId, NodeId};
use heaplens_report::html;
use serde_json::Value;

use sample::{recording, tree, with_ledgers};

const PLACES: u32 = 100_000;
const MOST_BYTES: usize = 2 << 20;
const HOSTILE: &str = "a\"b;c\\d\ne\rf<script>alert(1)</script><!--&]]>\u{202e}\u{2028}\u{7}\0'%0A{}\t";

fn page(decoded: &Decoded) -> String {
    let mut bytes = Vec::new();
    html::write(&profile(decoded, None).unwrap(), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// What the script of the page reads.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// A function that calls so many others, each of which keeps one block of its own size.
fn many() -> Decoded {
    let mut decoded = recording();
    let process = &mut decoded.recording.processes[0];
    let (module, first) = (ModuleId::new(1), process.nodes.len() as u32 + 1);
    let nodes = (0..PLACES).map(|at| Node {
        parent: NodeId::new(if at == 0 { 0 } else { first }),
        frame: Frame::Code { module, offset: 0x100_0000 + u64::from(at) },
    });
    process.nodes.extend(nodes);
    let name = |at: u32| Some(Arc::from(format!("rows::place_{at}<std::vector<std::pair<int, char>>>")));
    process.symbols.extend((0..PLACES).map(|at| FrameSymbol {
        module,
        offset: 0x100_0000 + u64::from(at),
        functions: vec![Function { name: name(at), file: None, line: None }],
    }));
    process.symbols.sort_by_key(|symbol| (symbol.module, symbol.offset));
    let amount = |at: u32| Amount { bytes: Bytes::new(u64::from(at)), blocks: 1 };
    process.sites.extend((1..PLACES).map(|at| Site {
        node: NodeId::new(first + at),
        kind: SiteKind::Heap,
        live: amount(at),
        peak: amount(at),
        allocated: amount(at),
    }));
    decoded
}

#[test]
fn a_hundred_thousand_sites_are_a_small_page_with_all_their_bytes() {
    let decoded = many();
    let written = page(&decoded);
    assert!(written.len() < MOST_BYTES, "{}", written.len());
    let flame = &data(&written)["flame"];
    let live = profile(&decoded, None).unwrap().heap().live.bytes.get();
    assert_eq!(flame["total"][0].as_u64(), Some(live));
    let own = flame["own"][0].as_array().unwrap();
    assert_eq!(own.iter().skip(1).step_by(2).map(|bytes| bytes.as_u64().unwrap()).sum::<u64>(), live);
    let strings = data(&written)["strings"].as_array().unwrap().clone();
    assert!(strings.contains(&"[smaller]".into()), "what does not fit is summed up");
    assert!(strings.len() > 10_000, "{}", strings.len());
}

#[test]
fn callers_come_before_what_they_call() {
    let flame = data(&page(&recording()))["flame"].clone();
    let depths: Vec<u64> =
        flame["depth"].as_array().unwrap().iter().map(|depth| depth.as_u64().unwrap()).collect();
    assert_eq!(depths.first(), Some(&1));
    assert!(depths.windows(2).all(|pair| pair[1] <= pair[0] + 1 && pair[1] > 0), "{depths:?}");
    assert_eq!(depths.len(), flame["frame"].as_array().unwrap().len());
}

#[test]
fn no_name_becomes_markup() {
    let mut decoded = with_ledgers(true);
    for symbol in &mut decoded.recording.processes[0].symbols {
        for function in &mut symbol.functions {
            function.name = function.name.as_ref().map(|name| Arc::from(format!("{name}{HOSTILE}")));
            function.file = function.file.as_ref().map(|file| Arc::from(format!("{file}{HOSTILE}")));
        }
    }
    decoded.recording.run.command.push(HOSTILE.to_owned());
    let written = page(&decoded);
    assert_eq!(written.matches("<script").count(), 2, "the data and the script");
    assert_eq!(written.matches("<!--").count(), 0);
    assert!(!written.contains(['\0', '\u{7}']), "controls are no text");
    let strings = data(&written)["strings"].as_array().unwrap().clone();
    assert!(strings.iter().any(|text| text.as_str().unwrap().contains(HOSTILE)), "{strings:?}");
}

#[test]
fn the_policy_lets_nothing_run_but_what_is_in_the_page() {
    let written = page(&recording());
    let policy =
        written.split_once("Content-Security-Policy\" content=\"").unwrap().1.split('"').next().unwrap();
    assert!(policy.starts_with("default-src &#39;none&#39;; script-src &#39;sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(written.matches(" style=\"").count(), 0, "a style of an element would not be let through");
    assert_eq!(written.matches(" onclick").count() + written.matches("javascript:").count(), 0);
}

#[test]
fn losses_and_other_processes_are_listed() {
    let written = page(&tree());
    assert!(written.contains("the recording is damaged"), "{written}");
    assert!(written.contains("Other processes"), "{written}");
    assert!(page(&recording()).contains("No allocation events lost, no stacks truncated."));
}

#[test]
fn a_run_that_was_not_recorded_has_a_page_that_says_so() {
    let run = Run { command: vec!["./static".into()], ..Run::default() };
    let decoded = Decoded { recording: Recording { run, processes: vec![] }, damage: vec![] };
    let written = page(&decoded);
    assert!(written.contains("Nothing was recorded") && written.contains("./static"), "{written}");
}
