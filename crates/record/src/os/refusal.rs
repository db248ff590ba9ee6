//! Whether the kernel refused a call.

use std::io;

/// Whether a call was refused by the rights of this process or by a filter of system calls.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS))
}
