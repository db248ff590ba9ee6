//! What the probe counts, by name. The names stand in reports; `probe.py` has the same.

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
pub(crate) const FINALIZED_GRAPH_GREW: &str = "operations that a finalized graph refused";

#[cfg(test)]
mod tests {
    /// What stands between quotes after this word.
    fn quoted<'a>(source: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
        source.lines().filter_map(move |line| line.split_once(word)?.1.split('"').next())
    }

    #[test]
    fn what_rules_read_is_what_the_probe_counts() {
        let probe: Vec<&str> = quoted(include_str!("probe.py"), " = counter(\"").collect();
        for name in quoted(include_str!("counters.rs"), ": &str = \"") {
            assert!(probe.contains(&name), "{name} is not counted");
        }
    }
}
