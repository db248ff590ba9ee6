//! ```text
//!   strings: rows of texts
//!   rows:    module │ offset │ functions, innermost first: rows of  name │ file │ line
//! ```
//!
//! A name or a file is the number of a string + 1, and 0 where it is not known; so is the line.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Outcome;
use super::strings::{self, Strings};
use crate::recording::damage::PayloadFault;
use crate::recording::model::{FrameSymbol, Function};
use crate::recording::wire::{Reader, Writer};
use crate::units::ModuleId;

pub(crate) fn write(symbols: &[FrameSymbol], to: &mut Writer) {
    let mut strings = Strings::default();
    let mut rows = Writer::default();
    for symbol in symbols {
        rows.number(symbol.module.get().into());
        rows.number(symbol.offset);
        rows.count(symbol.functions.len());
        symbol.functions.iter().for_each(|function| write_function(function, &mut strings, &mut rows));
    }
    strings.write(to);
    to.count(symbols.len());
    to.append(rows);
}

pub(crate) fn read(symbols: &mut Vec<FrameSymbol>, from: &mut Reader<'_>) -> Outcome {
    let strings = strings::read(from)?;
    from.rows(3, symbols, |from| {
        let module = ModuleId::new(from.small()?);
        let offset = from.number()?;
        let mut functions = Vec::new();
        from.rows(3, &mut functions, |from| read_function(&strings, from))?;
        Ok(FrameSymbol { module, offset, functions })
    })
}

fn write_function<'a>(function: &'a Function, strings: &mut Strings<'a>, to: &mut Writer) {
    to.number(string_number(strings, function.name.as_deref()));
    to.number(string_number(strings, function.file.as_deref()));
    to.number(function.line.map_or(0, |line| u64::from(line) + 1));
}

fn read_function(strings: &[Arc<str>], from: &mut Reader<'_>) -> Result<Function, PayloadFault> {
    Ok(Function {
        name: read_string(strings, from.number()?)?,
        file: read_string(strings, from.number()?)?,
        line: match from.number()?.checked_sub(1) {
            Some(line) => Some(u32::try_from(line).map_err(|_| PayloadFault::NumberTooLarge)?),
            None => None,
        },
    })
}

fn string_number<'a>(strings: &mut Strings<'a>, string: Option<&'a str>) -> u64 {
    string.map_or(0, |string| strings.number(string) + 1)
}

fn read_string(strings: &[Arc<str>], number: u64) -> Result<Option<Arc<str>>, PayloadFault> {
    number.checked_sub(1).map(|index| strings::get(strings, index)).transpose()
}
