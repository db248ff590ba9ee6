//! Names and keys as texts. Contents are not for a recording: of a key that does not stand in the source only its type and length are
//! reported, and a text is cut where a name would end.

use std::ops::ControlFlow;

use heaplens_cpython::ReadMemory;
use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::fixed::{type_flag, unicode};
use heaplens_cpython::unicode::{State, Text};
use heaplens_format::Addr;

use super::class::{Class, ClassKind};
use super::interpreter::Python;
use super::references::Label;

/// Characters of a key that are reported.
const LONGEST_KEY: usize = 40;
/// Characters of a name of Python's: longer ones are no names.
pub(super) const LONGEST_NAME: usize = 200;
/// Characters of a file's path.
pub(super) const LONGEST_PATH: usize = 4096;
/// Numbers below this say little of what they count or identify.
const LEAST_HIDDEN: u128 = 10_000;

/// A key of a dict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DictKey {
    /// The key.
    pub object: Addr,
    /// Whether the dict has the variables of a module.
    pub is_variable: bool,
}

/// Whether a key is reported as it is, and not as its type and length.
pub type ShowsKey<'a> = &'a dyn Fn(DictKey) -> bool;

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

    /// A key of a dict as it is reported: texts in quotes, numbers, `True`, `None`; of any other its type, in angle brackets. Where it
    /// is not to be seen, its type and length.
    pub(super) fn key(&self, object: Addr, shows: ShowsKey<'_>) -> Option<String> {
        let class = self.class_of(object)?;
        if let Some(hidden) = self.hidden(object, &class)
            && !shows(DictKey { object, is_variable: false })
        {
            return Some(hidden);
        }
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

    /// A key that names an attribute or a variable; where it is not to be seen, its type and length in brackets.
    pub(super) fn name(&self, key: DictKey, shows: ShowsKey<'_>) -> Option<String> {
        let class = self.class_of(key.object)?;
        match self.hidden(key.object, &class).filter(|_| !shows(key)) {
            Some(hidden) => Some(format!("[{hidden}]")),
            None => self.text(key.object, LONGEST_NAME),
        }
    }

    /// What is reported of a key that is not to be seen; `None` where the key says nothing of what the program works on.
    fn hidden(&self, object: Addr, class: &Class) -> Option<String> {
        let length = |offset: u64| self.reader.word_in(object, offset);
        match class.kind {
            ClassKind::Text => Some(format!("str of {}", length(unicode::LENGTH)?)),
            ClassKind::Tuple => Some(format!("tuple of {}", length(SIZE)?)),
            ClassKind::Plain if class.has(type_flag::BYTES) => Some(format!("bytes of {}", length(SIZE)?)),
            ClassKind::Integer => {
                let size = self.integer(object)?.unsigned_abs();
                (size >= LEAST_HIDDEN).then(|| format!("int of {} digits", 1 + size.ilog10()))
            }
            _ => None,
        }
    }

    /// Whether a string is interned, as all names of code are.
    pub fn is_interned(&self, object: Addr) -> bool {
        let is_text = self.class_of(object).is_some_and(|class| class.has(type_flag::STR));
        is_text
            && self
                .reader
                .half_in(object, unicode::STATE)
                .is_some_and(|state| State::new(state).is_interned())
    }

    /// The text of a name; `None` where the object is none.
    pub fn name_text(&self, object: Addr) -> Option<String> {
        self.text(object, LONGEST_NAME)
    }

    /// The file of a module, by its dict. Of a script that has ended only its loader knows it.
    pub fn file_of_module(&self, dict: Addr) -> Option<String> {
        let of_loader = || self.attribute(self.value_of(dict, "__loader__")?, "path");
        self.text(self.value_of(dict, "__file__").or_else(of_loader)?, LONGEST_PATH)
    }

    fn attribute(&self, object: Addr, name: &str) -> Option<Addr> {
        let mut found = None;
        let _ = self.each_reference(object, &mut |target, label| match label {
            Label::Attribute(key) if self.text(key, LONGEST_NAME).as_deref() == Some(name) => {
                found = Some(target);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found
    }

    pub(super) fn integer(&self, object: Addr) -> Option<i128> {
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
