//! The wake-up FIFO: how an agent has the recorder read its arena at once.

use super::settings::settings;
use crate::sys::Descriptor;

/// Whether somebody reads the wake-up FIFO. The open alone wakes the recorder: nothing is written, which could raise SIGPIPE.
pub(crate) fn wake_recorder() -> bool {
    let path = &settings().wake_up;
    !path.is_empty() && Descriptor::open(path.as_c_str(), libc::O_WRONLY | libc::O_NONBLOCK, 0).is_ok()
}
