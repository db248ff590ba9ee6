//! What the blocks of a site are, and everything that follows from it.

use super::{Category, Layer, SpaceKind};
use crate::arena::Pseudo;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteKindRow {
    /// Its name in every output.
    pub name: &'static str,
    /// What stands below the outermost frame of such a stack in the arena; `None` for ordinary stacks.
    pub pseudo: Option<Pseudo>,
    /// Where its blocks lie.
    pub space: SpaceKind,
    /// What they are counted with.
    pub category: Category,
    /// Whose they are.
    pub layer: Layer,
    /// Whether object files may have a layer of their own for theirs.
    pub is_shared_by_layers: bool,
}

impl SiteKindRow {
    const PLAIN: Self = Self {
        name: "",
        pseudo: None,
        space: SpaceKind::HOST,
        category: Category::Heap,
        layer: Layer::Native,
        is_shared_by_layers: false,
    };
}

rows! {
    /// What a site's blocks are.
    SiteKind, SiteKindRow;

    /// Blocks of the heap.
    Heap = 0 { name: "heap", is_shared_by_layers: true }
    /// Anonymous mappings that the program made itself.
    AnonymousMapping = 1 {
        name: "anonymous-mapping",
        pseudo: Some(Pseudo::AnonymousMapping),
        category: Category::Anonymous,
        layer: Layer::MappedAnonymous,
    }
    /// Mapped files.
    FileMapping = 2 {
        name: "file-mapping",
        pseudo: Some(Pseudo::FileMapping),
        category: Category::Files,
        layer: Layer::MappedFiles,
    }
    /// `brk`/`sbrk` by the program itself.
    Break = 3 {
        name: "break",
        pseudo: Some(Pseudo::Break),
        category: Category::Anonymous,
        layer: Layer::MappedAnonymous,
    }
    /// Small objects of Python, out of the arenas that its allocator maps: no heap blocks.
    PythonObject = 4 {
        name: "python-object",
        pseudo: Some(Pseudo::PythonObject),
        category: Category::Objects,
        layer: Layer::Python,
    }
    /// Blocks of the heap that Python's allocator asked for: objects too large for its arenas, or its own tables.
    PythonBlock = 5 { name: "python-block", pseudo: Some(Pseudo::PythonBlock), layer: Layer::Python }
}

impl SiteKind {
    /// The kind of the stacks that stand on this; `None` where it says something else about a stack.
    pub fn of(pseudo: Pseudo) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.row().pseudo == Some(pseudo))
    }

    /// What its blocks are counted with.
    pub const fn category(self) -> Category {
        self.row().category
    }

    /// Whose the blocks of a site are, of whose innermost frame the object file's layer is known.
    pub fn layer(self, of_object_file: Option<Layer>) -> Layer {
        let row = self.row();
        of_object_file.filter(|_| row.is_shared_by_layers).unwrap_or(row.layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_its_number_and_by_what_its_stacks_stand_on() {
        for &kind in SiteKind::ALL {
            assert_eq!(SiteKind::from_number(kind as u64), Some(kind));
            assert!(kind.row().pseudo.is_none_or(|pseudo| SiteKind::of(pseudo) == Some(kind)));
        }
        assert_eq!((SiteKind::from_number(99), SiteKind::of(Pseudo::TooDeep)), (None, None));
    }

    #[test]
    fn only_blocks_of_the_heap_are_of_the_layer_whose_object_file_asks_for_them() {
        assert_eq!(SiteKind::Heap.layer(Some(Layer::Numpy)), Layer::Numpy);
        assert_eq!(SiteKind::Heap.layer(None), Layer::Native);
        assert_eq!(SiteKind::PythonBlock.layer(Some(Layer::Numpy)), Layer::Python);
        assert_eq!(SiteKind::FileMapping.layer(Some(Layer::Numpy)), Layer::MappedFiles);
    }

    #[test]
    fn what_is_counted_together_lies_in_one_space() {
        for kind in SiteKind::ALL {
            let together = SiteKind::ALL.iter().filter(|other| other.category() == kind.category());
            assert!(together.clone().all(|other| other.row().space == kind.row().space));
        }
    }
}
