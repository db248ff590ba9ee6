//! The stacks of one process: each path once, frames with their names, whose code each of them is, and which frame or line a
//! stack is named by.

mod allocating;
mod frame;
mod naming;
mod origin;
mod table;

pub(crate) use allocating::{allocated_by_library, extension_module, is_callback_of_ctypes};
pub(crate) use frame::LineKey;
pub use frame::StackFrame;
pub(crate) use heaplens_format::object_file::{is_installed, is_interpreter_file, is_runtime_file};
pub(crate) use naming::{error_line, is_own, own_line, thread_start};
pub use naming::{headline, is_interpreter, is_library};
pub use origin::Origin;
pub(crate) use table::Stacks;
pub use table::{Cut, Frames, Import, StackId, StackStep};
