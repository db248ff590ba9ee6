//! From recordings made by hand to what changed between them, and between moments of one.

use heaplens_analyze::diff::{Diff, Moment, NoSuchMoment, Note, Side, Total, of_moments, of_recordings};
use heaplens_analyze::profile::Category;
use heaplens_format::recording::{
    Amount, Change, Code, Decoded, Frame, History, Interpreter, Ledger, Line, Mark, MarkKind, Node, Process,
    Reading, Recording, Run, Site, SiteKind,
};
use heaplens_format::{Bytes, CodeId, Nanos, NodeId, Pid};

/// No change at all.
const NONE: [(u32, i64); 0] = [];

fn amount(bytes: u64) -> Amount {
    Amount { bytes: Bytes::new(bytes), blocks: bytes / 100 }
}

/// A script with one function; line n of it is node n.
fn script() -> Process {
    let node = |line| Node { parent: NodeId::new(0), frame: Frame::Python { code: CodeId::new(1), line } };
    Process {
        pid: Pid::new(7),
        command: vec!["python".into(), "a.py".into()],
        python: Some(Interpreter { reading: Reading::Frames, major: 3, minor: 11 }),
        object_interval: Some(Bytes::new(4096)),
        codes: vec![Code { name: "main".into(), file: "/home/user/a.py".into(), first_line: 1 }],
        nodes: (1..=9).map(node).collect(),
        ..Process::default()
    }
}

fn with(mut process: Process, line: u32, kind: SiteKind, bytes: u64) -> Process {
    let (node, live) = (NodeId::new(line), amount(bytes));
    process.sites.push(Site { node, kind, live, peak: live, allocated: live });
    process
}

fn recorded(process: Process) -> Decoded {
    Decoded { recording: Recording { run: Run::default(), processes: vec![process] }, damage: vec![] }
}

fn compared(from: Process, to: Process) -> Diff {
    let side = |process| Side::whole(&recorded(process), None).unwrap();
    of_recordings(&side(from), &side(to), &mut |_, _| None)
}

/// Line and bytes of each change.
fn changes(diff: &Diff) -> Vec<(u32, i64)> {
    diff.lines
        .iter()
        .map(|line| (line.line().and_then(|frame| frame.line).unwrap(), line.change.bytes()))
        .collect()
}

#[test]
fn the_largest_change_is_the_first_and_what_did_not_change_is_left_out() {
    let from =
        with(with(with(script(), 1, SiteKind::Heap, 500), 2, SiteKind::Heap, 900), 3, SiteKind::Heap, 70);
    let to =
        with(with(with(script(), 1, SiteKind::Heap, 700), 3, SiteKind::Heap, 70), 4, SiteKind::Heap, 1000);
    let diff = compared(from, to);
    assert_eq!(changes(&diff), [(4, 1000), (2, -900), (1, 200)]);
    assert_eq!(diff.unchanged, 1);
    let heap = diff.totals.iter().find(|(total, _)| *total == Total::Of(Category::Heap)).unwrap().1;
    assert_eq!(heap.bytes(), 300);
}

#[test]
fn what_is_sampled_changes_only_by_more_than_its_margin() {
    let small = |bytes| with(script(), 1, SiteKind::PythonObject, bytes);
    assert_eq!(changes(&compared(small(40_000), small(50_000))), NONE);
    assert_eq!(changes(&compared(small(40_000), small(400_000))), [(1, 360_000)]);
    let exact = |bytes| with(small(40_000), 1, SiteKind::Heap, bytes);
    assert_eq!(changes(&compared(exact(0), exact(8))), [(1, 8)], "blocks of the heap are counted");
}

#[test]
fn objects_that_one_side_did_not_record_are_left_out() {
    let from = with(script(), 1, SiteKind::PythonObject, 400_000);
    let to = Process { object_interval: None, ..with(script(), 2, SiteKind::Heap, 64) };
    let diff = compared(from, to);
    assert_eq!(changes(&diff), [(2, 64)]);
    assert!(diff.notes.contains(&Note::ObjectsOnOneSide { is_first: true }), "{:?}", diff.notes);
    assert!(diff.totals.iter().all(|(total, _)| *total != Total::Of(Category::Objects)));
}

#[test]
fn ledgers_are_compared_line_by_line_and_missing_ones_are_said() {
    let ledger = |native: u64, files: u64| {
        let mut ledger = Ledger::default();
        ledger.lines.add(Line::NATIVE, Bytes::new(native));
        ledger.lines.add(Line::MAPPED_FILES, Bytes::new(files));
        ledger.lines.add(Line::HEAPLENS, Bytes::new(native));
        ledger.rss = Bytes::new(2 * native + files);
        Process { ledgers: vec![ledger], ..script() }
    };
    let diff = compared(ledger(5000, 300), ledger(9000, 300));
    let found = diff.ledger.unwrap();
    let lines: Vec<(Line, i64)> = found.lines.iter().map(|(line, row)| (*line, row.bytes())).collect();
    assert_eq!((lines, found.unchanged), (vec![(Line::NATIVE, 4000)], 1));
    assert_eq!(found.rss.bytes(), 4000, "Heaplens's own is not the program's");
    let diff = compared(ledger(1, 1), script());
    assert!(diff.ledger.is_none());
    assert_eq!(diff.notes, [Note::NoLedger { from: true, to: false }]);
}

/// Line 1 has 100 bytes at the first mark, 700 at the second of the same name, 900 at the end.
fn marked() -> Decoded {
    let mut process = with(script(), 1, SiteKind::Heap, 900);
    let mark = |number| Mark {
        at: Nanos::new(number * 1000),
        live: Bytes::new(0),
        kind: MarkKind::User { number, label: "epoch".into() },
    };
    process.marks = vec![mark(1), mark(2)];
    let change = |until, bytes| Change { until, live: amount(bytes) };
    process.histories = vec![History { site: 0, changes: vec![change(1, 100), change(2, 700)] }];
    recorded(process)
}

#[test]
fn of_marks_with_one_label_the_first_and_the_last_are_compared() {
    let decoded = marked();
    let change = |from: &str, to: &str| {
        let from = Side::from(&decoded, None, &Moment::named(from)).unwrap();
        let to = Side::to(&decoded, None, &Moment::named(to)).unwrap();
        changes(&of_moments(&from, &to, &mut |_, _| None))
    };
    assert_eq!(change("epoch", "epoch"), [(1, 600)]);
    assert_eq!(change("start", "epoch"), [(1, 700)]);
    assert_eq!(change("epoch", "end"), [(1, 800)]);
    assert_eq!(change("end", "end"), NONE);
    assert_eq!(change("end", "start"), [(1, -900)]);
}

#[test]
fn moments_that_are_not_there_are_refused() {
    let refused = |name: &str| Side::from(&marked(), None, &Moment::named(name)).unwrap_err();
    let known = vec!["epoch".to_owned()];
    assert_eq!(refused("warm"), NoSuchMoment::Label { label: "warm".into(), known });
    assert_eq!(refused("pass:3"), NoSuchMoment::NoLoop);
}
