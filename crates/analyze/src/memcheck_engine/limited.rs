//! The bytes of an XML document as a reader of text can take them: valid UTF-8, and no more than a limit between two elements.

use std::io::{self, BufRead, Read};

/// Bytes of one element's text, at most: a name of a C++ function may have a megabyte.
const MOST_BYTES: usize = 16 << 20;
/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// Stands for a byte that is no part of a character: names of files are any bytes.
const UNREADABLE: u8 = b'?';

/// A reader of text with a limit.
#[derive(Debug)]
pub(super) struct Limited<R> {
    inner: R,
    /// What was read: up to `end` it is text, then follows the beginning of a character, if anything.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    left: usize,
}

impl<R: Read> Limited<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, bytes: Vec::with_capacity(CHUNK), start: 0, end: 0, left: MOST_BYTES }
    }

    /// The limit applies from here on.
    pub(super) fn renew(&mut self) {
        self.left = MOST_BYTES;
    }

    /// Reads more; `true` at the end. It may be less than a character.
    fn fill(&mut self) -> io::Result<bool> {
        self.bytes.drain(..self.end);
        let rest = self.bytes.len();
        self.bytes.resize(CHUNK, 0);
        let read = loop {
            match self.inner.read(&mut self.bytes[rest..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(rest + *read.as_ref().unwrap_or(&0));
        (self.start, self.end) = (0, make_text(&mut self.bytes, matches!(read, Ok(0))));
        read.map(|read| read == 0)
    }
}

/// Replaces what is no text; returns the length of what is. The beginning of a character at the end is left, unless nothing follows.
fn make_text(bytes: &mut [u8], is_last: bool) -> usize {
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let at = from + error.valid_up_to();
        match error.error_len() {
            None if !is_last => return at,
            length => {
                let end = length.map_or(bytes.len(), |length| at + length);
                bytes[at..end].fill(UNREADABLE);
                from = end;
            }
        }
    }
    bytes.len()
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: Read> BufRead for Limited<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other("an element has more than 16 MiB of text"));
        }
        // Nothing would mean the end.
        while self.start == self.end && !self.fill()? {}
        Ok(&self.bytes[self.start..self.end.min(self.start + self.left)])
    }

    fn consume(&mut self, amount: usize) {
        self.start += amount;
        self.left = self.left.saturating_sub(amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at once.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    fn text(bytes: &[u8], at_once: usize) -> String {
        let mut text = String::new();
        Limited::new(Slowly(bytes, at_once)).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn characters_stay_whole_however_they_arrive() {
        for at_once in 1..12 {
            assert_eq!(text("größe → 12".as_bytes(), at_once), "größe → 12", "{at_once}");
        }
    }

    #[test]
    fn bytes_that_are_no_characters_are_replaced() {
        for at_once in 1..6 {
            assert_eq!(text(b"a\xffb\xc3", at_once), "a?b?", "{at_once}");
        }
    }

    #[test]
    fn the_limit_is_one_of_what_is_read_between_two_renewals() {
        let mut limited = Limited::new(io::repeat(b'x'));
        let mut sink = vec![0; MOST_BYTES];
        limited.read_exact(&mut sink).unwrap();
        assert!(limited.read(&mut sink).is_err());
        limited.renew();
        limited.read_exact(&mut sink).unwrap();
    }
}
