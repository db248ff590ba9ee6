//! Reads numbers and encoded pointers from the bytes of one segment; every access is checked.

use crate::modules::Segment;

/// Bytes that are consumed from the front, with the address of the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) address: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn at(segment: Segment<'a>, address: u64) -> Option<Self> {
        let offset = usize::try_from(address.checked_sub(segment.start.get())?).ok()?;
        Some(Self { bytes: segment.bytes.get(offset..)?, address })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.bytes.split_at_checked(length)?;
        self.bytes = tail;
        self.address = self.address.wrapping_add(length as u64);
        Some(head)
    }

    pub(super) fn split(&mut self, length: usize) -> Option<Self> {
        let address = self.address;
        Some(Self { bytes: self.take(length)?, address })
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Option<i32> {
        Some(i32::from_le_bytes(self.array()?))
    }

    pub(super) fn c_string(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes.iter().position(|&byte| byte == 0)?;
        let text = self.take(length)?;
        self.u8()?;
        Some(text)
    }

    pub(super) fn block(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.uleb()?).ok()?;
        self.take(length)
    }

    pub(super) fn uleb(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn sleb(&mut self) -> Option<i64> {
        let mut value = 0i64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let unused = 64 - (shift + 7).min(64);
                return Some(value << unused >> unused);
            }
        }
        None
    }

    /// A pointer in one of the encodings of exception tables; indirect and data-relative ones are not needed here.
    pub(super) fn encoded(&mut self, encoding: u8) -> Option<u64> {
        let here = self.address;
        let value = match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => u64::from_le_bytes(self.array()?),
            0x01 => self.uleb()?,
            0x02 => u64::from(self.u16()?),
            0x03 => u64::from(self.u32()?),
            0x09 => self.sleb()? as u64,
            0x0a => i64::from(self.u16()? as i16) as u64,
            0x0b => i64::from(self.i32()?) as u64,
            _ => return None,
        };
        match encoding & 0x70 {
            0x00 => Some(value),
            0x10 => Some(here.wrapping_add(value)),
            _ => None,
        }
    }
}
