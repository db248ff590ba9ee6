//! Recordings made by hand: what a small C++ program leaves behind, and a tree of processes with trouble.

pub mod python;

use heaplens_format::arena::Pseudo;
use heaplens_format::recording::{
    Amount, Damage, Decoded, Exit, Fault, Frame, FrameSymbol, Function, Ledger, LedgerMapping, LedgerMoment,
    Line, LineBytes, Module, Node, Process, ProcessEnd, Recording, Rss, Run, Section, Site, SiteKind,
};
use heaplens_format::{Addr, Bytes, Loss, ModuleId, Nanos, NodeId, Pid};

const MIB: u64 = 1 << 20;

/// A program that exits by itself with some memory live.
pub fn recording() -> Decoded {
    let run = Run {
        heaplens: "0.1.0".into(),
        command: vec!["./rows".into(), "200".into()],
        exit: Some(Exit::Code(0)),
        started_unix: Nanos::new(1_767_225_600_000_000_000),
        wall: Nanos::new(1_320_000_000),
        cpu: Nanos::new(1_200_000_000),
        sample_interval: None,
    };
    Decoded { recording: Recording { run, processes: vec![program()] }, damage: vec![] }
}

/// The same under a shell, with children, losses and a damaged file.
pub fn tree() -> Decoded {
    let mut decoded = recording();
    let run = &mut decoded.recording.run;
    run.command = vec!["sh".into(), "-c".into(), "./rows 200 & ./columns; wait".into()];
    run.exit = Some(Exit::Signal(9));
    let mut main = program();
    main.nodes.push(node(0, Frame::Pseudo(Pseudo::NoUnwindInfo)));
    main.nodes.push(node(9, code(1, 0x1300)));
    main.sites.push(site(10, SiteKind::Heap, (4096, 1), (4096, 1)));
    main.losses = vec![(Loss::Reentered, 12), (Loss::TornEntry, 1)];
    decoded.recording.processes =
        vec![small(4710, "/bin/dash", "sh"), main, small(4713, "/opt/columns", "./columns")];
    decoded.damage = vec![Damage {
        offset: 40_960,
        process: Some(2),
        section: Some(Section::Timeline),
        fault: Fault::Missing,
    }];
    decoded
}

/// The plain run with ledgers: at the start, and at an end that the program waited at when `waited`.
pub fn with_ledgers(waited: bool) -> Decoded {
    let mut decoded = recording();
    let ledger = |at: u64, moment, rows: &[(Line, u64)]| {
        let lines: LineBytes = rows.iter().map(|&(line, mib)| (line, Bytes::new(mib * MIB))).collect();
        let rss = lines.iter().map(|(_, bytes)| bytes).sum();
        Ledger { at: Nanos::new(at), moment, lines, rss, ..Ledger::default() }
    };
    let moment = if waited { LedgerMoment::Exit } else { LedgerMoment::Running };
    let start = [(Line::NATIVE, 1), (Line::MAPPED_FILES, 2), (Line::HEAPLENS, 5)];
    let end = [
        (Line::NATIVE, 1060),
        (Line::ALLOCATOR_FREE, 3),
        (Line::MAPPED_FILES, 2),
        (Line::MAPPED, 8),
        (Line::UNHOOKED, 64),
        (Line::HEAPLENS, 9),
    ];
    let mut end = ledger(1_300_000_000, moment, &end);
    let mapping = |line, name: &str, site, mib| LedgerMapping {
        line,
        name: name.into(),
        site,
        bytes: Bytes::new(mib * MIB),
    };
    end.mappings = vec![
        mapping(Line::UNHOOKED, "", None, 60),
        mapping(Line::MAPPED, "", Some(3), 8),
        mapping(Line::UNHOOKED, "/dev/gpu\u{1b}[2J", None, 4),
    ];
    decoded.recording.processes[0].ledgers = vec![ledger(20_000_000, LedgerMoment::Running, &start), end];
    decoded
}

fn program() -> Process {
    Process {
        pid: Pid::new(4711),
        parent: Pid::new(4710),
        command: vec!["./rows".into(), "200".into()],
        executable: "/opt/rows".into(),
        end: ProcessEnd::Ended(Exit::Code(0)),
        finish: Nanos::new(1_310_000_000),
        agent_cpu: Nanos::new(25_000_000),
        arena_bytes: Bytes::new(4 * MIB),
        agent_private_bytes: Bytes::new(256 << 10),
        rss: Some(Rss {
            start: Bytes::new(3 * MIB),
            peak: Bytes::new(120 * MIB),
            end: Bytes::new(64 * MIB + 400_000),
        }),
        peak_live: Bytes::new(110 * MIB + 3_000 + 1_024),
        modules: vec![module("/opt/rows"), module("/lib/x86_64-linux-gnu/libc.so.6")],
        nodes: nodes(),
        sites: vec![
            site(4, SiteKind::Heap, (60 * MIB, 1_000), (60 * MIB, 1_000)),
            site(5, SiteKind::Heap, (3_000, 3), (50 * MIB + 3_000, 51_203)),
            site(6, SiteKind::Heap, (1_024, 1), (1_024, 1)),
            site(8, SiteKind::AnonymousMapping, (8 * MIB, 1), (8 * MIB, 1)),
        ],
        symbols: symbols(),
        ..Process::default()
    }
}

/// ```text
///   _start's caller in libc (1) → main (2) → load (3) → fill, operator new inlined (4)
///                                         → parse (5)
///                                         → code without a name (6)
///   mapping (7) → main (8)
/// ```
fn nodes() -> Vec<Node> {
    vec![
        node(0, code(2, 0x2_724a)),
        node(1, code(1, 0x1100)),
        node(2, code(1, 0x1200)),
        node(3, code(1, 0x1300)),
        node(2, code(1, 0x1400)),
        node(2, Frame::Unknown { address: Addr::new(0x7f00_0000_1000) }),
        node(0, Frame::Pseudo(Pseudo::AnonymousMapping)),
        node(7, code(1, 0x1108)),
    ]
}

fn symbols() -> Vec<FrameSymbol> {
    let library = |name: &str| Function { name: Some(name.into()), file: None, line: None };
    let own = |name: &str, line| Function {
        name: Some(name.into()),
        file: Some("/home/user/shop/src/rows.cpp".into()),
        line: Some(line),
    };
    let symbol = |module, offset, functions| FrameSymbol { module: ModuleId::new(module), offset, functions };
    vec![
        symbol(1, 0x1100, vec![own("main", 120)]),
        symbol(1, 0x1108, vec![own("main", 125)]),
        symbol(1, 0x1200, vec![own("shop::load", 88)]),
        symbol(
            1,
            0x1300,
            vec![
                library("std::vector<shop::Row, std::allocator<shop::Row> >::reserve"),
                own("shop::Rows::fill", 42),
            ],
        ),
        symbol(1, 0x1400, vec![own("shop::parse", 61)]),
    ]
}

fn small(pid: u32, executable: &str, command: &str) -> Process {
    Process {
        pid: Pid::new(pid),
        parent: Pid::new(1),
        command: vec![command.into()],
        executable: executable.into(),
        end: ProcessEnd::Ended(Exit::Code(1)),
        peak_live: Bytes::new(5 * 1024),
        ..Process::default()
    }
}

fn module(path: &str) -> Module {
    Module { path: path.into(), ..Module::default() }
}

fn code(module: u16, offset: u64) -> Frame {
    Frame::Code { module: ModuleId::new(module), offset }
}

fn node(parent: u32, frame: Frame) -> Node {
    Node { parent: NodeId::new(parent), frame }
}

fn site(node: u32, kind: SiteKind, live: (u64, u64), peak: (u64, u64)) -> Site {
    let amount = |(bytes, blocks)| Amount { bytes: Bytes::new(bytes), blocks };
    Site {
        node: NodeId::new(node),
        kind,
        live: amount(live),
        peak: amount(peak),
        allocated: amount((2 * peak.0, 2 * peak.1)),
    }
}
