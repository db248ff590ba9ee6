//! Causes of growth in programs that use TensorFlow or Keras, one file each. They read what the probe counted and the names of
//! the libraries' own files and functions; names that several of them need are defined here.

use super::counters;
use crate::profile::Frames;

include!(concat!(env!("OUT_DIR"), "/tensorflow_rules.rs"));

/// Runs graphs.
const SESSION: &str = "/tensorflow/python/client/session.py";
/// Traces functions.
const TRACING: &str = "/tensorflow/python/framework/func_graph.py";
/// Makes traced functions callable.
const COMPILING: &str = "/tensorflow/python/eager/polymorphic_function/";
/// Creates tf.data pipelines.
const PIPELINES: &str = "/tensorflow/python/data/ops/";
/// All of Keras.
const KERAS: &str = "/site-packages/keras/";
/// What every eager tensor has.
const TENSOR: &str = "tensorflow::TensorHandle::";

/// Whether a stack has a function whose name has all of these parts.
fn has_function(frames: Frames<'_>, parts: &[&str]) -> bool {
    let mut functions = frames.filter_map(|frame| frame.function.as_deref());
    functions.any(|name| parts.iter().all(|part| name.contains(part)))
}
