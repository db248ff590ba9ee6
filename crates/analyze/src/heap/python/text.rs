//! Names and keys as texts. Contents are not for a recording: a text is cut where a name would end.

use super::Python;
use super::classes::Kind;
use super::layout::{INT_DIGITS, SIZE, STR_LENGTH, STR_STATE, flag};
use crate::heap::ReadMemory;

/// Characters of a key that are told.
const LONGEST_KEY: usize = 40;
/// Characters of a name of Python's: longer ones are no names.
pub(super) const LONGEST_NAME: usize = 200;
/// Digits of 30 bits of an integer that is told.
const MOST_DIGITS: u64 = 4;

impl<M: ReadMemory> Python<'_, M> {
    /// A string, cut behind so many characters.
    pub(super) fn text(&self, object: u64, most: usize) -> Option<String> {
        if !self.class_of(object)?.has(flag::STR) {
            return None;
        }
        let length = self.reader.word(object + STR_LENGTH)?;
        let state = self.reader.half(object + STR_STATE)?;
        let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        let start = match (is_compact, is_ascii) {
            (true, true) => object + self.layout.text_ascii,
            (true, false) => object + self.layout.text_wide,
            // Objects of subclasses have their characters elsewhere.
            (false, _) => self.reader.word(object + self.layout.text_wide)?,
        };
        let count = (length as usize).min(most);
        let mut bytes = vec![0; count * width as usize];
        let is_sound = matches!(width, 1 | 2 | 4) && self.reader.fill(start, &mut bytes);
        let mut text = is_sound.then(|| decode(&bytes, width as usize))?;
        if length as usize > most {
            text.push('…');
        }
        Some(text)
    }

    /// A key of a dict as it is told: texts in quotes, numbers, `True`, `None`; of any other its type, in angle brackets.
    pub(super) fn key(&self, object: u64) -> Option<String> {
        let class = self.class_of(object)?;
        let told = match class.kind {
            Kind::Text => self.text(object, LONGEST_KEY).map(|text| format!("'{text}'")),
            Kind::Integer => self.integer(object).map(|number| number.to_string()),
            Kind::Boolean => {
                self.integer(object).map(|number| String::from(if number == 0 { "False" } else { "True" }))
            }
            Kind::Nothing => Some("None".into()),
            _ => None,
        };
        Some(told.unwrap_or_else(|| format!("<{}>", self.class_name(class.id))))
    }

    fn integer(&self, object: u64) -> Option<i128> {
        let word = self.reader.word(object + SIZE)?;
        let (digits, is_negative) = match self.layout.tagged_integers {
            true => (word >> 3, word & 3 == 2),
            false => ((word as i64).unsigned_abs(), (word as i64) < 0),
        };
        if digits > MOST_DIGITS {
            return None;
        }
        let mut size = 0i128;
        for digit in (0..digits).rev() {
            size = size << 30 | i128::from(self.reader.half(object + INT_DIGITS + 4 * digit)? & 0x3fff_ffff);
        }
        Some(if is_negative { -size } else { size })
    }
}

/// Characters of one, two or four bytes each.
fn decode(bytes: &[u8], width: usize) -> String {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |number, &byte| number << 8 | u32::from(byte));
    let character = |bytes: &[u8]| char::from_u32(number(bytes)).unwrap_or(char::REPLACEMENT_CHARACTER);
    bytes.chunks_exact(width).map(character).map(printable).collect()
}

/// A name stands on one line.
fn printable(character: char) -> char {
    if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }
}
