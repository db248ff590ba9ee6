//! C19: a custom op leaks memory on every call: its kernel is not TensorFlow's, but in a library that the program loads.

use crate::diagnose::rule::{Rule, Text};
use crate::profile::{Frames, StackFrame, own_line};

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("A custom op kernel leaks memory on every call"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "hold what Compute allocates in a std::unique_ptr or core::RefCountPtr, or delete or Unref it on every return path",
    ),
    // Only the kernel can free it, whichever Python line runs it.
    line: Some(own_kernel_line),
    shown_by: Some(|frames| own_kernel_line(frames).is_some()),
    ..Rule::new("C19", "custom-op", 110)
};

/// Memory requested in this way is freed by TensorFlow: outputs, and temporaries of one call.
const ASKED_FOR: &str = "tensorflow::OpKernelContext::";

/// The line of such a kernel that allocates memory itself; frames come innermost first. `None` if there is none.
fn own_kernel_line(frames: Frames<'_>) -> Option<&StackFrame> {
    let pairs = frames.clone().zip(frames.clone().skip(1));
    let runs = |(kernel, caller): (&StackFrame, &StackFrame)| {
        computes(kernel) && !is_of_tensorflow(kernel) && is_of_tensorflow(caller)
    };
    let inside = frames.take(pairs.clone().position(runs)? + 1);
    let is_asked_for = inside.clone().any(|frame| name(frame).starts_with(ASKED_FOR));
    own_line(inside.filter(|frame| !is_of_tensorflow(frame))).filter(|_| !is_asked_for)
}

fn computes(frame: &StackFrame) -> bool {
    ["::Compute", "::ComputeAsync"].iter().any(|end| name(frame).ends_with(end))
}

fn name(frame: &StackFrame) -> &str {
    frame.function.as_deref().unwrap_or_default()
}

/// Whether its object file is TensorFlow's.
fn is_of_tensorflow(frame: &StackFrame) -> bool {
    let file = frame.module.as_deref().and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    ["libtensorflow", "lib_pywrap_tensorflow", "_pywrap_tensorflow"]
        .iter()
        .any(|start| file.starts_with(start))
}
