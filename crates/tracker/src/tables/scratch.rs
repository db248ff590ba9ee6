//! An arena for the tests of every table.

use super::arena::Arena;
use crate::process::path::PathBuffer;
use crate::sys::{self, Descriptor};

/// An arena in an anonymous file, for the tests of every table.
pub(crate) fn scratch() -> Arena {
    // SAFETY: memfd_create reads the zero-terminated name.
    let fd = unsafe { sys::syscall(libc::SYS_memfd_create, [c"test".as_ptr() as usize, 1, 0, 0, 0, 0]) };
    let arena = Arena::new();
    arena.create(Descriptor::from_number(fd.unwrap() as i32), PathBuffer::EMPTY).unwrap();
    arena.take_pages(1).unwrap();
    arena
}
