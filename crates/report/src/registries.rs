//! Holders that are known without a look at the heap: what was counted is an entry of a registry, and none was seen to leave
//! it. A look finds some way to such blocks, and often one through old words; the registry is the one that matters. Or that
//! a look found nobody.

use heaplens_analyze::growth::{Finding, Rule};

/// The way to what grows, as the steps of a holder are told; `None` where only a look can tell.
pub(crate) fn way(finding: &Finding) -> Option<&'static [&'static str]> {
    match finding.rule {
        Rule::GraphGrowth => Some(&["tf.Graph", "its operations"]),
        Rule::ConstantsInGraph => {
            Some(&["the tf.function", "its cache of traces", "ConcreteFunction", "its constants"])
        }
        Rule::LostReferences => Some(&["no one: only its reference count"]),
        Rule::Retracing => Some(&["the tf.function", "its cache of traces", "ConcreteFunction"]),
        Rule::GradientRegistry => Some(&[
            "module tensorflow.python.framework.ops",
            "gradient_registry (Registry)",
            "._registry (dict)",
            "[CustomGradient-…] function",
        ]),
        Rule::PyFunctionRegistry => Some(&["the default graph (Graph)", "._py_funcs_used_in_graph (list)"]),
        Rule::ScalarCache => Some(&["EagerContext", "its cache of scalars"]),
        _ => None,
    }
}
