//! Where the pointers of each block begin among those of all, in four bytes a block.

/// Blocks that share a base.
const SHIFT: u32 = 8;

/// One offset for each block and one after the last. Within a group of 256 blocks they are kept relative to the group's first;
/// should such a group have more than 4 G pointers (32 GiB full of them), those beyond count with the group's last block.
#[derive(Debug)]
pub(crate) struct Offsets {
    bases: Vec<u64>,
    relative: Vec<u32>,
}

impl Offsets {
    pub(crate) fn with_capacity(blocks: usize) -> Self {
        Self { bases: Vec::with_capacity((blocks >> SHIFT) + 1), relative: Vec::with_capacity(blocks + 1) }
    }

    pub(crate) fn push(&mut self, offset: u64) {
        if self.relative.len().is_multiple_of(1 << SHIFT) {
            self.bases.push(offset);
        }
        let base = self.bases.last().copied().unwrap_or_default();
        self.relative.push(u32::try_from(offset - base).unwrap_or(u32::MAX));
    }

    /// The offset of every block up to this one that has none yet.
    #[inline]
    pub(crate) fn push_up_to(&mut self, block: usize, offset: u64) {
        while self.relative.len() <= block {
            self.push(offset);
        }
    }

    #[inline]
    pub(crate) fn range(&self, block: usize) -> std::ops::Range<usize> {
        self.start(block)..self.start(block + 1)
    }

    /// Where they begin; of the number after the last block, where all end.
    #[inline]
    pub(crate) fn start(&self, block: usize) -> usize {
        (self.bases[block >> SHIFT] + u64::from(self.relative[block])) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_that_were_pushed() {
        let mut offsets = Offsets::with_capacity(1000);
        let begins: Vec<u64> = (0..=1000).map(|block| block * block * 7).collect();
        begins.iter().for_each(|&begin| offsets.push(begin));
        for block in 0..1000 {
            assert_eq!(offsets.range(block), begins[block] as usize..begins[block + 1] as usize);
        }
    }

    #[test]
    fn a_group_with_too_many_pointers_does_not_shift_the_next_one() {
        let mut offsets = Offsets::with_capacity(300);
        (0..=300u64).for_each(|block| offsets.push(block << 26));
        assert_eq!(offsets.range(256), 256 << 26..257 << 26);
        assert_eq!(offsets.range(255).end, 256 << 26);
    }
}
