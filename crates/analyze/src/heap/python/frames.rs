//! Frames: functions that run, or that a generator will go on with, and their variables.

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::{ReadMemory, is_address};

use super::class::ClassKind;
use super::interpreter::Python;
use super::text::LONGEST_NAME;

/// Variables of a function beyond this many are not read.
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
            function: text(self.layout.code.qualname, LONGEST_NAME)?,
            file: text(self.layout.code.filename, LONGEST_PATH)?,
            first_line: self.reader.half(code + self.layout.code.firstlineno)?,
        })
    }

    fn code_of(&self, frame: u64) -> Option<u64> {
        if self.layout.frame.is_of_c(&self.reader, frame) {
            return None;
        }
        let code = self.layout.code_of_frame(&self.reader, frame).filter(|&code| is_address(code))?;
        (self.class_of(code)?.kind == ClassKind::Code).then_some(code)
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
            let value = self.layout.frame.object(value).filter(|&value| self.class_of(value).is_some());
            match (names.get(number as usize), value) {
                (Some(&name), Some(value)) => visit(name, value),
                _ => ControlFlow::Continue(()),
            }
        })
    }

    /// Values that instructions of a frame work on, or did a while ago: how many of them are in use is in no memory while a
    /// function runs.
    pub(super) fn each_temporary(&self, frame: u64, mut visit: impl FnMut(u64)) {
        let Some(code) = self.code_of(frame) else { return };
        let variables = self.variable_names(code).len() as u64;
        let stack = self.layout.stack_of_frame(&self.reader, frame, variables);
        let count =
            self.reader.half(code + self.layout.code.stacksize).unwrap_or(0).min(MOST_VARIABLES as u32);
        let stack = stack.filter(|&stack| is_address(stack)).unwrap_or(0);
        let _ = self.reader.each_row(stack, count.into(), |_, [value]| {
            self.layout.frame.object(value).filter(|&object| self.is_alive(object)).map(&mut visit);
            ControlFlow::Continue(())
        });
    }

    fn is_alive(&self, object: u64) -> bool {
        let references = || self.layout.references(self.reader.word(object)?);
        self.class_of(object).is_some() && references().is_some_and(|references| references > 0)
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
        for tuple in self.layout.code.variable_names {
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
        let is_tuple = self.class_of(tuple).is_some_and(|class| class.kind == ClassKind::Tuple);
        let length = self.reader.word(tuple.wrapping_add(SIZE)).filter(|_| is_tuple);
        let mut visit = visit;
        match length {
            Some(length) => self.reader.each_row(
                tuple + self.layout.tuple.items,
                length.min(MOST_VARIABLES),
                |at, [item]| visit(at, item),
            ),
            None => ControlFlow::Continue(()),
        }
    }

    /// The innermost frame of a thread, by its state.
    pub(super) fn innermost_frame(&self, thread: u64) -> Option<u64> {
        self.layout.innermost_frame(&self.reader, thread).filter(|&frame| is_address(frame))
    }

    pub(super) fn outer_frame(&self, frame: u64) -> Option<u64> {
        self.reader.pointer(frame + self.layout.frame.previous)
    }
}
