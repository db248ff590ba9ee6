//! How a reference from one object to another is written: as an attribute, a key, an index, a variable.

use std::ops::ControlFlow;

use heaplens_cpython::ReadMemory;
use heaplens_format::Addr;

use super::class::ClassKind;
use super::interpreter::Python;
use super::references::Label;
use super::text::{DictKey, LONGEST_NAME, ShowsKey};

/// How an object leads to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceName {
    /// `.name`: of an object, a module or a class, wherever it keeps it.
    Attribute(String),
    /// `[key]`: texts in quotes, numbers, `True`, `None`; any other as `<type>`. Long texts are cut. What is not to be seen is
    /// written as its type and length: `[str of 32]`.
    Key(String),
    /// `[index]`: of a list, a tuple or a deque.
    Item(u64),
    /// It is itself a key of the dict.
    KeyObject,
    /// It is in the set.
    Element,
    /// A variable of a frame, generator or coroutine.
    Local(String),
    /// A variable of an outer function that this one uses: a cell.
    Closure(String),
    /// The default of a parameter.
    Default(String),
    /// What a cell holds.
    Contents,
}

impl<M: ReadMemory> Python<'_, M> {
    /// How one object leads to another, by a pointer in itself or in memory that belongs to it. Keys that are not shown are reported
    /// by their type and length.
    pub fn step(&self, from: Addr, to: Addr, shows: ShowsKey<'_>) -> Option<ReferenceName> {
        let mut found = None;
        let _ = self.each_reference(from, &mut |target, label| {
            if target != to {
                return ControlFlow::Continue(());
            }
            found = Some(label);
            ControlFlow::Break(())
        });
        self.say(found?, self.is(from, ClassKind::Module), shows)
    }

    fn say(&self, label: Label, is_variable: bool, shows: ShowsKey<'_>) -> Option<ReferenceName> {
        let name = |object: Addr| self.text(object, LONGEST_NAME);
        let key_name = |object: Addr| self.name(DictKey { object, is_variable }, shows);
        Some(match label {
            Label::Item(index) => ReferenceName::Item(index),
            Label::Entry(key) => ReferenceName::Key(self.key(key, shows)?),
            Label::Key => ReferenceName::KeyObject,
            Label::Element => ReferenceName::Element,
            Label::Attribute(attribute) => ReferenceName::Attribute(key_name(attribute)?),
            Label::Member(attribute) => {
                ReferenceName::Attribute(self.reader.c_text(attribute, LONGEST_NAME)?)
            }
            Label::Local(variable) => ReferenceName::Local(name(variable)?),
            Label::Closure(variable) => ReferenceName::Closure(name(variable)?),
            Label::Default(parameter) => ReferenceName::Default(key_name(parameter)?),
            Label::Contents => ReferenceName::Contents,
            Label::Named(attribute) => ReferenceName::Attribute(attribute.into()),
        })
    }
}
