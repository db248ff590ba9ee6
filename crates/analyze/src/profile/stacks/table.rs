//! The stacks of one process, each path once, frames with their names. The arena may hold the same stack under two
//! nodes (two threads inserted it at the same moment, or two instructions of one Python line allocate), a library that was
//! loaded twice has two module numbers, and a function that was compiled twice two code numbers; here they are one.

use std::collections::HashMap;
use std::sync::Arc;

use heaplens_format::arena::Pseudo;
use heaplens_format::memory::SiteKind;
use heaplens_format::recording::{Frame, Function, Process};
use heaplens_format::{CodeId, ModuleId, NodeId};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::frame::StackFrame;
use super::naming::own_line;
use super::origin::{Origin, Trail};

/// Why a stack does not reach its outermost frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cut {
    /// Code without unwind information.
    NoUnwindInfo,
    /// Deeper than the limit.
    TooDeep,
    /// A frame led out of the stack.
    Broken,
    /// The module table was full.
    NoModule,
}

/// A stack of a profile; 0 is the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(u32);

impl StackId {
    /// Its number: 0 is the empty one, callers have lower ones.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stack as a node of the tree that all of them make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackStep {
    /// The stack without its innermost code.
    pub caller: StackId,
    /// The functions of that code in the table of frames, innermost first; none where code is known by its absence.
    pub frames: std::ops::Range<usize>,
    /// Why it does not reach its outermost frame, where it does not.
    pub cut: Option<Cut>,
}

/// All stacks of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stacks {
    /// Stack n is entry n − 1; callers come first.
    nodes: Vec<StackNode>,
    frames: Vec<StackFrame>,
    /// The stack of each node of the recording; entry 0 is the root.
    by_node: Vec<StackId>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct StackNode {
    caller: StackId,
    /// Its functions in `frames`, innermost first.
    frames: (u32, u32),
    cut: Option<Cut>,
    trail: Trail,
}

/// The import that a stack is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import<'a> {
    /// The top-level package; `None` before its first line runs.
    pub package: Option<&'a str>,
    /// The user's line that imports, where there is one.
    pub by: Option<&'a StackFrame>,
}

impl Stacks {
    pub(crate) fn new(process: &Process) -> Self {
        let mut builder = Builder::new(process);
        let mut by_node = Vec::with_capacity(process.nodes.len() + 1);
        by_node.push(StackId::default());
        for node in &process.nodes {
            let caller = by_node.get(node.parent.get() as usize).copied().unwrap_or_default();
            by_node.push(builder.stack(caller, node.frame));
        }
        Self { nodes: builder.nodes, frames: builder.frames, by_node }
    }

    /// The stack of a node of the recording.
    pub(crate) fn of(&self, node: NodeId) -> StackId {
        self.by_node.get(node.get() as usize).copied().unwrap_or_default()
    }

    /// The frames of a stack, innermost first.
    pub(crate) fn frames(&self, stack: StackId) -> Frames<'_> {
        Frames { stacks: self, rest: [].iter(), caller: stack }
    }

    /// Every stack but the empty one in the order of their numbers.
    pub(crate) fn steps(&self) -> impl DoubleEndedIterator<Item = StackStep> + ExactSizeIterator {
        self.nodes.iter().map(|node| StackStep {
            caller: node.caller,
            frames: node.frames.0 as usize..node.frames.1 as usize,
            cut: node.cut,
        })
    }

    /// Each distinct frame.
    pub(crate) fn table(&self) -> &[StackFrame] {
        &self.frames
    }

    /// Why a stack ends early.
    pub(crate) fn cut(&self, stack: StackId) -> Option<Cut> {
        self.node(stack).and_then(|node| node.cut)
    }

    /// The Python line that a stack is named by: the user's, else the innermost of a library.
    pub(crate) fn python_line(&self, stack: StackId) -> Option<&StackFrame> {
        self.frame(self.node(stack)?.trail.line())
    }

    /// The line that growth is reported for: the Python line, else the innermost of native code whose source is known.
    pub(crate) fn line(&self, stack: StackId) -> Option<&StackFrame> {
        self.python_line(stack).or_else(|| own_line(self.frames(stack)))
    }

    /// The import that a stack is a part of.
    pub(crate) fn import(&self, stack: StackId) -> Option<Import<'_>> {
        let trail = self.node(stack)?.trail;
        let package = self.frame(trail.import?.package).and_then(|frame| match &frame.origin {
            Origin::Library(package) | Origin::Imported(package) => Some(&**package),
            _ => None,
        });
        Some(Import { package, by: self.frame(trail.user_line()) })
    }

    fn frame(&self, at: Option<u32>) -> Option<&StackFrame> {
        self.frames.get(at? as usize)
    }

    fn node(&self, stack: StackId) -> Option<&StackNode> {
        self.nodes.get((stack.0 as usize).checked_sub(1)?)
    }
}

/// The frames of a stack, innermost first.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    stacks: &'a Stacks,
    /// What is left of the current node, and the stack that called it.
    rest: std::slice::Iter<'a, StackFrame>,
    caller: StackId,
}

impl<'a> Iterator for Frames<'a> {
    type Item = &'a StackFrame;

    fn next(&mut self) -> Option<&'a StackFrame> {
        loop {
            if let Some(frame) = self.rest.next() {
                return Some(frame);
            }
            let node = self.stacks.node(self.caller)?;
            self.rest = self.stacks.frames[node.frames.0 as usize..node.frames.1 as usize].iter();
            self.caller = node.caller;
        }
    }
}

struct Builder<'a> {
    process: &'a Process,
    /// Path of each module, and the number of the first with the same path and build id.
    modules: Vec<(Arc<str>, ModuleId)>,
    /// The number of the first code object that says the same, for each.
    codes: Vec<CodeId>,
    nodes: Vec<StackNode>,
    frames: Vec<StackFrame>,
    /// By the caller and the number of the code.
    known_nodes: FxHashMap<(StackId, u32), StackId>,
    /// The number of the code of each frame: those that say the same have one.
    numbers: FxHashMap<Frame, u32>,
    /// The functions of each code in `frames`, by its number.
    ranges: Vec<(u32, u32)>,
}

impl<'a> Builder<'a> {
    fn new(process: &'a Process) -> Self {
        Self {
            process,
            modules: modules(process),
            codes: codes(process),
            nodes: Vec::with_capacity(process.nodes.len()),
            frames: Vec::new(),
            known_nodes: FxHashMap::with_capacity_and_hasher(process.nodes.len(), FxBuildHasher),
            numbers: FxHashMap::default(),
            ranges: Vec::new(),
        }
    }

    fn stack(&mut self, caller: StackId, frame: Frame) -> StackId {
        // What the blocks are is said by the kind of the site.
        if matches!(frame, Frame::Pseudo(pseudo) if says_the_kind(pseudo)) {
            return caller;
        }
        let number = self.number(frame);
        if let Some(&known) = self.known_nodes.get(&(caller, number)) {
            return known;
        }
        let frames = self.ranges[number as usize];
        let (cut, trail) = (self.cut(caller, frame), self.trail(caller, frames));
        let node = StackNode { caller, frames, cut, trail };
        self.nodes.push(node);
        let stack = StackId(self.nodes.len() as u32);
        self.known_nodes.insert((caller, number), stack);
        stack
    }

    fn caller(&self, caller: StackId) -> Option<&StackNode> {
        (caller.0 as usize).checked_sub(1).map(|at| &self.nodes[at])
    }

    fn trail(&self, caller: StackId, (start, end): (u32, u32)) -> Trail {
        let inherited = self.caller(caller).map(|node| node.trail).unwrap_or_default();
        (start..end).rev().fold(inherited, |trail, at| trail.with(at, &self.frames[at as usize].origin))
    }

    fn cut(&self, caller: StackId, frame: Frame) -> Option<Cut> {
        let inherited = self.caller(caller).and_then(|node| node.cut);
        match frame {
            Frame::Pseudo(Pseudo::NoUnwindInfo) => Some(Cut::NoUnwindInfo),
            Frame::Pseudo(Pseudo::TooDeep) => Some(Cut::TooDeep),
            Frame::Pseudo(Pseudo::Broken) => Some(Cut::Broken),
            Frame::Pseudo(Pseudo::NoModule) => Some(Cut::NoModule),
            _ => inherited,
        }
    }

    fn first_of_its_kind(&self, frame: Frame) -> Frame {
        match frame {
            Frame::Code { module, offset } => {
                let first = self.module(module).map_or(module, |(_, first)| *first);
                Frame::Code { module: first, offset }
            }
            Frame::Python { code, line } => {
                let first = (code.get() as usize).checked_sub(1).and_then(|at| self.codes.get(at));
                Frame::Python { code: first.copied().unwrap_or(code), line }
            }
            other => other,
        }
    }

    fn module(&self, id: ModuleId) -> Option<&(Arc<str>, ModuleId)> {
        self.modules.get(usize::from(id.get()).checked_sub(1)?)
    }

    fn number(&mut self, frame: Frame) -> u32 {
        if let Some(&known) = self.numbers.get(&frame) {
            return known;
        }
        let first = self.first_of_its_kind(frame);
        let number = self.numbers.get(&first).copied().unwrap_or_else(|| {
            let start = self.frames.len() as u32;
            self.push_frames(frame);
            self.ranges.push((start, self.frames.len() as u32));
            self.numbers.insert(first, self.ranges.len() as u32 - 1);
            self.ranges.len() as u32 - 1
        });
        self.numbers.insert(frame, number);
        number
    }

    fn push_frames(&mut self, frame: Frame) {
        let (module, offset) = match frame {
            Frame::Code { module, offset } => (module, offset),
            Frame::Unknown { address } => (ModuleId::default(), address.get()),
            Frame::Python { code, line } => return self.push_python(code, line),
            Frame::Pseudo(_) => return,
        };
        let path = self.module(module).map(|(path, _)| path.clone());
        let unnamed = [Function { name: None, file: None, line: None }];
        let functions = self.functions(module, offset).unwrap_or(&unnamed);
        self.frames.extend(functions.iter().map(|function| StackFrame {
            origin: Origin::Native,
            function: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
            module: path.clone(),
            offset,
        }));
    }

    fn push_python(&mut self, code: CodeId, line: u32) {
        let known = (code.get() as usize).checked_sub(1).and_then(|at| self.process.codes.get(at));
        let Some(code) = known else { return };
        let named = |text: &Arc<str>| Some(text.clone()).filter(|text| !text.is_empty());
        self.frames.push(StackFrame {
            origin: Origin::of(&code.file),
            function: named(&code.name),
            file: named(&code.file),
            line: Some(line).filter(|&line| line > 0),
            module: None,
            offset: 0,
        });
    }

    fn functions(&self, module: ModuleId, offset: u64) -> Option<&'a [Function]> {
        let symbols = &self.process.symbols;
        let at =
            symbols.binary_search_by_key(&(module, offset), |symbol| (symbol.module, symbol.offset)).ok()?;
        Some(&symbols[at].functions)
    }
}

fn modules(process: &Process) -> Vec<(Arc<str>, ModuleId)> {
    let mut first = HashMap::new();
    let numbered = (1..=u16::MAX).map(ModuleId::new).zip(&process.modules);
    let modules = numbered.map(|(id, module)| {
        let known = *first.entry((&module.path, &module.build_id)).or_insert(id);
        (Arc::from(module.path.as_str()), known)
    });
    modules.collect()
}

fn codes(process: &Process) -> Vec<CodeId> {
    let mut first = HashMap::new();
    let numbered = (1..=u32::MAX).map(CodeId::new).zip(&process.codes);
    numbered.map(|(id, code)| *first.entry(code).or_insert(id)).collect()
}

fn says_the_kind(pseudo: Pseudo) -> bool {
    SiteKind::of(pseudo).is_some() || matches!(pseudo, Pseudo::Counter(_))
}
