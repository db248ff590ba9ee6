//! One small recording in which every part of the model says something. It is the content of the fixture of each
//! format: a change here needs a new fixture beside the old ones.

use heaplens_format::arena::Pseudo;
use heaplens_format::memory::{Family, Space, SpaceKind};
use heaplens_format::recording::errors::{
    CalledFunction, CanaryCheck, DamagedBlock, ErrorBlock, ErrorKind, MemoryError,
};
use heaplens_format::recording::{
    Amount, BaseClass, Change, ClassRow, Code, CountUntil, CounterRow, Counters, Exit, Frame, FrameSymbol,
    Function, GrowingNode, HeapMoment, HeapView, History, Holder, Interpreter, LeakCheck, LeakKind, Ledger,
    LedgerMapping, LedgerMoment, LimitedNode, Line, Loop, LostSite, Mark, MarkKind, Module, Node, Note,
    PathNode, Process, ProcessEnd, Reading, Recording, ReusedSite, Rss, Run, Sample, Site, SiteKind,
    SpaceLedgers, Step, ThreadOf, Threads, UnreachableSite,
};
use heaplens_format::{Addr, Bytes, CodeId, LoopId, Loss, ModuleId, Nanos, NodeId, Pid};

/// A shell that was replaced by a program which runs Python, with a loop in it.
pub fn sample() -> Recording {
    let mut recording = sample_of_format_2_13();
    for (runs, one) in (1..).zip(&mut recording.processes[0].loops) {
        one.runs = runs;
    }
    let base = BaseClass { class: "shop.Download".into(), base: "threading.Thread".into() };
    recording.processes[0].heap.views[0].bases = vec![base];
    recording.processes[0].guarded_blocks = 1500;
    for (at, error) in (70..).zip(&mut recording.processes[0].errors) {
        error.at = Nanos::new(at);
    }
    let block = ErrorBlock { start: Addr::new(0x7000), size: Bytes::new(24), family: Family::Malloc };
    let damaged = vec![DamagedBlock { block, site: 0, changed: Addr::new(0x7018) }];
    recording.processes[0].canary_checks = vec![
        CanaryCheck { at: Nanos::new(50), blocks: 4, damaged: Vec::new() },
        CanaryCheck { at: Nanos::new(60), blocks: 5, damaged },
    ];
    recording
}

/// What format 2.13 could say: neither how often loops were entered, nor what classes inherit from, nor how many blocks had guard pages, nor
/// when errors were made, nor what canaries said.
pub fn sample_of_format_2_13() -> Recording {
    let mut recording = sample_of_format_2_11();
    recording.processes[0].errors = vec![
        MemoryError {
            kind: ErrorKind::DoubleFree,
            function: CalledFunction::FREE,
            stack: NodeId::new(2),
            allocated: Some(NodeId::new(1)),
            freed: Some(NodeId::new(3)),
            address: Addr::new(0x5000),
            access: Bytes::ZERO,
            block: Some(ErrorBlock {
                start: Addr::new(0x5000),
                size: Bytes::new(40),
                family: Family::NewArray,
            }),
            count: 7,
            extra: 0,
            at: Nanos::default(),
        },
        MemoryError {
            kind: ErrorKind::Overlap,
            function: CalledFunction::MEMCPY,
            stack: NodeId::new(3),
            allocated: None,
            freed: None,
            address: Addr::new(0x6000),
            access: Bytes::new(20),
            block: None,
            count: 1,
            extra: 0x600a,
            at: Nanos::default(),
        },
    ];
    recording
}

/// What format 2.11 could say: not what the program did wrong with memory.
pub fn sample_of_format_2_11() -> Recording {
    let mut recording = sample_of_format_2_10();
    for (number, sample) in (1..).zip(&mut recording.processes[0].timeline) {
        sample.cpu = Nanos::new(7_000_000 * number);
    }
    let limited = LimitedNode { node: 1, elements: 300, limit: 1000 };
    recording.processes[0].heap.views[0].limited = vec![limited];
    recording
}

/// What format 2.10 could say: neither how much CPU time the program had used at a reading, nor what containers have a limit.
pub fn sample_of_format_2_10() -> Recording {
    let mut recording = sample_of_format_2_9();
    let reused = ReusedSite { site: 1, container: 0, inspected: 5, alike: 4 };
    recording.processes[0].heap.views[0].reused = vec![reused];
    recording
}

/// What format 2.9 could say: not which line holds objects that the interpreter reuses.
pub fn sample_of_format_2_9() -> Recording {
    let mut recording = sample_of_format_2_8();
    let amount = |blocks| Amount { bytes: Bytes::new(100 * blocks), blocks };
    let of = UnreachableSite { site: 1, live: amount(9), garbage: amount(7), overcounted: amount(1) };
    recording.processes[0].heap.views[0].unreachable = Some(vec![of]);
    recording
}

/// What format 2.8 could say: not which blocks of a running program no root leads to.
pub fn sample_of_format_2_8() -> Recording {
    let mut recording = sample_of_format_2_7();
    let used = Ledger { at: Nanos::new(500), rss: Bytes::new(3 << 20), ..Ledger::default() };
    let space = Space { kind: SpaceKind::new(1), index: 1 };
    recording.processes[0].spaces =
        vec![SpaceLedgers { space, source: "driver".into(), ledgers: vec![used] }];
    recording
}

/// What format 2.7 could say: nothing of other spaces than the host's.
pub fn sample_of_format_2_7() -> Recording {
    let mut recording = sample_of_format_2_6();
    let note = Note { counter: "pages of a book".into(), text: "they are numbered".into() };
    let row =
        CounterRow { counter: note.counter.clone(), node: NodeId::new(1), count: 9, changes: Vec::new() };
    recording.processes[0].counters.rows.push(row);
    recording.processes[0].counters.notes.push(note);
    recording
}

/// What format 2.6 could say: counters that it had a number for.
pub fn sample_of_format_2_6() -> Recording {
    let mut recording = sample_of_format_2_5();
    let of_sites = vec![ThreadOf::Several, ThreadOf::Named(1)];
    recording.processes[0].threads = Threads { names: vec!["main".into(), "loader".into()], of_sites };
    recording
}

/// What format 2.5 could say: not which threads allocated.
pub fn sample_of_format_2_5() -> Recording {
    let mut recording = sample_of_format_2_4();
    let amount = |blocks| Amount { bytes: Bytes::new(100 * blocks), blocks };
    let node = |parent, step, name: &str, class: &str, size| PathNode {
        parent,
        step,
        name: name.into(),
        class: class.into(),
        address: 0x7f00_0000_1000 + size,
        size: Bytes::new(size),
        retained: amount(size),
    };
    let running = HeapView {
        at: Nanos::new(400),
        moment: HeapMoment::Running { iterations: 40 },
        pause: Nanos::new(3),
        others_ran: false,
        took: Nanos::new(70),
        live: amount(12),
        classes: vec![ClassRow { class: "list".into(), live: amount(5) }],
        nodes: vec![
            node(None, Step::Module, "__main__", "module", 0),
            node(Some(0), Step::Variable, "results", "list", 56),
            node(Some(1), Step::Item, "812", "EagerTensor", 80),
        ],
        holders: vec![Holder { site: 1, node: 2, inspected: 64, alike: 63 }],
        retainers: vec![1],
        growing: vec![GrowingNode { node: 1, before: amount(2), elements: [400, 812] }],
        unreachable: None,
        ..HeapView::default()
    };
    let asked = HeapView { moment: HeapMoment::Asked, ..HeapView::default() };
    recording.processes[0].heap.views = vec![running, asked, HeapView::default()];
    recording.processes[1].heap.refusal = Some("its threads cannot be stopped".into());
    recording.processes[0].counters = counters();
    recording
}

fn counters() -> Counters {
    let row = |counter: &str, node, count, changes| CounterRow {
        counter: counter.into(),
        node: NodeId::new(node),
        count,
        changes,
    };
    let changes = vec![CountUntil { until: 1, count: 3 }];
    let note = Note { counter: "function traces".into(), text: "step: argument 0 was 1, then 2".into() };
    let rows = vec![row("graph operations", 2, 60, changes), row("sessions made", 1, 1, Vec::new())];
    Counters { rows, notes: vec![note] }
}

/// What format 2.4 could say: neither who holds the blocks nor what libraries did.
pub fn sample_of_format_2_4() -> Recording {
    let mut recording = sample_of_format_2_3();
    let amount = |blocks| Amount { bytes: Bytes::new(100 * blocks), blocks };
    let lost = |kind, direct, indirect| LostSite {
        site: 1,
        kind,
        direct: amount(direct),
        indirect: amount(indirect),
    };
    let lost = vec![lost(LeakKind::DefinitelyLost, 3, 2), lost(LeakKind::StillReachable, 7, 0)];
    recording.processes[0].leaks = Some(LeakCheck::Done(lost));
    recording.processes[1].leaks = Some(LeakCheck::NotDone("it was forked".into()));
    recording
}

/// What format 2.3 could say: not which blocks were lost.
pub fn sample_of_format_2_3() -> Recording {
    let mut recording = sample_of_format_2_2();
    for (threads, reading) in (1..).zip(&mut recording.processes[0].timeline) {
        reading.threads = threads;
    }
    recording
}

/// What format 2.2 could say: not how many threads there were.
pub fn sample_of_format_2_2() -> Recording {
    let mut recording = sample_of_format_2_1();
    let mut ledger = Ledger {
        at: Nanos::new(350),
        took: Nanos::new(7),
        rss: Bytes::new(9 << 20),
        pss: Bytes::new(8 << 20),
        uss: Bytes::new(7 << 20),
        ..Ledger::default()
    };
    ledger.lines.add(Line::NATIVE, Bytes::new(6 << 20));
    ledger.lines.add(Line::HEAPLENS, Bytes::new(3 << 20));
    let mut end = Ledger { at: Nanos::new(900), moment: LedgerMoment::Exit, ..ledger.clone() };
    end.is_estimated = true;
    let mapping =
        |line, name: &str, site| LedgerMapping { line, name: name.into(), site, bytes: Bytes::new(4096) };
    end.mappings = vec![mapping(Line::MAPPED, "", Some(1)), mapping(Line::UNHOOKED, "/dev/x", None)];
    recording.processes[0].ledgers = vec![ledger, end];
    recording
}

/// What format 2.1 could say: no ledger.
pub fn sample_of_format_2_1() -> Recording {
    let mut recording = sample_of_format_2_0();
    let program = &mut recording.processes[0];
    let one = |line, around, iterations| Loop {
        code: CodeId::new(1),
        line,
        around,
        thread: 1,
        iterations,
        is_exact: around.is_none(),
        runs: 0,
        first: Nanos::new(300),
        last: Nanos::new(900),
    };
    program.loops = vec![one(12, None, 100), one(14, Some(LoopId::new(1)), 700)];
    let mark = |at, kind| Mark { at: Nanos::new(at), live: Bytes::new(1000 + at), kind };
    program.marks = vec![
        mark(300, MarkKind::Iteration { of_loop: LoopId::new(1), iterations: 1 }),
        mark(500, MarkKind::User { number: 1, label: "epoch 1".into() }),
        mark(900, MarkKind::EndOfScript),
    ];
    let change = |until, live| Change { until, live: Amount { bytes: Bytes::new(live), blocks: live / 64 } };
    program.histories = vec![History { site: 1, changes: vec![change(1, 64), change(3, 1 << 20)] }];
    recording
}

/// What format 2.0 could say: no loops, no marks.
pub fn sample_of_format_2_0() -> Recording {
    let mut recording = sample_of_format_1();
    let program = &mut recording.processes[0];
    program.python = Some(Interpreter { reading: Reading::Frames, major: 3, minor: 11 });
    program.codes = vec![code("<module>", 0), code("Rows.fill", 40), code("Rows.fill.<locals>.<lambda>", 42)];
    program.nodes.push(python(2, 1, 77));
    program.nodes.push(python(5, 2, 0));
    program.object_interval = Some(Bytes::new(4096));
    for (kind, bytes) in [(SiteKind::Heap, 512), (SiteKind::PythonObject, 64), (SiteKind::PythonBlock, 600)] {
        program.sites.push(site(6, kind, bytes));
    }
    recording
}

/// What format 1 could say: no Python.
pub fn sample_of_format_1() -> Recording {
    Recording {
        run: Run {
            heaplens: "0.1.0".into(),
            command: vec!["./rows".into(), "--fast".into()],
            exit: Some(Exit::Signal(9)),
            started_unix: Nanos::new(1_767_225_600_000_000_000),
            wall: Nanos::new(1_500_000_000),
            cpu: Nanos::new(1_200_000_000),
            sample_interval: Some(Bytes::new(512 * 1024)),
        },
        processes: vec![program(), shell()],
    }
}

fn program() -> Process {
    Process {
        pid: Pid::new(4711),
        parent: Pid::new(1),
        command: vec!["./rows".into(), "--fast".into()],
        executable: "/opt/rows".into(),
        forked: false,
        end: ProcessEnd::Ended(Exit::Signal(9)),
        start: Nanos::new(10),
        finish: Nanos::new(1_400_000_000),
        cpu: Nanos::new(1_100_000_000),
        agent_cpu: Nanos::new(20_000_000),
        arena_bytes: Bytes::new(4 << 20),
        agent_private_bytes: Bytes::new(64 << 10),
        rss: Some(Rss { start: Bytes::new(3 << 20), peak: Bytes::new(90 << 20), end: Bytes::new(80 << 20) }),
        peak_live: Bytes::new(70 << 20),
        modules: modules(),
        nodes: nodes(),
        sites: vec![site(2, SiteKind::Heap, 60 << 20), site(4, SiteKind::FileMapping, 8192)],
        timeline: vec![sample_at(5_000_000, 3 << 20), sample_at(9_000_000, 90 << 20)],
        losses: vec![(Loss::Reentered, 3), (Loss::TornEntry, 1)],
        symbols: symbols(),
        ..Process::default()
    }
}

fn code(name: &str, first_line: u32) -> Code {
    Code { name: name.into(), file: "/home/user/rows.py".into(), first_line }
}

fn python(parent: u32, code: u32, line: u32) -> Node {
    Node { parent: NodeId::new(parent), frame: Frame::Python { code: CodeId::new(code), line } }
}

fn shell() -> Process {
    Process {
        pid: Pid::new(4712),
        parent: Pid::new(4711),
        command: vec!["sh".into()],
        executable: "/bin/dash".into(),
        forked: true,
        end: ProcessEnd::Replaced,
        ..Process::default()
    }
}

fn modules() -> Vec<Module> {
    let module = |path: &str, build_id: &[u8], bias| Module {
        path: path.into(),
        build_id: build_id.to_vec(),
        bias: Addr::new(bias),
    };
    vec![
        module("/opt/rows", &[0xab, 0xcd], 0x5555_5555_4000),
        module("/lib/libc.so.6", &[], 0x7fff_0000_0000),
    ]
}

fn nodes() -> Vec<Node> {
    let code = |module, offset| Frame::Code { module: ModuleId::new(module), offset };
    let node = |parent, frame| Node { parent: NodeId::new(parent), frame };
    vec![
        node(0, code(1, 0x1234)),
        node(1, code(2, 0x9_8765)),
        node(0, Frame::Pseudo(Pseudo::FileMapping)),
        node(3, Frame::Unknown { address: Addr::new(0x7000_0000) }),
    ]
}

fn site(node: u32, kind: SiteKind, bytes: u64) -> Site {
    let amount = |bytes, blocks| Amount { bytes: Bytes::new(bytes), blocks };
    Site {
        node: NodeId::new(node),
        kind,
        live: amount(bytes, 1_000),
        peak: amount(bytes + 1, 1_001),
        allocated: amount(2 * bytes, 2_000),
    }
}

fn sample_at(at: u64, rss: u64) -> Sample {
    Sample { at: Nanos::new(at), rss: Bytes::new(rss), live: Bytes::new(rss / 2), ..Sample::default() }
}

fn symbols() -> Vec<FrameSymbol> {
    let function = |name: Option<&str>, line| Function {
        name: name.map(Into::into),
        file: Some("/src/rows.cpp".into()),
        line: Some(line),
    };
    vec![
        FrameSymbol {
            module: ModuleId::new(1),
            offset: 0x1234,
            functions: vec![function(Some("Rows::fill"), 42), function(None, 80)],
        },
        FrameSymbol {
            module: ModuleId::new(2),
            offset: 0x9_8765,
            functions: vec![Function { name: Some("malloc".into()), file: None, line: None }],
        },
    ]
}
