//! A path in memory of fixed size, made without allocating.

/// The longest path that is kept, with its terminator.
pub const PATH_LENGTH: usize = 1024;

/// A zero-terminated path in a fixed buffer.
#[derive(Clone, Copy, Debug)]
pub struct PathBuffer {
    bytes: [u8; PATH_LENGTH],
    length: usize,
}

impl PathBuffer {
    /// The empty path.
    pub const EMPTY: Self = Self { bytes: [0; PATH_LENGTH], length: 0 };

    /// Copies a path; one that is too long becomes empty, since a cut path would be another file.
    pub fn new(path: &[u8]) -> Self {
        let mut copy = Self::EMPTY;
        copy.push(path);
        copy
    }

    /// The folder that it is in.
    pub fn folder(&self) -> Self {
        match self.bytes().iter().rposition(|&byte| byte == b'/') {
            None => Self::new(b"."),
            Some(0) => Self::new(b"/"),
            Some(end) => Self::new(&self.bytes()[..end]),
        }
    }

    /// Appends; on overflow the whole path becomes empty.
    pub fn push(&mut self, part: &[u8]) {
        let end = self.length + part.len();
        if end >= PATH_LENGTH {
            return self.clear();
        }
        self.bytes[self.length..end].copy_from_slice(part);
        self.length = end;
        self.bytes[end] = 0;
    }

    /// Appends a decimal number.
    pub fn push_number(&mut self, number: u32) {
        self.push(decimal(number, &mut [0; DIGITS]));
    }

    /// Makes it empty.
    pub fn clear(&mut self) {
        (self.length, self.bytes[0]) = (0, 0);
    }

    /// The bytes without the terminator.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// For the kernel.
    pub fn as_c_str(&self) -> &core::ffi::CStr {
        core::ffi::CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// The most digits of a number.
pub const DIGITS: usize = 10;

/// A number, in its last digits.
pub fn decimal(number: u32, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_no_path() {
        assert!(PathBuffer::new(&[b'x'; PATH_LENGTH]).is_empty());
        let mut path = PathBuffer::new(b"/a/");
        path.push_number(4_294_967_295);
        path.push(b".");
        path.push_number(0);
        assert_eq!(path.bytes(), b"/a/4294967295.0");
        assert_eq!(path.as_c_str(), c"/a/4294967295.0");
        for (path, folder) in [("/a/b/c", "/a/b"), ("/c", "/"), ("c", ".")] {
            assert_eq!(PathBuffer::new(path.as_bytes()).folder().bytes(), folder.as_bytes());
        }
    }
}
