//! ```text
//!   names:  text
//!   sites:  0 not known │ 1 several │ 2 and the index of the name
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::Outcome;
use crate::recording::model::{ThreadOf, Threads};
use crate::recording::wire::{Reader, Writer};

pub(crate) fn write(threads: &Threads, to: &mut Writer) {
    to.count(threads.names.len());
    threads.names.iter().for_each(|name| to.text(name));
    to.count(threads.of_sites.len());
    for of in &threads.of_sites {
        to.number(match of {
            ThreadOf::Unknown => 0,
            ThreadOf::Several => 1,
            ThreadOf::Named(index) => 2 + u64::from(*index),
        });
    }
}

pub(crate) fn read(threads: &mut Threads, from: &mut Reader<'_>) -> Outcome {
    let mut names = Vec::new();
    let outcome = from.rows(1, &mut names, |from| Ok(String::from(from.text()?)));
    // What was read before a fault is as true as without it.
    threads.names = names;
    outcome?;
    from.rows(1, &mut threads.of_sites, |from| {
        Ok(match from.small()? {
            0 => ThreadOf::Unknown,
            1 => ThreadOf::Several,
            number => ThreadOf::Named(number - 2),
        })
    })
}
