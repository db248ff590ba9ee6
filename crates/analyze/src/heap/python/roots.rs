//! Where names begin: modules, variables of functions that run, and what the interpreter itself keeps.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use heaplens_cpython::fixed::object::TYPE;
use heaplens_cpython::fixed::{module, type_object};
use heaplens_cpython::{ReadMemory, is_address};
use heaplens_format::Addr;

use super::class::ClassKind;
use super::frames::Running;
use super::interpreter::Python;
use super::text::LONGEST_NAME;

/// Modules whose names are alike but for their digits, from which on they count as made by the program.
const MANY_MODULES: usize = 16;
const MOST_INTERPRETERS: usize = 256;
const MOST_THREADS: usize = 1 << 16;
/// Of all threads together.
const MOST_FRAMES: usize = 1 << 20;
/// Words of an interpreter's state among which its modules are searched for, where the table is wrong.
const STATE_WORDS: u64 = 1 << 13;
/// Callbacks of atexit: there is room for so many more each time, and for no more than so many here.
const CALLBACKS_STEP: u32 = 16;
const MOST_CALLBACKS: u32 = 1 << 20;
/// In glibc's descriptor of a thread, whose address is its `pthread_t`: the kernel's number. Stable since 2.3.
const KERNEL_THREAD: u64 = 720;

/// A name that code uses without another before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RootName {
    /// A module, by its name in `sys.modules`. The object is its dict.
    Module(String),
    /// One of many whose names differ in digits: what made them, not their names, says who holds what is in them.
    NumberedModule(String),
    /// A variable of a function that runs, or all of them (`locals()`) where they are a dict.
    Local {
        /// The function.
        running: Running,
        /// The variable.
        variable: String,
        /// The kernel's number of the thread.
        thread: Option<u32>,
    },
    /// A value without a name that a function works on (what a loop runs over, arguments of a call), or did a while ago: weaker
    /// than any other name.
    Temporary {
        /// The function.
        running: Running,
        /// The kernel's number of the thread.
        thread: Option<u32>,
    },
    /// What the interpreter keeps for itself.
    Interpreter(&'static str),
}

/// An object that has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonRoot {
    /// The name.
    pub name: RootName,
    /// The object.
    pub object: Addr,
}

impl<M: ReadMemory> Python<'_, M> {
    /// Where names begin, in all interpreters of the process.
    pub fn roots(&self) -> Vec<PythonRoot> {
        let mut roots = Vec::new();
        for interpreter in self.interpreters() {
            self.add_modules(interpreter, &mut roots);
            for (thread, frame) in self.frames(interpreter) {
                self.add_variables(frame, thread, &mut roots);
            }
            self.add_own(interpreter, &mut roots);
        }
        roots
    }

    fn interpreters(&self) -> Vec<Addr> {
        let first = self.reader.pointer_in(self.runtime, self.layout.runtime.interpreters);
        self.chain(first, self.layout.interpreter.next, MOST_INTERPRETERS)
    }

    /// Frames of all threads of an interpreter, each with the number of its thread.
    fn frames(&self, interpreter: Addr) -> Vec<(Option<u32>, Addr)> {
        let (mut frames, mut seen) = (Vec::new(), HashSet::new());
        let first = self.reader.pointer_in(interpreter, self.layout.interpreter.threads);
        for thread in self.chain(first, self.layout.thread.next, MOST_THREADS) {
            let number = self.thread_number(thread);
            let mut next = self.innermost_frame(thread);
            while let Some(frame) = next.filter(|&frame| seen.len() < MOST_FRAMES && seen.insert(frame)) {
                frames.push((number, frame));
                next = self.outer_frame(frame);
            }
        }
        frames
    }

    /// A linked list: its first element, and then what the word so far into each leads to, until one comes again.
    fn chain(&self, first: Option<Addr>, next: u64, most: usize) -> Vec<Addr> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut at = first;
        while let Some(here) = at.filter(|&here| found.len() < most && seen.insert(here)) {
            found.push(here);
            at = self.reader.pointer_in(here, next);
        }
        found
    }

    fn add_modules(&self, interpreter: Addr, into: &mut Vec<PythonRoot>) {
        let Some(modules) = self.reader.pointer_in(interpreter, self.layout.interpreter.modules) else {
            return;
        };
        into.push(PythonRoot { name: RootName::Interpreter("sys.modules"), object: modules });
        let mut found: Vec<(String, Addr)> = Vec::new();
        let _ = self.each_entry(modules, |name, module| {
            found.extend(self.text(name, LONGEST_NAME).map(|name| (name, self.module_dict(module))));
            ControlFlow::Continue(())
        });
        let mut alike: HashMap<String, usize> = HashMap::new();
        found.iter().for_each(|(name, _)| *alike.entry(without_digits(name)).or_default() += 1);
        into.extend(found.into_iter().map(|(name, object)| {
            let is_numbered = alike.get(&without_digits(&name)).is_some_and(|&count| count >= MANY_MODULES);
            let name = if is_numbered { RootName::NumberedModule(name) } else { RootName::Module(name) };
            PythonRoot { name, object }
        }));
    }

    /// What stands for a module: its dict, or whatever a program put there instead.
    fn module_dict(&self, module: Addr) -> Addr {
        let is_module = self.is(module, ClassKind::Module);
        self.reader.pointer_in(module, module::DICT).filter(|_| is_module).unwrap_or(module)
    }

    fn thread_number(&self, state: Addr) -> Option<u32> {
        let number = match self.layout.thread.native_thread_id {
            Some(at) => self.reader.word_in(state, at)?,
            None => {
                let descriptor = self.reader.pointer_in(state, self.layout.thread.thread_id)?;
                self.reader.half_in(descriptor, KERNEL_THREAD)?.into()
            }
        };
        u32::try_from(number).ok().filter(|&number| number > 0)
    }

    fn add_variables(&self, frame: Addr, thread: Option<u32>, into: &mut Vec<PythonRoot>) {
        let Some(running) = self.running(frame) else { return };
        let mut add = |variable: String, object: Addr| {
            let name = RootName::Local { running: running.clone(), variable, thread };
            into.push(PythonRoot { name, object });
        };
        let _ = self.each_variable(frame, |name, value| {
            if let Some(name) = self.text(name, LONGEST_NAME) {
                add(name, value);
            }
            ControlFlow::Continue(())
        });
        if let Some(locals) = self.locals_of(frame) {
            add("locals()".into(), locals);
        }
        self.each_temporary(frame, |object| {
            let name = RootName::Temporary { running: running.clone(), thread };
            into.push(PythonRoot { name, object });
        });
    }

    fn add_own(&self, interpreter: Addr, into: &mut Vec<PythonRoot>) {
        for offset in self.layout.interpreter.codecs {
            let object = self.reader.pointer_in(interpreter, offset);
            let object = object.filter(|&object| self.class_of(object).is_some());
            into.extend(object.map(|object| PythonRoot { name: RootName::Interpreter("codecs"), object }));
        }
        self.add_callbacks(interpreter, into);
    }

    /// What `atexit.register` keeps (3.10 to 3.13): the interpreter's state has an array of callbacks, their number and how many there is room for. Where it is
    /// differs between patch releases, so it is recognised by what it holds.
    fn add_callbacks(&self, interpreter: Addr, into: &mut Vec<PythonRoot>) {
        let (mut array, mut callbacks) = (0, Vec::new());
        let _ = self.reader.each_row(interpreter, STATE_WORDS, |_, [word]| {
            let (count, room) = (word as u32, (word >> 32) as u32);
            let is_count = count > 0 && count <= room && room.is_multiple_of(CALLBACKS_STEP);
            if is_count && room <= MOST_CALLBACKS && is_address(array) {
                callbacks = self.callbacks(Addr::new(array), count.into());
            }
            array = word;
            if callbacks.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let name = || RootName::Interpreter("atexit callbacks");
        into.extend(callbacks.into_iter().map(|object| PythonRoot { name: name(), object }));
    }

    /// Functions, arguments and keyword arguments; nothing where one of them is none.
    fn callbacks(&self, array: Addr, count: u64) -> Vec<Addr> {
        let mut objects = Vec::new();
        let done = self.reader.each_row(array, count, |_, [callback]| {
            // One that was unregistered left a gap.
            if callback == 0 {
                return ControlFlow::Continue(());
            }
            let word =
                |at: u64| self.reader.word_in(Addr::new(callback), 8 * at).filter(|_| is_address(callback));
            let object = |at: u64| word(at).filter(|&word| is_address(word)).map(Addr::new);
            let arguments = object(1).filter(|&tuple| self.is(tuple, ClassKind::Tuple));
            let function = object(0).filter(|&function| self.class_of(function).is_some());
            match (function, arguments, word(2)) {
                (Some(function), Some(arguments), Some(_)) => {
                    objects.extend([Some(function), Some(arguments), object(2)].into_iter().flatten());
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Break(()),
            }
        });
        if done.is_continue() { objects } else { Vec::new() }
    }

    /// `type`, through the modules of the first interpreter. Where other words lie between (patch releases differ), the
    /// modules are searched for.
    pub(super) fn find_type_type(&mut self) -> Option<()> {
        let interpreter = self.reader.pointer_in(self.runtime, self.layout.runtime.interpreters)?;
        let expected = self.layout.interpreter.modules;
        let near = (0..STATE_WORDS).map(|word| 8 * word);
        let modules = std::iter::once(expected).chain(near).find(|&offset| {
            let type_type =
                self.reader.pointer_in(interpreter, offset).and_then(|dict| self.type_of_dict(dict));
            self.type_type = type_type.unwrap_or_default();
            type_type.is_some() && self.has_modules(interpreter, offset)
        })?;
        self.layout.interpreter.modules = modules;
        Some(())
    }

    /// `type`, if this is a dict: the type of its type, which is its own type.
    fn type_of_dict(&self, dict: Addr) -> Option<Addr> {
        let class = self.reader.pointer_in(dict, TYPE)?;
        let meta = self.reader.pointer_in(class, TYPE)?;
        let name = |class: Addr| {
            self.reader.c_text(self.reader.word_in(class, type_object::NAME).map(Addr::new)?, 8)
        };
        let is_dict = self.reader.pointer_in(meta, TYPE)? == meta
            && name(meta).as_deref() == Some("type")
            && name(class).as_deref() == Some("dict");
        is_dict.then_some(meta)
    }

    fn has_modules(&self, interpreter: Addr, offset: u64) -> bool {
        let sys =
            self.reader.pointer_in(interpreter, offset).and_then(|modules| self.value_of(modules, "sys"));
        sys.is_some_and(|sys| self.is(sys, ClassKind::Module))
    }
}

fn without_digits(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
