//! ```text
//!   strings: rows of texts
//!   rows:    name │ file │ first line                    name and file: number of the string
//! ```

use alloc::vec::Vec;

use super::Outcome;
use super::strings::{self, Strings};
use crate::recording::model::Code;
use crate::recording::wire::{Reader, Writer};

pub(crate) fn write(codes: &[Code], to: &mut Writer) {
    let mut strings = Strings::default();
    let mut rows = Writer::default();
    for code in codes {
        rows.number(strings.number(&code.name));
        rows.number(strings.number(&code.file));
        rows.number(code.first_line.into());
    }
    strings.write(to);
    to.count(codes.len());
    to.append(rows);
}

pub(crate) fn read(codes: &mut Vec<Code>, from: &mut Reader<'_>) -> Outcome {
    let strings = strings::read(from)?;
    from.rows(3, codes, |from| {
        Ok(Code {
            name: strings::get(&strings, from.number()?)?,
            file: strings::get(&strings, from.number()?)?,
            first_line: from.small()?,
        })
    })
}
