//! Heap snapshots of programs while they run, through the recorder itself. One test in a process of its own: the recorder reaps every
//! child that it has.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use heaplens_format::environment::{Checks, Imports, Objects};
use heaplens_format::recording::{HeapMoment, HeapView, Process};
use heaplens_record::{Listeners, Recorded, RunOptions, run_with};
use heaplens_snapshot::{Examined, Snapshot};

static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libheaplens.so"));
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// What the examiner saw.
#[derive(Clone, Copy, Debug)]
struct Seen {
    moment: HeapMoment,
    blocks: usize,
    objects: usize,
}

fn options(command: &[&Path]) -> RunOptions {
    RunOptions {
        command: command.iter().map(OsString::from).collect(),
        agent: Some(AGENT),
        sample: None,
        objects: Objects::Sampled,
        imports: Imports::Folded,
        follow: true,
        passive: true,
        frameworks: true,
        finalize_graph: None,
        memcheck: false,
        checks: Checks::NONE,
        guarded_code: String::new(),
        leak_check: None,
        clean_blocks: false,
        inspects_every_end: false,
    }
}

/// Runs a command; `on_snapshot` hears of each snapshot.
fn run(
    command: &[&Path],
    snapshot_at: Option<&str>,
    mut on_snapshot: impl FnMut(&[Seen]) + Send,
) -> (Vec<Seen>, Process) {
    let mut seen = Vec::new();
    let mut examine = |snapshot: &Snapshot, moment: HeapMoment| {
        let objects = snapshot.python.as_ref().map_or(0, |python| python.sampled.len());
        seen.push(Seen { moment, blocks: snapshot.blocks.len(), objects });
        on_snapshot(&seen);
        Examined { leaks: None, view: Some(HeapView::default()) }
    };
    let listeners =
        Listeners { examiner: Some(&mut examine), snapshots: true, snapshot_at, ..Listeners::default() };
    let outcome = run_with(options(command), listeners).expect("it runs");
    let Recorded::Whole { mut recording, session } = outcome.recorded else { panic!("nothing was recorded") };
    session.remove().expect("the session goes");
    (seen, recording.processes.remove(0))
}

fn is_running(seen: &Seen) -> bool {
    matches!(seen.moment, HeapMoment::Running { .. })
}

fn compiled(folder: &Path) -> PathBuf {
    let program = folder.join("images");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-w", "-pthread", "-D_GNU_SOURCE", "-o"]).arg(&program);
    let source = Path::new(ROOT).join("tests/programs/images.c");
    assert!(compiler.arg(source).status().expect("there is a compiler").success());
    program
}

/// It ends after three snapshots: the last two and the one at its end are kept.
fn snapshots_of_a_program_that_grows_are_taken_while_it_runs(folder: &Path) {
    let (program, end) = (compiled(folder), folder.join("end"));
    let until_third = |seen: &[Seen]| {
        if seen.iter().filter(|seen| is_running(seen)).count() == 3 {
            std::fs::write(&end, "").expect("the folder is writable");
        }
    };
    let (seen, process) = run(&[&program, Path::new("grows"), &end], None, until_third);
    let blocks: Vec<usize> = seen.iter().map(|seen| seen.blocks).collect();
    assert!(blocks.is_sorted() && blocks[0] < blocks[2], "{seen:?}");
    assert_eq!(seen.last().map(|seen| seen.moment), Some(HeapMoment::Exit));
    let views = &process.heap.views;
    assert_eq!(views.len(), 3, "{views:?}");
    assert!(
        views.is_sorted_by_key(|view| view.at) && views[1].at.get() >= 2 * views[0].at.get(),
        "{views:?}"
    );
    assert!(views[..2].iter().all(|view| view.pause.get() > 0) && process.heap.refusal.is_none());
}

const MARKS: &str = "
import heaplens, os, sys
kept = [(str(number), [number]) for number in range(20000)]
heaplens.mark('here')
while not os.path.exists(sys.argv[1]):
    str(kept[0])
";

/// Small objects are seen with their sample. It ends after the snapshot.
fn a_mark_with_the_label_has_a_snapshot(folder: &Path) {
    let Ok(python) = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()
    else {
        return;
    };
    let python = PathBuf::from(String::from_utf8_lossy(&python.stdout).trim());
    let (script, end) = (folder.join("marks.py"), folder.join("marked"));
    let package = format!("import sys; sys.path.insert(0, {:?})\n", Path::new(ROOT).join("python"));
    std::fs::write(&script, package + MARKS).expect("the folder is writable");
    let until_asked = |seen: &[Seen]| {
        if seen.iter().any(|seen| seen.moment == HeapMoment::Asked) {
            std::fs::write(&end, "").expect("the folder is writable");
        }
    };
    let (seen, process) = run(&[&python, &script, &end], Some("here"), until_asked);
    let asked = seen.iter().find(|seen| seen.moment == HeapMoment::Asked).expect("a snapshot was taken");
    assert!(asked.objects > 100, "{asked:?}");
    assert!(process.heap.views.iter().any(|view| view.moment == HeapMoment::Asked));
}

#[test]
fn snapshots_are_taken_while_programs_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("snapshots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the build folder is writable");
    snapshots_of_a_program_that_grows_are_taken_while_it_runs(&folder);
    a_mark_with_the_label_has_a_snapshot(&folder);
    std::fs::remove_dir_all(&folder).expect("nobody uses it any more");
}
