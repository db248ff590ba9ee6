//! What a heap profile says: gperftools' text, through one buffer, by one thread at a time.
//!
//! ```text
//!   heap profile:   1003: 62917584 [ 52204: 115346432] @ heapprofile       written last: the sum of the lines
//!     1000: 62914560 [  1000: 62914560] @ 0x5555555561ff 0x…               sites, innermost frame first
//!        …                              @ 0x0                              the sum of those that have no line
//!
//!   MAPPED_LIBRARIES:                                                      /proc/self/maps
//! ```

use core::cell::UnsafeCell;

use heaplens_format::NodeId;
use heaplens_format::arena::Pseudo;
use heaplens_format::arena::frame::{FRAME_PSEUDO_MODULE, split_frame};
use heaplens_format::memory::{Category, SiteKind};

use super::largest::Largest;
use crate::sys::{self, Descriptor, Errno};
use crate::tables::sites::{self, Totals};
use crate::tables::weight::Weight;
use crate::tracker::Tracker;

const BUFFER: usize = 64 << 10;
/// The longest number, and the longest address with its `0x` and a blank.
const NUMBER: usize = 20;
/// Space for the numbers of the first line, whatever they will be.
const HEAD: &[u8] = b"heap profile: ";
/// A path of a trie that is longer is none.
const MOST_FRAMES: usize = 1 << 16;

struct Buffer(UnsafeCell<[u8; BUFFER]>);
// SAFETY: only the thread that `Profiles::begin` made the writer uses it.
unsafe impl Sync for Buffer {}
static BYTES: Buffer = Buffer(UnsafeCell::new([0; BUFFER]));

/// Writes the whole file. The caller is the only writer.
pub(super) fn write(tracker: &Tracker, file: &Descriptor) -> Result<(), Errno> {
    // SAFETY: as the caller says, and nothing of this outlives the call.
    let buffer = unsafe { &mut *BYTES.0.get() };
    let mut text = Text { file, buffer, used: 0, left: sys::soft_limit(libc::RLIMIT_FSIZE) };
    text.head(Totals::default())?;
    let mut sum = Totals::default();
    let mut rest = Totals::default();
    let mut largest = Largest::of(tracker);
    for (node, totals) in heap_sites(tracker) {
        add(&mut sum, totals);
        if largest.takes(totals) {
            text.amounts(totals, 0)?;
            text.stack(tracker, node)?;
        } else {
            add(&mut rest, totals);
        }
    }
    if rest.allocated.blocks != 0 {
        text.amounts(rest, 0)?;
        text.put(b" 0x0\n")?;
    }
    text.put(b"\nMAPPED_LIBRARIES:\n")?;
    text.libraries()?;
    text.head_again(sum)
}

fn add(sum: &mut Totals, more: Totals) {
    for (sum, more) in [(&mut sum.live, more.live), (&mut sum.allocated, more.allocated)] {
        sum.bytes = sum.bytes.wrapping_add(more.bytes);
        sum.blocks = sum.blocks.wrapping_add(more.blocks);
    }
}

/// The frames of a stack, innermost first.
fn frames(tracker: &Tracker, node: NodeId) -> impl Iterator<Item = u64> {
    tracker.trie.frames(&tracker.arena, node).take(MOST_FRAMES)
}

/// The sites of blocks, each with its node.
fn heap_sites(tracker: &Tracker) -> impl Iterator<Item = (NodeId, Totals)> {
    let sites = sites::all(&tracker.arena).filter(|(_, totals)| totals.allocated.blocks != 0);
    sites.filter(|&(node, _)| is_heap(tracker, node))
}

/// Whether a site is of blocks: mappings and events of libraries are counted like them, but are none.
fn is_heap(tracker: &Tracker, node: NodeId) -> bool {
    !frames(tracker, node).filter_map(Pseudo::from_frame).any(|pseudo| {
        SiteKind::of(pseudo).is_some_and(|kind| kind.category() != Category::Heap)
            || matches!(pseudo, Pseudo::Counter(_))
    })
}

/// Text on its way into a file.
struct Text<'a> {
    file: &'a Descriptor,
    buffer: &'a mut [u8; BUFFER],
    used: usize,
    /// Bytes that the file may still have: one more would raise SIGXFSZ.
    left: u64,
}

impl Text<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        if bytes.len() > BUFFER - self.used {
            self.flush()?;
        }
        let target = self.buffer[self.used..].get_mut(..bytes.len()).ok_or(Errno(libc::EOVERFLOW))?;
        target.copy_from_slice(bytes);
        self.used += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        self.left = self.left.checked_sub(self.used as u64).ok_or(Errno(libc::EFBIG))?;
        self.file.write_all(&self.buffer[..self.used])?;
        self.used = 0;
        Ok(())
    }

    /// A number, and before it as many blanks as make it so wide.
    fn number(&mut self, number: u64, width: usize) -> Result<(), Errno> {
        let mut digits = [b' '; NUMBER];
        let mut start = NUMBER;
        let mut rest = number;
        while start == NUMBER || rest != 0 {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.put(&digits[start.min(NUMBER.saturating_sub(width))..])
    }

    /// ` 0x5555555561ff`.
    fn address(&mut self, address: u64) -> Result<(), Errno> {
        let mut digits = [0u8; NUMBER];
        let mut start = NUMBER;
        let mut rest = address;
        while start == NUMBER || rest != 0 {
            start -= 1;
            digits[start] = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        self.put(b" 0x")?;
        self.put(&digits[start..])
    }

    /// `  1000: 62914560 [  1000: 62914560] @`.
    fn amounts(&mut self, totals: Totals, width: usize) -> Result<(), Errno> {
        let Totals { live, allocated } = totals;
        self.pair(live, width)?;
        self.put(b" [")?;
        self.pair(allocated, width)?;
        self.put(b"] @")
    }

    fn pair(&mut self, Weight { bytes, blocks }: Weight, width: usize) -> Result<(), Errno> {
        self.number(blocks, width.max(6))?;
        self.put(b": ")?;
        self.number(bytes, width.max(8))
    }

    /// As long with whatever sum.
    fn head(&mut self, sum: Totals) -> Result<(), Errno> {
        self.put(HEAD)?;
        self.amounts(sum, NUMBER)?;
        self.put(b" heapprofile\n")
    }

    /// What other threads did meanwhile may or may not be in a line: the sum is that of the lines.
    fn head_again(&mut self, sum: Totals) -> Result<(), Errno> {
        self.flush()?;
        self.head(sum)?;
        let is_written = self.file.write_at(&self.buffer[..self.used], 0);
        if is_written { Ok(()) } else { Err(Errno(libc::EIO)) }
    }

    /// Return addresses. Our own frame below `main` is not the program's. The reader goes back to the call by itself, but for the
    /// innermost one.
    fn stack(&mut self, tracker: &Tracker, node: NodeId) -> Result<(), Errno> {
        let own = tracker.unwinder.modules.own();
        let mut back = 1;
        for (module, address) in frames(tracker, node).map(split_frame) {
            if module != FRAME_PSEUDO_MODULE && (module != own || own == 0) {
                self.address(address.saturating_sub(back))?;
                back = 0;
            }
        }
        if back == 1 {
            self.address(0)?; // a line without any would be none to the reader
        }
        self.put(b"\n")
    }

    fn libraries(&mut self) -> Result<(), Errno> {
        self.flush()?;
        let maps = Descriptor::open(c"/proc/self/maps", libc::O_RDONLY, 0)?;
        loop {
            self.used = maps.read(&mut self.buffer[..]).len();
            if self.used == 0 {
                return Ok(());
            }
            self.flush()?;
        }
    }
}
