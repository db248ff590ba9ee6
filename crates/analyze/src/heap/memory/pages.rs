//! Foreign memory that is asked for here and there, a page at a time: what is near is asked for again.

use std::collections::HashMap;

use heaplens_format::Addr;
use heaplens_snapshot::ReadMemory;

const PAGE: usize = 4096;
/// Pages that are kept at most: 32 MiB.
const MOST: usize = 8192;

pub(crate) struct Pages<'m, M> {
    memory: &'m M,
    /// Shorter than a page where it cannot be read to its end.
    pages: HashMap<Addr, Vec<u8>>,
}

impl<'m, M: ReadMemory> Pages<'m, M> {
    pub(crate) fn new(memory: &'m M) -> Self {
        Self { memory, pages: HashMap::new() }
    }

    /// The word at an aligned address.
    pub(crate) fn word(&mut self, address: Addr) -> Option<u64> {
        if address.get() & 7 != 0 {
            return None;
        }
        let bytes = self.from(address).first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// The bytes before the next 0, if it comes soon enough.
    pub(crate) fn text(&mut self, address: Addr, longest: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < longest {
            let piece = self.from(Addr::new(address.get().checked_add(text.len() as u64)?));
            match piece.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&piece[..end]);
                    return (text.len() <= longest).then_some(text);
                }
                None if piece.is_empty() => return None,
                None => text.extend_from_slice(piece),
            }
        }
        None
    }

    /// What can be read from an address to the end of its page.
    fn from(&mut self, address: Addr) -> &[u8] {
        let start = Addr::new(address.get() / PAGE as u64 * PAGE as u64);
        if self.pages.len() >= MOST && !self.pages.contains_key(&start) {
            self.pages.clear();
        }
        let memory = self.memory;
        let page = self.pages.entry(start).or_insert_with(|| {
            let mut page = vec![0; PAGE];
            let there = memory.read(start.get(), &mut page).min(PAGE);
            page.truncate(there);
            page
        });
        page.get((address - start).get() as usize..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes from 4,090 on.
    struct Text(&'static [u8]);

    impl ReadMemory for Text {
        fn read(&self, address: u64, into: &mut [u8]) -> usize {
            let from = |at: u64| self.0.get(at.checked_sub(4090)? as usize).copied();
            let there = (address..).zip(&mut *into).map_while(|(at, byte)| {
                let known = if at < 4090 { 0 } else { from(at)? };
                *byte = known;
                Some(())
            });
            there.count()
        }
    }

    #[test]
    fn a_text_may_go_on_in_the_next_page() {
        let memory = Text(b"shop::Book\0rest");
        let mut pages = Pages::new(&memory);
        assert_eq!(pages.text(Addr::new(4090), 100).as_deref(), Some(&b"shop::Book"[..]));
        assert_eq!(pages.text(Addr::new(4096), 100).as_deref(), Some(&b"Book"[..]));
        assert_eq!(pages.text(Addr::new(4090), 9), None, "too long");
        assert_eq!(pages.text(Addr::new(4101), 100), None, "it has no end");
        assert_eq!(pages.text(Addr::new(1 << 40), 100), None);
        assert_eq!(pages.word(Addr::new(4088)), Some(u64::from_le_bytes(*b"\0\0shop::")));
        assert_eq!(pages.word(Addr::new(4104)), None, "the page ends");
        assert_eq!(pages.word(Addr::new(4089)), None);
    }
}
