//! The arena from the inside: a shared file mapped once, whose regions grow by reservation.
//!
//! It owns the mapping and hands out offsets; what they mean is the business of the tables. Growth is the only place that
//! makes system calls. It needs no lock: reserving the same range twice does no harm.

use core::cell::UnsafeCell;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use heaplens_format::Loss;
use heaplens_format::arena::block::TOP_ENTRIES;
use heaplens_format::arena::header::{HEADER_SIZE, REGIONS, RegionExtent};
use heaplens_format::arena::{Header, PAGE, Region};
use heaplens_format::atomic::{AtomicBool, AtomicU32, AtomicU64};

use super::layout::{KIB, Layout, MIB, NARROW, SPARE_SPACE, TOP_SIZE, WIDE};
use crate::process::clock::timed;
use crate::process::path::PathBuffer;
use crate::sys::{self, Descriptor, Errno};

const MADV_POPULATE_WRITE: i32 = 23;

/// The tables of this process. No descriptor stays open: programs close what they did not open, and reuse the number.
#[derive(Debug)]
pub struct Arena {
    base: AtomicUsize,
    length: AtomicUsize,
    offsets: [AtomicUsize; REGIONS],
    full: AtomicBool,
    /// Whether what is not reserved is inaccessible.
    protected: AtomicBool,
    path: PathCell,
}

/// Where the file is, for kernels on which growth must go through a descriptor.
#[derive(Debug)]
struct PathCell(UnsafeCell<PathBuffer>);
// SAFETY: written in `create` only, when one thread exists that knows of the arena.
unsafe impl Sync for PathCell {}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Arena {
    /// An arena that is not there yet.
    pub const fn new() -> Self {
        Self {
            base: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            offsets: [const { AtomicUsize::new(0) }; REGIONS],
            full: AtomicBool::new(false),
            protected: AtomicBool::new(false),
            path: PathCell(UnsafeCell::new(PathBuffer::EMPTY)),
        }
    }

    /// Maps a fresh file and writes the region table. The magic is not stored: the caller does that last, through
    /// [`Arena::publish`]. In a forked child the parent's arena is there until this one is ready, and then unmapped.
    pub fn create(&self, file: Descriptor, path: PathBuffer) -> Result<(), Errno> {
        let layout = Self::choose_layout()?;
        let length = layout.length as usize;
        file.set_length(layout.length)?; // sparse: nothing exists yet
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { sys::map(0, length, libc::PROT_READ | libc::PROT_WRITE, flags, Some(&file)) }?;
        let _ = sys::advise(base, length, libc::MADV_DONTDUMP);
        let first = [Region::Header, Region::Top].map(|region| layout.regions[region as usize]);
        if let Err(errno) = first.iter().try_for_each(|&(at, size)| reserve(base, &path, at, size)) {
            // SAFETY: nobody knows the new mapping yet.
            unsafe { sys::unmap(base, length) };
            return Err(errno);
        }
        self.take_over(base, layout, path);
        Ok(())
    }

    /// Where the file is.
    pub fn path(&self) -> PathBuffer {
        // SAFETY: see `PathCell`.
        unsafe { *self.path.0.get() }
    }

    /// From here on the new mapping is the arena.
    fn take_over(&self, base: usize, layout: &Layout, path: PathBuffer) {
        let (old, old_length) = (self.base.load(Relaxed), self.length.load(Relaxed));
        // SAFETY: see `PathCell`.
        unsafe { *self.path.0.get() = path };
        self.base.store(base, Release);
        self.length.store(layout.length as usize, Relaxed);
        self.full.store(false, Relaxed);
        self.protected.store(false, Relaxed);
        for (row, &(offset, capacity)) in layout.regions.iter().enumerate() {
            self.offsets[row].store(offset as usize, Relaxed);
            let extent = &self.header().regions[row];
            extent.offset.store(offset, Relaxed);
            extent.capacity.store(capacity, Relaxed);
        }
        for (region, size) in [(Region::Header, HEADER_SIZE as u64), (Region::Top, TOP_SIZE)] {
            self.extent(region).reserved.store(size, Relaxed);
            self.extent(region).used.store(size, Relaxed);
        }
        if old != 0 {
            // SAFETY: the parent's arena, which nothing in this child refers to any more.
            unsafe { sys::unmap(old, old_length) };
        }
    }

    /// The widest layout that the limits of the process allow; a file beyond its limit would raise SIGXFSZ.
    fn choose_layout() -> Result<&'static Layout, Errno> {
        let (space, file) = (sys::soft_limit(libc::RLIMIT_AS), sys::soft_limit(libc::RLIMIT_FSIZE));
        [&WIDE, &NARROW]
            .into_iter()
            .find(|layout| space / 4 >= layout.length && file >= layout.length)
            .ok_or(Errno(libc::EFBIG))
    }

    /// Stores the magic: from now on the file is an arena to its readers.
    pub fn publish(&self) {
        // Release: pairs with the reader's load of the magic, before which all fields were written.
        self.header().magic.store(heaplens_format::arena::MAGIC, Release);
    }

    /// The header.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        // SAFETY: callers come after `create`; the header region was reserved there and stays mapped for ever.
        unsafe { &*(self.base.load(Relaxed) as *const Header) }
    }

    /// Where the executable's path and the command line go: zeroed bytes of the header region.
    pub fn write_header_text(&self, offset: usize, text: &[u8]) {
        let length = text.len().min(PAGE - 1);
        let target = (self.base.load(Relaxed) + offset) as *mut u8;
        // SAFETY: both pages lie in the header region, reserved in `create`; nobody reads them before `publish`.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), target, length) };
    }

    /// The address of a byte of a region.
    #[inline(always)]
    pub fn address(&self, region: Region, offset: usize) -> usize {
        self.base.load(Relaxed) + self.offsets[region as usize].load(Relaxed) + offset
    }

    /// A record of a region.
    ///
    /// # Safety
    /// The record must lie in what [`Arena::take`] handed out, and `T` must consist of atomics.
    #[inline(always)]
    pub unsafe fn record<T>(&self, region: Region, offset: usize) -> &T {
        // SAFETY: the range is reserved and mapped for the rest of the process; atomics tolerate other writers.
        unsafe { &*(self.address(region, offset) as *const T) }
    }

    /// A `u32` in the page area, by page and position.
    ///
    /// # Safety
    /// The page must have been handed out by [`Arena::take_pages`].
    #[inline(always)]
    pub unsafe fn page_u32(&self, page: u32, index: usize) -> &AtomicU32 {
        // SAFETY: as promised by the caller.
        unsafe { self.record(Region::Pages, page as usize * PAGE + index * 4) }
    }

    /// A `u64` in the page area, by page and position.
    ///
    /// # Safety
    /// The page must have been handed out by [`Arena::take_pages`].
    #[inline(always)]
    pub unsafe fn page_u64(&self, page: u32, index: usize) -> &AtomicU64 {
        // SAFETY: as promised by the caller.
        unsafe { self.record(Region::Pages, page as usize * PAGE + index * 8) }
    }

    /// An entry of TOP.
    #[inline(always)]
    pub fn top(&self, index: usize) -> &AtomicU32 {
        // SAFETY: callers split a 47-bit address, so `index` < TOP_ENTRIES; TOP is reserved whole in `create`.
        unsafe { self.record(Region::Top, (index & (TOP_ENTRIES - 1)) * 4) }
    }

    /// Takes `size` zeroed bytes of a region; their offset in it. `None`: the arena cannot grow.
    pub fn take(&self, region: Region, size: u64) -> Option<usize> {
        let extent = self.extent(region);
        let start = extent.used.fetch_add(size, Relaxed);
        let end = start + size;
        // Acquire: pairs with the Release in `grow`, after which the range exists.
        if end > extent.reserved.load(Acquire) && !self.grow(region, end) {
            return None;
        }
        Some(start as usize)
    }

    /// Takes consecutive pages; the number of the first, never 0.
    pub fn take_pages(&self, count: u64) -> Option<u32> {
        let offset = self.take(Region::Pages, count * PAGE as u64)?;
        u32::try_from(offset / PAGE).ok()
    }

    #[cold]
    fn grow(&self, region: Region, end: u64) -> bool {
        let extent = self.extent(region);
        let reserved = extent.reserved.load(Relaxed);
        // An eighth more at a time, so that the number of calls is logarithmic and the waste bounded.
        let step = (reserved / 8).clamp(64 * KIB, 2 * MIB);
        let wanted = end.max(reserved + step).next_multiple_of(PAGE as u64);
        let wanted = wanted.min(extent.capacity.load(Relaxed));
        let offset = extent.offset.load(Relaxed) + reserved;
        if end > wanted
            || self.full.load(Relaxed)
            || timed(&self.header().hook_ticks, || self.reserve(offset, wanted - reserved)).is_err()
        {
            self.full.store(true, Relaxed);
            return false;
        }
        // Release: whoever sees the new size may touch the range.
        extent.reserved.fetch_max(wanted, Release);
        true
    }

    fn reserve(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let base = self.base.load(Relaxed);
        if self.protected.load(Relaxed) {
            sys::protect(base + offset as usize, length as usize, libc::PROT_READ | libc::PROT_WRITE)?;
        }
        // SAFETY: see `PathCell`.
        reserve(base, unsafe { &*self.path.0.get() }, offset, length)
    }

    /// Makes sure that the first `end` bytes of a region exist, for a table that keeps its own count.
    pub fn ensure(&self, region: Region, end: u64) -> bool {
        let extent = self.extent(region);
        // Acquire: as in `take`.
        let exists = end <= extent.reserved.load(Acquire) || self.grow(region, end);
        if exists {
            extent.used.fetch_max(end, Relaxed);
        }
        exists
    }

    /// Something that the tables need cannot grow: from now on they take no more.
    pub fn set_full(&self) {
        self.full.store(true, Relaxed);
    }

    /// The program is about to limit its address space: all of ours beyond some space to grow is given up.
    pub fn shrink(&self) {
        for (row, spare) in SPARE_SPACE.iter().enumerate() {
            let extent = &self.header().regions[row];
            let (start, reserved) = (extent.offset.load(Relaxed), extent.reserved.load(Relaxed));
            let end = (reserved + spare).min(extent.capacity.load(Relaxed)).next_multiple_of(PAGE as u64);
            extent.capacity.store(end, Relaxed);
            let (tail, next) = (start + end, self.end_of_row(row));
            if next > tail {
                // SAFETY: beyond the capacity, which was lowered before: growth there is refused from now on.
                unsafe { sys::unmap(self.base.load(Relaxed) + tail as usize, (next - tail) as usize) };
            }
        }
    }

    /// The program is about to lock all its memory, which would make the whole sparse file exist: what is not reserved
    /// becomes inaccessible until growth needs it.
    pub fn protect(&self) {
        self.protected.store(true, Relaxed);
        for row in 0..REGIONS {
            let extent = &self.header().regions[row];
            let tail =
                (extent.offset.load(Relaxed) + extent.reserved.load(Relaxed)).next_multiple_of(PAGE as u64);
            let next = self.end_of_row(row);
            if next > tail {
                let address = self.base.load(Relaxed) + tail as usize;
                let _ = sys::protect(address, (next - tail) as usize, libc::PROT_NONE);
            }
        }
    }

    /// Makes more of the growing regions exist than is needed now: soon there will be no growth.
    pub fn stock_up(&self) {
        const LEAST: u64 = 4 * MIB;
        for region in [Region::Sites, Region::Nodes, Region::Pages] {
            let extent = self.extent(region);
            let reserved = extent.reserved.load(Relaxed);
            let wanted = (reserved + (reserved / 2).max(LEAST)).min(extent.capacity.load(Relaxed));
            self.grow(region, wanted);
        }
        // What sites had at marks can be done without: it must not fill up the arena.
        for (region, least) in [(Region::Marks, 64 * KIB), (Region::Changes, MIB)] {
            let extent = self.extent(region);
            self.grow(region, (extent.reserved.load(Relaxed) + least).min(extent.capacity.load(Relaxed)));
            extent.capacity.store(extent.reserved.load(Relaxed), Relaxed);
        }
    }

    /// Where the address space of a region ends: at the next one.
    fn end_of_row(&self, row: usize) -> u64 {
        let next = self.header().regions.get(row + 1);
        next.map_or(self.length.load(Relaxed) as u64, |extent| extent.offset.load(Relaxed))
    }

    /// The row of a region in the header.
    #[inline(always)]
    pub fn extent(&self, region: Region) -> &RegionExtent {
        &self.header().regions[region as usize]
    }

    /// What is resident of this process without us.
    pub fn resident_bytes_of_program(&self) -> u64 {
        let header = self.header();
        let reserved: u64 = header.regions.iter().map(|extent| extent.reserved.load(Relaxed)).sum();
        sys::resident_bytes().saturating_sub(reserved + header.private_bytes.load(Relaxed))
    }

    /// Counts a loss, where there is an arena to count it in: a child of a process without one has none, either.
    #[inline]
    pub fn lose(&self, loss: Loss) {
        if self.base.load(Relaxed) == 0 {
            return;
        }
        self.header().losses[loss as usize].fetch_add(1, Relaxed);
    }

    /// Whether growth failed: nothing new can be recorded, what is there stays exact.
    pub fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }
}

/// Makes a range of the file exist: afterwards no access can fail. No space is an error code, never a SIGBUS. Memory without a name
/// is in no file system that could be full.
fn reserve(base: usize, path: &PathBuffer, offset: u64, length: u64) -> Result<(), Errno> {
    match sys::advise(base + offset as usize, length as usize, MADV_POPULATE_WRITE) {
        // Before Linux 5.14.
        Err(Errno(libc::EINVAL)) if path.is_empty() => Ok(()),
        Err(Errno(libc::EINVAL)) => {
            Descriptor::open(path.as_c_str(), libc::O_RDWR, 0)?.allocate(offset, length)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::scratch::scratch;

    #[test]
    fn a_region_grows_by_reservation_and_is_zero() {
        let arena = scratch();
        let mut last = 0;
        for _ in 0..1000 {
            let page = arena.take_pages(1).unwrap();
            assert!(page > last);
            last = page;
            // SAFETY: the page was just handed out.
            let word = unsafe { arena.page_u64(page, 511) };
            assert_eq!(word.load(Relaxed), 0);
            word.store(7, Relaxed);
        }
        assert!(arena.extent(Region::Pages).reserved.load(Relaxed) >= 1000 * PAGE as u64);
    }

    #[test]
    fn a_shrunk_arena_keeps_what_it_has_and_grows_into_the_room_that_is_left() {
        let arena = scratch();
        let page = arena.take_pages(300).unwrap();
        arena.shrink();
        // SAFETY: the pages were handed out before.
        unsafe { arena.page_u64(page + 299, 511) }.store(9, Relaxed);
        let more = (0..1_000_000).map_while(|_| arena.take_pages(1)).count() as u64;
        assert!((16_000..17_000).contains(&more), "{more} pages in 64 MiB");
    }

    #[test]
    fn a_protected_arena_grows_on() {
        let arena = scratch();
        arena.protect();
        for _ in 0..10_000 {
            let page = arena.take_pages(1).unwrap();
            // SAFETY: the page was just handed out.
            unsafe { arena.page_u64(page, 511) }.store(1, Relaxed);
        }
    }

    #[test]
    fn what_exceeds_the_capacity_is_refused_for_good() {
        let arena = scratch();
        assert!(arena.take(Region::Strings, 449 * MIB).is_none());
        assert!(arena.is_full());
        assert!(arena.take(Region::Sites, MIB).is_none());
    }
}
