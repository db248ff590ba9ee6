//! Whole sessions with a stand-in for the agent: a small library that makes arenas with nothing but a header. What the
//! recorder adds by itself (ends, resident memory, CPU time, time-line) shows without the real one.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use heaplens_format::arena::MAGIC;
use heaplens_format::arena::header::Header;
use heaplens_format::environment::{Checks, Imports, Objects};
use heaplens_format::recording::{Exit, Process, ProcessEnd, Recording};
use heaplens_format::{Bytes, Nanos};
use heaplens_record::{Outcome, Recorded, RunOptions, collect, run};

/// The recorder reaps every child of its process, compilers of other tests included. The stand-in does not go to the
/// user's own cache.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the threads of this test read and change the environment only while they have their turn.
    unsafe { std::env::set_var("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")) };
    turn
}

/// Built once, under the lock of the first test that asks.
static AGENT: LazyLock<&'static [u8]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("agent.so");
    let fields = [
        ("PID", std::mem::offset_of!(Header, pid)),
        ("PARENT", std::mem::offset_of!(Header, parent)),
        ("START", std::mem::offset_of!(Header, start_ns)),
    ];
    let defines = fields.map(|(name, offset)| format!("-D{name}={offset}"));
    let magic = format!("-DMAGIC={MAGIC}ULL");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stand_in_agent.c");
    let mut gcc = Command::new("gcc");
    gcc.args(["-shared", "-fPIC", "-o"]).arg(&library).args(defines).arg(magic).arg(source);
    assert!(gcc.status().unwrap().success());
    std::fs::read(library).unwrap().leak()
});

fn run_with_stand_in(command: &[&str]) -> Outcome {
    let command = command.iter().map(OsString::from).collect();
    run(RunOptions {
        command,
        agent: Some(*AGENT),
        sample: None,
        objects: Objects::Sampled,
        imports: Imports::Folded,
        follow: true,
        passive: false,
        frameworks: true,
        finalize_graph: None,
        memcheck: false,
        checks: Checks::NONE,
        guarded_code: String::new(),
        leak_check: None,
        clean_blocks: false,
        inspects_every_end: false,
    })
    .unwrap()
}

/// Runs a script and hands out what was recorded; the session's directory is gone afterwards.
fn recorded(script: &str) -> (Exit, Recording) {
    whole(run_with_stand_in(&["sh", "-c", script]))
}

fn whole(outcome: Outcome) -> (Exit, Recording) {
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    match outcome.recorded {
        Recorded::Whole { recording, session } => {
            let directory = session.path().to_owned();
            session.remove().unwrap();
            assert!(!directory.exists());
            (outcome.exit, *recording)
        }
        Recorded::Bare(reason) => panic!("nothing was recorded: {reason}"),
    }
}

fn ends(recording: &Recording) -> Vec<ProcessEnd> {
    recording.processes.iter().map(|process| process.end).collect()
}

fn first(recording: &Recording) -> &Process {
    recording.processes.first().unwrap()
}

#[test]
fn the_command_and_its_end_are_in_the_recording() {
    let _turn = one_at_a_time();
    let (exit, recording) = recorded("exit 3");
    assert_eq!(exit, Exit::Code(3));
    assert_eq!(recording.run.command, ["sh", "-c", "exit 3"]);
    assert_eq!(recording.run.exit, Some(Exit::Code(3)));
    assert_eq!(ends(&recording), [ProcessEnd::Ended(Exit::Code(3))]);
    assert!(recording.run.wall > Nanos::default() && recording.run.cpu > Nanos::default());
    assert!(first(&recording).cpu > Nanos::default() && first(&recording).finish <= recording.run.wall);
}

#[test]
fn a_killed_command_keeps_its_arena() {
    let _turn = one_at_a_time();
    let (exit, recording) = recorded("kill -9 $$");
    assert_eq!(exit, Exit::Signal(9));
    assert_eq!(ends(&recording), [ProcessEnd::Ended(Exit::Signal(9))]);
}

#[test]
fn an_image_that_called_exec_was_replaced() {
    let _turn = one_at_a_time();
    let (_, recording) = recorded("exec true");
    assert_eq!(ends(&recording), [ProcessEnd::Replaced, ProcessEnd::Ended(Exit::Code(0))]);
}

#[test]
fn a_descendant_that_outlives_the_command_is_still_running() {
    let _turn = one_at_a_time();
    // Builtins only: the shell waits for the arena of `sleep` and starts nothing else.
    let wait = "tries=0; while ! test -s $HEAPLENS_DIR/$!.0.arena; do
        tries=$((tries + 1)); test $tries -lt 3000000 || exit 1; done";
    let (exit, recording) = recorded(&format!("sleep 1000 & {wait}"));
    assert_eq!(exit, Exit::Code(0), "sleep has no arena");
    let running: Vec<_> = recording.processes.iter().filter(|p| p.end == ProcessEnd::Running).collect();
    assert_eq!(running.len(), 1, "{:?}", ends(&recording));
    let pid = rustix::process::Pid::from_raw(running[0].pid.get() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The program touches 64 MiB, gives them back and ends: readings may miss it, the kernel does not.
#[test]
fn the_peak_of_resident_memory_is_seen_however_short() {
    let _turn = one_at_a_time();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("spike");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spike.c");
    assert!(Command::new("gcc").arg("-o").arg(&program).arg(source).status().unwrap().success());
    let (_, recording) = whole(run_with_stand_in(&[program.to_str().unwrap()]));
    let rss = recording.processes.last().unwrap().rss.expect("the kernel reported the peak");
    assert!(rss.peak >= Bytes::new(64 << 20), "{rss:?}");
}

#[test]
fn a_busy_command_has_a_time_line() {
    let _turn = one_at_a_time();
    let (_, recording) = recorded("i=0; while test $i -lt 100000; do i=$((i + 1)); done");
    let process = first(&recording);
    let rss = process.rss.unwrap();
    assert!(!process.timeline.is_empty() && process.timeline.iter().all(|sample| sample.rss > Bytes::ZERO));
    assert!(process.timeline.is_sorted_by_key(|sample| sample.at));
    assert!(rss.start > Bytes::ZERO && rss.end > Bytes::ZERO && rss.peak >= rss.start.max(rss.end));
}

#[test]
fn a_session_without_its_recorder_can_be_collected() {
    let _turn = one_at_a_time();
    let outcome = run_with_stand_in(&["sh", "-c", "exec true"]);
    let Recorded::Whole { recording, session } = outcome.recorded else { panic!("nothing was recorded") };
    let collected = collect(session.path()).unwrap();
    assert_eq!(collected.run.exit, None);
    assert_eq!(collected.processes.len(), recording.processes.len());
    assert_eq!(ends(&collected), [ProcessEnd::Replaced, ProcessEnd::Unknown]);
    assert!(collected.run.started_unix > Nanos::default());
    session.remove().unwrap();
}

#[test]
fn a_bad_arena_costs_a_warning_and_not_the_others() {
    let _turn = one_at_a_time();
    let outcome = run_with_stand_in(&["sh", "-c", "echo garbage > $HEAPLENS_DIR/1.0.arena"]);
    let Recorded::Whole { recording, session } = outcome.recorded else { panic!("nothing was recorded") };
    assert_eq!(recording.processes.len(), 1);
    assert_eq!(outcome.warnings.len(), 1);
    session.remove().unwrap();
}

#[test]
fn static_programs_and_scripts_for_them_run_bare() {
    let _turn = one_at_a_time();
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("static");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/spike.c");
    let made = Command::new("gcc").arg("-static").arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(made.success());
    for path in [&program, &script_for(folder.path(), &program)] {
        let outcome = run_with_stand_in(&[path.to_str().unwrap()]);
        let Recorded::Bare(reason) = outcome.recorded else { panic!("a static program was recorded") };
        assert!(reason.to_string().contains("is statically linked"), "{reason}");
        assert_eq!(outcome.exit, Exit::Code(0));
    }
}

fn script_for(folder: &Path, interpreter: &Path) -> PathBuf {
    let script = folder.join("script");
    std::fs::write(&script, format!("#!{}\n", interpreter.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}
