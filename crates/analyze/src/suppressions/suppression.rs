//! A leak or a memory error that is known, and which stacks it means.

use std::collections::BTreeSet;

use heaplens_format::recording::LeakKind;

use super::glob::Glob;
use super::valgrind_names::Called;
use crate::profile::StackFrame;

/// Functions that allocate, as they and the linker call them.
const ALLOCATORS: [&str; 14] = [
    "malloc",
    "calloc",
    "realloc",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "operator new(unsigned long)",
    "operator new[](unsigned long)",
    "operator new(unsigned long, std::align_val_t)",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
];
/// Functions that Memcheck replaces, so that they are the first frame of an error in a call of them.
const REPLACED: [&str; 24] = [
    "free",
    "cfree",
    "operator delete(void*)",
    "operator delete[](void*)",
    "operator delete(void*, unsigned long)",
    "operator delete[](void*, unsigned long)",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "memcpy",
    "mempcpy",
    "memcpy@@GLIBC_2.14",
    "__memcpy_chk",
    "strcpy",
    "strncpy",
    "strcat",
    "strncat",
    "stpcpy",
    "stpncpy",
];
/// Those whose frame Memcheck shows after that of `memalign`.
const ALIGNED: &[&str] = &["posix_memalign", "aligned_alloc"];

/// A leak or an error that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// What it is called.
    pub name: String,
    /// Kinds that it means.
    pub(super) kinds: BTreeSet<LeakKind>,
    /// The kind of error that it means, in place of leaks: `Free`, `Addr4`, `Cond` …
    pub(super) error: Option<String>,
    pub(super) stack: Stack,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    /// From the innermost frame on, each one; what comes after them does not matter.
    Callers(Vec<Caller>),
    /// A frame anywhere.
    Anywhere(Glob),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Caller {
    Function(FunctionPattern),
    Object(Glob),
    /// A file, and a line where one is named.
    Source(Glob, Option<u32>),
    /// Any number of frames.
    Any,
}

/// A pattern for the name of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionPattern {
    pub(super) pattern: Glob,
    /// The same as people read it, where the pattern is one name of the linker's.
    pub(super) readable: Option<Glob>,
}

impl FunctionPattern {
    fn matches(&self, called: &Called<'_>) -> bool {
        let known = called.frame.function.as_deref();
        let readable = self.readable.as_ref().filter(|_| called.name.is_none());
        let mut names = called.name.as_deref().into_iter().chain(called.aliases.iter().map(String::as_str));
        names.any(|name| self.pattern.matches(name))
            || known.is_some_and(|name| self.pattern.matches(name))
            || known.zip(readable).is_some_and(|(name, readable)| readable.matches(name))
    }

    fn is_allocator(&self) -> bool {
        ALLOCATORS.iter().any(|name| self.pattern.matches(name))
    }

    fn is_replaced(&self) -> bool {
        self.is_allocator() || REPLACED.iter().any(|name| self.pattern.matches(name))
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.pattern == Glob::whole(name))
    }
}

impl Suppression {
    /// Whether it means blocks of this kind.
    pub fn is_for(&self, kind: LeakKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether it means errors of this kind.
    pub fn is_for_error(&self, kind: &str) -> bool {
        self.error.as_deref() == Some(kind)
    }

    /// Whether it means an error at this stack, which begins with the caller of the function that is at fault, or where it happened.
    pub fn matches_error(&self, stack: &[Called<'_>], is_of_call: bool) -> bool {
        let Stack::Callers(callers) = &self.stack else { return false };
        let after_function = || callers.split_first().filter(|(first, _)| first.is_replaced());
        follow(callers, stack) || is_of_call && after_function().is_some_and(|(_, rest)| follow(rest, stack))
    }

    /// Whether it means blocks of this stack.
    pub fn matches(&self, stack: &[Called<'_>]) -> bool {
        match &self.stack {
            Stack::Anywhere(pattern) => stack.iter().any(|called| is_named(called.frame, pattern)),
            // Memcheck's stacks begin with the allocating function itself, ours with its caller.
            Stack::Callers(callers) => {
                follow(callers, stack) || after_allocator(callers).is_some_and(|rest| follow(rest, stack))
            }
        }
    }
}

fn is_named(frame: &StackFrame, pattern: &Glob) -> bool {
    [&frame.function, &frame.file, &frame.module].into_iter().flatten().any(|name| pattern.matches(name))
}

/// What follows the frame that allocates. Memcheck has two frames of its own for aligned memory.
fn after_allocator(callers: &[Caller]) -> Option<&[Caller]> {
    let (first, rest) = callers.split_first()?;
    let is_second =
        |caller: &Caller| matches!(caller, Caller::Function(function) if function.is_one_of(ALIGNED));
    let second = rest.split_first().filter(|(caller, _)| is_second(caller));
    first.is_allocator().then(|| second.map_or(rest, |(_, rest)| rest))
}

fn follow(callers: &[Caller], stack: &[Called<'_>]) -> bool {
    match callers.split_first() {
        None => true,
        Some((Caller::Any, rest)) => (0..=stack.len()).any(|skipped| follow(rest, &stack[skipped..])),
        Some((caller, rest)) => {
            stack.split_first().is_some_and(|(called, outer)| caller.matches(called) && follow(rest, outer))
        }
    }
}

impl Caller {
    fn matches(&self, called: &Called<'_>) -> bool {
        let frame = called.frame;
        let name = |name: &Option<std::sync::Arc<str>>, pattern: &Glob| {
            name.as_deref().is_some_and(|name| pattern.matches(name))
        };
        match self {
            Self::Function(function) => function.matches(called),
            Self::Object(pattern) => {
                name(&frame.module, pattern) || called.object.is_some_and(|path| pattern.matches(path))
            }
            Self::Source(pattern, line) => {
                let of_line = line.is_none_or(|line| frame.line == Some(line));
                let file = frame.file.as_deref().and_then(|file| file.rsplit('/').next());
                of_line && file.is_some_and(|file| pattern.matches(file))
            }
            Self::Any => true,
        }
    }

    /// Whether it can be a function that Memcheck replaces.
    fn is_replaced(&self) -> bool {
        match self {
            Self::Function(function) => function.is_replaced(),
            other => other.is_allocator(),
        }
    }

    /// Whether it can be a function that allocates.
    fn is_allocator(&self) -> bool {
        match self {
            Self::Function(function) => function.is_allocator(),
            Self::Object(pattern) => pattern.matches("vgpreload_memcheck-amd64-linux.so"),
            Self::Source(..) | Self::Any => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_in::built_in;
    use super::super::parse::parse;
    use super::super::valgrind_names::Names;
    use super::*;
    use crate::profile::Origin;

    fn frame(function: &str, module: &str) -> StackFrame {
        StackFrame {
            function: Some(function.into()),
            module: Some(module.into()),
            file: Some("/src/deep/a.c".into()),
            line: Some(7),
            origin: Origin::Native,
            offset: 0,
        }
    }

    fn meant(text: &str, kind: LeakKind, functions: &[&str]) -> bool {
        let frames: Vec<StackFrame> = functions.iter().map(|name| frame(name, "/lib/libx.so.1")).collect();
        let stack: Vec<&StackFrame> = frames.iter().collect();
        let parsed = parse(text).unwrap();
        parsed.iter().any(|one| one.is_for(kind) && one.matches(&Names::default().called(&stack)))
    }

    const KIND: LeakKind = LeakKind::DefinitelyLost;

    #[test]
    fn callers_are_followed_from_the_allocating_function_outwards() {
        let text = "{\n x\n Memcheck:Leak\n fun:malloc\n fun:in*r\n ...\n fun:outer\n}";
        assert!(meant(text, KIND, &["inner", "outer", "main"]));
        assert!(meant(text, KIND, &["inner", "between", "more", "outer"]));
        assert!(!meant(text, KIND, &["other", "outer"]));
        assert!(!meant(text, KIND, &["inner", "main"]));
        assert!(!meant(text, KIND, &["more", "inner", "outer"]), "from the innermost on");
    }

    #[test]
    fn objects_and_lines_of_source_are_distinguished() {
        assert!(meant("{\n x\n Memcheck:Leak\n obj:*/libx.so*\n}", KIND, &["f"]));
        assert!(!meant("{\n x\n Memcheck:Leak\n obj:*/liby.so*\n}", KIND, &["f"]));
        assert!(meant("{\n x\n Memcheck:Leak\n src:a.c:7\n}", KIND, &["f"]));
        assert!(!meant("{\n x\n Memcheck:Leak\n src:a.c:8\n}", KIND, &["f"]));
    }

    #[test]
    fn only_the_kinds_that_are_named_are_meant() {
        let text = "{\n x\n Memcheck:Leak\n match-leak-kinds: possible,reachable\n fun:f\n}";
        assert!(meant(text, LeakKind::PossiblyLost, &["f"]));
        assert!(!meant(text, LeakKind::DefinitelyLost, &["f"]));
    }

    #[test]
    fn a_pattern_of_the_sanitizer_is_searched_everywhere() {
        assert!(meant("leak:outer", KIND, &["inner", "the_outer_one"]));
        assert!(meant("# a comment\nleak:libx.so", KIND, &["f"]));
        assert!(meant("leak:^inner$", KIND, &["inner", "main"]));
        assert!(!meant("leak:^outer$", KIND, &["the_outer_one"]));
    }

    #[test]
    fn errors_are_meant_by_their_kind_and_their_stack_with_or_without_the_function_itself() {
        let text = "{\n x\n Memcheck:Free\n fun:free\n fun:inner\n ...\n fun:main\n}\n{\n y\n Memcheck:Addr4\n fun:inner\n}";
        let known = parse(text).unwrap();
        let frames: Vec<StackFrame> =
            ["inner", "between", "main"].iter().map(|name| frame(name, "/bin/x")).collect();
        let stack: Vec<&StackFrame> = frames.iter().collect();
        let (names, rest) = (Names::default(), &stack[1..]);
        let meant = |kind: &str, stack: &[&StackFrame], is_of_call| {
            let called = names.called(stack);
            known.iter().any(|one| one.is_for_error(kind) && one.matches_error(&called, is_of_call))
        };
        assert!(meant("Free", &stack, true) && !meant("Free", rest, true) && !meant("Cond", &stack, true));
        assert!(!meant("Free", &stack, false), "the function itself is at fault there");
        assert!(meant("Addr4", &stack, false) && !meant("Addr8", &stack, false));
        assert!(known.iter().all(|one| !one.is_for(KIND)), "they are no leaks");
    }

    #[test]
    fn those_that_come_with_heaplens_are_sound_and_hide_one_thing_that_is_lost_for_sure() {
        let known = built_in();
        assert!(!known.is_empty());
        let hides_lost = |one: &&Suppression| one.kinds.contains(&LeakKind::DefinitelyLost);
        let hiding: Vec<&str> = known.iter().filter(hides_lost).map(|one| &*one.name).collect();
        assert_eq!(
            hiding,
            ["TensorFlow: the thread that logs the memory of pipelines is started once and forgotten"]
        );
        for one in &known {
            let Stack::Callers(callers) = &one.stack else { panic!("{} names no frame", one.name) };
            assert!(callers.len() > 1 || !hides_lost(&one), "{}: by whom?", one.name);
            let names_a_frame =
                |caller: &Caller| matches!(caller, Caller::Function(_)) && !caller.is_allocator();
            assert!(callers.iter().any(names_a_frame), "{}", one.name);
        }
    }
}
