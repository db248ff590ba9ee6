//! Calls of Keras' trainer: `fit`, `predict` and `evaluate` make a pipeline each time, and leave it as garbage in cycles.

use crate::profile::{StackFrame, StackId, Stacks};

/// Its methods that do so; those for one batch do not.
const METHODS: [&str; 3] = ["fit", "predict", "evaluate"];
/// Its files, of Keras 3 and of Keras 2.
const FILES: [&str; 2] = ["/trainer.py", "/training.py"];

/// Whether the memory of a stack was allocated by a call of the trainer, with no line of the user's in between.
pub(super) fn allocates(stacks: &Stacks, stack: StackId) -> bool {
    let line = stacks.line(stack);
    let is_line = |frame: &StackFrame| line.is_some_and(|line| std::ptr::eq(line, frame));
    stacks.frames(stack).take_while(|frame| !is_line(frame)).any(is_of_trainer)
}

fn is_of_trainer(frame: &StackFrame) -> bool {
    let file = frame.file.as_deref().unwrap_or_default();
    let method = frame.function.as_deref().and_then(|name| name.rsplit('.').next()).unwrap_or_default();
    METHODS.contains(&method) && file.contains("keras/") && FILES.iter().any(|end| file.ends_with(end))
}
