//! Causes that are known by what libraries did: a graph that grows, sessions that stay open. Each is a row of a table: what
//! is counted, what takes it back, and where else the memory comes from that it costs. The memory of a cause is one
//! finding, wherever it was allocated: it is told apart from that of other lines site by site.

use std::cell::RefCell;
use std::sync::Arc;

use heaplens_format::arena::Counter;
use heaplens_format::recording::Process;
use rustc_hash::{FxHashMap, FxHashSet};

use super::axis::Axis;
use super::constants;
use super::counted::{Counted, CountedLine};
use super::findings::Rule;
use super::kernels::own_kernel_line;
use super::place::{Course, Key, Sum, key};
use crate::profile::{StackFrame, StackId, Stacks, held_through};

/// What is known of a cause before a program is looked at.
#[derive(Debug)]
struct Known {
    rule: Rule,
    /// What is counted.
    counter: Counter,
    /// What takes it back.
    undone_by: Option<Counter>,
    /// Files of the library below which its memory is allocated, in whatever line: parts of their paths.
    inside: &'static [&'static str],
    /// Native functions below which its memory is allocated, in whatever line: parts of their names.
    through: &'static [&'static str],
    /// These count only on threads that run this function: a part of its name.
    on_threads: Option<&'static str>,
    /// What must not go on as well: then it is a part of another cause.
    unless: Option<Counter>,
    /// Rules that would tell a part of it.
    instead_of: &'static [Rule],
}

impl Known {
    const fn new(rule: Rule, counter: Counter) -> Self {
        Self {
            rule,
            counter,
            undone_by: None,
            inside: &[],
            through: &[],
            on_threads: None,
            unless: None,
            instead_of: &[],
        }
    }
}

const SESSION: &str = "/tensorflow/python/client/session.py";
const TRACING: &str = "/tensorflow/python/framework/func_graph.py";
const COMPILING: &str = "/tensorflow/python/eager/polymorphic_function/";

const PIPELINES: &str = "/tensorflow/python/data/ops/";
const KERAS: &str = "/site-packages/keras/";
/// What each thread of TensorFlow's own runs.
const THREAD: &str = "PThread::ThreadFn";
/// What every eager tensor has.
const TENSOR: &str = "tensorflow::TensorHandle::";
/// Where an operation gets the memory for what it gives.
const OUTPUT: &str = "tensorflow::OpKernelContext::allocate_output";

/// In the order in which they claim memory that two of them could explain.
const KNOWN: [Known; 9] = [
    Known {
        undone_by: Some(Counter::SessionClosed),
        inside: &[SESSION],
        ..Known::new(Rule::OpenSessions, Counter::SessionMade)
    },
    // A session that runs an operation for the first time keeps what it made to run it.
    Known {
        undone_by: Some(Counter::GraphOperationFreed),
        inside: &[SESSION],
        ..Known::new(Rule::GraphGrowth, Counter::GraphOperation)
    },
    // Each compilation makes new functions of the same model, with gradients of their own.
    Known {
        inside: &[TRACING, COMPILING, KERAS],
        unless: Some(Counter::ModelMade),
        instead_of: &[Rule::GradientRegistry, Rule::Retracing],
        ..Known::new(Rule::Recompiling, Counter::ModelCompiled)
    },
    // What a model traced stays with the gradients that were registered for it, and with it the model.
    Known {
        inside: &[TRACING, COMPILING, KERAS],
        instead_of: &[Rule::Retracing, Rule::KerasState],
        ..Known::new(Rule::GradientRegistry, Counter::GradientRegistered)
    },
    Known {
        undone_by: Some(Counter::ModelFreed),
        inside: &[KERAS],
        ..Known::new(Rule::KerasState, Counter::ModelMade)
    },
    Known {
        undone_by: Some(Counter::PyFunctionDropped),
        inside: &["/tensorflow/python/ops/script_ops.py", PIPELINES],
        instead_of: &[Rule::Iterators],
        ..Known::new(Rule::PyFunctionRegistry, Counter::PyFunctionRegistered)
    },
    // Each has threads, and these what is local to them.
    Known {
        undone_by: Some(Counter::IteratorFreed),
        inside: &[PIPELINES],
        through: &["__tls_get_addr"],
        on_threads: Some(THREAD),
        ..Known::new(Rule::Iterators, Counter::IteratorMade)
    },
    // A tape holds the tensors that it recorded, wherever they were made.
    Known {
        undone_by: Some(Counter::TapeFreed),
        inside: &["/tensorflow/python/eager/backprop.py"],
        through: &[TENSOR, OUTPUT, "GradientTape", "TapeSet"],
        ..Known::new(Rule::Tapes, Counter::TapeMade)
    },
    Known {
        undone_by: Some(Counter::FunctionFreed),
        inside: &[TRACING, COMPILING],
        ..Known::new(Rule::Retracing, Counter::FunctionTraced)
    },
];

/// A cause that native code shows by itself: memory that only this function allocates grows at a line.
#[derive(Debug)]
struct KnownFunction {
    rule: Rule,
    sign: Sign,
    /// The memory of that line that it explains is allocated below this one; all of it, where that is not said.
    below: Option<&'static str>,
}

/// What is seen in a stack.
#[derive(Debug)]
enum Sign {
    /// A function, by parts of its name.
    Function([&'static str; 2]),
    /// A kernel of the program's own.
    Kernel,
}

impl Sign {
    fn is_in(&self, stacks: &Stacks, stack: StackId) -> bool {
        match self {
            Self::Function(parts) => {
                let mut functions = stacks.frames(stack).filter_map(|frame| frame.function.as_deref());
                functions.any(|name| parts.iter().all(|part| name.contains(part)))
            }
            Self::Kernel => own_kernel_line(stacks.frames(stack)).is_some(),
        }
    }
}

/// The first that fits is it; those that explain a part of a line come before those that explain all of it.
const KNOWN_FUNCTIONS: [KnownFunction; 3] = [
    // Nobody but the kernel can give it back, whichever line of Python runs it.
    KnownFunction { rule: Rule::CustomOperation, sign: Sign::Kernel, below: None },
    // A scalar that was never seen before is made, and kept to be handed out again: it is not freed with its tensor.
    KnownFunction {
        rule: Rule::ScalarCache,
        sign: Sign::Function(["tensorflow::EagerContext::Create", "Scalar"]),
        below: Some("tensorflow::ConvertToEagerTensor"),
    },
    // A tensor lives as long as its handle; one that is kept by no cache is kept by the program.
    KnownFunction { rule: Rule::TensorsKept, sign: Sign::Function([TENSOR, "Create"]), below: None },
];

/// A cause that is at work, with the memory that it costs.
#[derive(Debug)]
pub(super) struct Cause<'a> {
    rule: Rule,
    pub(super) counting: Option<Counting>,
    pub(super) sum: Sum,
    /// The blocks of it that stand for one thread each.
    pub(super) threads: Course,
    keys: Vec<Option<Key<'a>>>,
    /// Stacks of blocks that are held by what it keeps, wherever they were allocated.
    held: FxHashSet<StackId>,
    /// Frames by their place, and what each is to it.
    looked_at: RefCell<FxHashMap<*const StackFrame, Seen>>,
    /// The line of a kernel that it is told for instead of them.
    kernel: Option<Key<'a>>,
    /// Of these lines only what is allocated below this function.
    below: Option<&'static str>,
    inside: &'static [&'static str],
    through: &'static [&'static str],
    on_threads: Option<&'static str>,
    /// Whether what was counted is alive: it costs something, be it ever so little.
    pub(super) is_alive: bool,
    /// Of the sites at its own lines the one that rose most, and by how much.
    most: Option<(usize, f64)>,
    /// Bytes that large constants of traces rose by.
    constants: f64,
}

/// What a frame, or a stack, is to a cause.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// In a file of its library.
    file: bool,
    /// In a function that allocates for it.
    function: bool,
    /// On a thread where such a function does.
    thread: bool,
}

impl Seen {
    fn or(self, other: Self) -> Self {
        Self {
            file: self.file || other.file,
            function: self.function || other.function,
            thread: self.thread || other.thread,
        }
    }

    fn is_inside(self) -> bool {
        self.file || self.function && self.thread
    }
}

/// What was counted for a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// What.
    pub counter: Counter,
    /// Events per iteration, without those that were taken back.
    pub per_iteration: f64,
    /// By line, those with most of it first.
    pub lines: Vec<CountedLine>,
}

impl<'a> Cause<'a> {
    /// All that are at work in a process.
    pub(super) fn all(process: &Process, stacks: &'a Stacks, axis: &Axis) -> Vec<Self> {
        if process.counters.rows.is_empty() {
            return Vec::new();
        }
        let counted = Counted::of(process, stacks, axis);
        let at_work = KNOWN.iter().filter_map(|known| Some((known, Self::at_work(known, &counted, axis)?)));
        let (known, mut causes): (Vec<&Known>, Vec<Self>) = at_work.unzip();
        causes.retain(|cause| known.iter().all(|other| !other.instead_of.contains(&cause.rule)));
        causes
    }

    fn at_work(known: &Known, counted: &Counted<'a>, axis: &Axis) -> Option<Self> {
        let per_iteration = counted.pace(known.counter, known.undone_by, axis)?;
        if known.unless.is_some_and(|other| counted.pace(other, None, axis).is_some()) {
            return None;
        }
        let lines = counted.growing(known.counter, axis);
        (!lines.is_empty()).then(|| Self {
            rule: known.rule,
            counting: Some(Counting {
                counter: known.counter,
                per_iteration,
                lines: lines.iter().map(|(_, line)| *line).collect(),
            }),
            keys: lines.into_iter().map(|(key, _)| key).collect(),
            inside: known.inside,
            through: known.through,
            on_threads: known.on_threads,
            is_alive: known.undone_by.is_some(),
            ..Self::new(known.rule)
        })
    }

    fn new(rule: Rule) -> Self {
        Self {
            rule,
            counting: None,
            sum: Sum::default(),
            threads: Course::default(),
            held: FxHashSet::default(),
            looked_at: RefCell::default(),
            keys: Vec::new(),
            kernel: None,
            below: None,
            inside: &[],
            through: &[],
            on_threads: None,
            is_alive: false,
            most: None,
            constants: 0.0,
        }
    }

    /// Whether the memory of a stack at this line is its own.
    fn has_line(&self, stacks: &Stacks, line: Option<Key<'_>>, stack: StackId) -> bool {
        if self.kernel.is_some() {
            return own_kernel_line(stacks.frames(stack)).map(key) == self.kernel;
        }
        let mut functions = stacks.frames(stack).filter_map(|frame| frame.function.as_deref());
        self.keys.contains(&line)
            && self.below.is_none_or(|below| functions.any(|name| name.starts_with(below)))
    }

    fn has_inside(&self, stacks: &'a Stacks, stack: StackId) -> bool {
        let is_anywhere = self.inside.is_empty() && self.through.is_empty();
        self.held.contains(&stack) || !is_anywhere && self.seen(stacks, stack).is_inside()
    }

    /// What the frames of a stack are to it, together.
    fn seen(&self, stacks: &'a Stacks, stack: StackId) -> Seen {
        stacks.frames(stack).map(|frame| self.look(frame)).fold(Seen::default(), Seen::or)
    }

    /// Frames are shared by many stacks, so each is looked at once.
    fn look(&self, frame: &'a StackFrame) -> Seen {
        let has = |text: &Option<Arc<str>>, parts: &[&str]| {
            text.as_deref().is_some_and(|text| parts.iter().any(|part| text.contains(part)))
        };
        let look = || Seen {
            file: has(&frame.file, self.inside),
            function: has(&frame.function, self.through),
            thread: self.on_threads.is_none_or(|thread| has(&frame.function, &[thread])),
        };
        *self.looked_at.borrow_mut().entry(std::ptr::from_ref(frame)).or_insert_with(look)
    }

    /// Whether it explains the memory of a stack.
    fn explains(&self, stacks: &'a Stacks, stack: StackId) -> bool {
        self.has_line(stacks, stacks.line(stack).map(key), stack) || self.has_inside(stacks, stack)
    }

    /// Remembers a site at one of its own lines.
    fn note_rise(&mut self, site: usize, rise: f64) {
        if self.most.is_none_or(|(_, most)| rise > most) {
            self.most = Some((site, rise));
        }
    }

    /// Remembers what of a site is data of large constants.
    pub(super) fn note_constants(&mut self, stacks: &Stacks, stack: StackId, course: &Course) {
        if self.rule == Rule::Retracing {
            self.constants += constants::rise(stacks.frames(stack), course);
        }
    }

    /// What it is told as.
    pub(super) fn rule(&self) -> Rule {
        match self.rule {
            Rule::Retracing if constants::explain(self.constants, self.sum.course.changed()) => {
                Rule::ConstantsInGraph
            }
            rule => rule,
        }
    }

    /// The site that its line is told by: at a line where it is counted, if memory was allocated at one.
    pub(super) fn leader(&self) -> Option<usize> {
        self.most.map(|(site, _)| site).or(self.sum.leader())
    }
}

/// What growing memory of a stack gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shown {
    /// Index in [`KNOWN_FUNCTIONS`].
    known: usize,
    stack: StackId,
}

/// `None` where it gives away nothing.
pub(super) fn shown_by(stacks: &Stacks, stack: StackId) -> Option<Shown> {
    KNOWN_FUNCTIONS
        .iter()
        .position(|known| known.sign.is_in(stacks, stack))
        .map(|known| Shown { known, stack })
}

/// Classes of Python and attributes through which a rule's memory is held, wherever it was allocated: it belongs to the one line of
/// that rule, where there is one. What operations gave that ran on other threads is held by a tensor, the data that the functions of
/// pipelines use by those functions.
const HELD_THROUGH: [(Rule, &[&str]); 2] = [
    (Rule::TensorsKept, &["EagerTensor"]),
    (Rule::PyFunctionRegistry, &["_py_funcs_used_in_graph", "_GeneratorState", "EagerFunc"]),
];

/// Adds the causes that memory gave away, but for memory that another cause explains.
pub(super) fn add_shown<'a>(
    causes: &mut Vec<Cause<'a>>,
    process: &Process,
    stacks: &'a Stacks,
    mut shown: Vec<Shown>,
) {
    shown.sort_unstable();
    for Shown { known, stack } in shown {
        if !causes.iter().any(|cause| cause.explains(stacks, stack)) {
            let known = &KNOWN_FUNCTIONS[known];
            let (keys, kernel) = match known.sign {
                Sign::Function(_) => (vec![stacks.line(stack).map(key)], None),
                Sign::Kernel => (Vec::new(), own_kernel_line(stacks.frames(stack)).map(key)),
            };
            causes.push(Cause { keys, kernel, below: known.below, ..Cause::new(known.rule) });
        }
    }
    for (rule, names) in HELD_THROUGH {
        let mut keeping = causes.iter_mut().filter(|cause| cause.rule == rule);
        if let (Some(cause), None) = (keeping.next(), keeping.next()) {
            cause.held = held_through(process, stacks, names);
        }
    }
}

/// The cause that the memory of a stack is due to: that of its line, else one that allocates in a library.
pub(super) fn claim<'c, 'a>(
    causes: &'c mut [Cause<'a>],
    stacks: &'a Stacks,
    (line, stack): (Option<Key<'_>>, StackId),
    (site, rise): (usize, f64),
) -> Option<&'c mut Cause<'a>> {
    if let Some(at) = causes.iter().position(|cause| cause.has_line(stacks, line, stack)) {
        causes[at].note_rise(site, rise);
        return Some(&mut causes[at]);
    }
    let at = causes.iter().position(|cause| cause.has_inside(stacks, stack))?;
    Some(&mut causes[at])
}
