//! What findings are called and what is said about them, in every output alike. Only what was measured is said.

use heaplens_analyze::Profile;
use heaplens_analyze::growth::{CountedLine, Finding, How, Rule, Shape, Slowing, Trend, own_kernel_line};
use heaplens_analyze::profile::{Layer, Origin, StackFrame};
use heaplens_format::Bytes;
use heaplens_format::arena::Counter;

use crate::source::source_line;

/// The identifier of a rule, and its name.
pub(crate) fn rule(rule: Rule) -> (&'static str, &'static str) {
    match rule {
        Rule::LinearGrowth => ("G1", "site-growth"),
        Rule::CacheFilling => ("G2", "cache-filling"),
        Rule::Fragmentation => ("C25", "fragmentation"),
        Rule::Cycles => ("C36", "gc-cycle"),
        Rule::FitPerCall => ("C7", "per-call-fit"),
        Rule::LostReferences => ("C16", "refcount"),
        Rule::ThreadGrowth => ("C31", "threads"),
        Rule::MappingGrowth => ("G6", "mapping-growth"),
        Rule::Unexplained => ("G7", "growth-unexplained"),
        Rule::GraphGrowth => ("C1", "graph-growth"),
        Rule::ConstantsInGraph => ("C32", "constants-in-graph"),
        Rule::OpenSessions => ("C2", "session-open"),
        Rule::Retracing => ("C3", "retrace"),
        Rule::GradientRegistry => ("C4", "gradient-registry"),
        Rule::KerasState => ("C5", "keras-state"),
        Rule::Recompiling => ("C6", "recompile"),
        Rule::TensorsKept => ("C8", "tensors-kept"),
        Rule::Iterators => ("C13", "iterators"),
        Rule::CustomOperation => ("C19", "custom-op"),
        Rule::Tapes => ("C20", "tape"),
        Rule::PyFunctionRegistry => ("C12", "py-function-registry"),
        Rule::ScalarCache => ("C35", "scalar-cache"),
    }
}

/// The same of what rose and stands, which is no finding.
pub(crate) const PLATEAU: (&str, &str) = ("C34", "warm-up");

/// The headline of a finding.
pub(crate) fn title(finding: &Finding) -> &'static str {
    match finding.rule {
        Rule::LinearGrowth => "What this line allocates grows and does not stop",
        Rule::CacheFilling => "A cache fills at this line, ever slower",
        Rule::Fragmentation => "The allocator keeps free memory between live blocks",
        Rule::Cycles => "Cycles that this line makes wait for the garbage collector",
        Rule::FitPerCall => "Each call of Keras' trainer leaves cycles to the garbage collector",
        Rule::LostReferences => "Nothing refers to objects of this line: their counts alone keep them",
        Rule::ThreadGrowth if finding.threads.is_some_and(|threads| threads.have_ended) => {
            "Threads end and are never joined: their stacks stay"
        }
        Rule::ThreadGrowth => "More and more threads are started, and they do not end",
        Rule::MappingGrowth => "A mapping grows, and no hook saw who makes it",
        Rule::Unexplained => "Memory grows, and no line explains it",
        Rule::GraphGrowth => "A graph of TensorFlow grows with each iteration",
        Rule::ConstantsInGraph => "Each new trace of a tf.function keeps large constants",
        Rule::OpenSessions => "Sessions of TensorFlow are made and not closed",
        Rule::Retracing => "A tf.function is traced again and again",
        Rule::GradientRegistry => "TensorFlow's gradient registry keeps each new model's functions",
        Rule::KerasState => "Keras models are made and stay alive",
        Rule::Recompiling => "A Keras model is compiled again and again",
        Rule::TensorsKept => "Tensors that this line makes are kept",
        Rule::Iterators => "Iterators over a tf.data pipeline are made and stay alive",
        Rule::CustomOperation => "A kernel of your own allocates with each call, and does not give it back",
        Rule::Tapes => "Gradient tapes stay alive, and with them what they recorded",
        Rule::PyFunctionRegistry => "TensorFlow keeps the Python functions of each new pipeline",
        Rule::ScalarCache => "TensorFlow caches each new Python scalar for ever",
    }
}

/// The word for one finding.
pub(crate) fn verdict(profile: &Profile, finding: &Finding) -> &'static str {
    match finding.rule {
        Rule::LinearGrowth | Rule::ThreadGrowth if is_own(line(profile, finding)) => "leak (your code)",
        Rule::LinearGrowth | Rule::ThreadGrowth | Rule::LostReferences => "leak (library)",
        Rule::CacheFilling => "bounded cache, still filling",
        Rule::Fragmentation => "fragmentation",
        Rule::Cycles | Rule::FitPerCall => "cycle waiting for gc",

        Rule::MappingGrowth | Rule::Unexplained => "unexplained",
        Rule::GraphGrowth | Rule::OpenSessions | Rule::Retracing | Rule::Recompiling => "leak (your code)",
        Rule::KerasState | Rule::TensorsKept | Rule::Iterators | Rule::Tapes => "leak (your code)",
        Rule::CustomOperation | Rule::ConstantsInGraph => "leak (your code)",
        Rule::GradientRegistry | Rule::PyFunctionRegistry => "leak (framework, known)",
        Rule::ScalarCache => "unbounded cache",
    }
}

/// Whether a line was written by whoever looks at it: a Python file of theirs, or native code with its source.
fn is_own(line: Option<&StackFrame>) -> bool {
    line.is_some_and(|frame| match frame.origin {
        Origin::User | Origin::Generated => true,
        Origin::Native => frame.file.is_some(),
        Origin::Library(_) | Origin::Import => false,
    })
}

/// What to do, as far as it is known.
pub(crate) fn fix(profile: &Profile, finding: &Finding) -> &'static str {
    let is_python = line(profile, finding).is_some_and(StackFrame::is_python);
    match finding.rule {
        Rule::LinearGrowth if is_python => {
            "clear or bound what it is kept in, or make it once, before the loop"
        }
        Rule::LinearGrowth => "free it, or bound what it is kept in",
        Rule::ThreadGrowth if finding.threads.is_some_and(|threads| threads.have_ended) => {
            "join each thread, or detach it when it is started"
        }
        Rule::ThreadGrowth if is_python => {
            "end each thread when its work is done, shut executors down, or use one pool for all iterations"
        }
        Rule::ThreadGrowth => "end each thread when its work is done, or use one pool of threads",
        Rule::MappingGrowth => {
            "it is mapped past the C library, by a raw system call or a driver: bound or release it in the library that does so"
        }
        Rule::CacheFilling => "none is needed if its bound suits you; run for longer to see it stop",
        // What helps was measured: `cargo xtask bench --only fragmentation`. Fewer arenas and tcmalloc did not, or little.
        Rule::Fragmentation => {
            "malloc_trim(0) at a quiet moment gives it back, as it did here; jemalloc, preloaded, may keep less"
        }
        Rule::Cycles => "break the cycle, or call gc.collect() from time to time",
        Rule::FitPerCall => {
            "call the model itself, model(x, training=False), or predict_on_batch, train_on_batch, test_on_batch; \
             else call gc.collect() from time to time"
        }
        Rule::LostReferences => {
            "native code took a reference and never gave it back (Py_DECREF): upgrade the extension that gets these \
             objects, or report it to its authors with this line"
        }
        Rule::Unexplained => "not known: it is in no block, object or mapping that was seen",
        Rule::GraphGrowth => {
            "make the operation once, before the loop, and feed what changes through a placeholder; \
             tf.compat.v1.get_default_graph().finalize() before the loop makes this line raise"
        }
        Rule::ConstantsInGraph => {
            "pass the array to the function as a tensor, or keep it in a tf.Variable; and pass tensors, not Python values that \
             change, so that it is traced once"
        }
        Rule::Retracing => {
            "pass tensors, not Python values that change; fix shapes by an input_signature, by \
             reduce_retracing=True, or by padding"
        }
        Rule::GradientRegistry => {
            "make and compile the model once and reset its weights, or run each trial in a process of its own; \
             clear_session() does not empty this registry"
        }
        Rule::KerasState => {
            "drop each model when its work is done (del, keras.backend.clear_session()), or make one before the loop"
        }
        Rule::Recompiling => {
            "compile the model once, before the loop; set_weights() brings it back to where it began"
        }
        Rule::TensorsKept => {
            "keep numbers, not tensors: float(x) or x.numpy(); bound the list, or use a tf.keras.metrics metric"
        }
        Rule::Iterators => "make one iterator and go on with it, or drop each (del) before the next is made",
        Rule::Tapes => {
            "del the tape as soon as its gradients are known; make it persistent only where that is needed"
        }
        Rule::CustomOperation => {
            "let std::unique_ptr or core::RefCountPtr own what Compute makes, or delete or Unref it on every way out"
        }
        Rule::ScalarCache => {
            "keep what counts up in a tf.Variable, or pass it as an array: numpy.asarray(i) is not cached"
        }
        Rule::PyFunctionRegistry => {
            "make the pipeline once and iterate it again, or make each in `with tf.Graph().as_default():`"
        }
        Rule::OpenSessions => {
            "close each session (`with tf.compat.v1.Session() as session:`), or make one before the loop"
        }
    }
}

/// The layer that a finding is about; `None` where that is not known.
pub(crate) fn layer(finding: &Finding) -> Option<&'static str> {
    match finding.rule {
        Rule::ThreadGrowth => Some("thread-stacks"),
        Rule::GraphGrowth => Some("tensorflow-graph"),
        Rule::OpenSessions => Some("tensorflow-session"),
        Rule::ScalarCache | Rule::TensorsKept | Rule::Tapes => Some("tensorflow-tensor"),
        Rule::KerasState | Rule::Recompiling => Some("keras"),
        Rule::Iterators => Some("tensorflow-data"),
        Rule::Retracing | Rule::ConstantsInGraph | Rule::GradientRegistry | Rule::PyFunctionRegistry => {
            Some("tensorflow-function")
        }
        _ => finding.layer.map(Layer::name),
    }
}

/// The mapping that a finding is about, where it is one that nobody was seen to make.
pub(crate) fn mapping(finding: &Finding) -> Option<&str> {
    let name = finding.mapping.as_deref()?;
    Some(if name.is_empty() { "anonymous, without a name" } else { name })
}

/// What can be read about it in public.
pub(crate) fn references(rule: Rule) -> &'static [&'static str] {
    match rule {
        Rule::GraphGrowth => &["https://github.com/tensorflow/tensorflow/issues/700"],
        Rule::ConstantsInGraph => &["https://github.com/tensorflow/tensorflow/issues/13221"],
        Rule::FitPerCall => &["https://github.com/tensorflow/tensorflow/issues/44711"],
        Rule::OpenSessions => &["https://github.com/tensorflow/tensorflow/issues/13202"],
        Rule::Retracing => &["https://www.tensorflow.org/guide/function#controlling_retracing"],
        Rule::GradientRegistry => &["https://github.com/tensorflow/tensorflow/issues/97697"],
        Rule::Recompiling => &["https://github.com/tensorflow/tensorflow/issues/55398"],
        Rule::PyFunctionRegistry => &["https://github.com/tensorflow/tensorflow/issues/123269"],
        _ => &[],
    }
}

/// The line that a finding is about.
pub(crate) fn line<'a>(profile: &'a Profile, finding: &Finding) -> Option<&'a StackFrame> {
    match (finding.leader, &finding.counting) {
        (Some(leader), _) if finding.rule == Rule::CustomOperation => {
            own_kernel_line(profile.stack(&profile.sites[leader]))
        }
        (Some(leader), _) => profile.line(&profile.sites[leader]),
        (None, counting) => profile.line_of(counting.as_ref()?.lines.first()?.stack),
    }
}

/// What was counted for a finding: all of it, then line by line where there are several.
pub(crate) fn counted(profile: &Profile, finding: &Finding) -> Vec<(String, f64)> {
    let Some(counting) = &finding.counting else { return Vec::new() };
    let what = format!("{} per {}", counting.counter.words(), per(profile));
    let at = |line: &CountedLine| {
        let frame = profile.line_of(line.stack)?;
        let file = frame.file.as_deref()?.rsplit('/').next()?;
        Some((format!("{what} at {file}:{}", frame.line?), line.per_iteration))
    };
    let lines: Vec<(String, f64)> = counting.lines.iter().filter_map(at).collect();
    let lines = if lines.len() > 1 { lines } else { Vec::new() };
    std::iter::once((what.clone(), counting.per_iteration)).chain(lines).collect()
}

/// What became of a graph that was finalized for the user.
pub(crate) fn finalized(profile: &Profile) -> Option<String> {
    let when = profile.counts.notes(Counter::FinalizedGraphGrew).next()?;
    let line = profile.counts.refused_at().and_then(|stack| profile.line_of(stack));
    let place = line.and_then(|frame| {
        let file = frame.file.as_deref()?.rsplit('/').next()?;
        Some(format!("{file}:{}", frame.line?))
    });
    Some(match (place, profile.counts.refused_at()) {
        (Some(place), _) => {
            format!("The graph was finalized {when}: {place} would have made it grow, and raised.")
        }
        (None, Some(_)) => {
            format!("The graph was finalized {when}, and an operation that was to be made raised.")
        }
        (None, None) => format!("The graph was finalized {when}, and nothing was to make it grow since."),
    })
}

/// The text of that line, where its file still says it.
pub(crate) fn source(profile: &Profile, finding: &Finding) -> Option<String> {
    let frame = line(profile, finding)?;
    source_line(frame.file.as_deref()?, frame.line?, profile.run.started_unix)
}

/// What was noted about what was counted: the first of it.
pub(crate) fn reasons<'a>(profile: &'a Profile, finding: &Finding) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let counter = match finding.rule {
        Rule::Cycles | Rule::FitPerCall => Some(Counter::CollectorHeld),
        _ => finding.counting.as_ref().map(|counting| counting.counter),
    };
    counter.map_or_else(Vec::new, |counter| profile.counts.notes(counter).take(SHOWN).collect())
}

/// What was looked at and does not grow, each with the reason.
pub(crate) fn excluded(profile: &Profile, finding: &Finding) -> Vec<(String, String)> {
    let growth = &profile.growth;
    let stands = |trend: &Trend| matches!(trend.shape, Shape::Flat | Shape::Plateau);
    let own = finding.layer;
    let layers = growth.layers.iter().filter(|(layer, trend)| Some(*layer) != own && stands(trend));
    let layers =
        layers.map(|(layer, trend)| (layer.name().to_owned(), still_of(profile, *layer, trend).to_owned()));
    let mut excluded: Vec<(String, String)> = sessions(profile, finding).into_iter().chain(layers).collect();
    // Resident memory that swings has no trend, and is not called flat for that.
    let swings = |trend: &Trend| trend.level > 1.05 * trend.first;
    if let Some(trend) =
        growth.rss.as_ref().filter(|trend| finding.leader.is_some() && stands(trend) && !swings(trend))
    {
        excluded.push(("RSS".to_owned(), still(trend).to_owned()));
    }
    let others = growth.lines.saturating_sub(growth.findings.len());
    if growth.how != How::Time && others > 0 {
        let lines = if others == 1 { "line that allocates" } else { "lines that allocate" };
        excluded.push((format!("{others} other {lines}"), "no growth that matters".to_owned()));
    }
    excluded
}

/// Sessions of TensorFlow, where they are not what grows: their number says so.
fn sessions(profile: &Profile, finding: &Finding) -> Option<(String, String)> {
    let of = |counter| profile.counts.total(counter);
    let (made, closed) = (of(Counter::SessionMade), of(Counter::SessionClosed));
    (made > 0 && finding.rule == Rule::GraphGrowth)
        .then(|| ("sessions".to_owned(), format!("{made} opened, {closed} closed")))
}

/// What is sampled may grow by less than can be seen.
fn still_of(profile: &Profile, layer: Layer, trend: &Trend) -> &'static str {
    let is_sampled = match layer {
        Layer::Python => profile.object_interval.is_some_and(|interval| interval > Bytes::new(1)),
        Layer::Native | Layer::Numpy => profile.sampled.is_some(),
        Layer::MappedAnonymous | Layer::MappedFiles => false,
    };
    if is_sampled && trend.shape == Shape::Flat { "flat within its margin" } else { still(trend) }
}

fn still(trend: &Trend) -> &'static str {
    if trend.shape == Shape::Plateau { "grew and stopped" } else { "flat" }
}

/// Iterations that become slower, which is evidence for the first of what grows.
pub(crate) fn slowing(profile: &Profile, finding: &Finding) -> Option<Slowing> {
    let is_first = profile.growth.findings.first().is_some_and(|first| std::ptr::eq(first, finding));
    profile.growth.slowing.filter(|_| is_first)
}

/// What growth is told per.
pub(crate) fn per(profile: &Profile) -> &'static str {
    if profile.growth.how == How::Time { "second" } else { "iteration" }
}
