//! Objects that are compiled into the interpreter: constants, and the code of the modules that it needs to begin. In an interpreter
//! that is loaded at a fixed address the heap begins below 4 GiB, where their counts, flags, hashes, texts and code read as
//! pointers to it.

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::fixed::{bytes, int, type_flag, type_object, unicode};
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::Addr;
use heaplens_snapshot::Span;

use super::class::{Class, ClassKind};
use super::interpreter::Python;
use super::reader::after;
use super::text::is_compact_ascii;

/// Types have true counts in 3.11.
const MOST_OF_TYPE: u64 = 1 << 20;
/// No constant is longer.
const LONGEST: u64 = 1 << 24;

impl<M: ReadMemory> Python<'_, M> {
    /// Words of a range in the data of the interpreter that are no pointers, whatever they look like: ranges in order.
    pub fn constants(&self, range: Span) -> Vec<Span> {
        let (mut parts, mut before) = (Vec::new(), 0);
        let words = range.length().get() / 8;
        let _ = self.reader.each_row(range.start, words, |number, [word]| {
            let references = std::mem::replace(&mut before, word);
            let is_constant = self.layout.is_constant(references);
            let may_be_type = (1..MOST_OF_TYPE).contains(&references);
            let class = (is_address(word) && (is_constant || may_be_type))
                .then(|| self.class_at(Addr::new(word)))
                .flatten();
            if let Some(class) = class.filter(|class| is_constant || class.kind == ClassKind::Class) {
                let object = Addr::new(range.start.get() + 8 * number - 8);
                parts.extend(is_constant.then(|| part(object, 0, 8)));
                parts.extend(self.no_pointers(object, &class));
            }
            ControlFlow::Continue(())
        });
        parts.sort_unstable();
        parts
    }

    fn no_pointers(&self, object: Addr, class: &Class) -> Option<Span> {
        let size = || self.reader.word_in(object, SIZE).filter(|&size| size < LONGEST);
        match class.kind {
            ClassKind::Code => {
                Some(part(object, class.type_object.basicsize, class.type_object.itemsize * size()?))
            }
            ClassKind::Class => self.class_at(object).map(|_| part(object, type_object::FLAGS, 8)),
            ClassKind::Integer => Some(part(object, int::DIGITS, 8)),
            ClassKind::Text if is_compact_ascii(self.reader.word_in(object, unicode::STATE)?) => {
                let length =
                    self.reader.word_in(object, unicode::LENGTH).filter(|&length| length < LONGEST)?;
                let end = self.layout.unicode.ascii + length + 1;
                Some(part(object, unicode::HASH, end - unicode::HASH))
            }
            ClassKind::Plain if class.has(type_flag::BYTES) => {
                Some(part(object, bytes::HASH, bytes::DATA + size()? + 1 - bytes::HASH))
            }
            _ => None,
        }
    }
}

/// So many bytes of an object, from an offset on.
fn part(object: Addr, offset: u64, length: u64) -> Span {
    let start = after(object, offset);
    Span::new(start, after(start, length))
}
