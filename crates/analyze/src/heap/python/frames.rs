//! Frames: functions that run, or that a generator will go on with, and their variables.

use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::SIZE;
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::Addr;

use super::class::ClassKind;
use super::interpreter::Python;
use super::reader::after;
use super::text::{LONGEST_NAME, LONGEST_PATH};

/// Variables of a function beyond this many are not read.
const MOST_VARIABLES: u64 = 1 << 14;

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

impl Running {
    /// Whether it is a function of the standard library, or of an installed package.
    pub(crate) fn is_of_library(&self) -> bool {
        const FOLDERS: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python3"];
        self.file.starts_with("<frozen ") || FOLDERS.iter().any(|folder| self.file.contains(folder))
    }
}

impl<M: ReadMemory> Python<'_, M> {
    /// What code a frame runs; `None` where it is none of Python's.
    pub(super) fn running(&self, frame: Addr) -> Option<Running> {
        let code = self.code_of(frame)?;
        let text = |offset: u64, most: usize| self.text(self.reader.pointer_in(code, offset)?, most);
        Some(Running {
            function: text(self.layout.code.qualname, LONGEST_NAME)?,
            file: text(self.layout.code.filename, LONGEST_PATH)?,
            first_line: self.reader.half_in(code, self.layout.code.firstlineno)?,
        })
    }

    fn code_of(&self, frame: Addr) -> Option<Addr> {
        if self.layout.frame.is_of_c(&self.reader, frame.get()) {
            return None;
        }
        let code = self.layout.code_of_frame(&self.reader, frame.get()).filter(|&code| is_address(code))?;
        let code = Addr::new(code);
        (self.class_of(code)?.kind == ClassKind::Code).then_some(code)
    }

    /// Variables of a frame that have a value: the string that names each, and the object.
    pub(super) fn each_variable(
        &self,
        frame: Addr,
        mut visit: impl FnMut(Addr, Addr) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(code) = self.code_of(frame) else { return ControlFlow::Continue(()) };
        let names = self.variable_names(code);
        let variables = after(frame, self.layout.frame.variables);
        self.reader.each_row(variables, names.len() as u64, |number, [value]| {
            let object = self.layout.frame.object(value).map(Addr::new);
            let object = object.filter(|&object| self.class_of(object).is_some());
            match (names.get(number as usize), object) {
                (Some(&name), Some(object)) => visit(name, object),
                _ => ControlFlow::Continue(()),
            }
        })
    }

    /// Values that instructions of a frame work on, or did a while ago: how many of them are in use is in no memory while a
    /// function runs.
    pub(super) fn each_temporary(&self, frame: Addr, mut visit: impl FnMut(Addr)) {
        let Some(code) = self.code_of(frame) else { return };
        let variables = self.variable_names(code).len() as u64;
        let stack = self.layout.stack_of_frame(&self.reader, frame.get(), variables);
        let count =
            self.reader.half_in(code, self.layout.code.stacksize).unwrap_or(0).min(MOST_VARIABLES as u32);
        let stack = Addr::new(stack.filter(|&stack| is_address(stack)).unwrap_or(0));
        let _ = self.reader.each_row(stack, count.into(), |_, [value]| {
            let object = self.layout.frame.object(value).map(Addr::new);
            object.filter(|&object| self.is_alive(object)).map(&mut visit);
            ControlFlow::Continue(())
        });
    }

    fn is_alive(&self, object: Addr) -> bool {
        let references = || self.layout.references(self.reader.word_in(object, 0)?);
        self.class_of(object).is_some() && references().is_some_and(|references| references > 0)
    }

    /// The dict of a frame's variables, where it is not that of its module.
    pub(super) fn locals_of(&self, frame: Addr) -> Option<Addr> {
        let locals = self.reader.pointer_in(frame, self.layout.frame.locals)?;
        let is_module = self.reader.word_in(frame, self.layout.frame.globals) == Some(locals.get());
        (!is_module && self.class_of(locals).is_some()).then_some(locals)
    }

    /// Strings that name the variables of a code object: its own, those that inner functions use, those of outer functions.
    pub(super) fn variable_names(&self, code: Addr) -> Vec<Addr> {
        let mut names = Vec::new();
        for tuple in self.layout.code.variable_names {
            let Some(tuple) = self.reader.pointer_in(code, *tuple) else { continue };
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
        tuple: Addr,
        visit: impl FnMut(u64, Addr) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let is_tuple = self.class_of(tuple).is_some_and(|class| class.kind == ClassKind::Tuple);
        let length = self.reader.word_in(tuple, SIZE).filter(|_| is_tuple);
        let mut visit = visit;
        match length {
            Some(length) => self.reader.each_row(
                after(tuple, self.layout.tuple.items),
                length.min(MOST_VARIABLES),
                |at, [item]| visit(at, Addr::new(item)),
            ),
            None => ControlFlow::Continue(()),
        }
    }

    /// The frame of a generator or coroutine that has not finished.
    pub(super) fn frame_of_generator(&self, generator: Addr) -> Option<Addr> {
        self.layout.frame_of_generator(&self.reader, generator.get()).map(Addr::new)
    }

    /// The frame that a frame object stands for.
    pub(super) fn frame_of_object(&self, object: Addr) -> Option<Addr> {
        self.layout.frame_of_object(&self.reader, object.get()).map(Addr::new)
    }

    /// The innermost frame of a thread, by its state.
    pub(super) fn innermost_frame(&self, thread: Addr) -> Option<Addr> {
        let frame = self.layout.innermost_frame(&self.reader, thread.get());
        frame.filter(|&frame| is_address(frame)).map(Addr::new)
    }

    pub(super) fn outer_frame(&self, frame: Addr) -> Option<Addr> {
        self.reader.pointer_in(frame, self.layout.frame.previous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_are_known_by_their_folder() {
        let running = |file: &str| Running { function: "f".into(), file: file.into(), first_line: 1 };
        let libraries = [
            "/usr/lib/python3.12/asyncio/tasks.py",
            "/opt/venv/lib/python3.12/site-packages/flask/app.py",
            "/usr/lib/python3/dist-packages/numpy/core.py",
            "<frozen importlib._bootstrap>",
        ];
        assert!(libraries.iter().all(|file| running(file).is_of_library()));
        assert!(
            !["/home/me/app.py", "library/python.py", "<string>"]
                .iter()
                .any(|file| running(file).is_of_library())
        );
    }
}
