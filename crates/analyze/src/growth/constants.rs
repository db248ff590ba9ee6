//! Large constants of functions of TensorFlow: each trace has their data in its graph, and once more wherever the graph is
//! copied or a kernel is made. A graph without functions that grows by constants grows by operations: that is told as such.

use super::place::Course;
use crate::profile::StackFrame;

/// Bytes that the data of one constant must have: less costs no more than its operation does, with all that belongs to it.
const LARGE: f64 = 65_536.0;
/// The part of what traces grow by that must be data of constants for it to be the reason.
const MOST: f64 = 0.5;

/// Where Python's values become constants.
const MAKING: &str = "/tensorflow/python/framework/constant_op.py";
/// What holds the data of one natively: the definition of the operation with its copies, as messages of C++ and of Python, and
/// the kernel. So large a part of a definition is nothing else.
const HOLDING: [&str; 3] = ["google::protobuf::", "upb_Decode", "tensorflow::ConstantOp::"];

/// How many bytes more of large constants a site has; frames and course are the site's.
pub(super) fn rise<'a>(mut frames: impl Iterator<Item = &'a StackFrame>, course: &Course) -> f64 {
    let (bytes, blocks) = (course.changed(), course.changed_blocks());
    let is_large = blocks > 0.0 && bytes >= LARGE * blocks;
    if is_large && frames.any(is_of_constant) { bytes } else { 0.0 }
}

/// Whether constants explain what traces grew by.
pub(super) fn explain(constants: f64, all: f64) -> bool {
    constants > MOST * all
}

fn is_of_constant(frame: &StackFrame) -> bool {
    let is_made = frame.file.as_deref().is_some_and(|file| file.contains(MAKING));
    let function = frame.function.as_deref().unwrap_or_default();
    is_made || HOLDING.iter().any(|start| function.starts_with(start))
}
