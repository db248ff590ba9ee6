//! The snapshot of a program that runs on: its threads are stopped, one of them forks a copy of the process that never runs an
//! instruction, the tables of its arena are copied, and all go on. The memory at the moment of the stop can be read from the copy as
//! long as it lives.
//!
//! ```text
//!   the recorder ─┬─ the program: child                    the recorder ─── a shell ─── the program ─┬─ helper (its memory) ─┐
//!                 └─ the copy: child, too (CLONE_PARENT)         └───────────── the copy: orphan of ──┴───────────────────────┘
//! ```
//!
//! The program must not find a child that it did not fork. Where the recorder is its parent, the copy becomes another child of the
//! recorder. Elsewhere a helper is made that shares the program's memory, forks the copy and is killed: the copy is then an orphan,
//! which the recorder adopts.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use heaplens_format::{Addr, Nanos, Pid};
use heaplens_snapshot::{Missing, Snapshot};

use super::canaries;
use super::error::SnapshotError;
use super::feasible::{Prepared, Program, prepare};
use super::frozen::FrozenProcess;
use crate::arena::{Copied, Tables};
use crate::ledger::{SeenThreads, UNREADABLE};
use crate::tracing::{Injector, Owner, StoppedThread, Task, Threads, Tracer, Trampoline};

/// An invalid stack pointer: a task that ran would crash at once. None does.
const NO_STACK: u64 = 8;
/// The copy ends with the recorder.
const ENDS_WITH_US: libc::c_int = libc::PTRACE_O_EXITKILL;

/// The time that a thread needs to return from the trampoline, if there is a processor for it.
const TIME_TO_RETURN: Duration = Duration::from_millis(1);

/// Takes a snapshot, with a timeout for stopping the threads of the program.
pub(super) fn take(program: &Program<'_>, timeout: Duration) -> Result<Snapshot, SnapshotError> {
    let arena = program.arena.try_clone().map_err(SnapshotError::Memory)?;
    let Prepared { tables, parent, trampoline } = prepare(program)?;
    let ancestry = if parent == program.recorder { Ancestry::Sibling } else { Ancestry::Orphan };
    let process = program.process;
    let (copy, tracer) = Tracer::start(move || {
        let (threads, trampoline) = stop(process, trampoline, timeout)?;
        fork(threads, ancestry, trampoline, tables, &arena)
    })?;
    let tables = Tables::of_copy(program.arena, &copy.tables).ok_or(SnapshotError::Blocks(UNREADABLE))?;
    let frozen = FrozenProcess {
        program: program.process,
        process: copy.process,
        threads: SeenThreads::All(&copy.threads),
        pause: copy.pause,
        missing: Missing::default(),
        keeper: Box::new(tracer),
    };
    let snapshot = frozen.snapshot(&mut program.subject_at(copy.process), &tables)?;
    Ok(Snapshot { canaries: canaries::check(&tables, &snapshot.memory), ..snapshot })
}

/// Whose child the copy becomes, since it must not be the program's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ancestry {
    Sibling,
    Orphan,
}

/// The copy, and what was read while the program was stopped.
#[derive(Debug)]
struct Copy {
    process: Pid,
    /// The threads of the program.
    threads: Vec<StoppedThread>,
    /// Its tables.
    tables: Copied,
    /// How long it was stopped.
    pause: Nanos,
}

/// A thread that was abandoned by an earlier recorder, which was killed, gets the time to return.
fn stop(process: Pid, trampoline: Addr, timeout: Duration) -> Result<(Threads, Trampoline), SnapshotError> {
    let deadline = Instant::now() + timeout;
    loop {
        let threads = Threads::stop(process, timeout)?;
        let trampoline = Trampoline::of(process, trampoline).ok_or(SnapshotError::NoTrampoline)?;
        if !trampoline.is_in_use(threads.all()) {
            return Ok((threads, trampoline));
        }
        if Instant::now() >= deadline {
            return Err(SnapshotError::TrampolineInUse);
        }
        drop(threads);
        std::thread::sleep(TIME_TO_RETURN);
    }
}

/// The part that runs in a thread of its own, which keeps the copy.
fn fork(
    threads: Threads,
    ancestry: Ancestry,
    trampoline: Trampoline,
    mut tables: Copied,
    arena: &File,
) -> Result<(Copy, Task), SnapshotError> {
    let seen = threads.all().to_vec();
    let (copy, filled) = std::thread::scope(|scope| {
        let filling = scope.spawn(|| tables.fill(arena));
        let copy = copy_of(&threads, ancestry, trampoline);
        (copy, filling.join().unwrap_or_else(|_| Err(io::Error::other("the copy failed"))))
    });
    let pause = release(threads);
    let (task, stopped) = copy.map_err(SnapshotError::Copy)?;
    filled.map_err(SnapshotError::Memory)?;
    close_files(&stopped, trampoline);
    let process = Pid::new(task.number() as u32);
    Ok((Copy { process, threads: seen, tables, pause }, task))
}

/// Resumes the threads; returns how long they were stopped.
fn release(threads: Threads) -> Nanos {
    let since = threads.started();
    drop(threads);
    Nanos::new(since.elapsed().as_nanos() as u64)
}

/// The other ends of the program's pipes must see when it closes its own.
fn close_files(copy: &StoppedThread, trampoline: Trampoline) {
    let close = || -> io::Result<()> {
        let mut injector = Injector::new(copy, trampoline, Owner::Us, ENDS_WITH_US)?;
        injector.call(libc::SYS_close_range, [0, u64::from(u32::MAX), 0, 0, 0, 0])?;
        Ok(())
    };
    // Before Linux 5.9 there is no such call: then they see it when the copy is gone.
    close().ok();
}

fn copy_of(
    threads: &Threads,
    ancestry: Ancestry,
    trampoline: Trampoline,
) -> io::Result<(Task, StoppedThread)> {
    let thread = threads.all().first().ok_or(io::ErrorKind::NotFound)?;
    let mut injector = Injector::new(thread, trampoline, Owner::Program, 0)?;
    let copy = match ancestry {
        Ancestry::Sibling => clone(&mut injector, libc::CLONE_PARENT)?.0,
        Ancestry::Orphan => orphan(&mut injector, trampoline)?,
    };
    let stopped = copy.stopped()?;
    copy.set_options(ENDS_WITH_US)?;
    Ok((copy, stopped))
}

/// Clones a task; returns it and its pid as the program sees it.
fn clone(injector: &mut Injector, flags: libc::c_int) -> io::Result<(Task, u64)> {
    let made = injector.call(libc::SYS_clone, [flags as u64, NO_STACK, 0, 0, 0, 0])?;
    let task = made.born.ok_or_else(|| io::Error::other("the kernel does not report the new process"))?;
    Ok((task, made.value))
}

/// The helper raises no signal when it exits, so the program does not notice, and the program is made to reap it at once.
fn orphan(injector: &mut Injector, trampoline: Trampoline) -> io::Result<Task> {
    let (helper, number) = clone(injector, libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES)?;
    let copy = copy_in(&helper, trampoline);
    drop(helper);
    injector.call(libc::SYS_wait4, [number, 0, libc::__WALL as u64, 0, 0, 0])?;
    copy
}

fn copy_in(helper: &Task, trampoline: Trampoline) -> io::Result<Task> {
    let mut injector = Injector::new(&helper.stopped()?, trampoline, Owner::Us, 0)?;
    Ok(clone(&mut injector, 0)?.0)
}
