//! Pointers to a base class other than the first, which lies inside its object. The compiler leaves the proof in the tables of virtual
//! functions: each says how far before it the object begins, and of which class that is.
//!
//! ```text
//!   block                     table of the object            table of the base at offset k
//!   │ 0: pointer ─────────▶   │ -16:  0                 │
//!   │    …                    │  -8:  type_info ──┐     │
//!   │ k: pointer ───────────────────────────────────┼───▶    │ -16: -k │
//!   │    …                    │   0:  functions   └─────▶    │  -8: the same type_info (0 with -fno-rtti) │
//! ```

use std::collections::{HashMap, HashSet};

use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{ReadMemory, Span};

use super::graph::Graph;
use super::roots::RootOrigin;
use crate::heap::memory::{BlockId, Pages, ReadWindow};

/// Blocks to which such pointers lead, and from where.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BasePointers {
    /// From roots.
    pub(crate) roots: Vec<BlockId>,
    /// From blocks.
    pub(crate) blocks: HashMap<BlockId, Vec<BlockId>>,
}

impl BasePointers {
    /// Those to blocks that are `wanted`: all of them may be read, so they had better be few. `files` is the memory of files, sorted.
    pub fn find(
        graph: &Graph,
        memory: &impl ReadMemory,
        files: &[Span],
        is_wanted: impl Fn(BlockId) -> bool,
    ) -> Self {
        let mut tables = FunctionTables { pages: Pages::new(memory), files };
        let objects =
            |block: &BlockId| is_wanted(*block) && tables.begins_object(graph.blocks().get(*block).address);
        let objects: HashSet<BlockId> = graph.blocks().ids().filter(objects).collect();
        let mut found = Self::default();
        if !objects.is_empty() {
            found.add_roots(graph, &mut tables, |block| objects.contains(&block));
            found.add_blocks(graph, memory, &mut tables, |block| objects.contains(&block));
        }
        found
    }

    fn add_roots<M: ReadMemory>(
        &mut self,
        graph: &Graph,
        tables: &mut FunctionTables<'_, M>,
        is_object: impl Fn(BlockId) -> bool,
    ) {
        let roots = graph.roots();
        for root in roots.all().iter().filter(|root| !root.edge.is_plain() && is_object(root.edge.block())) {
            let offset = match roots.origin(root) {
                RootOrigin::Word { address, .. } => {
                    let word = tables.pages.word(address).map(Addr::new);
                    word.and_then(|word| Some(graph.blocks().find(word)?.1))
                }
                _ => root.edge.offset().map(|offset| Bytes::new(offset.into())),
            };
            let block = root.edge.block();
            if offset.is_some_and(|offset| tables.is_base(graph.blocks().get(block).address, offset)) {
                self.roots.push(block);
            }
        }
    }

    fn add_blocks<M: ReadMemory>(
        &mut self,
        graph: &Graph,
        memory: &M,
        tables: &mut FunctionTables<'_, M>,
        is_object: impl Fn(BlockId) -> bool,
    ) {
        let mut window = ReadWindow::new(memory);
        for from in graph.blocks().ids() {
            let leads = graph.edges(from).iter().any(|edge| !edge.is_plain() && is_object(edge.block()));
            if !leads {
                continue;
            }
            let targets = self.blocks.entry(from).or_default();
            window.each_piece(graph.blocks().span(from), |_, words| {
                let found =
                    words.iter().filter_map(|word| graph.blocks().find(Addr::new(u64::from_le_bytes(*word))));
                for (block, offset) in found.filter(|&(block, _)| block != from && is_object(block)) {
                    if tables.is_base(graph.blocks().get(block).address, offset) {
                        targets.push(block);
                    }
                }
            });
        }
    }
}

/// Tables of virtual functions, which lie in files.
struct FunctionTables<'a, M> {
    pages: Pages<'a, M>,
    files: &'a [Span],
}

impl<M: ReadMemory> FunctionTables<'_, M> {
    /// Whether an object begins there that has virtual functions.
    fn begins_object(&mut self, start: Addr) -> bool {
        let Some(table) = self.table(start) else { return false };
        self.pages.word(before(table, 16)) == Some(0)
    }

    /// Whether so far into an object one of its bases begins.
    fn is_base(&mut self, object: Addr, offset: Bytes) -> bool {
        let (Some(whole), Some(base)) = (self.table(object), self.table(object + offset)) else {
            return false;
        };
        let is_there = self.pages.word(before(base, 16)) == Some(offset.get().wrapping_neg());
        let info = self.pages.word(before(whole, 8));
        let is_same = info.is_some() && self.pages.word(before(base, 8)) == info;
        let mut has_function =
            || self.pages.word(base).is_some_and(|word| is_in(self.files, Addr::new(word)));
        offset > Bytes::ZERO && is_there && is_same && (info != Some(0) || has_function())
    }

    fn table(&mut self, object: Addr) -> Option<Addr> {
        let table = Addr::new(self.pages.word(object)?);
        (table.get() & 7 == 0 && is_in(self.files, table)).then_some(table)
    }
}

fn is_in(files: &[Span], address: Addr) -> bool {
    let after = files.partition_point(|file| file.start <= address);
    after > 0 && address < files[after - 1].end
}

fn before(address: Addr, bytes: u64) -> Addr {
    Addr::new(address.get().wrapping_sub(bytes))
}

#[cfg(test)]
mod tests {
    use heaplens_snapshot::Block;

    use super::*;
    use crate::heap::synthetic::{Words, data, register};
    use crate::heap::{Blocks, LeakKinds, Roots};
    use heaplens_format::recording::LeakKind;

    const HEAP: u64 = 0x5555_5555_0000;
    const FILE: u64 = 0x5554_0000_0000;
    const INFO: u64 = FILE + 0x100;

    /// An object of 40 bytes with a base at 16, whose tables say what is given here, and a root that points to the base.
    fn kind_of_object(top_of_base: i64, info_of_base: u64, file: Span) -> LeakKind {
        let mut memory = Words::default();
        let (whole, base) = (FILE + 0x10, FILE + 0x40);
        // Memory is read by pages.
        memory.0.extend((FILE..FILE + 0x1000).step_by(8).map(|at| (at, 0)));
        memory.0.extend([(whole - 16, 0), (whole - 8, INFO), (whole, FILE)]);
        memory.0.extend([(base - 16, top_of_base as u64), (base - 8, info_of_base), (base, FILE)]);
        memory.0.extend([(HEAP, whole), (HEAP + 8, 1), (HEAP + 16, base), (HEAP + 24, 2), (HEAP + 32, 3)]);
        let block = Block { address: Addr::new(HEAP), size: Bytes::new(40), site: 1 };
        let roots = Roots { registers: vec![register(HEAP + 16)], ..Roots::default() };
        let graph = Graph::new(Blocks::new(vec![block]).unwrap(), &roots, &memory);
        let mut kinds = LeakKinds::of(&graph);
        let bases =
            BasePointers::find(&graph, &memory, &[file], |block| kinds.get(block) == LeakKind::PossiblyLost);
        kinds.promote(&graph, &bases);
        kinds.get(graph.blocks().ids().next().unwrap())
    }

    #[test]
    fn a_pointer_to_a_second_base_is_as_good_as_one_to_the_object() {
        let file = data(FILE, FILE + 0x1000).span;
        assert_eq!(kind_of_object(-16, INFO, file), LeakKind::StillReachable);
        assert_eq!(kind_of_object(-24, INFO, file), LeakKind::PossiblyLost, "the base of another object");
        assert_eq!(
            kind_of_object(-16, INFO + 8, file),
            LeakKind::PossiblyLost,
            "a member with a class of its own"
        );
        let elsewhere = data(FILE + 0x2000, FILE + 0x3000).span;
        assert_eq!(
            kind_of_object(-16, INFO, elsewhere),
            LeakKind::PossiblyLost,
            "numbers that look like tables"
        );
    }
}
