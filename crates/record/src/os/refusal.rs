//! Whether the kernel refused a call.

use std::io;

/// Whether a call was refused for lack of privileges or by a seccomp filter.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}
