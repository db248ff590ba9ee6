//! The stacks of one process, each path once, frames with their names. The arena may hold the same stack under two
//! nodes (two threads inserted it at the same moment) and a library that was loaded twice has two module numbers; here
//! both are one.

use std::collections::HashMap;
use std::sync::Arc;

use heaplens_format::arena::Pseudo;
use heaplens_format::recording::{Frame, Function, Process};
use heaplens_format::{ModuleId, NodeId};

/// One function of a stack, inlined ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Its name; `None` where no symbol covers the address.
    pub function: Option<Arc<str>>,
    /// Its source file; `None` without DWARF.
    pub file: Option<Arc<str>>,
    /// The line; `None` without DWARF.
    pub line: Option<u32>,
    /// Path of the object file; `None` for code that no object file covers.
    pub module: Option<Arc<str>>,
    /// Return address: in the object file, or in the process where there is none.
    pub offset: u64,
}

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

/// All stacks of a process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stacks {
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
}

impl Stacks {
    pub(super) fn new(process: &Process) -> Self {
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
    pub(super) fn of(&self, node: NodeId) -> StackId {
        self.by_node.get(node.get() as usize).copied().unwrap_or_default()
    }

    /// The frames of a stack, innermost first.
    pub(super) fn frames(&self, stack: StackId) -> impl Iterator<Item = &StackFrame> + Clone {
        let nodes = std::iter::successors(self.node(stack), |node| self.node(node.caller));
        nodes.flat_map(|node| &self.frames[node.frames.0 as usize..node.frames.1 as usize])
    }

    /// Why a stack ends early.
    pub(super) fn cut(&self, stack: StackId) -> Option<Cut> {
        self.node(stack).and_then(|node| node.cut)
    }

    fn node(&self, stack: StackId) -> Option<&StackNode> {
        self.nodes.get((stack.0 as usize).checked_sub(1)?)
    }
}

struct Builder<'a> {
    process: &'a Process,
    /// Path of each module, and the number of the first with the same path and build id.
    modules: Vec<(Arc<str>, ModuleId)>,
    nodes: Vec<StackNode>,
    frames: Vec<StackFrame>,
    known_nodes: HashMap<(StackId, Frame), StackId>,
    known_frames: HashMap<Frame, (u32, u32)>,
}

impl<'a> Builder<'a> {
    fn new(process: &'a Process) -> Self {
        Self {
            process,
            modules: modules(process),
            nodes: Vec::new(),
            frames: Vec::new(),
            known_nodes: HashMap::new(),
            known_frames: HashMap::new(),
        }
    }

    fn stack(&mut self, caller: StackId, frame: Frame) -> StackId {
        // What the blocks are is said by the kind of the site.
        if matches!(frame, Frame::Pseudo(Pseudo::AnonymousMapping | Pseudo::FileMapping | Pseudo::Break)) {
            return caller;
        }
        let key = (caller, self.first_of_its_kind(frame));
        if let Some(&known) = self.known_nodes.get(&key) {
            return known;
        }
        let node = StackNode { caller, frames: self.frames_of(frame), cut: self.cut(caller, frame) };
        self.nodes.push(node);
        let stack = StackId(self.nodes.len() as u32);
        self.known_nodes.insert(key, stack);
        stack
    }

    fn cut(&self, caller: StackId, frame: Frame) -> Option<Cut> {
        let inherited = (caller.0 as usize).checked_sub(1).and_then(|at| self.nodes[at].cut);
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
            other => other,
        }
    }

    fn module(&self, id: ModuleId) -> Option<&(Arc<str>, ModuleId)> {
        self.modules.get(usize::from(id.get()).checked_sub(1)?)
    }

    fn frames_of(&mut self, frame: Frame) -> (u32, u32) {
        if let Some(&known) = self.known_frames.get(&frame) {
            return known;
        }
        let start = self.frames.len() as u32;
        self.push_frames(frame);
        let range = (start, self.frames.len() as u32);
        self.known_frames.insert(frame, range);
        range
    }

    fn push_frames(&mut self, frame: Frame) {
        let (module, offset) = match frame {
            Frame::Code { module, offset } => (module, offset),
            Frame::Unknown { address } => (ModuleId::default(), address.get()),
            Frame::Pseudo(_) => return,
        };
        let path = self.module(module).map(|(path, _)| path.clone());
        let unnamed = [Function { name: None, file: None, line: None }];
        let functions = self.functions(module, offset).unwrap_or(&unnamed);
        self.frames.extend(functions.iter().map(|function| StackFrame {
            function: function.name.clone(),
            file: function.file.clone(),
            line: function.line,
            module: path.clone(),
            offset,
        }));
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
