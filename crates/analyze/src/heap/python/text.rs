//! Names and keys as texts. Contents are not for a recording: a text is cut where a name would end.

use heaplens_cpython::ReadMemory;
use heaplens_cpython::fixed::type_flag;
use heaplens_cpython::unicode::{State, Text};
use heaplens_format::Addr;

use super::class::ClassKind;
use super::interpreter::Python;

/// Characters of a key that are reported.
const LONGEST_KEY: usize = 40;
/// Characters of a name of Python's: longer ones are no names.
pub(super) const LONGEST_NAME: usize = 200;

impl<M: ReadMemory> Python<'_, M> {
    /// A string, cut after so many characters.
    pub(super) fn text(&self, object: Addr, most: usize) -> Option<String> {
        if !self.class_of(object)?.has(type_flag::STR) {
            return None;
        }
        let Text { start, length, width, .. } = Text::of(&self.reader, &self.layout.unicode, object.get())?;
        let count = (length as usize).min(most);
        let mut bytes = vec![0; count * width as usize];
        let is_read = self.reader.fill(start, &mut bytes);
        let mut text: String = is_read.then(|| width.decode(&bytes).map(printable).collect())?;
        if length as usize > most {
            text.push('…');
        }
        Some(text)
    }

    /// A key of a dict as it is reported: texts in quotes, numbers, `True`, `None`; of any other its type, in angle brackets.
    pub(super) fn key(&self, object: Addr) -> Option<String> {
        let class = self.class_of(object)?;
        let written = match class.kind {
            ClassKind::Text => self.text(object, LONGEST_KEY).map(|text| format!("'{text}'")),
            ClassKind::Integer => self.integer(object).map(|number| number.to_string()),
            ClassKind::Boolean => {
                self.integer(object).map(|number| String::from(if number == 0 { "False" } else { "True" }))
            }
            ClassKind::Nothing => Some("None".into()),
            _ => None,
        };
        Some(written.unwrap_or_else(|| format!("<{}>", self.class_name(class.id))))
    }

    fn integer(&self, object: Addr) -> Option<i128> {
        self.layout.integer.value(&self.reader, object.get())
    }
}

/// Whether a string has nothing apart from itself, by the word that its state lies in.
pub(super) fn is_compact_ascii(state: u64) -> bool {
    let state = State::new(state as u32);
    state.is_compact() && state.is_ascii()
}

/// A name stands on one line.
fn printable(character: char) -> char {
    if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }
}
