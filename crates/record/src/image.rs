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

use heaplens_format::arena::header::{HEADER_SIZE, HeaderView};
use heaplens_format::{Bytes, Nanos, Pid};

use crate::frozen::NotFrozen;
use crate::headroom;
use crate::inject::{self, Injector};
use crate::ledger::{Copied, refusal};
use crate::procfs;
use crate::ptrace::{self, Stop, Tid, Waited};
use crate::trace::{Stopped, Threads, Tracer};

/// A stack that is nowhere: whoever runs on it ends at once. Nobody does.
const NO_STACK: u64 = 8;
/// The recorder's end is the image's.
const WITH_US: libc::c_int = libc::PTRACE_O_EXITKILL;

/// What was seen in the stop.
#[derive(Debug)]
pub(crate) struct Image {
    /// The image.
    pub(crate) process: Pid,
    /// The threads of the program.
    pub(crate) threads: Vec<Stopped>,
    /// Its tables.
    pub(crate) tables: Copied,
    /// How long it stood still.
    pub(crate) pause: Nanos,
}

/// Takes an image. `recorder` is the process that adopts orphans of the program.
pub(crate) fn take(process: Pid, recorder: Pid, arena: &File) -> Result<(Image, Tracer), NotFrozen> {
    let arena = arena.try_clone().map_err(NotFrozen::Memory)?;
    let tables = prepare(process, &arena)?;
    let condition = procfs::condition(process).ok_or(NotFrozen::Gone)?;
    let way = if condition.parent == recorder { Way::Sibling } else { Way::Orphan };
    let instruction = inject::instruction_of(process).ok_or(NotFrozen::NoInstruction)?;
    Tracer::start(move || trace(process, way, instruction, tables, &arena))
}

/// Whatever speaks against it is found out before anything is stopped.
fn prepare(process: Pid, arena: &File) -> Result<Copied, NotFrozen> {
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
    match headroom::free_for(process) {
        Some(free) if free < needed => Err(NotFrozen::Short { free, needed }),
        _ => Copied::prepare(arena).map_err(NotFrozen::Memory),
    }
}

/// How the image comes about without a child of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sibling,
    Orphan,
}

/// The part that runs in a thread of its own, which keeps the image.
fn trace(
    process: Pid,
    way: Way,
    instruction: u64,
    mut tables: Copied,
    arena: &File,
) -> Result<(Image, Frame), NotFrozen> {
    let threads = Threads::stop(process)?;
    let seen = threads.all().to_vec();
    let (copy, copied) = std::thread::scope(|scope| {
        let copying = scope.spawn(|| tables.fill(arena));
        let copy = copy_of(&threads, way, instruction);
        (copy, copying.join().unwrap_or_else(|_| Err(io::Error::other("the copy failed"))))
    });
    let pause = {
        let since = threads.started();
        drop(threads);
        Nanos::new(since.elapsed().as_nanos() as u64)
    };
    let copy = copy?;
    copied.map_err(NotFrozen::Memory)?;
    copy.close_files(instruction);
    Ok((Image { process: Pid::new(copy.0 as u32), threads: seen, tables, pause }, copy))
}

/// The copy itself, until it is dropped.
#[derive(Debug)]
struct Frame(Tid);

impl Frame {
    /// Waits for a new task to stand still, before its first instruction.
    fn of(born: Option<Tid>) -> io::Result<Self> {
        let frame =
            Self(born.ok_or_else(|| io::Error::other("the kernel does not tell of the new process"))?);
        loop {
            match ptrace::wait(frame.0)? {
                Waited::Stopped(Stop::Asked) => return Ok(frame),
                Waited::Stopped(_) => ptrace::go_on_to_call(frame.0, 0)?,
                Waited::Gone | Waited::Late => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
            }
        }
    }

    fn stopped(&self) -> io::Result<Stopped> {
        Ok(Stopped { thread: self.0, registers: ptrace::registers(self.0)? })
    }

    /// The other ends of the program's pipes must see when it closes its own.
    fn close_files(&self, instruction: u64) {
        let close = || -> io::Result<()> {
            let mut injector = Injector::new(&self.stopped()?, instruction, WITH_US)?;
            injector.call(libc::SYS_close_range, [0, u64::from(u32::MAX), 0, 0, 0, 0])?;
            Ok(())
        };
        // Before Linux 5.9 there is no such call: then they see it when the image is gone.
        close().ok();
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: the process is stopped and ours: its number is nobody else's before it is buried.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        ptrace::bury(self.0, true);
    }
}

fn copy_of(threads: &Threads, way: Way, instruction: u64) -> Result<Frame, NotFrozen> {
    let thread = threads.all().first().ok_or(NotFrozen::Gone)?;
    let mut injector = Injector::new(thread, instruction, 0).map_err(NotFrozen::Copy)?;
    let frame = match way {
        Way::Sibling => clone(&mut injector, libc::CLONE_PARENT),
        Way::Orphan => orphan(&mut injector, instruction),
    };
    let frame = frame.map_err(NotFrozen::Copy)?;
    ptrace::set_options(frame.0, WITH_US).map_err(NotFrozen::Copy)?;
    Ok(frame)
}

fn clone(injector: &mut Injector, flags: libc::c_int) -> io::Result<Frame> {
    Frame::of(injector.call(libc::SYS_clone, [flags as u64, NO_STACK, 0, 0, 0, 0])?.born)
}

/// The helper has no signal for its end, so the program is told nothing, and it is taken from the program's books at once.
fn orphan(injector: &mut Injector, instruction: u64) -> io::Result<Frame> {
    let flags = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES;
    let made = injector.call(libc::SYS_clone, [flags as u64, NO_STACK, 0, 0, 0, 0])?;
    let helper = Frame::of(made.born)?;
    let frame = copy_in(&helper, instruction);
    drop(helper);
    injector.call(libc::SYS_wait4, [made.value, 0, libc::__WALL as u64, 0, 0, 0])?;
    frame
}

fn copy_in(helper: &Frame, instruction: u64) -> io::Result<Frame> {
    let mut injector = Injector::new(&helper.stopped()?, instruction, 0)?;
    clone(&mut injector, 0)
}
