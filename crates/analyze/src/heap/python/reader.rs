//! Words of foreign memory, one at a time or in rows. Pages that were read are kept: the process stands still, and objects
//! that belong together lie near each other.

use std::cell::RefCell;
use std::ops::ControlFlow;

use heaplens_cpython::ReadMemory;
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::Span;

const PAGE: u64 = 4096;
const PAGES: usize = 256;
/// The most bytes of a row that are read at a time.
const PIECE: usize = 64 << 10;

/// An address so far into an object.
#[inline]
pub(super) fn after(object: Addr, offset: u64) -> Addr {
    object + Bytes::new(offset)
}

/// From one address up to another.
pub(super) fn span(start: u64, end: u64) -> Span {
    Span::new(Addr::new(start), Addr::new(end))
}

/// Memory of a process, of which pages are kept.
pub(super) struct Reader<'m, M> {
    memory: &'m M,
    pages: RefCell<Vec<Page>>,
}

#[derive(Clone)]
struct Page {
    start: u64,
    bytes: Box<[u8]>,
}

impl<M: ReadMemory> ReadMemory for Reader<'_, M> {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        if self.fill(address, into) { into.len() } else { self.memory.read(address, into) }
    }

    fn fill(&self, address: u64, into: &mut [u8]) -> bool {
        let offset = (address % PAGE) as usize;
        if address.checked_add(into.len() as u64).is_none() {
            return false;
        }
        if offset + into.len() > PAGE as usize {
            return self.memory.read(address, into) == into.len();
        }
        self.copy_page(address - offset as u64, offset, into) || self.memory.read(address, into) == into.len()
    }
}

impl<'m, M: ReadMemory> Reader<'m, M> {
    pub(super) fn new(memory: &'m M) -> Self {
        let empty = Page { start: u64::MAX, bytes: Box::default() };
        Self { memory, pages: RefCell::new(vec![empty; PAGES]) }
    }

    fn copy_page(&self, start: u64, offset: usize, into: &mut [u8]) -> bool {
        let mut pages = self.pages.borrow_mut();
        let page = &mut pages[(start / PAGE) as usize % PAGES];
        if page.start != start {
            let mut bytes = vec![0; PAGE as usize];
            let filled = self.memory.read(start, &mut bytes).min(bytes.len());
            bytes.truncate(filled);
            *page = Page { start, bytes: bytes.into() };
        }
        let found = page.bytes.get(offset..offset + into.len());
        found.inspect(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    /// The word so far into an object.
    pub(super) fn word_in(&self, object: Addr, offset: u64) -> Option<u64> {
        self.word(after(object, offset).get())
    }

    /// The half word so far into an object.
    pub(super) fn half_in(&self, object: Addr, offset: u64) -> Option<u32> {
        self.half(after(object, offset).get())
    }

    /// The pointer so far into an object.
    pub(super) fn pointer_in(&self, object: Addr, offset: u64) -> Option<Addr> {
        self.pointer(after(object, offset).get()).map(Addr::new)
    }

    /// Rows of so many words, as far as they can be read; each with its number.
    pub(super) fn each_row<const N: usize>(
        &self,
        start: Addr,
        count: u64,
        mut visit: impl FnMut(u64, [u64; N]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let rows_at_a_time = (PIECE / (8 * N)) as u64;
        let mut buffer = vec![0; (count.min(rows_at_a_time) as usize) * 8 * N];
        let mut done = 0;
        while done < count {
            let rows = (count - done).min(rows_at_a_time);
            let piece = &mut buffer[..rows as usize * 8 * N];
            let Some(address) = (8 * N as u64).checked_mul(done).and_then(|far| start.get().checked_add(far))
            else {
                break;
            };
            if !self.fill(address, piece) {
                break;
            }
            for (row, words) in (done..).zip(piece.as_chunks::<8>().0.chunks_exact(N)) {
                visit(row, std::array::from_fn(|at| u64::from_le_bytes(words[at])))?;
            }
            done += rows;
        }
        ControlFlow::Continue(())
    }

    /// A text of C, if it is short and of printable ASCII.
    pub(super) fn c_text(&self, address: Addr, most: usize) -> Option<String> {
        let mut text = String::new();
        for at in address.get()..address.get().checked_add(most as u64)? {
            match self.byte(at)? {
                0 => return (!text.is_empty()).then_some(text),
                byte @ 0x20..0x7f => text.push(char::from(byte)),
                _ => return None,
            }
        }
        None
    }

    /// The memory that it reads, for what is read in large pieces.
    pub(super) fn memory(&self) -> &'m M {
        self.memory
    }
}
