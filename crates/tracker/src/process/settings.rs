//! What the recorder asked for, or the variables of gperftools, read once from the environment that the kernel gave the process.
//!
//! `environ` is not set yet when the first allocation comes from the dynamic linker, so `/proc/self/environ` is read.

use core::cell::UnsafeCell;

use heaplens_format::environment::{self, Checks, Imports, Objects};

use super::path::PathBuffer;
use crate::sys::{self, Descriptor};

/// The settings: written once at the start, before anyone reads.
struct SettingsCell(UnsafeCell<Settings>);
// SAFETY: written once, before the life word says that anything may be read (Release/Acquire through `lifecycle::start`).
unsafe impl Sync for SettingsCell {}
static SETTINGS: SettingsCell = SettingsCell(UnsafeCell::new(Settings::NONE));

/// What the recorder asked for.
pub fn settings() -> &'static Settings {
    // SAFETY: see `SettingsCell`.
    unsafe { &*SETTINGS.0.get() }
}

/// Reads the settings of this process.
///
/// # Safety
/// Called once, before anybody calls [`settings`].
pub(crate) unsafe fn read_settings() -> &'static Settings {
    // SAFETY: as the caller says.
    unsafe { *SETTINGS.0.get() = Settings::from_process() };
    settings()
}

/// Heap profiles that the program is to write itself, as gperftools does.
#[derive(Clone, Copy, Debug)]
pub struct ProfileSettings {
    /// How the names of the files begin; empty: none are written.
    pub prefix: PathBuffer,
    /// Whether the variable comes from a program that writes profiles itself.
    pub is_inherited: bool,
    /// One whenever so many more bytes were allocated; 0: none.
    pub allocated: u64,
    /// One whenever so many more bytes are in use than ever before; 0: none.
    pub in_use: u64,
    /// One whenever so many seconds have passed; 0: none.
    pub seconds: u64,
    /// One at this signal; 0: none.
    pub signal: u32,
}

impl ProfileSettings {
    /// None, at the intervals of gperftools.
    pub const NONE: Self = Self {
        prefix: PathBuffer::EMPTY,
        is_inherited: false,
        allocated: 1 << 30,
        in_use: 100 << 20,
        seconds: 0,
        signal: 0,
    };

    /// Whether any are to be written.
    pub fn is_wanted(&self) -> bool {
        !self.prefix.is_empty()
    }

    fn read(&mut self, name: &[u8], value: &[u8]) {
        let number = |default: u64| sys::parse_decimal(value).unwrap_or(default);
        if name == environment::PROFILE.as_bytes() {
            self.read_prefix(value);
        } else if name == environment::PROFILE_ALLOCATED.as_bytes() {
            self.allocated = number(self.allocated);
        } else if name == environment::PROFILE_IN_USE.as_bytes() {
            self.in_use = number(self.in_use);
        } else if name == environment::PROFILE_SECONDS.as_bytes() {
            self.seconds = number(self.seconds);
        } else if name == environment::PROFILE_SIGNAL.as_bytes() {
            self.signal = u32::try_from(number(0)).unwrap_or(0);
        }
    }

    fn read_prefix(&mut self, value: &[u8]) {
        let Some((&first, rest)) = value.split_first() else { return };
        self.is_inherited = first & environment::PROFILE_INHERITED != 0;
        self.prefix = PathBuffer::new(&[first & !environment::PROFILE_INHERITED]);
        self.prefix.push(rest);
    }
}

/// What the recorder asked for.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The session's directory; empty: none was named.
    pub directory: PathBuffer,
    /// The agent's own path, to be put back into cleaned environments; empty: do not.
    pub agent: PathBuffer,
    /// Mean distance of samples; 0: exact.
    pub sample_interval: u64,
    /// Whether children are followed across `exec`.
    pub follow: bool,
    /// Which small objects of Python are recorded.
    pub objects: Objects,
    /// What is kept of stacks inside imports.
    pub imports: Imports,
    /// Whether nothing is tried in the program.
    pub passive: bool,
    /// Whether anything is known of frameworks.
    pub frameworks: bool,
    /// What is done to find memory errors.
    pub checks: Checks,
    /// The same as the recorder wrote it, for programs that are started.
    pub checks_text: PathBuffer,
    /// The code whose blocks are guarded.
    pub guarded_code: &'static [u8],
    /// Whether the stacks of frees are kept and the arguments of functions are checked.
    pub memcheck: bool,
    /// The mark that begins the section whose leaks are checked; empty: there is no such section.
    pub leak_check_from: PathBuffer,
    /// The mark that ends it.
    pub leak_check_to: PathBuffer,
    /// What it is called.
    pub leak_check_name: PathBuffer,
    /// Whether leaks are looked for at the end of every process, also at a signal that ends it.
    pub leak_check: bool,
    /// The wake-up FIFO of the session: a path that is there when a signal handler needs it.
    pub wake_up: PathBuffer,
    /// Heap profiles; none where there is a recorder.
    pub profile: ProfileSettings,
}

impl Settings {
    /// Nothing was asked for.
    pub const NONE: Self = Self {
        directory: PathBuffer::EMPTY,
        agent: PathBuffer::EMPTY,
        sample_interval: 0,
        follow: true,
        objects: Objects::Sampled,
        imports: Imports::Folded,
        passive: false,
        frameworks: true,
        checks: Checks::NONE,
        checks_text: PathBuffer::EMPTY,
        guarded_code: &[],
        memcheck: false,
        leak_check_from: PathBuffer::EMPTY,
        leak_check_to: PathBuffer::EMPTY,
        leak_check_name: PathBuffer::EMPTY,
        leak_check: false,
        wake_up: PathBuffer::EMPTY,
        profile: ProfileSettings::NONE,
    };

    /// Whether nobody wants to know anything of this program.
    pub fn is_dormant(&self) -> bool {
        self.directory.is_empty() && !self.profile.is_wanted()
    }

    /// Whether the leaks between two marks are checked.
    pub fn checks_section(&self) -> bool {
        !self.leak_check_from.is_empty()
    }

    /// Reads the environment that the process was started with.
    pub fn from_process() -> Self {
        const CHUNK: usize = 1 << 20;
        let mut settings = Self::NONE;
        let Some(pages) = sys::private_pages(CHUNK) else { return settings };
        if let Ok(file) = Descriptor::open(c"/proc/self/environ", libc::O_RDONLY, 0) {
            // SAFETY: the pages were mapped above with this length and nobody else knows them.
            let buffer = unsafe { core::slice::from_raw_parts_mut(pages as *mut u8, CHUNK) };
            settings.read(file.read(buffer));
        }
        // SAFETY: `settings` holds copies, nothing points into the pages.
        unsafe { sys::unmap(pages, CHUNK) };
        settings
    }

    fn read(&mut self, environ: &[u8]) {
        for variable in environ.split(|&byte| byte == 0) {
            let Some(split) = variable.iter().position(|&byte| byte == b'=') else { continue };
            let (name, value) = (&variable[..split], &variable[split + 1..]);
            if name == environment::DIRECTORY.as_bytes() {
                self.directory = PathBuffer::new(value);
            } else if name == environment::AGENT.as_bytes() {
                self.agent = PathBuffer::new(value);
            } else if name == environment::SAMPLE.as_bytes() {
                self.sample_interval = sys::parse_decimal(value).unwrap_or(0);
            } else if name == environment::NO_FOLLOW.as_bytes() {
                self.follow = value != b"1";
            } else if name == environment::OBJECTS.as_bytes() {
                self.objects = Objects::from_word(value).unwrap_or_default();
            } else if name == environment::IMPORTS.as_bytes() {
                self.imports = Imports::from_word(value).unwrap_or_default();
            } else if name == environment::PASSIVE.as_bytes() {
                self.passive = value == b"1";
            } else if name == environment::NO_FRAMEWORKS.as_bytes() {
                self.frameworks = value != b"1";
            } else if name == environment::CHECKS.as_bytes() {
                self.checks = Checks::from_text(value);
                self.checks_text = PathBuffer::new(value);
            } else if name == environment::GUARDED_CODE.as_bytes() {
                self.guarded_code = kept(value);
            } else if name == environment::MEMCHECK.as_bytes() {
                self.memcheck = value == b"1";
            } else if name == environment::LEAK_CHECK_FROM.as_bytes() {
                self.leak_check_from = PathBuffer::new(value);
            } else if name == environment::LEAK_CHECK_TO.as_bytes() {
                self.leak_check_to = PathBuffer::new(value);
            } else if name == environment::LEAK_CHECK.as_bytes() {
                self.leak_check = value == b"1";
            } else {
                self.profile.read(name, value);
            }
        }
        self.settle();
    }

    /// Whoever writes profiles has no reader for samples, Python, frameworks and reclaim tests. Memory errors and lost blocks are
    /// found by what native code does, also where a module is loaded.
    fn settle(&mut self) {
        if self.memcheck || self.leak_check || self.checks.are_on() || self.directory.is_empty() {
            self.imports = Imports::Full;
        }
        if self.checks_section() {
            self.leak_check_name = self.leak_check_from;
            self.leak_check_name.push(b" to ");
            self.leak_check_name.push(self.leak_check_to.bytes());
        }
        if !self.directory.is_empty() {
            self.profile = ProfileSettings::NONE;
            self.wake_up = self.directory;
            self.wake_up.push(b"/");
            self.wake_up.push(environment::WAKE_UP_FIFO.as_bytes());
            return;
        }
        (self.checks, self.checks_text) = (Checks::NONE, PathBuffer::EMPTY);
        if self.profile.is_wanted() {
            (self.sample_interval, self.objects) = (0, Objects::None);
            (self.passive, self.frameworks) = (true, false);
        }
    }
}

/// A copy that stays.
fn kept(text: &[u8]) -> &'static [u8] {
    match sys::private_pages(text.len().max(1)) {
        // SAFETY: fresh pages of this length, which are never unmapped.
        Some(pages) => unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr(), pages as *mut u8, text.len());
            core::slice::from_raw_parts(pages as *const u8, text.len())
        },
        None => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_read_by_name() {
        let mut settings = Settings::NONE;
        settings.read(
            b"HOME=/root\0HEAPLENS_DIR=/dev/shm/x\0HEAPLENS_SAMPLE=4096\0NOVALUE\0HEAPLENS_NO_FOLLOW=1\0HEAPLENS_OBJECTS=all\0HEAPLENS_IMPORTS=full\0HEAPLENS_PASSIVE=1\0HEAPLENS_NO_FRAMEWORKS=1\0HEAPLENS_MEMCHECK=1\0HEAPLENS_LEAK_CHECK=1",
        );
        assert!(settings.leak_check);
        assert_eq!(settings.wake_up.bytes(), b"/dev/shm/x/wake-up");
        assert_eq!((settings.objects, settings.imports), (Objects::All, Imports::Full));
        assert_eq!(settings.directory.bytes(), b"/dev/shm/x");
        assert_eq!(settings.sample_interval, 4096);
        assert!(!settings.follow && settings.passive && !settings.frameworks);
        assert!(settings.memcheck && settings.agent.is_empty());
    }

    #[test]
    fn checks_need_a_recorder() {
        let text = b"HEAPLENS_CHECKS=canaries,guard-lines\0HEAPLENS_GUARDED_CODE=/p|1-2|";
        let mut settings = Settings::NONE;
        settings.read(text);
        assert_eq!(settings.checks, Checks::NONE);
        settings.read(
            b"HEAPLENS_DIR=/dev/shm/x\0HEAPLENS_CHECKS=canaries,guard-lines\0HEAPLENS_GUARDED_CODE=/p|1-2|",
        );
        assert!(settings.checks.canaries && settings.checks.are_on());
        assert_eq!(
            (settings.checks_text.bytes(), settings.guarded_code),
            (&b"canaries,guard-lines"[..], &b"/p|1-2|"[..])
        );
    }

    #[test]
    fn variables_of_gperftools_are_read_where_there_is_no_recorder() {
        let mut settings = Settings::NONE;
        assert!(settings.is_dormant());
        settings.read(
            b"HEAPPROFILE=/tmp/p\0HEAP_PROFILE_ALLOCATION_INTERVAL=7\0HEAP_PROFILE_INUSE_INTERVAL=x\0HEAP_PROFILE_TIME_INTERVAL=9\0HEAPPROFILESIGNAL=10",
        );
        let ProfileSettings { prefix, is_inherited, allocated, in_use, seconds, signal } = settings.profile;
        assert_eq!(prefix.bytes(), b"/tmp/p");
        assert_eq!((allocated, in_use, seconds, signal), (7, 100 << 20, 9, 10));
        assert!(!is_inherited && settings.passive && !settings.is_dormant());
        settings.read(b"HEAPPROFILE=\xaftmp/p");
        assert!(settings.profile.is_inherited);
        assert_eq!(settings.profile.prefix.bytes(), b"/tmp/p");
        settings.read(b"HEAPLENS_DIR=/dev/shm/x\0HEAPPROFILE=/tmp/p");
        assert!(!settings.profile.is_wanted());
        let mut settings = Settings::NONE;
        settings.read(b"HEAPPROFILE=");
        assert!(settings.is_dormant());
    }
    #[test]
    fn imports_are_folded_where_nothing_else_is_asked_for_and_no_memory_errors_are() {
        let imports = |text: &[u8]| {
            let mut settings = Settings::NONE;
            settings.read(text);
            settings.imports
        };
        assert_eq!(imports(b"HEAPLENS_DIR=/dev/shm/x"), Imports::Folded);
        assert_eq!(imports(b"HEAPLENS_DIR=/dev/shm/x\0HEAPLENS_IMPORTS=full"), Imports::Full);
        assert_eq!(imports(b"HEAPLENS_DIR=/dev/shm/x\0HEAPLENS_MEMCHECK=1"), Imports::Full);
        assert_eq!(imports(b"HEAPPROFILE=/tmp/p"), Imports::Full);
    }
}
