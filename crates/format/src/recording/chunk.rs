//! A recording as a row of chunks: where one begins, how long it is, whether it is whole. What a payload means is
//! not known here.
//!
//! ```text
//!   file    magic 8 │ major u16 │ minor u16 │ CRC-32C of the 12 bytes before, u32 │ chunk │ chunk │ … │ END chunk
//!   chunk   kind u16 │ 0 u16 │ process u32 │ length u64 │ CRC of the payload u32 │ CRC of the 20 bytes before u32 │ payload
//! ```
//!
//! All numbers are little-endian. The chunk header has a checksum of its own: when only the payload is damaged, the
//! length can still be trusted and the next chunk is found.

use alloc::vec::Vec;

use super::checksum::crc32c;
use super::damage::Fault;
use super::version::{Section, Version};

/// The first bytes of a recording. The bytes around the letters are those of PNG: a transfer that changes line ends or
/// clears the top bit is noticed.
pub(super) const MAGIC: [u8; 8] = *b"\x89HLR\r\n\x1a\n";
/// Length of the file header.
pub(super) const FILE_HEADER: usize = 16;
/// Length of a chunk header.
pub(super) const CHUNK_HEADER: usize = 24;
/// The process number of chunks that belong to the run as a whole.
pub(super) const NO_PROCESS: u32 = u32::MAX;

/// Writes the head of a file.
pub(super) fn put_file_header(file: &mut Vec<u8>, version: Version) {
    let start = file.len();
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&version.major.to_le_bytes());
    file.extend_from_slice(&version.minor.to_le_bytes());
    let checksum = crc32c(&file[start..]);
    file.extend_from_slice(&checksum.to_le_bytes());
}

/// Writes one chunk.
pub(super) fn put_chunk(file: &mut Vec<u8>, kind: u16, process: u32, payload: &[u8]) {
    let start = file.len();
    file.extend_from_slice(&u32::from(kind).to_le_bytes());
    file.extend_from_slice(&process.to_le_bytes());
    file.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    file.extend_from_slice(&crc32c(payload).to_le_bytes());
    let checksum = crc32c(&file[start..]);
    file.extend_from_slice(&checksum.to_le_bytes());
    file.extend_from_slice(payload);
}

/// A chunk whose header is sound.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    /// Offset of its header in the file.
    pub(super) offset: usize,
    pub(super) kind: u16,
    pub(super) process: u32,
    /// The payload, or what is wrong with it.
    pub(super) payload: Result<&'a [u8], Fault>,
}

impl Chunk<'_> {
    /// Offset of the payload in the file.
    pub(super) fn payload_offset(&self) -> usize {
        self.offset + CHUNK_HEADER
    }
}

/// The chunks of a file, one by one. Ends at the end of the bytes or at the first header that cannot be trusted.
pub(super) struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
    stopped: bool,
}

impl<'a> Chunks<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: FILE_HEADER.min(bytes.len()), stopped: false }
    }

    /// Where the next chunk would begin.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn read(&mut self) -> Result<Chunk<'a>, Fault> {
        let rest = &self.bytes[self.at..];
        let header =
            rest.first_chunk::<CHUNK_HEADER>().ok_or(Fault::torn(CHUNK_HEADER as u64, rest.len()))?;
        if crc32c(&header[..20]) != u32_at(header, 20) {
            return Err(Fault::ChunkHeader);
        }
        let payload = Self::payload(header, &rest[CHUNK_HEADER..])?;
        let chunk = Chunk {
            offset: self.at,
            kind: u16_at(header, 0),
            process: u32_at(header, 4),
            payload: Ok(payload),
        };
        self.at += CHUNK_HEADER + payload.len();
        Ok(Self::checked(chunk, u32_at(header, 16)))
    }

    fn payload(header: &[u8; CHUNK_HEADER], rest: &'a [u8]) -> Result<&'a [u8], Fault> {
        let mut length = [0; 8];
        length.copy_from_slice(&header[8..16]);
        let length = u64::from_le_bytes(length);
        let whole = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        whole.ok_or_else(|| Fault::Torn {
            section: Section::from_kind(u16_at(header, 0)),
            process: Some(u32_at(header, 4)).filter(|&process| process != NO_PROCESS),
            needed: length,
            left: rest.len() as u64,
        })
    }

    fn checked(mut chunk: Chunk<'a>, expected: u32) -> Chunk<'a> {
        if let Ok(payload) = chunk.payload {
            let found = crc32c(payload);
            if found != expected {
                chunk.payload = Err(Fault::Checksum { expected, found });
            }
        }
        chunk
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.stopped || self.at == self.bytes.len() {
            return None;
        }
        let chunk = self.read();
        self.stopped = chunk.is_err();
        Some(chunk)
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
