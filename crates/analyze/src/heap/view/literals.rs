//! Which keys of dicts stand in the source of the program, and so are no data: names and constants of code that is loaded. The code of
//! a script is freed when the script has ended, so names are looked up in its file, too. Nothing is named here.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::heap::memory::{BlockId, BlockSet};
use crate::heap::scan::Graph;

/// Tuples in tuples of constants are followed so far.
const DEPTH: u32 = 3;
/// Bytes of a script that are read.
const LONGEST_SCRIPT: u64 = 4 << 20;

/// Names and constants of the source, found when they are first asked for.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    /// Whether all keys are shown, whatever they are.
    shows_all: bool,
    in_code: OnceCell<BlockSet>,
    /// The file of the script.
    script: Option<PathBuf>,
    in_script: OnceCell<HashSet<String>>,
}

/// Numbers of the classes that lead from code to its names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeClasses {
    pub(crate) code: u32,
    pub(crate) tuple: u32,
}

impl Literals {
    /// Of a program whose script has this file, if it is known.
    pub(crate) fn new(shows_all: bool, script: Option<PathBuf>) -> Self {
        Self { shows_all, script, ..Self::default() }
    }

    /// Whether all keys are shown.
    pub(crate) fn shows_all(&self) -> bool {
        self.shows_all
    }

    /// Whether code that is loaded refers to an object in this block. `classes` has the class of each block.
    pub(crate) fn is_in_code(&self, block: BlockId, graph: &Graph, classes: &[u32], of: CodeClasses) -> bool {
        self.in_code.get_or_init(|| referred_by_code(graph, classes, of)).contains(block)
    }

    /// Whether a name stands in the file of the script.
    pub(crate) fn is_in_script(&self, name: &str) -> bool {
        let script = || self.script.as_deref().map(words_of).unwrap_or_default();
        self.in_script.get_or_init(script).contains(name)
    }
}

fn referred_by_code(graph: &Graph, classes: &[u32], of: CodeClasses) -> BlockSet {
    let mut found = BlockSet::default();
    for block in graph.blocks().ids().filter(|block| classes[block.index()] == of.code) {
        add_items(graph, classes, of.tuple, block, DEPTH, &mut found);
    }
    found
}

fn add_items(graph: &Graph, classes: &[u32], tuple: u32, from: BlockId, depth: u32, found: &mut BlockSet) {
    for to in graph.targets(from) {
        found.insert(to);
        if depth > 0 && classes[to.index()] == tuple {
            add_items(graph, classes, tuple, to, depth - 1, found);
        }
    }
}

/// The words of a file; none where it cannot be read.
fn words_of(path: &Path) -> HashSet<String> {
    let mut bytes = Vec::new();
    let is_read = File::open(path).and_then(|file| file.take(LONGEST_SCRIPT).read_to_end(&mut bytes)).is_ok();
    let text = String::from_utf8_lossy(if is_read { &bytes } else { &[] });
    let is_between = |character: char| !character.is_alphanumeric() && character != '_';
    text.split(is_between).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplens_format::{Addr, Bytes};
    use heaplens_snapshot::Block;

    use crate::heap::memory::Blocks;
    use crate::heap::scan::Roots;
    use crate::heap::synthetic::Words;

    /// Blocks of four words, 64 bytes apart, with the pointers between them: (from, word, to).
    fn graph(blocks: u64, pointers: &[(u64, u64, u64)]) -> Graph {
        let at = |number: u64| 0x1_0000 + 64 * number;
        let mut memory = Words::default();
        memory.0.extend((0..blocks).flat_map(|number| (0..4).map(move |word| (at(number) + 8 * word, 0))));
        memory.0.extend(pointers.iter().map(|&(from, word, to)| (at(from) + 8 * word, at(to))));
        let block = |number: u64| Block { address: Addr::new(at(number)), size: Bytes::new(32), site: 0 };
        Graph::new(Blocks::new((0..blocks).map(block).collect()).unwrap(), &Roots::default(), &memory)
    }

    #[test]
    fn names_and_constants_of_code_are_found_and_what_others_hold_is_not() {
        let of = CodeClasses { code: 1, tuple: 2 };
        // 0 is code, 1 and 2 tuples, 3 and 4 texts; 5 is a dict with the texts 4 and 6.
        let classes = [1, 2, 2, 3, 3, 4, 3];
        let graph = graph(7, &[(0, 0, 1), (1, 1, 3), (1, 2, 2), (2, 1, 4), (5, 0, 4), (5, 1, 6)]);
        let literals = Literals::new(false, None);
        let is_in_code = |number: usize| literals.is_in_code(BlockId::new(number), &graph, &classes, of);
        assert_eq!([3, 4, 6].map(is_in_code), [true, true, false]);
    }

    #[test]
    fn names_of_a_script_are_whole_words_of_its_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "kept = {'rows': größe.token_a}\n").unwrap();
        let literals = Literals::new(false, Some(file.path().to_owned()));
        let found =
            ["kept", "rows", "größe", "token_a", "token", "row"].map(|name| literals.is_in_script(name));
        assert_eq!(found, [true, true, true, true, false, false]);
        assert!(!Literals::new(false, None).is_in_script("kept"));
        assert!(!Literals::new(false, Some("/nowhere".into())).is_in_script("kept"));
    }
}
