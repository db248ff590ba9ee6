//! A range of addresses.

use heaplens_format::{Addr, Bytes};

/// From one address up to another, which is not part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first address.
    pub start: Addr,
    /// The first address after it.
    pub end: Addr,
}

impl Span {
    /// From `start` up to `end`.
    pub const fn new(start: Addr, end: Addr) -> Self {
        Self { start, end }
    }

    /// So many bytes from `start` on, as far as there are addresses.
    pub const fn of_length(start: Addr, length: Bytes) -> Self {
        Self { start, end: Addr::new(start.get().saturating_add(length.get())) }
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: Addr) -> bool {
        self.start <= address && address < self.end
    }

    /// How long it is; nothing where it ends before it begins.
    pub const fn length(&self) -> Bytes {
        Bytes::new(self.end.get().saturating_sub(self.start.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_not_part_of_a_span() {
        let span = Span::new(Addr::new(0x1000), Addr::new(0x1008));
        assert!(span.contains(Addr::new(0x1000)) && span.contains(Addr::new(0x1007)));
        assert!(!span.contains(Addr::new(0x0fff)) && !span.contains(Addr::new(0x1008)));
        assert_eq!(span.length(), Bytes::new(8));
        assert_eq!(Span::new(span.end, span.start).length(), Bytes::ZERO);
    }
}
