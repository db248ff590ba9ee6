//! Names for the steps of a reference path from a root to a block: variables, attributes, keys and classes instead of addresses.

use std::sync::Arc;

use heaplens_format::recording::Step;
use heaplens_format::{Addr, Bytes};
use heaplens_snapshot::{ReadMemory, RootKind};

use super::limits::{self, Occupancy};
use super::literals::{CodeClasses, Literals};
use super::native_names::{NativeFrom, NativeNames, NativeObject};
use super::reference_paths::NamedStep;
use crate::heap::memory::{BlockId, BlockSet};
use crate::heap::python::{DictKey, Python, PythonObject, ReferenceName, RootName, Running};
use crate::heap::reachability::Path;
use crate::heap::scan::{Graph, RootOrigin};
use crate::heap::types::{Arenas, WORDS, object_in};

/// What names come from.
pub(crate) struct Namer<'a, 'm, M> {
    pub(crate) graph: &'a Graph,
    pub(crate) memory: &'m M,
    pub(crate) python: Option<&'a Python<'m, M>>,
    pub(crate) arenas: &'a Arenas,
    /// Of named roots, by their number.
    pub(crate) names: &'a [RootName],
    /// The class of each block, by the number of its name.
    pub(crate) classes: &'a [u32],
    /// Blocks that the program mapped itself.
    pub(crate) mappings: &'a BlockSet,
    pub(crate) class_names: Vec<Arc<str>>,
    pub(crate) native: NativeNames<'m, M>,
    pub(crate) literals: Literals,
}

/// Where a path has come to.
#[derive(Default)]
struct At {
    /// The object of Python's.
    object: Option<Addr>,
    /// Memory that belongs to it.
    parts: Vec<Addr>,
    /// Whether it is a dict of variables.
    is_namespace: bool,
    /// The variable whose cell it is.
    cell: Option<String>,
    /// What is said of the next object, whatever leads to it.
    variable: Option<String>,
    /// How native code leads to the next block.
    native: Option<NativeFrom>,
}

impl<M: ReadMemory> Namer<'_, '_, M> {
    /// A path without a block.
    pub(crate) fn root_alone(&self, origin: RootOrigin) -> Vec<NamedStep> {
        match origin {
            RootOrigin::Named { id } => self.named_root(id).0,
            other => vec![self.memory_root(other)],
        }
    }

    /// The steps of a path. Memory that belongs to an object of Python's, as the items of a list do, is no step of its own.
    pub(crate) fn steps(&self, path: &Path) -> Vec<NamedStep> {
        let (mut steps, at) = self.root(path.root);
        self.go_on(at, self.after_root(path.root, &path.first), &mut steps);
        if !path.last.is_empty() {
            steps.push(NamedStep::without_block(Step::More, ""));
            self.go_on(At::default(), &path.last, &mut steps);
        }
        steps
    }

    fn go_on(&self, mut at: At, blocks: &[BlockId], steps: &mut Vec<NamedStep>) {
        for &block in blocks {
            let span = self.graph.blocks().span(block);
            if at.parts.iter().any(|&part| span.contains(part)) {
                continue;
            }
            match self.object_in(block) {
                Some(object) => self.to_object(&mut at, object, span.length(), steps),
                None => {
                    let (step, native) = self.native_step(at.native.take(), block);
                    steps.push(step);
                    at = At { native, ..At::default() };
                }
            }
        }
    }

    /// A step to a block of native code, and what leads on from there. What an object says itself of its class counts more than what its
    /// pointer is declared as, unless it is a library's: `make_shared` puts an object beside its counts.
    fn native_step(&self, from: Option<NativeFrom>, block: BlockId) -> (NamedStep, Option<NativeFrom>) {
        let span = self.graph.blocks().span(block);
        let word = from.and_then(|from| self.native.word_to(from, span));
        let (member, declared) = match &word {
            Some((word, ..)) => (word.member.as_str(), word.class.as_str()),
            None => ("", ""),
        };
        let own = &self.class_names[self.classes[block.index()] as usize];
        let is_own = !own.is_empty() && (declared.is_empty() || !own.starts_with("std::"));
        let class = match (is_own, declared, self.graph.payload(block)) {
            (true, ..) => own.clone(),
            (false, "", Some(payload)) => payload.words().into(),
            (false, declared, _) => declared.into(),
        };
        let step = if member.is_empty() { Step::Pointer } else { Step::Attribute };
        let (address, size) = (span.start, span.length());
        let occupancy = word.as_ref().and_then(|(.., occupancy)| *occupancy);
        let step = NamedStep { step, name: member.into(), class, address, size, occupancy };
        let of_class = is_own.then(|| self.native.object_of_class(span.start, own)).flatten();
        let of_pointer = || word.and_then(|(word, value, _)| NativeObject::at(word.target?, value, span));
        let object = of_class.or_else(of_pointer);
        (step, object.map(|object| NativeFrom::Block { span, object }))
    }

    /// A mapping that nothing leads to is a root, not a step after one.
    fn after_root<'b>(&self, origin: RootOrigin, blocks: &'b [BlockId]) -> &'b [BlockId] {
        match (origin, blocks) {
            (RootOrigin::Word { kind: RootKind::Mapped { .. }, .. }, [first, rest @ ..])
                if self.mappings.contains(*first) && !rest.is_empty() =>
            {
                rest
            }
            _ => blocks,
        }
    }

    /// A root that has the same name: words of one variable, of one file's other data, of one stack are alike.
    pub(crate) fn same_name(&self, origin: RootOrigin) -> RootOrigin {
        match origin {
            RootOrigin::Word { address, kind: kind @ (RootKind::Data | RootKind::PythonRuntime) } => {
                let address = self.native.globals().beginning(address);
                RootOrigin::Word { address, kind }
            }
            RootOrigin::Word { kind, .. } => RootOrigin::Word { address: Addr::default(), kind },
            other => other,
        }
    }

    fn to_object(&self, at: &mut At, object: PythonObject, size: Bytes, steps: &mut Vec<NamedStep>) {
        let Some(python) = self.python else { return };
        let before = std::mem::take(at);
        at.object = Some(object.address);
        at.parts = python.parts(object.address);
        // The dict of a module stands for the module.
        if before.is_namespace && before.object.is_none() {
            at.is_namespace = true;
            return;
        }
        let shows = |key: DictKey| {
            let is_variable = key.is_variable || before.is_namespace;
            self.shows_key(python, DictKey { is_variable, ..key })
        };
        let step = before.object.and_then(|from| python.step(from, object.address, &shows));
        let (step, name) = match (before.variable, before.cell, step) {
            (Some(variable), _, _) => (Step::Variable, variable),
            (_, Some(variable), Some(ReferenceName::Contents)) => (Step::Cell, variable),
            (_, _, Some(ReferenceName::Closure(variable))) => {
                at.cell = Some(variable);
                return;
            }
            (_, _, Some(ReferenceName::Key(key))) if before.is_namespace => (Step::Variable, variable(&key)),
            (_, _, Some(step)) => recorded(step),
            (_, _, None) => (Step::Pointer, String::new()),
        };
        let class = Arc::from(&*python.class_name(object.class));
        let named =
            NamedStep { step, name: name.into(), class, address: object.address, size, occupancy: None };
        let occupancy = self.occupancy(python, before.object, &named);
        steps.push(NamedStep { occupancy, ..named });
    }

    /// How full a container of Python's is, where it has a limit: its own, or one that the object has beside it whose attribute it is.
    fn occupancy(
        &self,
        python: &Python<'_, M>,
        holder: Option<Addr>,
        named: &NamedStep,
    ) -> Option<Occupancy> {
        let elements = python.length(named.address)?;
        let beside = |object: Addr| limits::occupancy(&named.name, elements, python.numbers(object));
        let of_holder = || holder.filter(|_| named.step == Step::Attribute).and_then(beside);
        match python.limit(named.address) {
            Some(limit) => Some(Occupancy { elements, limit }),
            None => beside(named.address).or_else(of_holder),
        }
    }

    /// Whether a key is shown as it is: one that stands in the source, or all of them. The variables of a module are names of the source, if
    /// they are interned as those are.
    fn shows_key(&self, python: &Python<'_, M>, key: DictKey) -> bool {
        if self.literals.shows_all() {
            return true;
        }
        let is_in_code = match self.graph.blocks().find(key.object) {
            Some((block, _)) => self.is_in_code(block),
            // Names that are compiled into the interpreter.
            None => self.native.globals().file(key.object).is_some(),
        };
        let is_in_script =
            || python.name_text(key.object).is_some_and(|name| self.literals.is_in_script(&name));
        is_in_code || python.is_interned(key.object) && (key.is_variable || is_in_script())
    }

    fn is_in_code(&self, block: BlockId) -> bool {
        let number = |class: &str| self.class_names.iter().position(|name| &**name == class);
        let (Some(code), Some(tuple)) = (number("code"), number("tuple")) else { return false };
        let of = CodeClasses { code: code as u32, tuple: tuple as u32 };
        self.literals.is_in_code(block, self.graph, self.classes, of)
    }

    /// The root, and its variable where it is a function's.
    fn root(&self, origin: RootOrigin) -> (Vec<NamedStep>, At) {
        let own = match origin {
            RootOrigin::Named { id } => return self.named_root(id),
            RootOrigin::Word { address, kind: RootKind::Stack { .. } | RootKind::Anonymous } => {
                self.own_variable(address)
            }
            _ => None,
        };
        own.unwrap_or_else(|| {
            let native = match origin {
                RootOrigin::Word { address, kind: RootKind::Data } => self.native.variable(address),
                _ => None,
            };
            (vec![self.memory_root(origin)], At { native, ..At::default() })
        })
    }

    /// A root that memory or a register is.
    fn memory_root(&self, origin: RootOrigin) -> NamedStep {
        let (step, name) = match origin {
            RootOrigin::Word { address, kind: RootKind::Data | RootKind::PythonRuntime } => {
                self.data(address)
            }
            RootOrigin::Word { kind: RootKind::Stack { thread }, .. } | RootOrigin::Register { thread } => {
                (Step::Stack, thread.to_string().into())
            }
            RootOrigin::Collector => (Step::Collector, "".into()),
            RootOrigin::Word { .. } | RootOrigin::Named { .. } => (Step::Mapped, "".into()),
        };
        NamedStep::without_block(step, &name)
    }

    /// A variable of native code that belongs to one thread.
    fn own_variable(&self, address: Addr) -> Option<(Vec<NamedStep>, At)> {
        let (variable, from) = self.native.own_variable(address)?;
        let named = NamedStep::without_block;
        let steps = match &variable.function {
            Some(function) => vec![named(Step::Frame, function), named(Step::Variable, &variable.name)],
            None => vec![named(Step::Global, &format!("{} (thread-local)", variable.name))],
        };
        Some((steps, At { native: Some(from), ..At::default() }))
    }

    fn named_root(&self, id: u32) -> (Vec<NamedStep>, At) {
        let named = NamedStep::without_block;
        let namespace = At { is_namespace: true, ..At::default() };
        match &self.names[id as usize] {
            RootName::Module(name) => (vec![named(Step::Module, name)], namespace),
            RootName::NumberedModule(name) => {
                let modules = named(Step::Interpreter, "sys.modules");
                (vec![modules, named(Step::Key, &format!("'{name}'"))], namespace)
            }
            RootName::Interpreter(what) => (vec![named(Step::Interpreter, what)], At::default()),
            RootName::Temporary { running, .. } => {
                (vec![named(Step::Frame, &location(running))], At::default())
            }
            RootName::Local { running, variable, .. } => {
                let frame = vec![named(Step::Frame, &location(running))];
                match variable.as_str() {
                    "locals()" => (frame, namespace),
                    _ => (frame, At { variable: Some(variable.clone()), ..At::default() }),
                }
            }
        }
    }

    /// The object in a block.
    fn object_in(&self, block: BlockId) -> Option<PythonObject> {
        if self.mappings.contains(block) {
            return None;
        }
        let block = self.graph.blocks().get(block);
        let mut bytes = [0; 8 * WORDS];
        let length = self.memory.read(block.address.get(), &mut bytes).min(block.size.get() as usize);
        let words: Vec<u64> =
            bytes[..length].as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        object_in(self.python?, self.arenas, block, &words)
    }

    /// The variable that an address of a file's data lies in, or the file.
    fn data(&self, address: Addr) -> (Step, Arc<str>) {
        let mut globals = self.native.globals();
        if let Some(global) = globals.find(address) {
            return (Step::Global, global.name.into());
        }
        let file = globals.file(address).and_then(|file| file.file_name());
        (Step::Data, file.map_or_else(|| "a module".into(), |name| name.to_string_lossy().into()))
    }
}

/// `train (shop/train.py:12)`, with the last part of the path.
fn location(running: &Running) -> String {
    let file = running.file.rsplit('/').next().unwrap_or_default();
    format!("{} ({file}:{})", running.function, running.first_line)
}

/// A variable by its key in a namespace: without quotes, or in brackets where it is not shown.
fn variable(key: &str) -> String {
    match key.strip_prefix('\'').and_then(|key| key.strip_suffix('\'')) {
        Some(name) => name.to_owned(),
        None => format!("[{key}]"),
    }
}

fn recorded(step: ReferenceName) -> (Step, String) {
    match step {
        ReferenceName::Attribute(name) => (Step::Attribute, name),
        ReferenceName::Key(key) => (Step::Key, key),
        ReferenceName::Item(index) => (Step::Item, index.to_string()),
        ReferenceName::KeyObject => (Step::Part, "key".to_owned()),
        ReferenceName::Element => (Step::Part, "element".to_owned()),
        ReferenceName::Local(name) => (Step::Variable, name),
        ReferenceName::Closure(name) => (Step::Cell, name),
        ReferenceName::Default(name) => (Step::Part, format!("default of {name}")),
        ReferenceName::Contents => (Step::Part, "contents".to_owned()),
    }
}
