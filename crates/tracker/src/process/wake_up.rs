//! The wake-up FIFO: how an agent has the recorder read its arena at once.

use heaplens_format::environment::WAKE_UP_FIFO;

use super::settings::settings;
use crate::sys::Descriptor;

/// Whether somebody reads the wake-up FIFO. The open alone wakes the recorder: nothing is written, which could raise SIGPIPE.
pub(crate) fn wake_recorder() -> bool {
    let mut path = settings().directory;
    path.push(b"/");
    path.push(WAKE_UP_FIFO.as_bytes());
    Descriptor::open(path.as_c_str(), libc::O_WRONLY | libc::O_NONBLOCK, 0).is_ok()
}
