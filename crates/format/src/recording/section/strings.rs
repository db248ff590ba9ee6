//! A table of strings, each written once and then named by its number. The strings of the model are shared, not copied:
//! a small file cannot name one long string a million times and fill the memory.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::recording::damage::PayloadFault;
use crate::recording::wire::{Reader, Writer};

/// The strings to be written to a file: every one once, in the order of first use.
#[derive(Default)]
pub(super) struct Strings<'a> {
    numbers: BTreeMap<&'a str, u64>,
    order: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    /// The number of a string, from 0.
    pub(super) fn number(&mut self, string: &'a str) -> u64 {
        let next = self.order.len() as u64;
        let number = *self.numbers.entry(string).or_insert(next);
        if number == next {
            self.order.push(string);
        }
        number
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.count(self.order.len());
        self.order.iter().for_each(|string| to.text(string));
    }
}

/// The strings of a file.
pub(super) fn read(from: &mut Reader<'_>) -> Result<Vec<Arc<str>>, PayloadFault> {
    let mut strings = Vec::new();
    from.rows(1, &mut strings, |from| from.text().map(Arc::from))?;
    Ok(strings)
}

/// The string with this number.
pub(super) fn get(strings: &[Arc<str>], number: u64) -> Result<Arc<str>, PayloadFault> {
    let string = usize::try_from(number).ok().and_then(|index| strings.get(index));
    string.cloned().ok_or(PayloadFault::NoSuchString(number))
}
