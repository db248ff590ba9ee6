//! Files of ours: descriptors that close themselves, and what is done with a path.

use core::ffi::CStr;

use libc::c_int;

use super::call::{Errno, syscall};

/// A file descriptor that is closed when dropped.
#[derive(Debug)]
pub struct Descriptor(c_int);

impl Descriptor {
    /// Memory as a file that has no name, and is gone with its last mapping.
    pub fn nameless() -> Result<Self, Errno> {
        const MFD_NOEXEC_SEAL: usize = 8;
        let make = |flags: usize| {
            let args = [c"heaplens".as_ptr() as usize, libc::MFD_CLOEXEC as usize | flags, 0, 0, 0, 0];
            // SAFETY: the name is zero-terminated.
            unsafe { syscall(libc::SYS_memfd_create, args) }.map(|fd| Self(fd as c_int))
        };
        match make(MFD_NOEXEC_SEAL) {
            Err(Errno(libc::EINVAL)) => make(0), // before Linux 6.3
            result => result,
        }
    }

    /// Opens a file, close-on-exec.
    pub fn open(path: &CStr, flags: c_int, mode: u32) -> Result<Self, Errno> {
        let flags = flags | libc::O_CLOEXEC;
        let args = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
        // SAFETY: `path` is zero-terminated and lives over the call.
        unsafe { syscall(libc::SYS_openat, args) }.map(|fd| Self(fd as c_int))
    }

    /// Takes over a descriptor that was opened elsewhere.
    pub fn from_number(number: c_int) -> Self {
        Self(number)
    }

    /// The number, for calls that are not wrapped here.
    pub fn number(&self) -> c_int {
        self.0
    }

    /// Reads until the buffer is full or the file ends; the part that was read.
    pub fn read<'b>(&self, buffer: &'b mut [u8]) -> &'b mut [u8] {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let args = [self.0 as usize, rest.as_mut_ptr() as usize, rest.len(), 0, 0, 0];
            // SAFETY: the kernel writes at most `rest.len()` bytes into `rest`.
            match unsafe { syscall(libc::SYS_read, args) } {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(Errno(libc::EINTR)) => {}
                Err(_) => break,
            }
        }
        &mut buffer[..filled]
    }

    /// Reads at an offset; the part that was read.
    pub fn read_at<'b>(&self, buffer: &'b mut [u8], offset: u64) -> &'b [u8] {
        let args = [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset as usize, 0, 0];
        // SAFETY: the kernel writes at most `buffer.len()` bytes into `buffer`.
        let count = unsafe { syscall(libc::SYS_pread64, args) }.unwrap_or(0);
        &buffer[..count]
    }

    /// Writes all of it at the end, or fails.
    pub fn write_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let args = [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
            // SAFETY: the kernel reads `bytes`.
            match unsafe { syscall(libc::SYS_write, args) } {
                Ok(0) => return Err(Errno(libc::EIO)),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Writes in the middle, where there is something already; whether all of it was.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> bool {
        let args = [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
        // SAFETY: the kernel reads `bytes`.
        let written = unsafe { syscall(libc::SYS_pwrite64, args) };
        written == Ok(bytes.len())
    }

    /// Sets the length of the file; what is added is a hole.
    pub fn set_length(&self, length: u64) -> Result<(), Errno> {
        // SAFETY: ftruncate takes no pointer.
        unsafe { syscall(libc::SYS_ftruncate, [self.0 as usize, length as usize, 0, 0, 0, 0]) }.map(drop)
    }

    /// Makes sure that `length` bytes from `offset` on exist: they can be touched without a fault that kills.
    pub fn allocate(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let args = [self.0 as usize, 0, offset as usize, length as usize, 0, 0];
        loop {
            // SAFETY: fallocate takes no pointer.
            match unsafe { syscall(libc::SYS_fallocate, args) } {
                Ok(_) => return Ok(()),
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: close takes no pointer; the descriptor is ours.
        let _ = unsafe { syscall(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Where a symbolic link leads; the part of the buffer that holds it.
pub fn read_link<'b>(path: &CStr, buffer: &'b mut [u8]) -> &'b [u8] {
    let args = [path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    let length = unsafe { syscall(libc::SYS_readlink, args) }.unwrap_or(0);
    &buffer[..length]
}

/// The working directory; the part of the buffer that holds it, without the terminator.
pub fn working_directory(buffer: &mut [u8]) -> &[u8] {
    let args = [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0];
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    let length = unsafe { syscall(libc::SYS_getcwd, args) }.unwrap_or(0);
    &buffer[..length.saturating_sub(1)]
}

/// Gives a file of ours its final name.
pub fn rename(from: &CStr, to: &CStr) -> Result<(), Errno> {
    let args = [from.as_ptr() as usize, to.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: both are zero-terminated and live over the call.
    unsafe { syscall(libc::SYS_rename, args) }.map(drop)
}

/// Removes a file of ours.
pub fn remove_file(path: &CStr) {
    // SAFETY: `path` is zero-terminated and lives over the call.
    let _ = unsafe { syscall(libc::SYS_unlink, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Whether the process, with the rights that it has now, may read a file.
pub fn may_read(path: &CStr) -> bool {
    match access(path, libc::R_OK) {
        Err(Errno(libc::ENOSYS)) => Descriptor::open(path, libc::O_RDONLY, 0).is_ok(), // before Linux 5.8
        result => result.is_ok(),
    }
}

/// What is against it that the process does this with a file.
pub fn access(path: &CStr, mode: c_int) -> Result<(), Errno> {
    const AT_EACCESS: usize = 0x200;
    let args = [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode as usize, AT_EACCESS, 0, 0];
    // SAFETY: `path` is zero-terminated and lives over the call.
    unsafe { syscall(libc::SYS_faccessat2, args) }.map(drop)
}
