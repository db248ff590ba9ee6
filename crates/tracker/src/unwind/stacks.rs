//! Where stacks end. A thread knows its own; coroutines, alternate signal stacks and threads that `clone` made run on
//! others, which are looked up in `/proc/self/maps` once and remembered.
//!
//! What is remembered may go stale when such a stack is unmapped, or what follows it in the same mapping. Every `munmap` that we see, every end
//! of a thread, every end of a large block and every change of the program break therefore forgets all of it. A mapping may also grow, by calls inside libc that we do not see: the heap does, under
//! blocks that serve as stacks. So an end that is in the way is looked up again.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Addr;
use heaplens_format::atomic::{AtomicU32, AtomicU64};

use crate::sys::{self, Descriptor};

const REMEMBERED: usize = 8192;

/// The bounds of a mapping; `check` sets a torn or forgotten entry apart from a whole one.
struct Bounds {
    low: AtomicU64,
    high: AtomicU64,
    check: AtomicU64,
}

static MEMORY: [Bounds; REMEMBERED] =
    [const { Bounds { low: AtomicU64::new(0), high: AtomicU64::new(0), check: AtomicU64::new(0) } };
        REMEMBERED];
static EPOCH: AtomicU64 = AtomicU64::new(1);

unsafe extern "C" {
    /// The program break as the C library knows it, which moves it in `malloc` and `free`.
    static __curbrk: *const core::ffi::c_void;
}

/// Differs from what it was when something may have gone.
fn epoch() -> u64 {
    // SAFETY: a word that the C library writes whole; an old value of it is as good.
    let program_break = unsafe { (&raw const __curbrk).read_volatile() } as u64;
    EPOCH.load(Relaxed).rotate_left(32) ^ program_break
}

/// Forgets all stacks that are not a thread's own.
pub fn forget() {
    EPOCH.fetch_add(1, Relaxed);
}

/// The end of the mapping that holds a stack pointer; the pointer itself when it is in none.
#[cold]
pub fn end_of(rsp: Addr) -> Addr {
    remembered(rsp).or_else(|| look_up(rsp)).unwrap_or(rsp)
}

/// The end of the mapping that holds a stack pointer, where it is farther than `end`, which is remembered. Also `None`
/// for a thread's own stack, which is never looked up, and for most calls of a program that asks in vain all the time.
#[cold]
#[inline(never)]
pub fn grown_end(rsp: Addr, end: Addr) -> Option<Addr> {
    const MOST_IN_VAIN: u32 = 16;
    const SELDOM: u32 = 64;
    static IN_VAIN: AtomicU32 = AtomicU32::new(0);
    if remembered(rsp) != Some(end) {
        return None;
    }
    let in_vain = IN_VAIN.fetch_add(1, Relaxed);
    if in_vain >= MOST_IN_VAIN && !in_vain.is_multiple_of(SELDOM) {
        return None;
    }
    let grown = look_up(rsp).filter(|&now| now > end)?;
    IN_VAIN.store(0, Relaxed);
    Some(grown)
}

fn entry(rsp: Addr) -> &'static Bounds {
    &MEMORY[(rsp.get() >> 14) as usize % REMEMBERED]
}

fn remembered(rsp: Addr) -> Option<Addr> {
    let entry = entry(rsp);
    let (low, high) = (entry.low.load(Relaxed), entry.high.load(Relaxed));
    let is_whole = entry.check.load(Relaxed) == seal(low, high, epoch());
    (is_whole && (low..high).contains(&rsp.get())).then_some(Addr::new(high))
}

fn look_up(rsp: Addr) -> Option<Addr> {
    let epoch = epoch();
    let (low, high) = mapping_of(rsp)?;
    let entry = entry(rsp);
    entry.low.store(low.get(), Relaxed);
    entry.high.store(high.get(), Relaxed);
    entry.check.store(seal(low.get(), high.get(), epoch), Relaxed);
    Some(high)
}

fn seal(low: u64, high: u64, epoch: u64) -> u64 {
    (low.rotate_left(17) ^ high).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ epoch
}

/// The readable and writable mapping around an address. Cold: some microseconds per thousand mappings.
pub fn mapping_of(address: Addr) -> Option<(Addr, Addr)> {
    const LENGTH: usize = 64 << 10;
    let file = Descriptor::open(c"/proc/self/maps", libc::O_RDONLY, 0).ok()?;
    let pages = sys::private_pages(LENGTH)?;
    // SAFETY: the pages were mapped above with this length and nobody else knows them.
    let buffer = unsafe { core::slice::from_raw_parts_mut(pages as *mut u8, LENGTH) };
    let found = search(&file, buffer, address);
    // SAFETY: `found` holds numbers only.
    unsafe { sys::unmap(pages, LENGTH) };
    found
}

fn search(file: &Descriptor, buffer: &mut [u8], address: Addr) -> Option<(Addr, Addr)> {
    let mut kept = 0;
    loop {
        let fresh = file.read(&mut buffer[kept..]).len();
        let text = &buffer[..kept + fresh];
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(text.len(), |last| last + 1);
        for line in text[..whole].split(|&byte| byte == b'\n') {
            if let Some((low, high)) = parse_line(line)
                && (low..high).contains(&address)
            {
                return Some((low, high));
            }
        }
        if fresh == 0 {
            return None;
        }
        kept = text.len() - whole;
        buffer.copy_within(whole..whole + kept, 0);
    }
}

/// `low-high rw..`; `None` for anything else.
fn parse_line(line: &[u8]) -> Option<(Addr, Addr)> {
    let dash = line.iter().position(|&byte| byte == b'-')?;
    let space = line.iter().position(|&byte| byte == b' ')?;
    if line.get(space + 1..space + 3)? != b"rw" {
        return None;
    }
    Some((parse_hex(line.get(..dash)?)?, parse_hex(line.get(dash + 1..space)?)?))
}

fn parse_hex(text: &[u8]) -> Option<Addr> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(u64::from);
    text.iter().try_fold(0u64, |value, &byte| Some(value << 4 | digit(byte)?)).map(Addr::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_a_local_ends_above_it_and_that_of_nothing_nowhere() {
        let local = 0u64;
        let address = Addr::new(&raw const local as u64);
        assert!(end_of(address) > address);
        assert_eq!(end_of(address), end_of(address));
        assert_eq!(end_of(Addr::new(8)), Addr::new(8));
    }

    #[test]
    fn only_writable_lines_count() {
        assert_eq!(
            parse_line(b"7f00-7fff rw-p 00000000 00:00 0"),
            Some((Addr::new(0x7f00), Addr::new(0x7fff)))
        );
        assert_eq!(parse_line(b"7f00-7fff r-xp 00000000 00:00 0"), None);
        assert_eq!(parse_line(b""), None);
    }
}
