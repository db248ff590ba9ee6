//! The counters of a site's record, and sums of them. A site has up to two records: that of the thread that owns it, and one that
//! the others share.

use std::mem::offset_of;

use heaplens_format::Bytes;
use heaplens_format::arena::SITE_SIZE;
use heaplens_format::arena::marks::Moment;
use heaplens_format::arena::table::SiteRecord;

use super::records::word;

/// Signed sums: one side of a site frees what the other allocated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    pub(crate) bytes: i64,
    pub(crate) blocks: i64,
}

impl Sum {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.wrapping_add(other.bytes), blocks: self.blocks.wrapping_add(other.blocks) }
    }
}

/// One record of counters of a site.
pub(super) struct SiteCounters<'a>(&'a [u8]);

impl<'a> SiteCounters<'a> {
    /// Of this record.
    pub(super) fn new(record: &'a [u8]) -> Self {
        Self(record)
    }

    /// The record with this number; one that counted nothing where there is none.
    pub(super) fn at(all: &'a [u8], number: u32) -> Self {
        const NONE: &[u8] = &[0; SITE_SIZE];
        let start = number as usize * SITE_SIZE;
        Self(if number == 0 { NONE } else { all.get(start..start + SITE_SIZE).unwrap_or(NONE) })
    }

    fn get(&self, at: usize) -> i64 {
        word(self.0, at) as i64
    }

    pub(super) fn allocated(&self) -> Sum {
        Sum {
            bytes: self.get(offset_of!(SiteRecord, allocated_bytes)),
            blocks: self.get(offset_of!(SiteRecord, allocated_blocks)),
        }
    }

    pub(super) fn live(&self) -> Sum {
        let allocated = self.allocated();
        Sum {
            bytes: allocated.bytes.wrapping_sub(self.get(offset_of!(SiteRecord, freed_bytes))),
            blocks: allocated.blocks.wrapping_sub(self.get(offset_of!(SiteRecord, freed_blocks))),
        }
    }

    /// Of its last change.
    fn moment(&self) -> Moment {
        Moment::from_raw(word(self.0, offset_of!(SiteRecord, moment)))
    }

    /// The live value at the peak: the kept one where something changed since, else the present one.
    pub(super) fn at_peak(&self, peak: Bytes) -> Sum {
        if self.moment().peak() != peak.get() {
            return self.live();
        }
        Sum {
            bytes: self.get(offset_of!(SiteRecord, peak_bytes)),
            blocks: self.get(offset_of!(SiteRecord, peak_blocks)),
        }
    }
}
