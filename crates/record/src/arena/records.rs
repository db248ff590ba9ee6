//! Words and strings of an arena's records. A record that is too short has zeroes, and a string outside of its table is empty.

/// A string of STRINGS: its offset in the high, its length in the low half of the word.
pub(crate) fn string(strings: &[u8], word: u64) -> &[u8] {
    let start = (word >> 32) as usize;
    strings.get(start..start + word as u32 as usize).unwrap_or_default()
}

/// A word of a record, by its offset.
pub(crate) fn word(record: &[u8], at: usize) -> u64 {
    record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}
