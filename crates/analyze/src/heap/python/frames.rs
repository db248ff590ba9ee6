//! Frames: functions that run, or that a generator will go on with, and their variables.

use std::ops::ControlFlow;

use super::Python;
use super::classes::Kind;
use super::layout::{OfGenerator, SIZE, TUPLE_ITEMS};
use super::text::LONGEST_NAME;
use crate::heap::ReadMemory;

/// Variables of a function beyond this many are not looked at.
const MOST_VARIABLES: u64 = 1 << 14;
/// Characters of a file's path.
const LONGEST_PATH: usize = 4096;

/// A function that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its qualified name; before 3.11 its plain one.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line on which it begins.
    pub first_line: u32,
}

impl<M: ReadMemory> Python<'_, M> {
    /// What code a frame runs; `None` where it is none of Python's.
    pub(super) fn running(&self, frame: u64) -> Option<Running> {
        let code = self.code_of(frame)?;
        let text = |offset: u64, most: usize| self.text(self.reader.pointer(code + offset)?, most);
        Some(Running {
            function: text(self.layout.code.title, LONGEST_NAME)?,
            file: text(self.layout.code.file, LONGEST_PATH)?,
            first_line: self.reader.half(code + self.layout.code.first_line)?,
        })
    }

    fn code_of(&self, frame: u64) -> Option<u64> {
        let is_bare = |(owner, bare)| self.reader.byte(frame + owner).is_none_or(|by| by >= bare);
        if self.layout.frame.owner.is_some_and(is_bare) {
            return None;
        }
        let code = self.reader.pointer(frame + self.layout.frame.code)?;
        (self.class_of(code)?.kind == Kind::Code).then_some(code)
    }

    /// Variables of a frame that have a value: the string that names each, and the object.
    pub(super) fn each_variable(
        &self,
        frame: u64,
        mut visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(code) = self.code_of(frame) else { return ControlFlow::Continue(()) };
        let names = self.variable_names(code);
        self.reader.each_row(frame + self.layout.frame.variables, names.len() as u64, |number, [value]| {
            match names.get(number as usize) {
                Some(&name) if self.class_of(value).is_some() => visit(name, value),
                _ => ControlFlow::Continue(()),
            }
        })
    }

    /// Values that instructions of a frame work on, or did a while ago: how many of them are in use is in no memory while a
    /// function runs.
    pub(super) fn each_temporary(&self, frame: u64, mut visit: impl FnMut(u64)) {
        let Some(code) = self.code_of(frame) else { return };
        let stack = match self.layout.frame.stack {
            Some(word) => self.reader.pointer(frame + word),
            None => Some(frame + self.layout.frame.variables + 8 * self.variable_names(code).len() as u64),
        };
        let count =
            self.reader.half(code + self.layout.code.stack_size).unwrap_or(0).min(MOST_VARIABLES as u32);
        let _ = self.reader.each_row(stack.unwrap_or(0), count.into(), |_, [value]| {
            if self.is_alive(value) {
                visit(value);
            }
            ControlFlow::Continue(())
        });
    }

    fn is_alive(&self, object: u64) -> bool {
        self.class_of(object).is_some() && self.reader.word(object).is_some_and(|references| references > 0)
    }

    /// The dict of a frame's variables, where it is not that of its module.
    pub(super) fn locals_of(&self, frame: u64) -> Option<u64> {
        let locals = self.reader.pointer(frame + self.layout.frame.locals)?;
        let is_module = self.reader.word(frame + self.layout.frame.globals) == Some(locals);
        (!is_module && self.class_of(locals).is_some()).then_some(locals)
    }

    /// Strings that name the variables of a code object: its own, those that inner functions use, those of outer functions.
    pub(super) fn variable_names(&self, code: u64) -> Vec<u64> {
        let mut names = Vec::new();
        for tuple in self.layout.code.names {
            let Some(tuple) = self.reader.pointer(code + tuple) else { continue };
            let _ = self.each_item(tuple, |_, name| {
                names.push(name);
                ControlFlow::Continue(())
            });
        }
        names.truncate(MOST_VARIABLES as usize);
        names
    }

    /// Items of a tuple; of what is none, nothing.
    pub(super) fn each_item(
        &self,
        tuple: u64,
        visit: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let is_tuple = self.class_of(tuple).is_some_and(|class| class.kind == Kind::Tuple);
        let length = self.reader.word(tuple.wrapping_add(SIZE)).filter(|_| is_tuple);
        let mut visit = visit;
        match length {
            Some(length) => {
                self.reader
                    .each_row(tuple + TUPLE_ITEMS, length.min(MOST_VARIABLES), |at, [item]| visit(at, item))
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// The frame of a frame object.
    pub(super) fn frame_of_object(&self, object: u64) -> Option<u64> {
        match self.layout.frame.of_object {
            Some(word) => self.reader.pointer(object + word),
            None => Some(object),
        }
    }

    /// The frame of a generator or coroutine that is not over.
    pub(super) fn frame_of_generator(&self, generator: u64) -> Option<u64> {
        match self.layout.frame.of_generator {
            OfGenerator::Object(word) => self.reader.pointer(generator + word),
            OfGenerator::Inside { frame, state } => {
                let state = self.reader.byte(generator + state)? as i8;
                (state <= 0).then_some(generator + frame)
            }
        }
    }

    /// The innermost frame of a thread, by its state.
    pub(super) fn innermost_frame(&self, thread: u64) -> Option<u64> {
        self.layout.frame_way.iter().try_fold(thread, |at, offset| self.reader.pointer(at + offset))
    }

    pub(super) fn outer_frame(&self, frame: u64) -> Option<u64> {
        self.reader.pointer(frame + self.layout.frame.previous)
    }
}
