//! Which symbol covers an address. A symbol covers its value and as many bytes as its size says; between two symbols
//! there is no name. (In a library that exports few functions most code has no covering symbol, and the nearest one
//! would be a lie.)

/// A function's range in the file, and what finds its name again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span<T> {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) symbol: T,
}

impl<T> Span<T> {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }
}

/// Symbols sorted by their start.
pub(super) struct Covering<T> {
    spans: Vec<Span<T>>,
    /// The furthest end among the spans up to here: how far a search must go back.
    furthest: Vec<u64>,
}

impl<T: Copy> Covering<T> {
    pub(super) fn new(mut spans: Vec<Span<T>>) -> Self {
        spans.retain(|span| span.size > 0);
        spans.sort_by_key(|span| span.start);
        let furthest = spans.iter().scan(0, |end: &mut u64, span| {
            *end = span.end().max(*end);
            Some(*end)
        });
        Self { furthest: furthest.collect(), spans }
    }

    /// The symbols that cover an address, the one that begins last first.
    pub(super) fn at(&self, address: u64) -> impl Iterator<Item = &Span<T>> {
        let after = self.spans.partition_point(|span| span.start <= address);
        let reach = self.spans[..after].iter().zip(&self.furthest).rev();
        let reach = reach.take_while(move |(_, furthest)| **furthest > address);
        reach.map(|(span, _)| span).filter(move |span| address < span.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: u64, size: u64) -> Span<()> {
        Span { start, size, symbol: () }
    }

    #[test]
    fn between_two_symbols_there_is_no_name() {
        let covering = Covering::new(vec![span(10, 5), span(20, 5)]);
        assert_eq!(covering.at(14).count(), 1);
        assert_eq!(covering.at(15).count(), 0);
        assert_eq!(covering.at(19).count(), 0);
        assert_eq!(covering.at(20).count(), 1);
    }

    #[test]
    fn a_symbol_without_a_size_covers_nothing() {
        assert_eq!(Covering::new(vec![span(10, 0)]).at(10).count(), 0);
    }

    proptest! {
        #[test]
        fn the_search_finds_what_looking_at_every_symbol_finds(
            spans in prop::collection::vec((0u64..200, 0u64..60), 0..40),
            address in 0u64..260,
        ) {
            let spans: Vec<_> = spans.into_iter().map(|(start, size)| span(start, size)).collect();
            let naive = spans.iter().filter(|span| span.start <= address && address < span.end()).count();
            prop_assert_eq!(Covering::new(spans).at(address).count(), naive);
        }
    }
}
