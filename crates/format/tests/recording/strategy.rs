//! Arbitrary recordings that keep the rules of the model.

use std::sync::Arc;

use heaplens_format::arena::Pseudo;
use heaplens_format::memory::{Family, LINES, Space, SpaceKind};
use heaplens_format::recording::errors::{CalledFunction, ErrorBlock, ErrorKind, MemoryError};
use heaplens_format::recording::{
    Amount, BaseClass, Change, ClassRow, Code, CountUntil, CounterRow, Counters, Exit, Frame, FrameSymbol,
    Function, GrowingNode, Heap, HeapMoment, HeapView, History, Holder, Interpreter, LeakCheck, LeakKind,
    Ledger, LedgerMapping, LedgerMoment, LimitedNode, Loop, LostSite, Mark, MarkKind, Module, Node, Note,
    PathNode, Process, ProcessEnd, Reading, Recording, ReusedSite, Rss, Run, Sample, Site, SiteKind,
    SpaceLedgers, Stage, Step, ThreadOf, Threads, UnreachableSite,
};
use heaplens_format::{Addr, Bytes, CodeId, LoopId, Loss, ModuleId, Nanos, NodeId, Pid};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

/// Any recording that keeps the rules.
pub fn recording() -> impl Strategy<Value = Recording> {
    (run(), vec(process(), 0..4)).prop_map(|(run, processes)| Recording { run, processes })
}

fn run() -> impl Strategy<Value = Run> {
    let times = (nanos(), nanos(), nanos());
    (any::<String>(), vec(any::<String>(), 0..4), option::of(exit()), times, option::of(0..u64::MAX))
        .prop_map(|(heaplens, command, exit, (started_unix, wall, cpu), interval)| Run {
            heaplens,
            command,
            exit,
            started_unix,
            wall,
            cpu,
            sample_interval: interval.map(Bytes::new),
        })
}

fn process() -> impl Strategy<Value = Process> {
    (identity(), 0usize..4, 0usize..4, 0usize..12).prop_flat_map(|(identity, modules, codes, nodes)| {
        let frame = frame(modules as u16, codes as u32);
        let tables = (
            vec(module(), modules),
            vec(code(), codes),
            (0..nodes as u32).map(|before| node(before, frame.clone())).collect::<Vec<_>>(),
            vec(site(nodes as u32), 0..6),
            vec(sample(), 0..6),
            vec((loss(), any::<u64>()), 0..4),
            symbols(modules as u16),
            (loops(codes as u32), vec((nanos(), bytes(), any::<String>(), any::<u32>()), 0..6)),
            (
                vec(vec((1u32..4, amount()), 1..4), 0..6),
                (vec(ledger(), 0..4), vec(space(), 0..3)),
                option::of(leaks()),
                (heap(), counters(), threads(), vec(error(nodes as u32), 0..4)),
            ),
        );
        tables.prop_map(move |(modules, codes, nodes, sites, timeline, losses, symbols, marks, histories)| {
            let (loops, marks) = marks;
            let (
                histories,
                (mut ledgers, mut spaces),
                mut leaks,
                (mut heap, mut counters, mut threads, errors),
            ) = histories;
            bind_ledgers(&mut ledgers, sites.len() as u32);
            spaces.iter_mut().for_each(|one| bind_ledgers(&mut one.ledgers, sites.len() as u32));
            bind_leaks(leaks.as_mut(), sites.len() as u32);
            bind_heap(&mut heap, sites.len() as u32);
            threads.of_sites.truncate(sites.len());
            let marks: Vec<Mark> = marks.into_iter().map(|row| mark(row, loops.len() as u32)).collect();
            bind_counters(&mut counters, nodes.len(), marks.len());
            let histories = histories_of(histories, sites.len(), marks.len());
            Process {
                modules,
                codes,
                nodes,
                sites,
                timeline,
                losses,
                symbols,
                loops,
                marks,
                histories,
                ledgers,
                spaces,
                leaks,
                heap,
                counters,
                threads,
                errors,
                ..identity.clone()
            }
        })
    })
}

fn identity() -> impl Strategy<Value = Process> {
    let names = (any::<u32>(), any::<u32>(), vec(any::<String>(), 0..3), any::<String>(), any::<bool>());
    let times = (nanos(), nanos(), nanos(), nanos());
    let sizes = (bytes(), bytes(), option::of((bytes(), bytes(), bytes())), bytes());
    let python = (option::of(interpreter()), option::of(1..u64::MAX));
    (names, end(), times, sizes, python).prop_map(|(names, end, times, sizes, python)| Process {
        pid: Pid::new(names.0),
        parent: Pid::new(names.1),
        command: names.2,
        executable: names.3,
        forked: names.4,
        end,
        start: times.0,
        finish: times.1,
        cpu: times.2,
        agent_cpu: times.3,
        arena_bytes: sizes.0,
        agent_private_bytes: sizes.1,
        rss: sizes.2.map(|(start, peak, end)| Rss { start, peak, end }),
        peak_live: sizes.3,
        python: python.0,
        object_interval: python.1.map(Bytes::new),
        ..Process::default()
    })
}

fn space() -> impl Strategy<Value = SpaceLedgers> {
    let space =
        (any::<u8>(), any::<u16>()).prop_map(|(kind, index)| Space { kind: SpaceKind::new(kind), index });
    (space, any::<String>(), vec(ledger(), 0..3)).prop_map(|(space, source, ledgers)| SpaceLedgers {
        space,
        source,
        ledgers,
    })
}

fn ledger() -> impl Strategy<Value = Ledger> {
    let moment =
        prop_oneof![Just(LedgerMoment::Running), Just(LedgerMoment::EndOfScript), Just(LedgerMoment::Exit)];
    let mapping = (prop::sample::select(LINES), any::<String>(), option::of(any::<u32>()), bytes());
    let mapping =
        mapping.prop_map(|(row, name, site, bytes)| LedgerMapping { line: row.line, name, site, bytes });
    let sums = (bytes(), bytes(), bytes());
    let lines = vec(bytes(), LINES.len());
    (nanos(), moment, nanos(), sums, any::<bool>(), lines, vec(mapping, 0..3)).prop_map(
        |(at, moment, took, (rss, pss, uss), is_estimated, lines, mappings)| Ledger {
            at,
            moment,
            took,
            rss,
            pss,
            uss,
            is_estimated,
            lines: LINES.iter().map(|row| row.line).zip(lines).collect(),
            mappings,
        },
    )
}

/// Makers are sites that exist.
fn leaks() -> impl Strategy<Value = LeakCheck> {
    let lost = (0u64..4, any::<u32>(), amount(), amount()).prop_map(|(kind, site, direct, indirect)| {
        LostSite { kind: LeakKind::from_number(kind).expect("there are four"), site, direct, indirect }
    });
    prop_oneof![any::<String>().prop_map(LeakCheck::NotDone), vec(lost, 0..4).prop_map(LeakCheck::Done)]
}

fn bind_leaks(leaks: Option<&mut LeakCheck>, sites: u32) {
    if let Some(LeakCheck::Done(lost)) = leaks {
        lost.truncate(if sites == 0 { 0 } else { lost.len() });
        lost.iter_mut().for_each(|lost| lost.site %= sites);
    }
}

/// Its stacks exist.
fn error(nodes: u32) -> impl Strategy<Value = MemoryError> {
    let node = 0..=nodes;
    let what = (prop::sample::select(ErrorKind::ALL), any::<u16>());
    let stacks = (node.clone(), option::of(node.clone()), option::of(node));
    let family = prop::sample::select(Family::ALL);
    let block = (any::<u64>(), bytes(), family).prop_map(|(start, size, family)| ErrorBlock {
        start: Addr::new(start),
        size,
        family,
    });
    let numbers = (any::<u64>(), bytes(), any::<u64>(), any::<u64>(), any::<u64>());
    (what, stacks, option::of(block), numbers).prop_map(
        |((kind, function), (stack, allocated, freed), block, (address, access, count, extra, at))| {
            MemoryError {
                kind,
                function: CalledFunction::new(function),
                stack: NodeId::new(stack),
                allocated: allocated.map(NodeId::new),
                freed: freed.map(NodeId::new),
                address: Addr::new(address),
                access,
                block,
                count,
                extra,
                at: Nanos::new(at),
            }
        },
    )
}

fn heap() -> impl Strategy<Value = Heap> {
    (vec(view(), 0..3), option::of(any::<String>()))
        .prop_map(|(views, refusal)| Heap { views, refusal: refusal.map(Into::into) })
}

fn view() -> impl Strategy<Value = HeapView> {
    let moment = prop_oneof![
        Just(HeapMoment::Exit),
        Just(HeapMoment::Asked),
        any::<u64>().prop_map(|iterations| HeapMoment::Running { iterations })
    ];
    let class = (any::<String>(), amount()).prop_map(|(class, live)| ClassRow { class: class.into(), live });
    let node = (option::of(any::<u32>()), 0u64..15, any::<(String, String, u64)>(), bytes(), amount());
    let node = node.prop_map(|(parent, step, (name, class, address), size, retained)| PathNode {
        parent,
        step: Step::from_number(step).expect("there are so many"),
        name: name.into(),
        class: class.into(),
        address,
        size,
        retained,
    });
    let holder =
        any::<[u32; 4]>().prop_map(|[site, node, inspected, alike]| Holder { site, node, inspected, alike });
    let growing = (any::<u32>(), amount(), any::<[u64; 2]>())
        .prop_map(|(node, before, elements)| GrowingNode { node, before, elements });
    let unreachable = (any::<u32>(), amount(), amount(), amount())
        .prop_map(|(site, live, garbage, overcounted)| UnreachableSite { site, live, garbage, overcounted });
    let unreachable = option::of(vec(unreachable, 0..3));
    let reused = any::<[u32; 4]>().prop_map(|[site, container, inspected, alike]| ReusedSite {
        site,
        container,
        inspected,
        alike,
    });
    let reused = vec(reused, 0..3);
    let limited = (any::<u32>(), any::<u64>(), any::<u64>())
        .prop_map(|(node, elements, limit)| LimitedNode { node, elements, limit });
    let base =
        any::<[String; 2]>().prop_map(|[class, base]| BaseClass { class: class.into(), base: base.into() });
    let rows_of_one = (vec(limited, 0..3), vec(base, 0..3));
    let ends =
        (vec(holder, 0..3), vec(any::<u32>(), 0..3), vec(growing, 0..3), unreachable, reused, rows_of_one);
    (nanos(), moment, (nanos(), any::<bool>(), nanos()), amount(), vec(class, 0..3), vec(node, 0..5), ends)
        .prop_map(|(at, moment, (pause, others_ran, took), live, classes, nodes, ends)| {
            let (holders, retainers, growing, unreachable, reused, (limited, bases)) = ends;
            HeapView {
                at,
                moment,
                pause,
                others_ran,
                took,
                live,
                classes,
                nodes,
                holders,
                retainers,
                growing,
                unreachable,
                reused,
                limited,
                bases,
            }
        })
}

/// Steps come after their holders, and paths end at steps and are of sites that exist.
fn bind_heap(heap: &mut Heap, sites: u32) {
    for view in &mut heap.views {
        let nodes = view.nodes.len() as u32;
        for (own, node) in (0..).zip(&mut view.nodes) {
            node.parent = node.parent.filter(|_| own > 0).map(|parent| parent % own);
        }
        view.holders.truncate(if sites == 0 || nodes == 0 { 0 } else { 3 });
        view.holders.iter_mut().for_each(|holder| {
            holder.site %= sites;
            holder.node %= nodes;
        });
        view.retainers.truncate(if nodes == 0 { 0 } else { 3 });
        view.retainers.iter_mut().for_each(|node| *node %= nodes);
        view.growing.truncate(if nodes == 0 { 0 } else { 3 });
        view.growing.iter_mut().for_each(|growing| growing.node %= nodes);
        view.limited.truncate(if nodes == 0 { 0 } else { 3 });
        view.limited.iter_mut().for_each(|of| of.node %= nodes);
        view.reused.truncate(if sites == 0 { 0 } else { 3 });
        view.reused.iter_mut().for_each(|of| {
            of.site %= sites;
            of.container %= sites;
        });
        if let Some(unreachable) = &mut view.unreachable {
            unreachable.truncate(if sites == 0 { 0 } else { 3 });
            unreachable.iter_mut().for_each(|of| of.site %= sites);
        }
    }
}

fn counters() -> impl Strategy<Value = Counters> {
    let counter = || any::<String>().prop_map(Arc::<str>::from);
    let changes = vec((1u32..4, any::<u64>()), 0..4);
    let row = (counter(), any::<u32>(), any::<u64>(), changes);
    let row = row.prop_map(|(counter, node, count, changes)| {
        let mut until = 0;
        let changes = changes.into_iter().map(|(more, count)| {
            until += more;
            CountUntil { until, count }
        });
        CounterRow { counter, node: NodeId::new(node), count, changes: changes.collect() }
    });
    let note = (counter(), any::<String>()).prop_map(|(counter, text)| Note { counter, text });
    (vec(row, 0..4), vec(note, 0..3)).prop_map(|(rows, notes)| Counters { rows, notes })
}

fn threads() -> impl Strategy<Value = Threads> {
    let of =
        prop_oneof![Just(ThreadOf::Unknown), Just(ThreadOf::Several), (0u32..3).prop_map(ThreadOf::Named)];
    (vec(any::<String>(), 3), vec(of, 0..6)).prop_map(|(names, of_sites)| Threads { names, of_sites })
}

fn bind_counters(counters: &mut Counters, nodes: usize, marks: usize) {
    for row in &mut counters.rows {
        row.node = NodeId::new(row.node.get() % (nodes as u32 + 1));
        row.changes.retain(|change| change.until as usize <= marks);
    }
}

fn bind_ledgers(ledgers: &mut [Ledger], sites: u32) {
    for mapping in ledgers.iter_mut().flat_map(|ledger| &mut ledger.mappings) {
        mapping.site = mapping.site.filter(|_| sites > 0).map(|site| site % sites);
    }
}

fn loops(codes: u32) -> BoxedStrategy<Vec<Loop>> {
    if codes == 0 {
        return Just(vec![]).boxed();
    }
    let location = (1..=codes, any::<u32>(), any::<u32>(), any::<u32>());
    let count = (any::<u64>(), any::<bool>(), any::<u64>(), nanos(), nanos());
    let one = (location, count).prop_map(
        |((code, line, around, thread), (iterations, is_exact, runs, first, last))| Loop {
            code: CodeId::new(code),
            line,
            around: (around % 2 == 0).then(|| LoopId::new(around)),
            thread,
            iterations,
            is_exact,
            runs,
            first,
            last,
        },
    );
    // The loop around one is any of them.
    let bound = |mut loops: Vec<Loop>| {
        let count = loops.len() as u32;
        for one in &mut loops {
            one.around = one.around.map(|around| LoopId::new(around.get() % count + 1));
        }
        loops
    };
    vec(one, 0..4).prop_map(bound).boxed()
}

fn mark((at, live, label, number): (Nanos, Bytes, String, u32), loops: u32) -> Mark {
    let kind = match number % 8 {
        0 if loops > 0 => {
            MarkKind::Iteration { of_loop: LoopId::new(number % loops + 1), iterations: number.into() }
        }
        1 => MarkKind::EndOfScript,
        2 => MarkKind::Test { stage: Stage::Before, rss: live },
        3 => MarkKind::Test { stage: Stage::Collected, rss: live },
        4 => MarkKind::Test { stage: Stage::Trimmed, rss: live },
        5 => MarkKind::Interval,
        6 => MarkKind::Run { number: number.into() },
        _ => MarkKind::User { number: number.into(), label },
    };
    Mark { at, live, kind }
}

/// One for each site as far as they reach, with changes at rising marks.
fn histories_of(rows: Vec<Vec<(u32, Amount)>>, sites: usize, marks: usize) -> Vec<History> {
    let history = |(site, row): (u32, Vec<(u32, Amount)>)| {
        let mut until = 0;
        let changes = row.into_iter().map(|(distance, live)| {
            until += distance;
            Change { until, live }
        });
        History { site, changes: changes.filter(|change| change.until as usize <= marks).collect() }
    };
    (0..).zip(rows).take(sites).map(history).collect()
}

fn module() -> impl Strategy<Value = Module> {
    (any::<String>(), vec(any::<u8>(), 0..20), any::<u64>()).prop_map(|(path, build_id, bias)| Module {
        path,
        build_id,
        bias: Addr::new(bias),
    })
}

fn interpreter() -> impl Strategy<Value = Interpreter> {
    let reading = prop::sample::select(vec![
        Reading::Frames,
        Reading::UnknownVersion,
        Reading::FreeThreaded,
        Reading::DebugBuild,
    ]);
    (reading, any::<u8>(), any::<u8>()).prop_map(|(reading, major, minor)| Interpreter {
        reading,
        major,
        minor,
    })
}

fn code() -> impl Strategy<Value = Code> {
    (any::<String>(), "[ab]{0,3}", any::<u32>()).prop_map(|(name, file, first_line)| Code {
        name: name.into(),
        file: file.into(),
        first_line,
    })
}

fn node(before: u32, frame: BoxedStrategy<Frame>) -> impl Strategy<Value = Node> {
    (0..=before, frame).prop_map(|(parent, frame)| Node { parent: NodeId::new(parent), frame })
}

fn frame(modules: u16, codes: u32) -> BoxedStrategy<Frame> {
    let unknown = any::<u64>().prop_map(|address| Frame::Unknown { address: Addr::new(address) });
    let pseudo = prop::sample::select(vec![
        Pseudo::NoUnwindInfo,
        Pseudo::TooDeep,
        Pseudo::Broken,
        Pseudo::AnonymousMapping,
        Pseudo::FileMapping,
        Pseudo::Break,
        Pseudo::NoModule,
        Pseudo::PythonObject,
        Pseudo::PythonBlock,
    ]);
    let mut frames = prop_oneof![unknown, pseudo.prop_map(Frame::Pseudo)].boxed();
    if modules > 0 {
        let native = (1..=modules, any::<u64>());
        let native =
            native.prop_map(|(module, offset)| Frame::Code { module: ModuleId::new(module), offset });
        frames = prop_oneof![native, frames].boxed();
    }
    if codes > 0 {
        let python = (1..=codes, any::<u32>());
        let python = python.prop_map(|(code, line)| Frame::Python { code: CodeId::new(code), line });
        frames = prop_oneof![python, frames].boxed();
    }
    frames
}

fn site(nodes: u32) -> impl Strategy<Value = Site> {
    let kind = prop::sample::select(SiteKind::ALL);
    (0..=nodes, kind, amount(), amount(), amount()).prop_map(|(node, kind, live, peak, allocated)| Site {
        node: NodeId::new(node),
        kind,
        live,
        peak,
        allocated,
    })
}

fn symbols(modules: u16) -> BoxedStrategy<Vec<FrameSymbol>> {
    if modules == 0 {
        return Just(vec![]).boxed();
    }
    let rows = btree_map((1..=modules, any::<u64>()), vec(function(), 1..4), 0..5);
    let symbol =
        |((module, offset), functions)| FrameSymbol { module: ModuleId::new(module), offset, functions };
    rows.prop_map(move |rows| rows.into_iter().map(symbol).collect()).boxed()
}

fn function() -> impl Strategy<Value = Function> {
    let text = || option::of("[ab]{0,3}");
    (text(), text(), option::of(any::<u32>())).prop_map(|(name, file, line)| Function {
        name: name.map(Into::into),
        file: file.map(Into::into),
        line,
    })
}

fn sample() -> impl Strategy<Value = Sample> {
    (nanos(), bytes(), bytes(), any::<u32>(), nanos()).prop_map(|(at, rss, live, threads, cpu)| Sample {
        at,
        rss,
        live,
        threads,
        cpu,
    })
}

fn amount() -> impl Strategy<Value = Amount> {
    (bytes(), any::<u64>()).prop_map(|(bytes, blocks)| Amount { bytes, blocks })
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![any::<i32>().prop_map(Exit::Code), any::<i32>().prop_map(Exit::Signal)]
}

fn end() -> impl Strategy<Value = ProcessEnd> {
    prop_oneof![
        Just(ProcessEnd::Unknown),
        exit().prop_map(ProcessEnd::Ended),
        Just(ProcessEnd::Replaced),
        Just(ProcessEnd::Running),
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop::sample::select(Loss::ALL)
}

fn nanos() -> impl Strategy<Value = Nanos> {
    any::<u64>().prop_map(Nanos::new)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    any::<u64>().prop_map(Bytes::new)
}
