//! ```text
//!   strings: rows of texts
//!   rows:    module │ offset │ functions, innermost first: rows of  name │ file │ line
//! ```
//!
//! A name or a file is the number of a string + 1, and 0 where it is not known; so is the line. The strings of the
//! model are shared, not copied: a small file cannot name one long string a million times and fill the memory.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Outcome;
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
    to.count(strings.order.len());
    strings.order.iter().for_each(|string| to.text(string));
    to.count(symbols.len());
    to.append(rows);
}

pub(crate) fn read(symbols: &mut Vec<FrameSymbol>, from: &mut Reader<'_>) -> Outcome {
    let mut strings = Vec::new();
    from.rows(1, &mut strings, |from| from.text().map(Arc::from))?;
    from.rows(3, symbols, |from| {
        let module = ModuleId::new(from.small()?);
        let offset = from.number()?;
        let mut functions = Vec::new();
        from.rows(3, &mut functions, |from| read_function(&strings, from))?;
        Ok(FrameSymbol { module, offset, functions })
    })
}

/// Every string once, in the order of first use.
#[derive(Default)]
struct Strings<'a> {
    numbers: BTreeMap<&'a str, u64>,
    order: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    fn number(&mut self, string: Option<&'a str>) -> u64 {
        let Some(string) = string else { return 0 };
        let next = self.order.len() as u64 + 1;
        let number = *self.numbers.entry(string).or_insert(next);
        if number == next {
            self.order.push(string);
        }
        number
    }
}

fn write_function<'a>(function: &'a Function, strings: &mut Strings<'a>, to: &mut Writer) {
    to.number(strings.number(function.name.as_deref()));
    to.number(strings.number(function.file.as_deref()));
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

fn read_string(strings: &[Arc<str>], number: u64) -> Result<Option<Arc<str>>, PayloadFault> {
    let Some(index) = number.checked_sub(1) else { return Ok(None) };
    let string = usize::try_from(index).ok().and_then(|index| strings.get(index));
    string.cloned().map(Some).ok_or(PayloadFault::NoSuchString(index))
}
