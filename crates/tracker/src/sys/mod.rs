//! System calls. Every function returns what the kernel returned; nothing here is on the path of an ordinary event, and nothing here
//! knows anything else of this crate.

mod call;
mod descriptor;
mod identity;
mod memory;

pub use call::{Errno, confine, is_confined, set_mask, syscall, wait_on, wake};
pub use descriptor::{Descriptor, access, may_read, read_link, remove_file, rename, working_directory};
pub use identity::{
    ProcessNumbers, monotonic_ns, note_own_pid, own_pid, parse_decimal, process_id, process_numbers,
    resident_bytes, soft_limit, thread_id, thread_name, thread_pointer,
};
pub use memory::{
    advise, clear_below_stack, map, memory_of_machine, own_ranges, private_pages, protect, read_bytes,
    read_words, unmap,
};
