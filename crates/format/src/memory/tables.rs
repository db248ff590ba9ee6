//! The tables that outputs iterate over, as one value that travels with what is shown: those of this version, or those of a
//! test with a row more.

use super::{LINES, Line, LineRow, SPACES, Space, SpaceKind, SpaceRow};

/// Spaces, and the lines of their ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The spaces, the host's first.
    pub spaces: &'static [SpaceRow],
    /// The lines of all spaces, each space's in the order of outputs.
    pub lines: &'static [LineRow],
}

impl Default for Tables {
    /// Those of this version.
    fn default() -> Self {
        Self { spaces: SPACES, lines: LINES }
    }
}

impl Tables {
    /// The row of a space; `None` for one of a newer version.
    pub fn space(&self, space: Space) -> Option<&'static SpaceRow> {
        self.spaces.iter().find(|row| row.kind == space.kind)
    }

    /// The row of a line; of one that is not known, that of what is not explained.
    pub fn line(&self, line: Line) -> &'static LineRow {
        LineRow::find(self.lines, line)
    }

    /// The lines of a space's ledger.
    pub fn lines_of(&self, kind: SpaceKind) -> impl Iterator<Item = &'static LineRow> + Clone + use<> {
        self.lines.iter().filter(move |row| row.space == kind)
    }

    /// Those that are memory of the program.
    pub fn counted(&self, kind: SpaceKind) -> impl Iterator<Item = &'static LineRow> + Clone + use<> {
        self.lines_of(kind).filter(|row| row.counts)
    }

    /// The layers of a space's ledger, each once, in the order of their first lines.
    pub fn layers(&self, kind: SpaceKind) -> impl Iterator<Item = &'static str> + use<> {
        let lines = self.lines_of(kind);
        let is_first =
            move |at: usize, row: &LineRow| lines.clone().take(at).all(|one| one.layer != row.layer);
        let numbered = self.lines_of(kind).enumerate();
        numbered.filter(move |(at, row)| is_first(*at, row)).map(|(_, row)| row.layer)
    }

    /// The lines of a layer.
    pub fn of_layer(
        &self,
        kind: SpaceKind,
        layer: &'static str,
    ) -> impl Iterator<Item = &'static LineRow> + Clone + use<> {
        self.lines_of(kind).filter(move |row| row.layer == layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Allocator, ClaimedBy, Layer, SiteKind};

    #[test]
    fn layers_come_in_the_order_that_readers_of_json_and_tables_know() {
        let expected = [
            "python",
            "numpy",
            "native",
            "pool-unused",
            "allocator-free",
            "thread-stacks",
            "mapped-files",
            "mapped-anonymous",
            "inherited",
            "heaplens",
            "unexplained",
        ];
        // A new one may stand anywhere between these.
        let known = Tables::default().layers(SpaceKind::HOST).filter(|layer| expected.contains(layer));
        assert!(known.eq(expected));
    }

    #[test]
    fn a_line_is_known_by_its_number_its_key_and_by_who_claims_it() {
        for (at, row) in LINES.iter().enumerate() {
            assert_eq!(Line::from_number(row.line.number().into()), row.line);
            assert!(row.space != SpaceKind::HOST || Line::of(row.claim) == row.line);
            assert_eq!(Tables::default().line(row.line), row);
            assert!(LINES[..at].iter().all(|other| other.line != row.line && other.key != row.key));
        }
        assert_eq!(Line::from_number(250), Line::UNEXPLAINED);
        assert_eq!(Line::of(ClaimedBy::Nobody), Line::UNEXPLAINED);
    }

    #[test]
    fn what_can_be_claimed_has_a_line() {
        let unexplained = |claim| Line::of(claim) == Line::UNEXPLAINED;
        for &allocator in Allocator::ALL {
            assert!(allocator.row().pool.is_none() || !unexplained(ClaimedBy::UnusedPool(allocator)));
        }
        for &layer in Layer::ALL.iter().filter(|layer| has_blocks(**layer)) {
            assert!(!unexplained(ClaimedBy::LiveBlocks(layer)), "{layer:?}");
        }
    }

    fn has_blocks(layer: Layer) -> bool {
        let is_its = |kind: &&SiteKind| kind.row().layer == layer && !kind.category().row().is_mapped;
        !layer.row().object_files.is_empty() || SiteKind::ALL.iter().any(|kind| is_its(&kind))
    }

    #[test]
    fn every_space_has_lines_and_every_line_a_space() {
        let tables = Tables::default();
        for (at, space) in SPACES.iter().enumerate() {
            assert!(tables.counted(space.kind).count() > 0, "{space:?}");
            assert!(SPACES[..at].iter().all(|other| other.kind != space.kind));
        }
        assert!(LINES.iter().all(|row| SPACES.iter().any(|space| space.kind == row.space)));
    }

    #[test]
    fn every_number_of_format_2_6_means_what_it_did() {
        let keys = (0..14).map(|number| Tables::default().line(Line::new(number)).key);
        let expected = "Python Numpy Native PoolUnused AllocatorFree ThreadStacks MappedFiles Mapped Unhooked Shared \
                        Heaplens Unexplained Inherited TensorPools";
        assert!(keys.eq(expected.split(' ')));
    }
}
