//! The code whose blocks are guarded: ranges of addresses in object files, as the command found them for the lines that the user named. For
//! each node of a stack it is decided once whether a frame lies in one of them.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize};

use crate::sys;

/// Sites whose answer is kept, by their numbers.
const KEPT: usize = 1 << 24;

/// What is known of a site: 0, nothing yet.
const NO: u8 = 1;
const YES: u8 = 2;

/// Ranges of addresses, as the environment has them.
#[derive(Debug)]
pub struct GuardedCode {
    text: AtomicPtr<u8>,
    length: AtomicUsize,
    answers: AtomicUsize,
}

impl GuardedCode {
    pub(super) const fn new() -> Self {
        Self {
            text: AtomicPtr::new(core::ptr::null_mut()),
            length: AtomicUsize::new(0),
            answers: AtomicUsize::new(0),
        }
    }

    pub(super) fn read(&self, text: &'static [u8]) {
        self.answers.store(sys::private_pages(KEPT).unwrap_or(0), Relaxed);
        self.length.store(text.len(), Relaxed);
        // Release: pairs with the Acquire in `text`.
        self.text.store(text.as_ptr().cast_mut(), Release);
    }

    /// The sites of a forked child have other numbers than its parent's.
    pub(super) fn forget(&self) {
        let at = self.answers.load(Relaxed);
        if at != 0 {
            let _ = sys::advise(at, KEPT, libc::MADV_DONTNEED);
        }
    }

    /// Whether the blocks of a site are guarded; `decide` is asked once for each.
    pub fn holds_site(&self, site: u32, decide: impl FnOnce() -> bool) -> bool {
        let Some(answer) = self.answer(site) else { return decide() };
        match answer.load(Relaxed) {
            NO => false,
            YES => true,
            _ => {
                let holds = decide();
                answer.store(if holds { YES } else { NO }, Relaxed);
                holds
            }
        }
    }

    fn answer(&self, site: u32) -> Option<&AtomicU8> {
        let at = self.answers.load(Relaxed);
        // SAFETY: `read` mapped KEPT bytes.
        (at != 0 && (site as usize) < KEPT).then(|| unsafe { &*((at + site as usize) as *const AtomicU8) })
    }

    /// Whether an address of an object file is in one of the ranges.
    pub fn holds(&self, path: &[u8], offset: u64) -> bool {
        let mut parts = self.text().split(|&byte| byte == b'|');
        while let (Some(file), Some(ranges)) = (parts.next(), parts.next()) {
            if name_of(file) == name_of(path)
                && ranges.split(|&byte| byte == b',').any(|range| is_in(range, offset))
            {
                return true;
            }
        }
        false
    }

    fn text(&self) -> &'static [u8] {
        let text = self.text.load(Acquire);
        if text.is_null() {
            return &[];
        }
        // SAFETY: `read` stored both of one slice that lives for ever, the length first.
        unsafe { core::slice::from_raw_parts(text, self.length.load(Relaxed)) }
    }
}

/// The last part of a path: a program may know a library by another one than the command.
fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// `START-END`, in hexadecimal, without the end.
fn is_in(range: &[u8], offset: u64) -> bool {
    let Some(dash) = range.iter().position(|&byte| byte == b'-') else { return false };
    let number = |text: &[u8]| u64::from_str_radix(core::str::from_utf8(text).ok()?, 16).ok();
    match (number(&range[..dash]), number(&range[dash + 1..])) {
        (Some(start), Some(end)) => (start..end).contains(&offset),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_guarded_by_its_file_and_its_range() {
        let code = GuardedCode::new();
        assert!(!code.holds(b"/a/program", 0x1000));
        code.read(b"/a/program|1000-1010,20f0-2100|/b.so|0-5|");
        assert!(
            code.holds(b"/a/program", 0x1000) && code.holds(b"/a/program", 0x20ff) && code.holds(b"/b.so", 4)
        );
        assert!(!code.holds(b"/a/program", 0x1010) && !code.holds(b"/b.so", 0x1000) && !code.holds(b"/c", 1));
    }

    #[test]
    fn each_site_is_decided_once() {
        let code = GuardedCode::new();
        code.read(b"");
        assert!(code.holds_site(7, || true));
        assert!(code.holds_site(7, || panic!("decided already")));
        assert!(!code.holds_site(8, || false));
        assert!(!code.holds_site(8, || panic!("decided already")));
        code.forget();
        assert!(!code.holds_site(7, || false));
    }
}
