//! Numbers and texts inside a payload. The reader trusts no length: nothing is reserved that the bytes left could not
//! fill.
//!
//! ```text
//!   number   LEB128: 7 bits a byte, least first, the top bit says "more follows"; at most 10 bytes
//!   signed   number, zigzag: 0, -1, 1, -2 … are 0, 1, 2, 3 …
//!   text     number of bytes, then UTF-8
//!   bytes    number of bytes, then these
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::damage::PayloadFault;

/// Bytes that a payload is made of.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(super) fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    pub(super) fn count(&mut self, value: usize) {
        self.number(value as u64);
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.bytes.extend_from_slice(value);
    }

    pub(super) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub(super) fn texts(&mut self, values: &[String]) {
        self.count(values.len());
        values.iter().for_each(|value| self.text(value));
    }

    pub(super) fn append(&mut self, other: Self) {
        self.bytes.extend_from_slice(&other.bytes);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// A position in a payload.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How far it has read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn byte(&mut self) -> Result<u8, PayloadFault> {
        let byte = *self.bytes.get(self.at).ok_or(PayloadFault::Short)?;
        self.at += 1;
        Ok(byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, PayloadFault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(PayloadFault::NumberTooLarge);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(PayloadFault::NumberTooLarge)
    }

    /// A number that fits a smaller type.
    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, PayloadFault> {
        T::try_from(self.number()?).map_err(|_| PayloadFault::NumberTooLarge)
    }

    pub(super) fn signed(&mut self) -> Result<i64, PayloadFault> {
        let raw = self.number()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], PayloadFault> {
        let length = self.small::<usize>()?;
        let rest = &self.bytes[self.at..];
        let bytes = rest.get(..length).ok_or(PayloadFault::Short)?;
        self.at += length;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, PayloadFault> {
        core::str::from_utf8(self.bytes()?).map_err(|_| PayloadFault::NotText)
    }

    pub(super) fn texts(&mut self) -> Result<Vec<String>, PayloadFault> {
        let mut texts = Vec::new();
        self.rows(1, &mut texts, |reader| reader.text().map(String::from))?;
        Ok(texts)
    }

    /// Reads a counted table into `rows`; on a fault the rows before it stay. `smallest` is the least number of bytes
    /// of a row: it bounds what is reserved.
    pub(super) fn rows<T>(
        &mut self,
        smallest: usize,
        rows: &mut Vec<T>,
        mut row: impl FnMut(&mut Self) -> Result<T, PayloadFault>,
    ) -> Result<(), PayloadFault> {
        let count = self.number()?;
        let room = self.left() / smallest.max(1);
        rows.reserve(usize::try_from(count).unwrap_or(usize::MAX).min(room));
        for _ in 0..count {
            rows.push(row(self)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_reads_back(value: u64, sign: i64) {
            let mut writer = Writer::default();
            writer.number(value);
            writer.signed(sign);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(reader.number(), Ok(value));
            prop_assert_eq!(reader.signed(), Ok(sign));
            prop_assert_eq!(reader.left(), 0);
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_refused() {
        assert_eq!(Reader::new(&[0xff; 11]).number(), Err(PayloadFault::NumberTooLarge));
        let two_to_the_64 = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2];
        assert_eq!(Reader::new(&two_to_the_64).number(), Err(PayloadFault::NumberTooLarge));
    }

    #[test]
    fn a_length_beyond_the_payload_is_refused_without_reserving() {
        let mut writer = Writer::default();
        writer.number(u64::MAX);
        let bytes = writer.finish();
        assert_eq!(Reader::new(&bytes).bytes(), Err(PayloadFault::Short));
        let mut rows = Vec::new();
        let fault = Reader::new(&bytes).rows(1, &mut rows, |reader| reader.byte());
        assert_eq!((fault, rows.capacity()), (Err(PayloadFault::Short), 0));
    }
}
