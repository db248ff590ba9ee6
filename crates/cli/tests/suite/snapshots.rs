//! Snapshots of programs that run: they show one moment, and the program does not notice. `tests/programs/images.c` says what it
//! saw.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use heaplens_format::Pid;
use heaplens_record::{NotRecorded, NotStopped, RecordedProcess, SnapshotError};
use heaplens_snapshot::{ReadMemory, RootKind, Snapshot};

use crate::harness::{Folder, Heaplens, program};

/// A program that is being recorded, and what it said first.
struct Running {
    run: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Result<RecordedProcess, NotRecorded>,
    pid: u32,
    numbers: [u64; 2],
    _folder: Folder,
}

impl Running {
    fn start(words: &[&str]) -> Self {
        Self::start_with(&program("images.c"), words)
    }

    fn start_with(program: &Path, words: &[&str]) -> Self {
        let run = words.iter().fold(Heaplens::on(program, &["--quiet", "--passive"]), Heaplens::arg);
        let (folder, mut command) = run.into_parts();
        let mut run = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("heaplens starts");
        let input = run.stdin.take().expect("stdin is a pipe");
        let mut output = BufReader::new(run.stdout.take().expect("stdout is a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("the program is ready");
        let numbers: Vec<u64> =
            line.split(' ').skip(1).map(|word| word.trim().parse().expect(&line)).collect();
        let pid = numbers[0] as u32;
        let process = RecordedProcess::find(Pid::new(pid));
        Self { run, input, output, process, pid, numbers: [numbers[1], numbers[2]], _folder: folder }
    }

    fn try_snapshot(&self) -> Result<Snapshot, SnapshotError> {
        self.process.as_ref().expect("it is being recorded").snapshot()
    }

    fn snapshot(&self) -> Snapshot {
        self.try_snapshot().expect("a snapshot is taken")
    }

    /// Tells it to end; what it says.
    fn finish(mut self) -> String {
        self.input.write_all(b"\n").expect("the program listens");
        let mut said = String::new();
        self.output.read_to_string(&mut said).expect("the program ends");
        assert!(self.run.wait().expect("heaplens ends").success(), "{said}");
        said
    }
}

fn words(snapshot: &Snapshot, address: u64, count: usize) -> Vec<u64> {
    let mut bytes = vec![0; count * 8];
    assert_eq!(snapshot.memory.read(address, &mut bytes), bytes.len());
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// One thread sets all words to the number of its step, in order; others hold a lock while they make a block and write its address
/// and size into it.
#[test]
fn a_snapshot_shows_one_moment() {
    let running = Running::start(&["moment"]);
    let [address, count] = running.numbers;
    let mut steps = Vec::new();
    for _ in 0..20 {
        let snapshot = running.snapshot();
        let all = words(&snapshot, address, count as usize + 1);
        let (step, all) = all.split_last().expect("there are words");
        assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "the words were written in order");
        assert!(all[0] - all[all.len() - 1] <= 1 && step - all[all.len() - 1] <= 1, "one step at a time");
        assert_blocks_hold_themselves(&snapshot);
        steps.push(*step);
    }
    steps.dedup();
    assert!(steps.len() > 1, "the program went on between the snapshots");
    assert_eq!(running.finish(), "over\n");
}

/// Only whoever holds the lock may have a block that is not written yet.
fn assert_blocks_hold_themselves(snapshot: &Snapshot) {
    let own = snapshot.blocks.iter().filter(|block| (1000..1100).contains(&block.size.get()));
    let (mut seen, mut unwritten) = (0, 0);
    for block in own {
        seen += 1;
        unwritten +=
            usize::from(words(snapshot, block.address.get(), 2) != [block.address.get(), block.size.get()]);
    }
    assert!(seen > 0 && unwritten <= 1, "{unwritten} of {seen} blocks do not hold their own address");
}

/// As the recorder's own child, and as a shell's, which takes another code path.
#[test]
fn no_child_no_signal_and_no_tracer_is_seen() {
    let program = program("images.c");
    let shell = format!("{} children; true", program.display());
    for running in [Running::start(&["children"]), Running::start_with(Path::new("/bin/sh"), &["-c", &shell])]
    {
        for _ in 0..10 {
            let snapshot = running.snapshot();
            let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid));
            assert_eq!(children.expect("the kernel lists children").trim(), "");
            assert!(snapshot.pause.get() > 0);
            assert!(snapshot.roots.ranges.iter().any(|root| matches!(root.kind, RootKind::Stack { .. })));
        }
        assert_eq!(running.finish(), "signals=0 waited=0 listed=0 tracer=0 loops=1\n");
    }
}

/// Of those that signal(7) lists as never begun again too: the recorder lets them begin again.
#[test]
fn no_system_call_is_interrupted() {
    let running = Running::start(&["calls"]);
    for _ in 0..10 {
        drop(running.snapshot());
    }
    let said = running.finish();
    assert!(said.lines().count() > 14, "{said}");
    let is_right = |line: &str| line.ends_with(" interrupted=0 short=0 failed=0");
    assert!(said.lines().all(is_right), "{said}");
}

/// A thousand of them: `HEAPLENS_IMAGES=1000`.
#[test]
fn a_busy_program_computes_the_same_and_loses_no_signal() {
    let count = std::env::var("HEAPLENS_IMAGES").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let running = Running::start(&["busy"]);
    let mut late = 0;
    for _ in 0..count {
        match running.try_snapshot() {
            Ok(snapshot) => assert!(!snapshot.blocks.is_empty()),
            // On a machine with more to do than it can, sixteen threads may take longer than they are given.
            Err(SnapshotError::Threads(NotStopped::Late { .. })) => late += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(late < count, "all of them came too late");
    eprintln!("{late} of {count} came too late");
    assert_eq!(running.finish(), "wrong=0 lost=0 worked=1 ticked=1\n");
}

/// A thread that waits for its child of `vfork` does not stop, and a child may get the number of a thread that is searched for.
#[test]
fn processes_and_threads_that_come_and_go_are_not_harmed() {
    let running = Running::start(&["hostile"]);
    let mut taken = 0;
    for _ in 0..50 {
        match running.try_snapshot() {
            Ok(_) => taken += 1,
            Err(SnapshotError::Threads(NotStopped::Late { .. } | NotStopped::TooMany)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(taken > 0);
    assert_eq!(running.finish(), "bad=0\n");
}

#[test]
fn a_program_may_end_while_its_snapshot_is_taken() {
    for _ in 0..20 {
        let mut running = Running::start(&["waits"]);
        running.input.write_all(b"\n").expect("the program listens");
        drop(running.try_snapshot());
        let mut said = String::new();
        running.output.read_to_string(&mut said).expect("the program ends");
        assert_eq!(said, "over 0\n");
        assert!(running.run.wait().expect("heaplens ends").success());
    }
}

/// The kernel shows nothing of the memory of such a process, under the number that it has.
#[test]
fn a_program_whose_first_thread_has_ended_is_left_alone() {
    let running = Running::start(&["leaderless"]);
    assert!(matches!(running.process, Err(NotRecorded::NoArena(_))));
    assert_eq!(running.finish(), "over\n");
}

/// A stopped program stays stopped, and goes on when it is told to.
#[test]
fn a_stopped_program_has_a_snapshot_and_stays_stopped() {
    let running = Running::start(&["waits"]);
    let signal = |name: &str| {
        let done = std::process::Command::new("kill").args([name, &running.pid.to_string()]).status();
        assert!(done.expect("kill is part of every system").success());
    };
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.pid)).expect("it is there");
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).expect("a state")
    };
    signal("-STOP");
    while state() != 'T' {
        std::thread::yield_now();
    }
    let snapshot = running.snapshot();
    assert!(
        snapshot
            .blocks
            .iter()
            .any(|block| block.address.get() == running.numbers[0] && block.size.get() == 12345)
    );
    drop(snapshot);
    // Let go by its tracer, the thread runs in the kernel until it has stopped again. In the program it would wait for input ('S').
    while matches!(state(), 't' | 'R') {
        std::thread::yield_now();
    }
    assert_eq!(state(), 'T');
    signal("-CONT");
    assert_eq!(running.finish(), "over 0\n");
}

/// The copy has no ends of the program's pipes: the program says 0, the end of the input, while the copy lives.
#[test]
fn a_snapshot_holds_no_files_open() {
    let running = Running::start(&["waits"]);
    let snapshot = running.snapshot();
    let Running { mut run, mut input, mut output, .. } = running;
    input.write_all(b"\n").expect("the program listens");
    let mut said = String::new();
    output.read_to_string(&mut said).expect("the program ends");
    assert_eq!(said, "over 0\n");
    assert!(run.wait().expect("heaplens ends").success());
    drop(snapshot);
}

#[test]
fn a_program_that_restricts_itself_is_left_alone() {
    let running = Running::start(&["restricted"]);
    assert!(matches!(running.try_snapshot(), Err(SnapshotError::Restricted)));
    assert_eq!(running.finish(), "over 0\n");
}
