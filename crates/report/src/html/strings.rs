//! Each text of the page's data once.

use std::collections::HashMap;

/// Texts, by the order in which they were first met.
#[derive(Debug, Default)]
pub(super) struct Strings {
    list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Strings {
    /// The number of a text.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let number = self.list.len() as u32;
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }

    /// All of them.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}
