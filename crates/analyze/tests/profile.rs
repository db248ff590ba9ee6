//! From recordings made by hand to profiles: what is merged, summed, sorted and admitted.

use heaplens_analyze::profile::{Category, Cut, Layer, Origin, StackFrame};
use heaplens_analyze::{Profile, profile};
use heaplens_format::arena::Pseudo;
use heaplens_format::recording::{
    Amount, Code, Decoded, Exit, Frame, FrameSymbol, Function, Interpreter, Module, Node, Process,
    ProcessEnd, Reading, Recording, Run, Site, SiteKind,
};
use heaplens_format::{Addr, Bytes, CodeId, Loss, ModuleId, Nanos, NodeId, Pid};

fn code(module: u16, offset: u64) -> Frame {
    Frame::Code { module: ModuleId::new(module), offset }
}

fn node(parent: u32, frame: Frame) -> Node {
    Node { parent: NodeId::new(parent), frame }
}

fn amount(bytes: u64, blocks: u64) -> Amount {
    Amount { bytes: Bytes::new(bytes), blocks }
}

fn site(node: u32, kind: SiteKind, bytes: u64) -> Site {
    Site {
        node: NodeId::new(node),
        kind,
        live: amount(bytes, 1),
        peak: amount(2 * bytes, 2),
        allocated: amount(3 * bytes, 3),
    }
}

fn module(path: &str) -> Module {
    Module { path: path.to_owned(), ..Module::default() }
}

/// One process with these stacks and sites, in modules `/app` (twice: loaded again elsewhere) and `/lib`.
fn process(nodes: Vec<Node>, sites: Vec<Site>) -> Process {
    Process {
        pid: Pid::new(7),
        executable: "/app".to_owned(),
        modules: vec![module("/app"), module("/lib"), module("/app")],
        nodes,
        sites,
        ..Process::default()
    }
}

fn run_of(processes: Vec<Process>) -> Decoded {
    Decoded { recording: Recording { run: Run::default(), processes }, damage: vec![] }
}

fn analysed(process: Process) -> Profile {
    profile(&run_of(vec![process]), None).unwrap()
}

fn offsets(profile: &Profile, at: usize) -> Vec<u64> {
    profile.stack(&profile.sites[at]).map(|frame| frame.offset).collect()
}

#[test]
fn the_same_stack_under_two_nodes_is_one_site() {
    let nodes = vec![node(0, code(1, 10)), node(1, code(2, 20)), node(0, code(1, 10)), node(3, code(2, 20))];
    let sites = vec![site(2, SiteKind::Heap, 100), site(4, SiteKind::Heap, 11)];
    let profile = analysed(process(nodes, sites));
    assert_eq!(profile.sites.len(), 1);
    let merged = &profile.sites[0];
    assert_eq!((merged.live.bytes.get(), merged.live.blocks), (111, 2));
    assert_eq!((merged.peak.bytes.get(), merged.allocated.blocks), (222, 6));
    assert_eq!(offsets(&profile, 0), [20, 10]);
}

#[test]
fn a_library_that_was_loaded_twice_is_one() {
    let nodes = vec![node(0, code(1, 10)), node(0, code(3, 10))];
    let sites = vec![site(1, SiteKind::Heap, 1), site(2, SiteKind::Heap, 2)];
    assert_eq!(analysed(process(nodes, sites)).sites.len(), 1);
}

#[test]
fn two_callers_of_one_function_are_two_sites() {
    let nodes = vec![node(0, code(1, 10)), node(1, code(2, 20)), node(0, code(1, 11)), node(3, code(2, 20))];
    let sites = vec![site(2, SiteKind::Heap, 1), site(4, SiteKind::Heap, 2)];
    assert_eq!(analysed(process(nodes, sites)).sites.len(), 2);
}

#[test]
fn mappings_are_not_heap_and_their_mark_is_no_frame() {
    let nodes = vec![
        node(0, code(1, 10)),
        node(0, Frame::Pseudo(Pseudo::AnonymousMapping)),
        node(2, code(1, 10)),
        node(0, Frame::Pseudo(Pseudo::FileMapping)),
        node(4, code(1, 10)),
    ];
    let sites = vec![
        site(1, SiteKind::Heap, 1),
        site(3, SiteKind::AnonymousMapping, 20),
        site(5, SiteKind::FileMapping, 300),
    ];
    let profile = analysed(process(nodes, sites));
    let layers: Vec<Layer> = profile.sites.iter().map(|site| site.layer).collect();
    assert_eq!(layers, [Layer::MappedFiles, Layer::MappedAnonymous, Layer::Native]);
    assert!((0..3).all(|at| offsets(&profile, at) == [10]));
    let live =
        [Category::Heap, Category::Anonymous, Category::Files].map(|one| profile.total(one).live.bytes.get());
    assert_eq!(live, [1, 20, 300]);
    assert_eq!(profile.losses, []);
}

#[test]
fn sites_are_sorted_by_live_bytes_then_by_the_peak() {
    let nodes = vec![node(0, code(1, 1)), node(0, code(1, 2)), node(0, code(1, 3))];
    let gone = Site { live: amount(0, 0), ..site(2, SiteKind::Heap, 50) };
    let gone_and_small = Site { live: amount(0, 0), ..site(1, SiteKind::Heap, 5) };
    let profile = analysed(process(nodes, vec![gone_and_small, gone, site(3, SiteKind::Heap, 1)]));
    let order: Vec<_> = (0..3).map(|at| offsets(&profile, at)[0]).collect();
    assert_eq!(order, [3, 2, 1]);
}

#[test]
fn cut_stacks_are_counted_each_once_among_all_stacks() {
    let cut = |pseudo| Frame::Pseudo(pseudo);
    let nodes = vec![
        node(0, cut(Pseudo::TooDeep)),
        node(1, code(1, 1)),
        node(2, code(1, 2)),
        node(0, cut(Pseudo::Broken)),
        node(4, code(1, 1)),
        node(0, code(1, 1)),
    ];
    let mut process = process(nodes, [2, 3, 3, 5, 6].map(|node| site(node, SiteKind::Heap, 1)).to_vec());
    process.losses = vec![(Loss::StackTooDeep, 900), (Loss::UnknownFree, 4)];
    let profile = analysed(process);
    let lines: Vec<_> = profile.losses.iter().map(|line| (line.what.as_str(), line.count, line.of)).collect();
    let expected = [
        (Loss::UnknownFree.words(), 4, None),
        (Loss::StackTooDeep.words(), 2, Some(4)),
        (Loss::StackBroken.words(), 1, Some(4)),
    ];
    assert_eq!(lines, expected);
    assert_eq!(profile.sites.iter().filter(|site| profile.cut(site) == Some(Cut::TooDeep)).count(), 2);
}

#[test]
fn a_frame_has_its_functions_innermost_first_and_an_unnamed_one_its_module() {
    let nodes =
        vec![node(0, Frame::Unknown { address: Addr::new(99) }), node(1, code(2, 20)), node(2, code(1, 10))];
    let mut process = process(nodes, vec![site(3, SiteKind::Heap, 1)]);
    let function = |name: &str, line| Function { name: Some(name.into()), file: None, line: Some(line) };
    let functions = vec![function("inlined", 5), function("outer", 6)];
    process.symbols = vec![FrameSymbol { module: ModuleId::new(1), offset: 10, functions }];
    let profile = analysed(process);
    let frame = |function: Option<&str>, line, module: Option<&str>, offset| StackFrame {
        origin: Origin::Native,
        function: function.map(Into::into),
        file: None,
        line,
        module: module.map(Into::into),
        offset,
    };
    let expected = [
        frame(Some("inlined"), Some(5), Some("/app"), 10),
        frame(Some("outer"), Some(6), Some("/app"), 10),
        frame(None, None, Some("/lib"), 20),
        frame(None, None, None, 99),
    ];
    let found: Vec<StackFrame> = profile.stack(&profile.sites[0]).cloned().collect();
    assert_eq!(found, expected);
}

fn script(name: &str, first_line: u32) -> Code {
    Code { name: name.into(), file: "/home/user/train.py".into(), first_line }
}

fn python(code: u32, line: u32) -> Frame {
    Frame::Python { code: CodeId::new(code), line }
}

#[test]
fn python_frames_stand_among_native_ones_with_their_lines() {
    let nodes =
        vec![node(0, code(1, 10)), node(1, python(1, 41)), node(2, python(2, 0)), node(3, code(2, 20))];
    let mut process = process(nodes, vec![site(4, SiteKind::Heap, 1)]);
    process.codes = vec![script("<module>", 1), script("Model.step", 7)];
    let profile = analysed(process);
    let found: Vec<_> = profile
        .stack(&profile.sites[0])
        .map(|frame| (frame.language(), frame.function.as_deref(), frame.file.as_deref(), frame.line))
        .collect();
    let file = Some("/home/user/train.py");
    let expected = [
        ("native", None, None, None),
        ("python", Some("Model.step"), file, None),
        ("python", Some("<module>"), file, Some(41)),
        ("native", None, None, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn two_instructions_of_one_line_are_one_site_and_two_lines_are_two() {
    let nodes = vec![
        node(0, python(1, 41)),
        node(1, code(2, 20)),
        node(0, python(1, 41)),
        node(3, code(2, 20)),
        node(0, python(1, 42)),
        node(5, code(2, 20)),
    ];
    let mut process = process(nodes, [2, 4, 6].map(|node| site(node, SiteKind::Heap, 1)).to_vec());
    process.codes = vec![script("<module>", 1)];
    let profile = analysed(process);
    let sizes: Vec<_> = profile.sites.iter().map(|site| site.live.bytes.get()).collect();
    assert_eq!(sizes, [2, 1]);
}

#[test]
fn a_function_that_was_compiled_twice_is_one() {
    let nodes = vec![node(0, python(1, 41)), node(0, python(2, 41)), node(0, python(3, 41))];
    let mut process = process(nodes, [1, 2, 3].map(|node| site(node, SiteKind::Heap, 1)).to_vec());
    process.codes = vec![script("step", 40), script("step", 40), script("step", 39)];
    assert_eq!(analysed(process).sites.len(), 2);
}

#[test]
fn a_site_is_named_by_the_users_line_and_an_import_by_its_package() {
    let file = |name: &str, file: &str| Code { name: name.into(), file: file.into(), first_line: 1 };
    let nodes = vec![
        node(0, python(1, 3)),
        node(1, python(2, 1)),
        node(2, python(3, 9)),
        node(3, code(2, 20)),
        node(1, python(3, 70)),
        node(5, code(2, 20)),
    ];
    let mut process = process(nodes, vec![site(4, SiteKind::Heap, 9), site(6, SiteKind::Heap, 1)]);
    process.codes = vec![
        script("<module>", 1),
        file("_find_and_load", "<frozen importlib._bootstrap>"),
        file("<module>", "/venv/lib/python3.11/site-packages/numpy/__init__.py"),
    ];
    let profile = analysed(process);
    let [imported, called] = &profile.sites[..] else { panic!("two sites") };
    let import = profile.import(imported).unwrap();
    assert_eq!((import.package, import.by.and_then(|frame| frame.line)), (Some("numpy"), Some(3)));
    assert_eq!(profile.import(called), None);
    assert_eq!(profile.python_line(called).and_then(|frame| frame.line), Some(3));
}

#[test]
fn the_interpreter_of_the_process_is_known() {
    let interpreter = Interpreter { reading: Reading::UnknownVersion, major: 3, minor: 7 };
    let process = Process { python: Some(interpreter), ..process(vec![], vec![]) };
    assert_eq!(analysed(process).python, Some(interpreter));
}

#[test]
fn the_peak_is_what_the_agent_saw() {
    let mut process = process(vec![node(0, code(1, 1))], vec![site(1, SiteKind::Heap, 10)]);
    process.peak_live = Bytes::new(21);
    let profile = analysed(process);
    assert_eq!((profile.heap().peak.bytes.get(), profile.heap().peak.blocks), (21, 2));
}

#[test]
fn margins_are_there_exactly_when_the_run_was_sampled() {
    let nodes = vec![node(0, code(1, 1)), node(0, code(1, 2))];
    let sites = vec![site(1, SiteKind::Heap, 1 << 20), site(2, SiteKind::FileMapping, 1 << 20)];
    let mut decoded = run_of(vec![process(nodes, sites)]);
    assert!(profile(&decoded, None).unwrap().heap().live.margin.is_none());
    decoded.recording.run.sample_interval = Some(Bytes::new(4096));
    let sampled = profile(&decoded, None).unwrap();
    assert!(sampled.heap().live.margin.is_some());
    assert!(sampled.total(Category::Files).live.margin.is_none(), "mappings are always recorded");
    assert_eq!(sampled.heap_sites().filter(|site| site.live.margin.is_some()).count(), 1);
}

#[test]
fn the_cost_is_that_of_the_whole_tree() {
    let costly = |pid| Process {
        pid: Pid::new(pid),
        executable: format!("/app{pid}"),
        agent_cpu: Nanos::new(5),
        arena_bytes: Bytes::new(100),
        agent_private_bytes: Bytes::new(10),
        ..Process::default()
    };
    let mut decoded = run_of(vec![costly(1), costly(2)]);
    decoded.recording.run.cpu = Nanos::new(100);
    let cost = profile(&decoded, None).unwrap().cost;
    assert_eq!((cost.share(), cost.arena.get(), cost.private.get()), (Some(0.1), 200, 20));
}

#[test]
fn where_the_recorder_saw_no_end_the_process_has_it() {
    let process = Process { end: ProcessEnd::Ended(Exit::Code(3)), ..process(vec![], vec![]) };
    assert_eq!(analysed(process).exit, Some(Exit::Code(3)));
}

#[test]
fn an_empty_recording_gives_an_empty_profile() {
    let profile = profile(&run_of(vec![]), None).unwrap();
    assert_eq!((profile.pid, profile.sites.len()), (None, 0));
}
