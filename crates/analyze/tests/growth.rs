//! From recordings made by hand to what grows in them: findings, shares, and the one word for the run.

use heaplens_analyze::diagnose::{How, Shape, Verdict};
use heaplens_analyze::{Profile, profile};
use heaplens_format::recording::{
    Amount, Change, Code, CountUntil, CounterRow, Decoded, Frame, FrameSymbol, Function, History,
    Interpreter, Ledger, LedgerMapping, Line, Loop, Mark, MarkKind, Module, Node, Process, Reading,
    Recording, Rss, Run, Sample, Site, SiteKind,
};
use heaplens_format::{Bytes, CodeId, LoopId, ModuleId, Nanos, NodeId, Pid};

const MIB: u64 = 1 << 20;
/// No finding.
const NONE: [&str; 0] = [];

fn amount(bytes: u64) -> Amount {
    Amount { bytes: Bytes::new(bytes), blocks: bytes / 100 }
}

fn site(node: u32, kind: SiteKind) -> Site {
    let none = Amount::default();
    Site { node: NodeId::new(node), kind, live: none, peak: none, allocated: none }
}

/// A script with a loop: its line 3 is node 1, its line 4 node 2, the interpreter below line 3 node 3.
fn script(iterations: u64) -> Process {
    let python = |line| Frame::Python { code: CodeId::new(1), line };
    let node = |parent, frame| Node { parent: NodeId::new(parent), frame };
    let iteration = |iterations: u64| Mark {
        at: Nanos::new(iterations * 20_000_000),
        live: Bytes::new(iterations * MIB),
        kind: MarkKind::Iteration { of_loop: LoopId::new(1), iterations },
    };
    Process {
        pid: Pid::new(7),
        python: Some(Interpreter { reading: Reading::Frames, major: 3, minor: 11 }),
        rss: Some(Rss { start: Bytes::new(MIB), peak: Bytes::new(20 * MIB), end: Bytes::new(20 * MIB) }),
        modules: vec![Module { path: "/usr/bin/python3.11".into(), ..Module::default() }],
        codes: vec![Code { name: "main".into(), file: "/home/user/a.py".into(), first_line: 1 }],
        loops: vec![Loop {
            code: CodeId::new(1),
            line: 2,
            iterations,
            is_exact: true,
            last: iteration(iterations).at,
            ..Loop::default()
        }],
        nodes: vec![
            node(0, python(3)),
            node(0, python(4)),
            node(1, Frame::Code { module: ModuleId::new(1), offset: 0x10 }),
        ],
        marks: (1..=iterations).map(iteration).collect(),
        ..Process::default()
    }
}

/// Adds a site that has these bytes after so many iterations.
fn with(mut process: Process, mut site: Site, bytes: impl Fn(u64) -> u64) -> Process {
    let iterations = process.marks.len() as u64;
    site.live = amount(bytes(iterations));
    let change = |iteration: u64| Change { until: iteration as u32, live: amount(bytes(iteration - 1)) };
    let history =
        History { site: process.sites.len() as u32, changes: (1..=iterations).map(change).collect() };
    process.sites.push(site);
    process.histories.push(history);
    process
}

fn with_rss(mut process: Process, rss: impl Fn(u64) -> u64) -> Process {
    let reading =
        |step| Sample { at: Nanos::new(step * 20_000_000), rss: Bytes::new(rss(step)), ..Sample::default() };
    process.timeline = (1..=process.marks.len() as u64).map(reading).collect();
    process
}

fn analysed(process: Process) -> Profile {
    let decoded =
        Decoded { recording: Recording { run: Run::default(), processes: vec![process] }, damage: vec![] };
    profile(&decoded, None).unwrap()
}

fn rules(profile: &Profile) -> Vec<&'static str> {
    profile.diagnosis.findings.iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn what_a_line_keeps_in_several_layers_is_one_finding() {
    let process = with(script(100), site(1, SiteKind::Heap), |iterations| 3_000 * iterations);
    let process = with(process, site(3, SiteKind::PythonBlock), |iterations| 1_000 * iterations);
    let process = with(process, site(2, SiteKind::Heap), |iterations| 12_000 * iterations);
    let profile = analysed(process);
    let slopes: Vec<f64> =
        profile.diagnosis.findings.iter().map(|finding| finding.trend.slope.value.round()).collect();
    assert_eq!(slopes, [12_000.0, 4_000.0]);
    let shares: Vec<f64> = profile.diagnosis.findings.iter().filter_map(|finding| finding.share).collect();
    assert!((shares[0] - 0.75).abs() < 0.01 && (shares[1] - 0.25).abs() < 0.01, "{shares:?}");
    let finding = &profile.diagnosis.findings[1];
    let line = profile.line(&profile.sites[finding.representative.unwrap()]).and_then(|frame| frame.line);
    assert_eq!((line, finding.sites.len()), (Some(3), 2));
    assert_eq!(
        finding.live,
        Amount { bytes: Bytes::new(99 * 4_000), blocks: 99 * 40 },
        "at the last iteration that began"
    );
    assert_eq!(profile.diagnosis.verdict, Some(Verdict::Leak));
}

#[test]
fn the_memory_that_python_cuts_objects_out_of_is_not_counted_again() {
    let process = with(script(100), site(1, SiteKind::PythonObject), |iterations| 3_000 * iterations);
    let process = with(process, site(3, SiteKind::AnonymousMapping), |iterations| iterations / 20 * MIB);
    let profile = analysed(process);
    assert_eq!(profile.diagnosis.findings.len(), 1);
    assert!((profile.diagnosis.findings[0].trend.slope.value - 3_000.0).abs() < 1.0);
}

#[test]
fn sites_have_their_own_slopes_and_those_that_never_change_none() {
    let mut process = with(script(100), site(1, SiteKind::Heap), |iterations| 3_000 * iterations);
    process.sites.push(site(2, SiteKind::Heap));
    let profile = analysed(process);
    let slopes: Vec<f64> =
        profile.sites.iter().filter_map(|site| profile.diagnosis.of_site(site)).map(f64::round).collect();
    assert_eq!(slopes, [3_000.0, 0.0]);
}

#[test]
fn resident_memory_that_grows_though_no_line_does_is_unexplained() {
    let profile = analysed(with_rss(script(100), |step| (50 + step) * MIB));
    assert_eq!((rules(&profile), profile.diagnosis.verdict), (vec!["G7"], Some(Verdict::GrowthUnexplained)));
    assert!((profile.diagnosis.pace() / MIB as f64 - 1.0).abs() < 0.01, "{:?}", profile.diagnosis.rss);
}

#[test]
fn a_line_that_explains_little_of_what_is_resident_does_not_explain_the_rest() {
    let process = with(script(100), site(1, SiteKind::Heap), |iterations| 100_000 * iterations);
    let profile = analysed(with_rss(process, |step| (50 + step) * MIB));
    assert_eq!(rules(&profile), ["G1", "G7"]);
    let shares: Vec<f64> = profile.diagnosis.findings.iter().filter_map(|finding| finding.share).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 0.01, "{shares:?}");
}

#[test]
fn a_cache_that_fills_and_stops_is_a_plateau_and_a_still_program_is_clean() {
    let fills = |iterations: u64| {
        with(script(iterations), site(1, SiteKind::Heap), |iterations| 50_000 * iterations.min(100))
    };
    assert_eq!(analysed(fills(300)).diagnosis.verdict, Some(Verdict::Plateau));
    let stands = with(script(300), site(1, SiteKind::Heap), |iterations| iterations % 2 * 50_000);
    assert_eq!(analysed(stands).diagnosis.verdict, Some(Verdict::Clean));
}

#[test]
fn a_few_iterations_are_too_few_and_it_is_said_how_many_would_do() {
    let profile = analysed(with(script(7), site(1, SiteKind::Heap), |iterations| MIB * iterations));
    assert_eq!((profile.diagnosis.verdict, profile.diagnosis.enough), (Some(Verdict::TooShort), Some(20)));
}

#[test]
fn many_iterations_of_which_few_allocate_are_not_too_few() {
    let mut process = with(script(7), site(1, SiteKind::Heap), |iterations| MIB * iterations);
    process.loops[0].iterations = 400;
    assert_eq!(analysed(process).diagnosis.verdict, Some(Verdict::Clean));
}

#[test]
fn marks_of_the_users_own_count_where_no_loop_is_seen() {
    let mut process = with(script(60), site(1, SiteKind::Heap), |iterations| 5_000 * iterations);
    process.loops.clear();
    for (number, mark) in (1..).zip(&mut process.marks) {
        mark.kind = MarkKind::User { number, label: "step".into() };
    }
    let diagnosis = analysed(process).diagnosis;
    assert_eq!((diagnosis.how, diagnosis.count, diagnosis.verdict), (How::Marks, 60, Some(Verdict::Leak)));
}

/// Threads by the time-line, each with 50 KiB of stack in ledgers and in resident memory.
fn with_threads(process: Process, threads: impl Fn(u64) -> u64) -> Process {
    let stack = 50 << 10;
    let mut process = with_rss(process, |step| 50 * MIB + threads(step) * stack);
    for (step, sample) in (1..).zip(&mut process.timeline) {
        sample.threads = threads(step) as u32;
        if step % 10 == 0 {
            let mut ledger = Ledger { at: sample.at, rss: sample.rss, ..Ledger::default() };
            ledger.lines.add(Line::THREAD_STACKS, Bytes::new(threads(step) * stack));
            process.ledgers.push(ledger);
        }
    }
    process
}

#[test]
fn threads_that_become_more_explain_the_memory_of_their_stacks() {
    let profile = analysed(with_threads(script(200), |step| 1 + step));
    assert_eq!((rules(&profile), profile.diagnosis.verdict), (vec!["C31"], Some(Verdict::Leak)));
    let finding = &profile.diagnosis.findings[0];
    assert!((finding.trend.slope.value / f64::from(50 << 10) - 1.0).abs() < 0.01, "{:?}", finding.trend);
    assert!(finding.share.is_some_and(|share| share > 0.98), "{:?}", finding.share);
    let threads = finding.threads.unwrap();
    assert!((threads.per_iteration - 1.0).abs() < 0.01 && !threads.have_ended, "{threads:?}");
}

#[test]
fn threads_that_end_with_the_program_have_grown_until_then() {
    let profile = analysed(with_threads(script(200), |step| if step > 195 { 1 } else { 1 + step }));
    assert_eq!(profile.diagnosis.findings.first().map(|finding| finding.rule.id), Some("C31"));
}

#[test]
fn a_pool_of_threads_that_fills_and_threads_that_come_and_go_are_no_growth() {
    for threads in [|step: u64| 1 + step.min(40), |step| 1 + step % 16, |step| 1 + 30 * (step / 150)] {
        let profile = analysed(with_threads(script(200), threads));
        assert_eq!(rules(&profile), NONE);
    }
}

#[test]
fn threads_that_explain_little_of_the_growth_leave_the_rest_unexplained() {
    let mut process = with_threads(script(200), |step| 1 + step);
    (1..).zip(&mut process.timeline).for_each(|(step, sample)| sample.rss = Bytes::new(step * MIB));
    (1..).zip(&mut process.ledgers).for_each(|(tenth, ledger)| ledger.rss = Bytes::new(10 * tenth * MIB));
    assert_eq!(rules(&analysed(process)), ["C31", "G7"]);
}

/// A mapping that nobody was seen to make, in ledgers of every tenth iteration and in resident memory.
fn with_mapping(process: Process, bytes: impl Fn(u64) -> u64) -> Process {
    let mut process = with_rss(process, |step| 50 * MIB + bytes(step));
    let mapping = |step| LedgerMapping {
        line: Line::UNHOOKED,
        name: "/dev/card".into(),
        site: None,
        bytes: Bytes::new(bytes(step)),
    };
    let every_tenth = process.timeline.iter().enumerate().skip(9).step_by(10);
    let ledger = |(at, sample): (usize, &Sample)| Ledger {
        at: sample.at,
        rss: sample.rss,
        mappings: vec![mapping(at as u64 + 1)],
        ..Ledger::default()
    };
    process.ledgers = every_tenth.map(ledger).collect();
    process
}

#[test]
fn a_mapping_that_grows_is_reported_by_its_name_and_is_not_unexplained_too() {
    let profile = analysed(with_mapping(script(200), |step| step * MIB));
    let found: Vec<_> = profile
        .diagnosis
        .findings
        .iter()
        .map(|finding| (finding.rule.id, finding.mapping.as_deref()))
        .collect();
    assert_eq!(found, [("G6", Some("/dev/card"))]);
    let slope = profile.diagnosis.findings[0].trend.slope.value;
    assert!((slope / MIB as f64 - 1.0).abs() < 0.01, "{slope}");
    assert_eq!(profile.diagnosis.verdict, Some(Verdict::GrowthUnexplained));
}

#[test]
fn a_mapping_that_was_made_once_or_that_a_line_explains_is_no_finding() {
    assert_eq!(rules(&analysed(with_mapping(script(200), |step| 40 * MIB * (step / 20).min(1)))), NONE);
    let lines = with(script(200), site(1, SiteKind::Heap), |iterations| iterations * MIB);
    assert_eq!(rules(&analysed(with_mapping(lines, |step| step * MIB))), ["G1"]);
}

#[test]
fn with_few_ledgers_a_mapping_is_named_where_it_is_most_of_the_growth() {
    let few = |mut process: Process| {
        process.ledgers = vec![process.ledgers[1].clone(), process.ledgers[8].clone()];
        process
    };
    let mapped = few(with_mapping(script(200), |step| step * MIB));
    assert_eq!(rules(&analysed(mapped.clone())), ["G6"]);
    let mut others = mapped;
    others.ledgers[1].rss = Bytes::new(900 * MIB);
    assert_eq!(rules(&analysed(others)), ["G7"]);
}

#[test]
fn without_moments_growth_is_reported_per_second_for_the_line_that_holds_most() {
    let mut process = script(0);
    process.python = None;
    process.sites = vec![site(1, SiteKind::Heap), site(2, SiteKind::Heap)];
    process.sites[0].live = amount(190 * 50_000);
    process.sites[1].live = amount(10_000);
    let reading = |step: u64| Sample {
        at: Nanos::new(step * 20_000_000),
        rss: Bytes::new(step * 50_000),
        live: Bytes::new(step * 50_000),
        threads: 1,
        ..Sample::default()
    };
    process.timeline = (1..=190).map(reading).collect();
    let profile = analysed(process.clone());
    let finding = &profile.diagnosis.findings[0];
    assert_eq!(
        (profile.diagnosis.how, finding.rule.id, finding.trend.shape),
        (How::Time, "G1", Shape::Linear)
    );
    assert!((finding.trend.slope.value / 2_500_000.0 - 1.0).abs() < 0.01, "{:?}", finding.trend);
    assert_eq!(finding.live.bytes, Bytes::new(190 * 50_000));
    process.python = script(0).python;
    assert_eq!(analysed(process).diagnosis.findings, [], "a script of four seconds may only have begun");
}

#[test]
fn a_short_program_that_gave_everything_back_is_not_too_short() {
    let mut process = script(0);
    process.python = None;
    process.sites = vec![site(1, SiteKind::Heap)];
    let reading = |step: u64| Sample {
        at: Nanos::new(step * 20_000_000),
        rss: Bytes::new(9 * MIB),
        live: Bytes::new(8 * MIB),
        threads: 1,
        ..Sample::default()
    };
    process.timeline = (1..=3).map(reading).collect();
    process.sites[0].live = amount(12_000);
    assert_eq!(analysed(process.clone()).diagnosis.verdict, Some(Verdict::Clean));
    process.sites[0].live = amount(8 * MIB);
    assert_eq!(analysed(process.clone()).diagnosis.verdict, Some(Verdict::TooShort));
    process.timeline.truncate(1);
    assert_eq!(analysed(process).diagnosis.verdict, Some(Verdict::TooShort), "one reading says nothing");
}

#[test]
fn growth_of_resident_memory_that_ledgers_do_not_see_is_our_own() {
    let mut process =
        with_rss(script(100), |iteration| (20 + iteration / 10) * MIB + iteration % 10 * MIB / 10);
    let ledger = |iteration: u64, rss: u64| Ledger {
        at: Nanos::new(iteration * 20_000_000),
        rss: Bytes::new(rss),
        ..Ledger::default()
    };
    assert_eq!(rules(&analysed(process.clone())), ["G7"], "nothing else is known");
    process.ledgers = vec![ledger(2, 20 * MIB), ledger(98, 20 * MIB + 100_000)];
    assert_eq!(rules(&analysed(process.clone())), NONE);
    process.ledgers = vec![ledger(2, 20 * MIB), ledger(98, 29 * MIB)];
    assert_eq!(rules(&analysed(process.clone())), ["G7"], "they see it, too");
    process.ledgers = vec![ledger(2, 20 * MIB), ledger(30, 20 * MIB)];
    assert_eq!(rules(&analysed(process)), ["G7"], "they saw the beginning alone");
}

/// Counts something once in each iteration, for a node.
fn with_counted(mut process: Process, counter: &str, node: u32) -> Process {
    let iterations = process.marks.len() as u64;
    let changes = (1..=iterations)
        .map(|iteration| CountUntil { until: iteration as u32, count: iteration - 1 })
        .collect();
    let row = CounterRow { counter: counter.into(), node: NodeId::new(node), count: iterations, changes };
    process.counters.rows.push(row);
    process
}

/// Adds a stack of native functions, the outermost first, and says its node.
fn with_stack(process: &mut Process, functions: &[&str]) -> u32 {
    let mut parent = NodeId::new(0);
    for name in functions {
        let (module, offset) = (ModuleId::new(1), 0x1000 + process.symbols.len() as u64);
        let function = Function { name: Some((*name).into()), file: None, line: None };
        process.symbols.push(FrameSymbol { module, offset, functions: vec![function] });
        process.nodes.push(Node { parent, frame: Frame::Code { module, offset } });
        parent = NodeId::new(process.nodes.len() as u32);
    }
    parent.get()
}

#[test]
fn what_is_local_to_threads_is_the_iterators_only_where_tensorflow_runs_the_thread() {
    let pooled = "tsl::(anonymous namespace)::PThread::ThreadFn(void*)";
    let rules_with = |thread: &[&str]| {
        let process = with(script(100), site(1, SiteKind::Heap), |iterations| 3_000 * iterations);
        let mut process = with_counted(process, "dataset iterators made", 1);
        let node = with_stack(&mut process, thread);
        rules(&analysed(with(process, site(node, SiteKind::Heap), |iterations| 9_000 * iterations)))
    };
    assert_eq!(rules_with(&["clone3", "start_thread", pooled, "work", "__tls_get_addr"]), ["C13"]);
    assert_eq!(
        rules_with(&["clone3", "start_thread", "serve", "__tls_get_addr"]),
        ["G1", "C13"],
        "a thread of the program's own"
    );
    assert_eq!(
        rules_with(&["clone3", "start_thread", pooled, "work"]),
        ["G1", "C13"],
        "a block that is not local to it"
    );
}

/// A function is traced at line 3; what is below that line is allocated by this one, so many bytes for each block.
fn traced(function: &str, bytes: u64) -> Process {
    let mut process = with_counted(script(100), "function traces", 1);
    let node = with_stack(&mut process, &[function]);
    process.nodes[node as usize - 1].parent = NodeId::new(1);
    let process = with(process, site(1, SiteKind::Heap), |iterations| 9_000 * iterations);
    let mut process = with(process, site(node, SiteKind::Heap), |iterations| bytes * iterations);
    let (at, iterations) = (process.sites.len() - 1, process.marks.len() as u64);
    process.sites[at].live.blocks = iterations;
    for (change, blocks) in process.histories[at].changes.iter_mut().zip(0..) {
        change.live.blocks = blocks;
    }
    process
}

#[test]
fn traces_that_keep_large_constants_are_reported_as_these() {
    let copy = "google::protobuf::internal::ArenaStringPtr::Set<>";
    assert_eq!(rules(&analysed(traced(copy, 80_000))), ["C32"]);
    assert_eq!(rules(&analysed(traced(copy, 60_000))), ["C3"], "none is large");
    assert_eq!(rules(&analysed(traced("tensorflow::Graph::Graph", 80_000))), ["C3"]);
    let most = with(traced(copy, 80_000), site(1, SiteKind::PythonObject), |iterations| 90_000 * iterations);
    assert_eq!(rules(&analysed(most)), ["C3"], "most of it is something else");
}
