//! Writes a profile where one is due: one thread at a time, and no signal handler meanwhile.

use core::sync::atomic::Ordering::Relaxed;

use heaplens_format::Bytes;

use super::text;
use crate::process::path::PathBuffer;
use crate::process::{is_own_arena, settings};
use crate::sys::{self, Descriptor};
use crate::tracker::Tracker;

impl Tracker {
    /// So many bytes were allocated and recorded, in a program that writes profiles.
    #[inline(never)]
    pub(crate) fn on_profiled_alloc(&self, size: Bytes) {
        self.profiles.allocated.fetch_add(size.get(), Relaxed);
        if self.profiles.is_due(&self.arena) {
            self.write_profile(|| self.profiles.takes_turn(&self.arena, &settings().profile));
        }
    }

    /// A signal asks for one. It may have come in the middle of a hook: nothing but tables is read.
    pub fn on_profile_signal(&self) {
        self.write_profile(|| true);
    }

    /// The program ends.
    pub(crate) fn write_last_profile(&self) {
        if self.profiles.is_on() && !self.profiles.is_over.swap(true, Relaxed) {
            self.profiles.wait();
            self.write_profile(|| true);
        }
    }

    /// Signals wait meanwhile: a handler of the program's could leave by `longjmp`, and nobody would write ever after.
    #[cold]
    fn write_profile(&self, is_due: impl FnOnce() -> bool) {
        if !self.profiles.is_on() || !is_own_arena() {
            return;
        }
        let mask = sys::set_mask(u64::MAX);
        if self.profiles.begin() {
            if is_due() {
                let number = self.profiles.count.fetch_add(1, Relaxed).saturating_add(1);
                self.write_numbered(self.profiles.path(number));
            }
            self.profiles.end();
        }
        sys::set_mask(mask);
    }

    /// It gets its name when it is whole. A pipe of that name has no reader and is not waited for.
    fn write_numbered(&self, path: PathBuffer) {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let mut unfinished = path;
        unfinished.push(b".part");
        if let Ok(file) = Descriptor::open(unfinished.as_c_str(), flags, 0o644) {
            let is_whole = text::write(self, &file).is_ok()
                && sys::rename(unfinished.as_c_str(), path.as_c_str()).is_ok();
            if !is_whole {
                sys::remove_file(unfinished.as_c_str());
            }
        }
    }
}
