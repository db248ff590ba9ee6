//! Heap profiles that the program writes itself (`heaplens_tracker::profiles`): what has to be set up before its first line. A signal
//! that asks for one, a mark for the programs that it starts, and a word where nothing can be written.

use core::ffi::{CStr, c_char, c_int};

use heaplens_format::environment::{PROFILE, PROFILE_INHERITED};
use heaplens_tracker::process::path::PathBuffer;
use heaplens_tracker::process::{self, Life};
use heaplens_tracker::sys::{self, Descriptor, Errno};
use heaplens_tracker::tracker;

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// The program is about to begin.
pub fn watch() {
    let settings = &process::settings().profile;
    if process::life() != Life::Recording || !settings.is_wanted() {
        return;
    }
    if !settings.is_inherited {
        mark_environment();
        warn(&settings.prefix);
    }
    if settings.signal != 0 {
        listen(settings.signal as c_int);
    }
}

/// Programs that it starts must not write over its files. They learn it as from gperftools: in a bit of the variable's value, so
/// that nothing is allocated.
fn mark_environment() {
    // SAFETY: before the program's first line, on the only thread: a null-terminated array of zero-terminated strings that may be
    // written to.
    unsafe {
        let mut cursor = environ;
        while !cursor.is_null() && !(*cursor).is_null() {
            let text = CStr::from_ptr(*cursor).to_bytes();
            let value = text.strip_prefix(PROFILE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            if value.is_some_and(|value| !value.is_empty()) {
                *(*cursor).add(PROFILE.len() + 1) |= PROFILE_INHERITED as c_char;
            }
            cursor = cursor.add(1);
        }
    }
}

/// Whoever has mistyped the folder is warned now: later, descriptor 2 may be a file of the program's.
fn warn(prefix: &PathBuffer) {
    let Err(Errno(errno)) = sys::access(prefix.folder().as_c_str(), libc::W_OK | libc::X_OK) else { return };
    if errno == libc::ENOSYS {
        return; // before Linux 5.8
    }
    let mut line = PathBuffer::new(b"heaplens: no heap profiles can be written to ");
    line.push(prefix.folder().bytes());
    line.push(b": error ");
    line.push_number(errno as u32);
    line.push(b"\n");
    let stderr = core::mem::ManuallyDrop::new(Descriptor::from_number(libc::STDERR_FILENO));
    let _ = stderr.write_all(line.bytes());
}

/// A signal that has its use already keeps it.
fn listen(signal: c_int) {
    // SAFETY: both structures are numbers and function pointers, for which zero is a value; the handler has the type that is asked for.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(signal, core::ptr::null(), &mut now) != 0 || now.sa_sigaction != libc::SIG_DFL {
            return;
        }
        let mut ours: libc::sigaction = core::mem::zeroed();
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &ours, core::ptr::null_mut());
    }
}

extern "C" fn on_signal(_signal: c_int) {
    tracker().on_profile_signal();
}
