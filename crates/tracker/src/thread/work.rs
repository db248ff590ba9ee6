//! The site travels with the work. Operations of a framework run on threads of its own, which have no Python frames; what
//! they allocate there belongs to the line that made the operation. The way is its name:
//!
//! ```text
//!   an operation is made ──▶ probe: name, Python frames ──▶ kept in the trie, under the name
//!                                                                │
//!   worker: the framework notes the name beside the thread ──▶ malloc ──▶ line that made it · native frames of the worker
//! ```
//!
//! Where a framework keeps the name, and what it looks like, is told by its hooks ([`WorkNames`]). What is inlined where it is called
//! is there under the name of the call and its own, joined by a slash. A name that operations of two lines have says nothing,
//! and leaves the stack as it is.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::arena::frame::{frame_word, split_frame};
use heaplens_format::arena::python::{FRAME_INTERN_MODULE, split_python_frame};
use heaplens_format::{Loss, NodeId};

use crate::lifecycle::start as process;
use crate::python::{Line, Maker};
use crate::tables::arena::Arena;
use crate::tables::trie::{Trie, extend_hash};
use crate::thread::thread_slot::{self as seat, Guard, Nesting};
use crate::tracker::Tracker;

/// Where the paths of names begin, apart from those of stacks; and those of names that two lines have.
const NAMES: u64 = 0x7097_0000_0000_0001;
const SHARED: u64 = 0x7097_5000_0000_0001;

/// Longer names are not looked at.
const LONGEST: usize = 1024;
/// Calls in calls that are told apart in a name.
const MOST_PARTS: usize = 32;
/// The call of one line may be at two instructions that are so close together, once the interpreter has specialised it.
const SAME_CALL: u32 = 4;

/// How a framework names what its threads run.
#[derive(Debug)]
pub struct WorkNames {
    /// The name, read from the record that is kept beside the thread: an address.
    pub running: unsafe fn(u64) -> Option<&'static [u8]>,
    /// Whether a part in front of a name stands for a call, though nothing of that name was made.
    pub is_call: fn(&[u8]) -> bool,
}

/// Where a thread says what it runs.
#[derive(Debug)]
#[repr(C)]
pub struct Annotation {
    /// The address of the record; 0 where the thread never said anything.
    record: u64,
    names: Option<&'static WorkNames>,
}

impl Annotation {
    /// From now on this is where. The record must stay readable as long as the thread lives.
    #[inline(always)]
    pub fn set(&mut self, record: u64, names: &'static WorkNames) {
        self.names = Some(names);
        self.record = record;
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.record == 0
    }
}

/// How often a name came to be shared: what was found by names before may not hold.
#[derive(Debug)]
pub struct Work {
    shared: AtomicU64,
}

impl Work {
    /// None was made yet.
    pub const fn new() -> Self {
        Self { shared: AtomicU64::new(0) }
    }

    /// A number for the operation that this thread runs; 0: none that it has told of.
    #[inline(always)]
    pub fn running(&self) -> u64 {
        if seat::annotation().is_empty() { 0 } else { self.number() }
    }

    #[inline(never)]
    fn number(&self) -> u64 {
        annotated().map_or(0, |(name, _)| extend_hash(hash(NAMES, name), self.shared.load(Relaxed)))
    }

    /// The frames that made the operation that this thread runs.
    pub fn maker(&self, arena: &Arena, trie: &Trie) -> Option<NodeId> {
        let (name, names) = annotated()?;
        maker_of(arena, trie, name, names)
    }

    fn keep(&self, arena: &Arena, trie: &Trie, name: &[u8], maker: NodeId) -> Option<()> {
        let word = |node: NodeId| frame_word(FRAME_INTERN_MODULE, u64::from(node.get()));
        let Some(known) = kept(arena, trie, name) else {
            trie.intern(arena, word(maker), hash(NAMES, name))?;
            return Some(());
        };
        if !is_same_line(arena, trie, known, maker) && trie.find(arena, hash(SHARED, name)).is_none() {
            trie.intern(arena, word(maker), hash(SHARED, name))?;
            self.shared.fetch_add(1, Relaxed);
        }
        Some(())
    }
}

impl Default for Work {
    fn default() -> Self {
        Self::new()
    }
}

impl Tracker {
    /// The user's code has made an operation of this name, here or at a line that the caller knows. Whether that was all: else the
    /// line must be given, since the code that runs was made after the user's.
    #[cold]
    pub fn on_operation(&self, name: &[u8], at: Option<Line<'_>>) -> bool {
        let Some(guard) = Guard::enter(Nesting::Never) else { return true };
        if !process::is_recording(&guard) || name.is_empty() || name.len() > LONGEST {
            return true;
        }
        let (Some(seat), Some(thread)) = (guard.seat(), self.python.thread()) else { return true };
        let maker = match at {
            Some(line) => seat.python.maker_at(&self.arena, &self.trie, line),
            None => match seat.python.maker(thread, &self.arena, &self.trie) {
                Maker::Known(maker) => Some(maker),
                Maker::Rewritten => return false,
                Maker::Nobody => return true,
            },
        };
        if maker.and_then(|maker| self.work.keep(&self.arena, &self.trie, name, maker)).is_none() {
            self.arena.lose(Loss::ArenaFull);
        }
        true
    }
}

/// What this thread says that it runs.
fn annotated<'a>() -> Option<(&'a [u8], &'static WorkNames)> {
    let Annotation { record, names } = seat::annotation();
    let names = names.filter(|_| *record != 0)?;
    // SAFETY: the thread's own record, as the hook that set it said.
    unsafe { (names.running)(*record) }.map(|name| (name, names))
}

/// Reads a name from a record that begins with it: a `std::string_view` (its length first), or a C string.
///
/// # Safety
/// The record is the thread's own and has two words; what it names, the thread is running, so the name lives.
pub unsafe fn view_or_text(record: u64) -> Option<&'static [u8]> {
    // SAFETY: as the caller says. No length reaches into the first page, and no text begins there.
    unsafe {
        let [first, second] = (record as *const [u64; 2]).read_volatile();
        match first {
            0 => None,
            length if length <= LONGEST as u64 && second > 4096 => {
                Some(core::slice::from_raw_parts(second as *const u8, length as usize))
            }
            text if text > 4096 => {
                let length = libc::strnlen(text as *const libc::c_char, LONGEST + 1);
                (length <= LONGEST).then(|| core::slice::from_raw_parts(text as *const u8, length))
            }
            _ => None,
        }
    }
}

/// The maker of an operation, by its whole name, else by its name behind that of the calls that it was inlined into.
fn maker_of(arena: &Arena, trie: &Trie, name: &[u8], names: &WorkNames) -> Option<NodeId> {
    let mut own = name;
    for _ in 0..MOST_PARTS {
        if let Some(node) = kept(arena, trie, own) {
            return trie.find(arena, hash(SHARED, own)).is_none().then_some(node);
        }
        own = inner(arena, trie, own, names)?;
    }
    None
}

/// The name without that of the outermost call in front of it: `call/name`, or `loop/body/_12/name`.
fn inner<'n>(arena: &Arena, trie: &Trie, name: &'n [u8], names: &WorkNames) -> Option<&'n [u8]> {
    let slashes = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let (call, rest) = slashes
        .map(|at| (&name[..at], &name[at + 1..]))
        .find(|(call, _)| kept(arena, trie, call).is_some() || (names.is_call)(call))?;
    (!call.is_empty()).then_some(rest)
}

/// `…/_12`: how a part of a loop or of a condition is told from others.
pub fn ends_in_number(call: &[u8]) -> bool {
    let last = call.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    last.len() > 1 && last[0] == b'_' && last[1..].iter().all(u8::is_ascii_digit)
}

/// The node that was kept under a name.
fn kept(arena: &Arena, trie: &Trie, name: &[u8]) -> Option<NodeId> {
    let node = trie.find(arena, hash(NAMES, name))?;
    Some(NodeId::new(split_frame(trie.frame(arena, node)).1 as u32))
}

/// Whether two makers are one line of the user's: their outermost frames.
fn is_same_line(arena: &Arena, trie: &Trie, one: NodeId, other: NodeId) -> bool {
    let outermost = |node: NodeId| trie.frames(arena, node).last().and_then(split_python_frame);
    let (Some((code, at)), Some((other_code, other_at))) = (outermost(one), outermost(other)) else {
        return one == other;
    };
    code == other_code && at.abs_diff(other_at) <= SAME_CALL
}

/// The hash of a name, eight bytes at a time.
fn hash(seed: u64, name: &[u8]) -> u64 {
    let (words, rest) = name.as_chunks::<8>();
    let hash = words.iter().fold(seed, |hash, word| extend_hash(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    extend_hash(extend_hash(hash, u64::from_le_bytes(last)), name.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::arena::tests::scratch;
    use crate::tables::trie::ROOT_HASH;
    use heaplens_format::arena::python::python_frame;

    static NAMES: WorkNames = WorkNames { running: view_or_text, is_call: ends_in_number };

    /// Operations of these names, each made by an instruction of the user's.
    fn made(operations: &[(&str, u32, u32)]) -> (Arena, Trie, Work) {
        let (arena, trie, table) = (scratch(), Trie::new(), Work::new());
        assert!(trie.reset(&arena));
        for &(name, code, instruction) in operations {
            let (line, hash) =
                trie.extend(&arena, NodeId::new(0), ROOT_HASH, python_frame(code, instruction));
            let (maker, _) = trie.extend(&arena, line, hash, python_frame(99, 7));
            table.keep(&arena, &trie, name.as_bytes(), maker).unwrap();
        }
        (arena, trie, table)
    }

    fn line(tables: &(Arena, Trie, Work), name: &str) -> Option<(u32, u32)> {
        let (arena, trie, _) = tables;
        let node = maker_of(arena, trie, name.as_bytes(), &NAMES)?;
        trie.frames(arena, node).last().and_then(split_python_frame)
    }

    #[test]
    fn an_operation_is_the_line_that_made_it() {
        let tables = made(&[("MatMul", 1, 20), ("a_rather_long_name/MatMul", 2, 40)]);
        assert_eq!(line(&tables, "MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "a_rather_long_name/MatMul"), Some((2, 40)));
        assert_eq!(line(&tables, "Mat"), None);
        assert_eq!(line(&tables, "a_rather_long_name/Add"), None);
    }

    #[test]
    fn what_was_inlined_is_known_behind_the_name_of_the_call_alone() {
        let tables = made(&[
            ("step/MatMul", 1, 20),
            ("PartitionedCall", 2, 40),
            ("while", 3, 60),
            ("while/Add", 3, 70),
        ]);
        assert_eq!(line(&tables, "PartitionedCall/step/MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "PartitionedCall/PartitionedCall/step/MatMul"), Some((1, 20)));
        assert_eq!(line(&tables, "while/body/_3/while/Add"), Some((3, 70)));
        assert_eq!(line(&tables, "gradients/step/MatMul"), None, "nobody made a call of that name");
        assert_eq!(line(&tables, "PartitionedCall/"), None);
        assert_eq!(line(&tables, "/MatMul"), None);
    }

    #[test]
    fn a_name_of_two_lines_is_nobodys() {
        let tables = made(&[("MatMul", 1, 20), ("Add", 1, 60), ("MatMul", 1, 90), ("MatMul", 1, 20)]);
        assert_eq!(line(&tables, "MatMul"), None);
        assert_eq!(line(&tables, "Add"), Some((1, 60)));
        assert_eq!(tables.2.shared.load(Relaxed), 1);
        let again = made(&[("MatMul", 1, 20), ("MatMul", 1, 24)]);
        assert_eq!(line(&again, "MatMul"), Some((1, 20)), "the same call, specialised");
    }

    #[test]
    fn a_thread_says_what_it_runs_in_either_way_or_not_at_all() {
        let name = c"layer/MatMul";
        let view = [name.count_bytes() as u64, name.as_ptr() as u64];
        let text = [name.as_ptr() as u64, 12];
        let told = |record: Option<&[u64; 2]>| {
            seat::annotation().set(record.map_or(0, |record| record.as_ptr() as u64), &NAMES);
            let found = annotated().map(|(name, _)| name.to_vec());
            seat::annotation().set(0, &NAMES);
            found
        };
        assert_eq!(told(Some(&view)).as_deref(), Some(name.to_bytes()));
        assert_eq!(told(Some(&text)).as_deref(), Some(name.to_bytes()));
        assert_eq!(told(Some(&[0, 7])), None);
        assert_eq!(told(Some(&[12, 0])), None);
        assert_eq!(told(None), None);
    }
}
