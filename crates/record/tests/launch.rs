//! Real commands, started and watched. They run one after another: the recorder reaps every child of its process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use heaplens_format::environment::{Checks, Imports, Objects};
use heaplens_format::recording::Exit;
use heaplens_record::{BareReason, LookupError, Outcome, Recorded, RunError, RunOptions, run};

fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn options(command: &[&str], agent: Option<&'static [u8]>) -> RunOptions {
    RunOptions {
        command: command.iter().map(OsString::from).collect(),
        agent,
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
    }
}

fn run_bare(command: &[&str]) -> Result<Outcome, RunError> {
    let _turn = one_at_a_time();
    run(options(command, None))
}

fn exit_of(command: &[&str]) -> Exit {
    run_bare(command).unwrap().exit
}

#[test]
fn success_is_code_0() {
    assert_eq!(exit_of(&["/bin/true"]), Exit::Code(0));
}

#[test]
fn a_code_is_passed_through() {
    assert_eq!(exit_of(&["/bin/sh", "-c", "exit 3"]), Exit::Code(3));
}

#[test]
fn a_killed_program_is_known_by_its_signal() {
    assert_eq!(exit_of(&["/bin/sh", "-c", "kill -9 $$"]), Exit::Signal(9));
}

#[test]
fn a_program_is_found_in_path() {
    assert_eq!(exit_of(&["sh", "-c", "exit 4"]), Exit::Code(4));
}

#[test]
fn the_program_sees_the_word_that_was_typed() {
    assert_eq!(exit_of(&["sh", "-c", "test \"$0\" = sh"]), Exit::Code(0));
}

#[test]
fn a_script_without_an_interpreter_line_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let script = executable(&folder, "script", "exit $1\n");
    assert_eq!(exit_of(&[script.to_str().unwrap(), "6"]), Exit::Code(6));
}

#[test]
fn a_script_whose_interpreter_is_missing_cannot_start() {
    let folder = tempfile::tempdir().unwrap();
    let script = executable(&folder, "script", "#!/nowhere/interpreter\n");
    let error = run_bare(&[script.to_str().unwrap()]).unwrap_err();
    assert!(matches!(error, RunError::Start { .. }), "{error}");
}

#[test]
fn a_word_that_names_nothing_is_an_error_before_anything_runs() {
    let error = run_bare(&["heaplens-test-no-such-program"]).unwrap_err();
    assert!(matches!(error, RunError::Program { source: LookupError::NotInPath, .. }), "{error}");
}

#[test]
fn no_command_is_an_error() {
    assert!(matches!(run_bare(&[]).unwrap_err(), RunError::NoCommand));
}

#[test]
fn a_child_that_outlives_the_command_does_not_hold_up_the_end() {
    let script = "sleep 100 & echo $! > \"$1\"";
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    assert_eq!(exit_of(&["sh", "-c", script, "sh", note.to_str().unwrap()]), Exit::Code(0));
    let pid: i32 = std::fs::read_to_string(note).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it still runs");
}

/// A zombie can still be signalled; the command waits until its orphan cannot be, which only the recorder can bring about.
#[test]
fn an_orphan_that_ended_is_reaped_while_the_command_runs() {
    let script = "orphan=$(sh -c 'true >&2 & echo $!'); tries=0
        while kill -0 $orphan 2>&-; do tries=$((tries + 1)); test $tries -lt 3000000 || exit 1; done";
    assert_eq!(exit_of(&["sh", "-c", script]), Exit::Code(0));
}

#[test]
fn without_an_agent_the_reason_is_given() {
    let outcome = run_bare(&["true"]).unwrap();
    assert!(matches!(outcome.recorded, Recorded::Bare(BareReason::NoAgent)));
}

/// The dynamic linker skips a file that is not a library, so the program runs and leaves no arena.
#[test]
fn a_program_that_leaves_no_arena_says_so_and_no_directory_stays() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let script = "printf '%s\\n' \"$HEAPLENS_DIR\" \"$HEAPLENS_AGENT\" > \"$1\"; test -d \"$HEAPLENS_DIR\"";
    let command = ["sh", "-c", script, "sh", note.to_str().unwrap()];
    let _turn = one_at_a_time();
    let outcome = run(options(&command, Some(b"not a library"))).unwrap();
    let note = std::fs::read_to_string(note).unwrap();
    let (session, agent) = note.trim().split_once('\n').unwrap();
    std::fs::remove_file(agent).unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "the directory was there while the program ran");
    assert!(matches!(outcome.recorded, Recorded::Bare(BareReason::NoArena)));
    assert!(Path::new(session).is_absolute() && !Path::new(session).exists(), "{session}");
}

fn executable(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
