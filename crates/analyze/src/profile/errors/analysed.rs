//! An error with everything that a report says of it.

use std::borrow::Cow;

use heaplens_format::Nanos;
use heaplens_format::environment::GuardSide;
use heaplens_format::recording::ErrorKind;

use crate::profile::stacks::{StackFrame, error_line};

/// Who found an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Heaplens itself.
    #[default]
    Heaplens,
    /// Valgrind's Memcheck, which Heaplens ran.
    Valgrind,
}

impl Engine {
    /// As every output has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Heaplens => "heaplens",
            Self::Valgrind => "valgrind",
        }
    }
}

/// The errors of a process, in the order in which they were first made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryErrors {
    /// Those that are reported.
    pub reported: Vec<AnalysedError>,
    /// Mismatched frees that no code of the user's own made: reported by `memcheck` alone.
    pub of_libraries: Vec<AnalysedError>,
    /// Blocks that had guard pages.
    pub guarded_blocks: u64,
    /// How often errors were left out since they are known, by the name of the suppression.
    pub suppressed: Vec<(String, u64)>,
}

/// One error: made at one stack, with blocks of one stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnalysedError {
    /// What it is; `None` where only Memcheck has a name for it.
    pub kind: Option<ErrorKind>,
    /// Memcheck's name of its kind, as in its XML: `InvalidFree`, `MismatchedFree`, `InvalidWrite`, `UninitCondition` …
    pub memcheck_kind: Cow<'static, str>,
    /// In a few words: `double free`.
    pub brief: String,
    /// Memcheck's sentence: `Invalid free() / delete / delete[] / realloc()`.
    pub what: String,
    /// What Memcheck says of the address: `Address 0x4a5a040 is 0 bytes inside a block of size 40 free'd`. Empty where it says nothing.
    pub aux: String,
    /// The stack of the call, innermost frame first; of what found it where nobody knows who did it.
    pub stack: Vec<StackFrame>,
    /// The stack that allocated the block.
    pub allocated: Vec<StackFrame>,
    /// The stack that freed it first.
    pub freed: Vec<StackFrame>,
    /// What Memcheck says of where a value that was never set comes from: `Uninitialised value was created by a heap allocation`.
    pub origin_what: String,
    /// The stack of that.
    pub origin: Vec<StackFrame>,
    /// The size of the block; 0 where there is none.
    pub bytes: u64,
    /// Bytes of the access; 0 where that is not known.
    pub access: u64,
    /// On which side the block had a guard page, where a canary on its pages was changed.
    pub guarded: Option<GuardSide>,
    /// Between which moments the bytes were changed, where canaries were checked while the program ran.
    pub changed: Option<ChangedBetween>,
    /// How often it was made.
    pub count: u64,
    /// Who found it.
    pub engine: Engine,
}

/// Two moments of the run: before the first the bytes were intact, at the second they were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedBetween {
    /// The last check that found them intact, or that came before the block; `None` where there was none.
    pub intact: Option<Nanos>,
    /// When they were found to be changed.
    pub changed: Nanos,
}

/// A sentence about an error, and the stack that belongs to it, which may be empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorSection<'a> {
    /// The sentence.
    pub text: &'a str,
    /// The stack.
    pub stack: &'a [StackFrame],
}

/// What Memcheck says of the stack that allocated a block where it has named the one that freed it.
const ALLOCATED_AT: &str = "Block was alloc'd at";

impl AnalysedError {
    /// The line that it is reported for: the innermost of the user's own code.
    pub fn line(&self) -> Option<&StackFrame> {
        Self::line_of(&self.stack)
    }

    /// The same of any of its stacks.
    pub fn line_of(stack: &[StackFrame]) -> Option<&StackFrame> {
        error_line(stack)
    }

    /// The options that catch the access itself, where only its trace was found.
    pub fn guard_options(&self) -> Option<String> {
        let is_trace =
            matches!(self.kind, Some(ErrorKind::Overrun | ErrorKind::Underrun | ErrorKind::WriteAfterFree));
        let line = Self::line_of(&self.allocated)
            .filter(|frame| is_trace && !frame.is_python() && frame.file.is_some())?;
        let (file, number) = (line.file.as_deref()?, line.line.unwrap_or(0));
        let name = file.rsplit('/').next().unwrap_or(file);
        let more = match (self.guarded, self.kind) {
            (Some(GuardSide::End), Some(ErrorKind::Overrun)) => " --guard-align=1",
            (_, Some(ErrorKind::Underrun)) => " --guard-side=begin",
            _ => "",
        };
        Some(format!("--guard={name}:{number}{more}"))
    }

    /// Whether its stack begins with the caller of the function that is at fault, where Memcheck has that function itself first.
    pub fn is_of_call(&self) -> bool {
        self.engine == Engine::Heaplens
            && !matches!(self.kind, None | Some(ErrorKind::InvalidRead | ErrorKind::InvalidWrite))
    }

    /// Sentences and stacks in Memcheck's order, the error itself first.
    pub fn sections(&self) -> Vec<ErrorSection<'_>> {
        let mut sections = vec![ErrorSection { text: &self.what, stack: &self.stack }];
        let was_freed = self.is_of_freed_block();
        let of_block = if was_freed { &self.freed } else { &self.allocated };
        if !self.aux.is_empty() {
            sections.push(ErrorSection { text: &self.aux, stack: of_block });
        }
        if was_freed && !self.allocated.is_empty() {
            sections.push(ErrorSection { text: ALLOCATED_AT, stack: &self.allocated });
        }
        if !self.origin_what.is_empty() {
            sections.push(ErrorSection { text: &self.origin_what, stack: &self.origin });
        }
        sections
    }

    /// Whether the block had been freed.
    fn is_of_freed_block(&self) -> bool {
        !self.freed.is_empty() || self.aux.ends_with("free'd")
    }

    /// What suppressions call its kind: `Free`, `Addr4`, `Cond`, `Value8` …
    pub fn suppression_kind(&self) -> String {
        match &*self.memcheck_kind {
            "InvalidFree" | "MismatchedFree" => "Free".to_owned(),
            "InvalidRead" | "InvalidWrite" => format!("Addr{}", self.access.max(1)),
            "UninitCondition" => "Cond".to_owned(),
            "UninitValue" => format!("Value{}", self.access.max(1)),
            "SyscallParam" => "Param".to_owned(),
            "InvalidJump" => "Jump".to_owned(),
            "ReallocSizeZero" => "ReallocZero".to_owned(),
            other => other.to_owned(),
        }
    }
}
