//! Whose blocks a site allocates, and what its mappings are for. Sites and stacks are only ever added, so what is known of them is
//! kept, and each ledger reads what is new.

use std::io;

use heaplens_format::Bytes;
use heaplens_format::arena::frame::{split_frame, split_sections_frame};
use heaplens_format::arena::header::Region;
use heaplens_format::arena::table::{ModuleRecord, NodeRecord, SiteIdentity, SiteRecord};
use heaplens_format::arena::{MODULE_SIZE, NODE_SIZE, SITE_SIZE};
use heaplens_format::memory::{Allocator, Category, Layer, SiteKind};

use crate::arena::{AllocationKind, Tables, allocation_kind_of, word};

/// What is read of the path of a module.
const LONGEST_PATH: u64 = 4096;

/// What is known of the sites of one process.
#[derive(Debug, Default)]
pub(super) struct Sites {
    /// By node: the allocation kind, which is below its outermost frame.
    kinds: Vec<Option<AllocationKind>>,
    /// By node: the module of its own frame.
    modules: Vec<u16>,
    /// By site, as far as it is known.
    sites: Vec<Option<KnownSite>>,
    /// By module: what its file is.
    files: Vec<File>,
}

#[derive(Clone, Copy, Debug)]
struct KnownSite {
    kind: SiteKind,
    file: File,
}

/// What is known of the file of the innermost frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct File {
    /// Whose the blocks are that it allocates itself.
    layer: Option<Layer>,
    /// Whether it is an allocator: it maps memory for its blocks.
    is_allocator: bool,
}

impl Sites {
    /// Reads what is new. A node that is being written ends it: what follows is read next time.
    pub(super) fn update(&mut self, tables: &Tables<'_>) -> io::Result<()> {
        self.read_files(tables)?;
        let known = self.kinds.len() as u64 * NODE_SIZE as u64;
        for record in tables.bytes(Region::Nodes, known, u64::MAX)?.chunks_exact(NODE_SIZE) {
            let number = self.kinds.len();
            let parent = word(record, std::mem::offset_of!(NodeRecord, parent)) as u32 as usize;
            let is_whole = word(record, std::mem::offset_of!(NodeRecord, hash)) != 0 && parent < number;
            if number != 0 && !is_whole {
                break;
            }
            let frame = word(record, std::mem::offset_of!(NodeRecord, frame));
            let above = self.kinds.get(parent).copied().flatten();
            self.kinds.push(above.or_else(|| allocation_kind_of(frame)));
            let of_section = split_sections_frame(frame).and_then(|_| self.modules.get(parent).copied());
            self.modules.push(of_section.unwrap_or(split_frame(frame).0));
        }
        let known = self.sites.len() as u64 * SITE_SIZE as u64;
        for record in tables.bytes(Region::Sites, known, u64::MAX)?.chunks_exact(SITE_SIZE) {
            let site = self.site(record);
            self.sites.push(site);
        }
        Ok(())
    }

    /// A module that is not published yet ends it, too.
    fn read_files(&mut self, tables: &Tables<'_>) -> io::Result<()> {
        let known = self.files.len() as u64 * MODULE_SIZE as u64;
        for record in tables.bytes(Region::Modules, known, u64::MAX)?.chunks_exact(MODULE_SIZE) {
            if word(record, std::mem::offset_of!(ModuleRecord, published)) != 1 {
                break;
            }
            let string = word(record, std::mem::offset_of!(ModuleRecord, path));
            let (start, length) = (string >> 32, string & u64::from(u32::MAX));
            let path = tables.bytes(Region::Strings, start, start + length.min(LONGEST_PATH))?;
            self.files.push(file_of(&String::from_utf8_lossy(&path)));
        }
        Ok(())
    }

    fn site(&self, record: &[u8]) -> Option<KnownSite> {
        let identity = SiteIdentity::from_raw(word(record, std::mem::offset_of!(SiteRecord, identity)))?;
        let node = identity.node() as usize;
        let kind = match self.kinds.get(node)?.unwrap_or(AllocationKind::Memory(SiteKind::Heap)) {
            AllocationKind::Memory(kind) => kind,
            AllocationKind::Counter(_) => return None,
        };
        let module = usize::from(*self.modules.get(node)?);
        let file = module.checked_sub(1).and_then(|at| self.files.get(at));
        Some(KnownSite { kind, file: file.copied().unwrap_or_default() })
    }

    /// What is known of a site; one that was incomplete before is read again.
    fn get(&mut self, tables: &Tables<'_>, site: u32) -> Option<KnownSite> {
        let at = site as usize;
        if let Some(Some(known)) = self.sites.get(at) {
            return Some(*known);
        }
        let start = u64::from(site) * SITE_SIZE as u64;
        let record = tables.bytes(Region::Sites, start, start + SITE_SIZE as u64).ok()?;
        let known = self.site(&record)?;
        *self.sites.get_mut(at)? = Some(known);
        Some(known)
    }

    /// Whose the blocks of a site are.
    pub(super) fn owner(&mut self, tables: &Tables<'_>, site: u32) -> Layer {
        let of_blocks = self.get(tables, site).filter(|known| !known.kind.category().row().is_mapped);
        of_blocks.map_or(Layer::Native, |known| known.kind.layer(known.file.layer))
    }

    /// Whether an allocator mapped it, for its blocks.
    pub(super) fn is_allocators(&mut self, tables: &Tables<'_>, site: u32) -> bool {
        site == 0 || self.get(tables, site).is_some_and(|known| known.file.is_allocator)
    }

    /// Live heap bytes of each owner by the counters of sites, which in a sampled run are estimates.
    pub(super) fn estimates(&mut self, tables: &Tables<'_>) -> io::Result<[Bytes; Layer::COUNT]> {
        let mut live = [0i64; Layer::COUNT];
        let records = tables.bytes(Region::Sites, 0, u64::MAX)?;
        let bytes = |record: &[u8]| {
            let field = |at: usize| word(record, at) as i64;
            field(std::mem::offset_of!(SiteRecord, allocated_bytes))
                .wrapping_sub(field(std::mem::offset_of!(SiteRecord, freed_bytes)))
        };
        for (number, record) in (0..).zip(records.chunks_exact(SITE_SIZE)) {
            let Some(identity) =
                SiteIdentity::from_raw(word(record, std::mem::offset_of!(SiteRecord, identity)))
            else {
                continue;
            };
            let known = self.get(tables, number);
            if known.is_some_and(|known| known.kind.category() == Category::Heap) {
                let second = identity.second() as usize * SITE_SIZE;
                let second = if second == 0 { None } else { records.get(second..second + SITE_SIZE) };
                let sum = bytes(record).wrapping_add(second.map_or(0, bytes));
                live[self.owner(tables, number) as usize] += sum.max(0);
            }
        }
        Ok(live.map(|bytes| Bytes::new(bytes.max(0) as u64)))
    }
}

fn file_of(path: &str) -> File {
    File { layer: Layer::of_object_file(path), is_allocator: Allocator::of_object_file(path).is_some() }
}
