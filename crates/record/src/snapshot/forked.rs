//! A frozen image of a process that runs on: its threads are stopped, one of them makes a copy of the process that never runs
//! an instruction, the tables of its arena are copied, and all go on. What the process looked like in the stop can be read from
//! the copy as long as that lives.
//!
//! ```text
//!   the recorder ─┬─ the program: child                     the recorder ─── a shell ─── the program ─┬─ helper (its memory) ─┐
//!                 └─ its image: child, too (CLONE_PARENT)        └──────────── its image: orphan of ──┴───────────────────────┘
//! ```
//!
//! The program must not find a child that it has not made. Where the recorder is its parent, the image becomes another child of
//! the recorder. Elsewhere a helper is made that shares the program's memory, makes the image and is killed: the image is an
//! orphan then and falls to the recorder.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use heaplens_format::arena::header::{HEADER_SIZE, HeaderView};
use heaplens_format::{Addr, Bytes, Nanos, Pid};

use crate::ledger::{Copied, refusal};
use crate::procfs;
use crate::snapshot::frozen::NotFrozen;
use crate::snapshot::headroom;
use crate::tracing::{Injector, Owner, StoppedThread, Task, Threads, Tracer, Trampoline};

/// A stack that is nowhere: whoever runs on it ends at once. Nobody does.
const NO_STACK: u64 = 8;
/// The recorder's end is the image's.
const WITH_US: libc::c_int = libc::PTRACE_O_EXITKILL;

/// What a thread on its way back needs at most, on a machine that has a processor for it.
const WAY_BACK: Duration = Duration::from_millis(1);

/// What was seen in the stop.
#[derive(Debug)]
pub(crate) struct Image {
    /// The image.
    pub(crate) process: Pid,
    /// The threads of the program.
    pub(crate) threads: Vec<StoppedThread>,
    /// Its tables.
    pub(crate) tables: Copied,
    /// How long it stood still.
    pub(crate) pause: Nanos,
}

/// Takes an image. `recorder` is the process that adopts orphans of the program, whose threads have so long to stop.
pub(crate) fn take(
    process: Pid,
    recorder: Pid,
    arena: &File,
    timeout: Duration,
) -> Result<(Image, Tracer), NotFrozen> {
    let arena = arena.try_clone().map_err(NotFrozen::Memory)?;
    let Prepared { tables, trampoline } = prepare(process, &arena)?;
    let condition = procfs::condition(process).ok_or(NotFrozen::Gone)?;
    let way = if condition.parent == recorder { Way::Sibling } else { Way::Orphan };
    Tracer::start(move || {
        let (threads, trampoline) = stop(process, trampoline, timeout)?;
        trace(threads, way, trampoline, tables, &arena)
    })
}

/// A thread that an earlier recorder has left alone, when it was killed, is given the time to find back.
fn stop(process: Pid, trampoline: Addr, timeout: Duration) -> Result<(Threads, Trampoline), NotFrozen> {
    let deadline = Instant::now() + timeout;
    loop {
        let threads = Threads::stop(process, timeout)?;
        let trampoline = Trampoline::of(process, trampoline).ok_or(NotFrozen::NoWayBack)?;
        if !trampoline.is_in_use(threads.all()) {
            return Ok((threads, trampoline));
        }
        if Instant::now() >= deadline {
            return Err(NotFrozen::Taken);
        }
        drop(threads);
        std::thread::sleep(WAY_BACK);
    }
}

/// What an image is taken with.
pub(crate) struct Prepared {
    /// Room for the tables.
    pub(crate) tables: Copied,
    /// Where the way back is, by which calls are made.
    trampoline: Addr,
}

/// Whatever speaks against it is found out before anything is stopped.
pub(crate) fn prepare(process: Pid, arena: &File) -> Result<Prepared, NotFrozen> {
    let mut header = vec![0; HEADER_SIZE];
    std::os::unix::fs::FileExt::read_exact_at(arena, &mut header, 0).map_err(NotFrozen::Memory)?;
    let header = HeaderView::new(&header).ok_or(NotFrozen::Blocks("its arena cannot be read"))?;
    refusal(&header).map_or(Ok(()), |why| Err(NotFrozen::Blocks(why)))?;
    let condition = procfs::condition(process).ok_or(NotFrozen::Gone)?;
    if condition.is_restricted {
        return Err(NotFrozen::Restricted);
    }
    let tables = header.region(heaplens_format::arena::Region::Pages).used;
    let needed = condition.anonymous + Bytes::new(tables);
    if let Some(free) = headroom::free_for(process).filter(|free| *free < needed) {
        return Err(NotFrozen::Short { free, needed });
    }
    let tables = Copied::prepare(arena).map_err(NotFrozen::Memory)?;
    Ok(Prepared { tables, trampoline: Addr::new(header.trampoline()) })
}

/// How the image comes about without a child of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sibling,
    Orphan,
}

/// The part that runs in a thread of its own, which keeps the image.
fn trace(
    threads: Threads,
    way: Way,
    trampoline: Trampoline,
    mut tables: Copied,
    arena: &File,
) -> Result<(Image, Task), NotFrozen> {
    let seen = threads.all().to_vec();
    let (copy, copied) = std::thread::scope(|scope| {
        let copying = scope.spawn(|| tables.fill(arena));
        let copy = copy_of(&threads, way, trampoline);
        (copy, copying.join().unwrap_or_else(|_| Err(io::Error::other("the copy failed"))))
    });
    let pause = {
        let since = threads.started();
        drop(threads);
        Nanos::new(since.elapsed().as_nanos() as u64)
    };
    let (task, stopped) = copy.map_err(NotFrozen::Copy)?;
    copied.map_err(NotFrozen::Memory)?;
    close_files(&stopped, trampoline);
    let process = Pid::new(task.number() as u32);
    Ok((Image { process, threads: seen, tables, pause }, task))
}

/// The other ends of the program's pipes must see when it closes its own.
fn close_files(image: &StoppedThread, trampoline: Trampoline) {
    let close = || -> io::Result<()> {
        let mut injector = Injector::new(image, trampoline, Owner::Us, WITH_US)?;
        injector.call(libc::SYS_close_range, [0, u64::from(u32::MAX), 0, 0, 0, 0])?;
        Ok(())
    };
    // Before Linux 5.9 there is no such call: then they see it when the image is gone.
    close().ok();
}

fn copy_of(threads: &Threads, way: Way, trampoline: Trampoline) -> io::Result<(Task, StoppedThread)> {
    let thread = threads.all().first().ok_or(io::ErrorKind::NotFound)?;
    let mut injector = Injector::new(thread, trampoline, Owner::Program, 0)?;
    let image = match way {
        Way::Sibling => clone(&mut injector, libc::CLONE_PARENT)?.0,
        Way::Orphan => orphan(&mut injector, trampoline)?,
    };
    let stopped = image.stopped()?;
    image.set_options(WITH_US)?;
    Ok((image, stopped))
}

/// A new task, and its number to the program.
fn clone(injector: &mut Injector, flags: libc::c_int) -> io::Result<(Task, u64)> {
    let made = injector.call(libc::SYS_clone, [flags as u64, NO_STACK, 0, 0, 0, 0])?;
    let task = made.born.ok_or_else(|| io::Error::other("the kernel does not tell of the new process"))?;
    Ok((task, made.value))
}

/// The helper has no signal for its end, so the program is told nothing, and it is taken from the program's books at once.
fn orphan(injector: &mut Injector, trampoline: Trampoline) -> io::Result<Task> {
    let (helper, number) = clone(injector, libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES)?;
    let image = copy_in(&helper, trampoline);
    drop(helper);
    injector.call(libc::SYS_wait4, [number, 0, libc::__WALL as u64, 0, 0, 0])?;
    image
}

fn copy_in(helper: &Task, trampoline: Trampoline) -> io::Result<Task> {
    let mut injector = Injector::new(&helper.stopped()?, trampoline, Owner::Us, 0)?;
    Ok(clone(&mut injector, 0)?.0)
}
