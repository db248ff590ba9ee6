//! C32: large constants of TensorFlow functions. Each trace has their data in its graph, and again wherever the graph is
//! copied or a kernel is created. Replaces C3 where such data is most of the growth. A graph outside functions that gains
//! constants is growth by operations, and C1 reports it.

use super::retrace;
use crate::diagnose::rule::{Rule, Text, Within};
use crate::profile::{Frames, StackFrame};
use crate::trend::TimeSeries;

pub(crate) static RULE: Rule = Rule {
    title: Text::Plain("Each new trace of a tf.function retains large constants"),
    verdict: Text::Plain("leak (your code)"),
    fix: Text::Plain(
        "pass the array to the function as a tensor, or store it in a tf.Variable; pass tensors instead of changing Python \
         values, so that the function is traced only once",
    ),
    layer: Some("tensorflow-function"),
    references: &["https://github.com/tensorflow/tensorflow/issues/13221"],
    holder: &["the tf.function", "its cache of traces", "ConcreteFunction", "its constants"],
    within: Some(Within { rule: &retrace::RULE, rise, least: MOST }),
    ..Rule::new("C32", "constants-in-graph", 140)
};

/// Least bytes of data of a large constant: a smaller one costs no more than its operation and what belongs to it.
const LARGE: f64 = 65_536.0;
/// The fraction of the growth by traces that must be data of constants for them to be the cause.
const MOST: f64 = 0.5;

/// Where Python values become constants.
const MAKING: &str = "/tensorflow/python/framework/constant_op.py";
/// Native code that holds a constant's data: the definition of the operation and its copies, as C++ and Python protocol
/// buffers, and the kernel. Nothing else in a definition is this large.
const HOLDING: [&str; 3] = ["google::protobuf::", "upb_Decode", "tensorflow::ConstantOp::"];

/// How many bytes more of large constants a site has; frames and values are the site's.
fn rise(mut frames: Frames<'_>, values: &TimeSeries) -> f64 {
    let (bytes, blocks) = (values.changed(), values.changed_blocks());
    let is_large = blocks > 0.0 && bytes >= LARGE * blocks;
    if is_large && frames.any(is_of_constant) { bytes } else { 0.0 }
}

fn is_of_constant(frame: &StackFrame) -> bool {
    let is_made = frame.file.as_deref().is_some_and(|file| file.contains(MAKING));
    let function = frame.function.as_deref().unwrap_or_default();
    is_made || HOLDING.iter().any(|start| function.starts_with(start))
}
