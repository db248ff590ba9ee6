//! What a small training script leaves behind: its own lines, a library below them, imports, a worker thread.

use heaplens_format::recording::{
    Amount, Change, Code, Decoded, Frame, History, Interpreter, Ledger, Line, Loop, Mark, MarkKind, Node,
    Process, Reading, Sample, SiteKind,
};
use heaplens_format::{Bytes, CodeId, LoopId, Nanos, Pid};

use super::{MIB, code, module, node, recording, site};

const KERAS: &str = "/venv/lib/python3.11/site-packages/keras/src/trainer.py";
const NUMPY: &str = "/venv/lib/python3.11/site-packages/numpy/__init__.py";

/// A script whose file is this one.
pub fn script(file: &str) -> Decoded {
    let mut decoded = recording();
    let run = &mut decoded.recording.run;
    run.command = vec!["python".into(), "train.py".into()];
    let program = &mut decoded.recording.processes[0];
    *program = Process {
        pid: Pid::new(4711),
        command: run.command.clone(),
        executable: "/usr/bin/python3.11".into(),
        python: Some(Interpreter { reading: Reading::Frames, major: 3, minor: 11 }),
        modules: vec![module("/usr/bin/python3.11"), module("/venv/lib/_core.so")],
        codes: codes(file),
        nodes: nodes(),
        sites: vec![
            site(7, SiteKind::Heap, (40 * MIB, 400), (40 * MIB, 400)),
            site(8, SiteKind::Heap, (2 * MIB, 20), (2 * MIB, 20)),
            site(11, SiteKind::Heap, (12 * MIB, 90_000), (12 * MIB, 90_000)),
            site(12, SiteKind::Heap, (MIB, 10), (MIB, 10)),
            site(14, SiteKind::Heap, (3 * MIB, 30), (3 * MIB, 30)),
            site(15, SiteKind::Heap, (MIB / 2, 5), (MIB / 2, 5)),
            site(1, SiteKind::Heap, (MIB / 4, 2), (MIB / 4, 2)),
            site(16, SiteKind::Heap, (MIB / 4, 3), (MIB / 4, 3)),
            site(17, SiteKind::Heap, (1024, 1), (1024, 1)),
            site(5, SiteKind::PythonObject, (8 * MIB, 100_000), (8 * MIB, 100_000)),
        ],
        symbols: vec![],
        object_interval: Some(Bytes::new(4096)),
        peak_live: Bytes::new(59 * MIB + 1024),
        ..program.clone()
    };
    decoded
}

/// The same with a loop of a hundred iterations, of which each keeps 400 KiB more in `Model.step`.
pub fn growing(file: &str) -> Decoded {
    let mut decoded = script(file);
    let program = &mut decoded.recording.processes[0];
    let at = |iteration: u64| Nanos::new(iteration * 20_000_000);
    let kept = |iteration: u64| Bytes::new((iteration - 1) * 400 * 1024);
    let of_loop = LoopId::new(1);
    program.loops = vec![Loop {
        code: CodeId::new(1),
        line: 8,
        iterations: 100,
        is_exact: true,
        last: at(100),
        ..Loop::default()
    }];
    program.marks = (1..=100)
        .map(|iterations| Mark {
            at: at(iterations),
            live: kept(iterations) + Bytes::new(19 * MIB),
            kind: MarkKind::Iteration { of_loop, iterations },
        })
        .collect();
    let change = |iteration: u64| Change {
        until: iteration as u32,
        live: Amount { bytes: kept(iteration), blocks: 4 * (iteration - 1) },
    };
    program.histories = vec![History { site: 0, changes: (1..=100).map(change).collect() }];
    let reading = |iteration| Sample {
        at: at(iteration),
        rss: kept(iteration) + Bytes::new(60 * MIB),
        live: kept(iteration),
        threads: 1,
        ..Sample::default()
    };
    program.timeline = (1..=100).map(reading).collect();
    decoded
}

/// The same with ledgers of every tenth pass, or of all of them where they are few.
pub fn growing_with_ledgers(count: u64) -> Decoded {
    let mut decoded = growing("/home/user/shop/train.py");
    let program = &mut decoded.recording.processes[0];
    let ledger = |number: u64| {
        let reading = program.timeline[(10 * number - 1) as usize];
        let mut ledger = Ledger { at: reading.at, rss: reading.rss, ..Ledger::default() };
        ledger.lines.add(Line::NATIVE, reading.live);
        ledger.lines.add(Line::PYTHON, Bytes::new(60 * MIB));
        (ledger.pss, ledger.uss) = (Bytes::new(50 * MIB), Bytes::new(40 * MIB));
        ledger
    };
    program.ledgers = (1..=count).map(ledger).collect();
    decoded
}

fn codes(file: &str) -> Vec<Code> {
    let code = |name: &str, file: &str| Code { name: name.into(), file: file.into(), first_line: 1 };
    vec![
        code("<module>", file),
        code("Model.step", file),
        code("Trainer.fit", KERAS),
        code("_find_and_load", "<frozen importlib._bootstrap>"),
        code("<module>", NUMPY),
        code("<module>", "/venv/lib/python3.11/site-packages/keras/__init__.py"),
    ]
}

/// ```text
///   interpreter (1) → <module>:9 (2) → fit (3) → fit (4) → step:5 (5) → fit (6) → _core.so (7)
///                                                                    → interpreter, another instruction (8)
///                   → <module>:1 (9) → import (10) → numpy (11)
///                                                  → interpreter, before its first line (12)
///                   → <module>:2 (13) → keras: no import, a call (14)
///                   → interpreter (16)
///   import, before the script runs (15)
///   _core.so, on a thread of its own (17)
/// ```
fn nodes() -> Vec<Node> {
    vec![
        node(0, code(1, 0x1000)),
        node(1, python(1, 9)),
        node(2, python(3, 300)),
        node(3, python(3, 310)),
        node(4, python(2, 5)),
        node(5, python(3, 77)),
        node(6, code(2, 0x2000)),
        node(5, code(1, 0x1010)),
        node(1, python(1, 1)),
        node(9, python(4, 100)),
        node(10, python(5, 50)),
        node(10, code(1, 0x1020)),
        node(1, python(1, 2)),
        node(13, python(6, 12)),
        node(0, python(4, 100)),
        node(1, code(1, 0x1030)),
        node(0, code(2, 0x2010)),
    ]
}

fn python(code: u32, line: u32) -> Frame {
    Frame::Python { code: CodeId::new(code), line }
}
