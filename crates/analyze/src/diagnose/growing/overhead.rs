//! What an allocator spends on blocks beside the bytes that were asked for: a header, and what it rounds up by. Many small blocks take much more
//! resident memory than their bytes. Known of glibc's allocator, whose chunks follow from the size that was asked for; of others nothing is said.

use heaplens_format::memory::{Allocator, Category};
use heaplens_format::recording::Process;

use crate::profile::{Measure, SiteProfile};

/// Of a chunk in use: its own size, before the block.
const HEADER: f64 = 8.0;
/// Sizes of chunks are multiples of this, and there are none below [`LEAST`].
const STEP: f64 = 16.0;
const LEAST: f64 = 32.0;
/// Blocks from this size on have mappings of their own, of whole pages: next to nothing of them.
const MAPPED: f64 = 131_072.0;

/// The overhead of a process's allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overhead {
    is_glibcs: bool,
}

impl Overhead {
    /// By the object files that its code is in.
    pub(crate) fn of(process: &Process) -> Self {
        let mut paths = process.modules.iter().map(|module| &*module.path);
        Self { is_glibcs: !paths.any(|path| Allocator::of_object_file(path).is_some()) }
    }

    /// Bytes for each byte that was asked for at these sites.
    pub(super) fn part(self, of: &[usize], sites: &[SiteProfile]) -> f64 {
        let is_block = |site: &&SiteProfile| site.category() == Category::Heap;
        let most = |site: &SiteProfile| if site.held.blocks > 0 { site.held } else { site.peak };
        let blocks = of.iter().map(|&site| &sites[site]).filter(is_block).map(most);
        let (mut bytes, mut overhead) = (0.0, 0.0);
        for Measure { bytes: asked, blocks, .. } in blocks.filter(|measure| measure.blocks > 0) {
            let (asked, blocks) = (asked.get() as f64, blocks as f64);
            bytes += asked;
            overhead += blocks * of_block(asked / blocks);
        }
        if self.is_glibcs && bytes > 0.0 { overhead / bytes } else { 0.0 }
    }
}

/// Of a block of this size.
fn of_block(size: f64) -> f64 {
    let chunk = (((size + HEADER) / STEP).ceil() * STEP).max(LEAST);
    if size < MAPPED { chunk - size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_has_a_header_and_is_a_multiple_of_sixteen_bytes() {
        let known =
            [(1.0, 31.0), (24.0, 8.0), (25.0, 23.0), (64.0, 16.0), (96.0, 16.0), (4096.0, 16.0), (1e6, 0.0)];
        known.iter().for_each(|&(size, overhead)| assert_eq!(of_block(size), overhead, "{size}"));
    }
}
