//! Layers: whose memory the blocks of a site are. The ledger has more of them, for what is no block ([`super::LineRow`]).

use super::Sampling;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerRow {
    /// Its name in every output.
    pub name: &'static str,
    /// Its object files, by the beginnings of their names: heap blocks that their code itself asks for are of this layer.
    pub object_files: &'static [&'static str],
    /// How much of it is recorded.
    pub sampling: Sampling,
}

impl LayerRow {
    const PLAIN: Self = Self { name: "", object_files: &[], sampling: Sampling::Never };
}

rows! {
    /// Who a byte belongs to. Outputs that list layers of sites do so in this order.
    Layer, LayerRow;

    /// Heap blocks of native code.
    Native = 0 { name: "native", sampling: Sampling::Heap }
    /// Python objects, small and large, and what its allocator keeps for itself.
    Python = 1 { name: "python", sampling: Sampling::Objects }
    /// The data of NumPy's arrays: what its core itself takes from `malloc`. All else it takes through Python's allocator.
    Numpy = 2 { name: "numpy", object_files: &["_multiarray_umath."], sampling: Sampling::Heap }
    /// Anonymous memory that the program mapped itself.
    MappedAnonymous = 3 { name: "mapped-anonymous" }
    /// Files that the program mapped itself.
    MappedFiles = 4 { name: "mapped-files" }
}

impl Layer {
    /// Its name in every output.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// The layer of what an object file itself asks for, by its path: `…/_multiarray_umath.cpython-311-x86_64-linux-gnu.so`.
    pub fn of_object_file(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_its = |layer: &Self| layer.row().object_files.iter().any(|begin| name.starts_with(begin));
        Self::ALL.iter().copied().find(is_its)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_known_by_the_names_of_their_object_files() {
        let numpy = "/a/numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so";
        assert_eq!(Layer::of_object_file(numpy), Some(Layer::Numpy));
        assert_eq!(Layer::of_object_file("/home/_multiarray_umath.x/program"), None);
    }
}
