//! Causes of growth in programs that use TensorFlow or Keras, a file for each. They read what the probe counted and the names of
//! the libraries' own files and functions; those that several of them need stand here.

include!(concat!(env!("OUT_DIR"), "/tensorflow_rules.rs"));

/// Runs graphs.
const SESSION: &str = "/tensorflow/python/client/session.py";
/// Traces functions.
const TRACING: &str = "/tensorflow/python/framework/func_graph.py";
/// Makes what was traced callable.
const COMPILING: &str = "/tensorflow/python/eager/polymorphic_function/";
/// Makes pipelines of data.
const PIPELINES: &str = "/tensorflow/python/data/ops/";
/// All of Keras.
const KERAS: &str = "/site-packages/keras/";
/// What every eager tensor has.
const TENSOR: &str = "tensorflow::TensorHandle::";

/// Whether a stack has a function whose name has all of these parts.
fn has_function(frames: crate::profile::Frames<'_>, parts: &[&str]) -> bool {
    let mut functions = frames.filter_map(|frame| frame.function.as_deref());
    functions.any(|name| parts.iter().all(|part| name.contains(part)))
}

/// What the probe counts, by name. The names stand in reports; the probe has the same.
pub mod counters {
    /// An operation was added to a graph that is not a function's.
    pub(crate) const GRAPH_OPERATION: &str = "graph operations";
    /// An operation was freed with its graph.
    pub(crate) const GRAPH_OPERATION_FREED: &str = "graph operations freed";
    /// A session was made.
    pub(crate) const SESSION_MADE: &str = "sessions made";
    /// A session was closed.
    pub(crate) const SESSION_CLOSED: &str = "sessions closed";
    /// A function was traced that had been traced before.
    pub(crate) const FUNCTION_TRACED: &str = "function traces";
    /// The graph of a traced function was freed.
    pub(crate) const FUNCTION_FREED: &str = "function traces freed";
    /// A Python function was registered to be called from a graph or a pipeline.
    pub(crate) const PY_FUNCTION_REGISTERED: &str = "Python functions registered";
    /// And left that registry.
    pub(crate) const PY_FUNCTION_DROPPED: &str = "Python functions dropped";
    /// A gradient was registered.
    pub(crate) const GRADIENT_REGISTERED: &str = "gradients registered";
    /// A Keras model was made.
    pub(crate) const MODEL_MADE: &str = "Keras models made";
    /// And freed.
    pub(crate) const MODEL_FREED: &str = "Keras models freed";
    /// A Keras model was compiled.
    pub(crate) const MODEL_COMPILED: &str = "calls of compile";
    /// A tape that records operations was made.
    pub(crate) const TAPE_MADE: &str = "gradient tapes made";
    /// And freed.
    pub(crate) const TAPE_FREED: &str = "gradient tapes freed";
    /// An iterator over a pipeline was made.
    pub(crate) const ITERATOR_MADE: &str = "dataset iterators made";
    /// And freed.
    pub(crate) const ITERATOR_FREED: &str = "dataset iterators freed";
    /// A graph that was finalized for the user would have grown.
    pub const FINALIZED_GRAPH_GREW: &str = "operations that a finalized graph refused";
}
