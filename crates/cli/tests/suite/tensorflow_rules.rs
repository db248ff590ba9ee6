//! Rules on TensorFlow: programs that say which line makes what grow, and well-behaved ones that no rule may fire on.

use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Finished, Heaplens, besides, skip};
use crate::python::kind_of;

/// An interpreter that has TensorFlow; `cargo xtask test` makes one.
fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("HEAPLENS_TENSORFLOW_PYTHON").map(PathBuf::from);
    if python.is_none() {
        skip(
            &format!("tensorflow_rules::{test}"),
            "HEAPLENS_TENSORFLOW_PYTHON names no Python with TensorFlow",
        );
    }
    python
}

fn ran(test: &str, program: &str, kind: &str) -> Option<Finished> {
    let run = kind_of(Heaplens::on(&python(test)?, &[]), program, kind);
    Some(run.env("TF_CPP_MIN_LOG_LEVEL", "3").finish().expect_status(0))
}

/// What a program says of itself: rule, line, events per iteration, bytes per iteration or 0 where they are not known,
/// iterations, sessions made and closed.
#[derive(Debug)]
struct Truth {
    rule: String,
    line: u64,
    events: f64,
    bytes: f64,
    iterations: u64,
    sessions: [u64; 2],
}

fn truth(run: &Finished) -> Truth {
    let said = run.stdout();
    let words: Vec<&str> =
        said.lines().find_map(|line| line.strip_prefix("truth ")).expect("a truth").split(' ').collect();
    let number = |at: usize| words[at].parse::<f64>().expect("a number");
    Truth {
        rule: words[0].to_owned(),
        line: number(1) as u64,
        events: number(2),
        bytes: number(3),
        iterations: number(4) as u64,
        sessions: [number(5) as u64, number(6) as u64],
    }
}

fn findings(run: &Finished) -> Vec<Value> {
    run.report().0["findings"].as_array().expect("findings").clone()
}

fn evidence(finding: &Value, what: &str) -> f64 {
    let all = finding["evidence"].as_array().expect("evidence");
    let found = all.iter().find(|evidence| evidence["what"] == what);
    found.unwrap_or_else(|| panic!("no {what} in {finding}"))["value"].as_f64().expect("a number")
}

/// One finding explains all growth: the rule, its line, what was counted.
fn assert_found(test: &str, kind: &str, what: &str) {
    assert_found_in(test, "tf_graphs.py", kind, what);
}

fn assert_found_in(test: &str, program: &str, kind: &str, what: &str) -> Option<Value> {
    let run = ran(test, program, kind)?;
    let (truth, found) = (truth(&run), findings(&run));
    let rules: Vec<&str> = found.iter().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules, [truth.rule.as_str()], "{kind}: {found:#?}");
    let finding = &found[0];
    assert_eq!(finding["verdict"], verdict(&truth.rule), "{kind}");
    assert_eq!(run.report().0["iterations"]["count"], truth.iterations, "{kind}");
    assert_eq!(finding["location"]["line"], truth.line, "{kind}: {}", finding["location"]);
    if truth.events > 0.0 {
        let events = evidence(finding, what);
        assert!((events - truth.events).abs() <= 0.05 * truth.events, "{kind}: {events} {what}, {truth:?}");
    }
    let bytes = finding["bytes_per_iteration"].as_f64().expect("a number");
    assert!(
        truth.bytes == 0.0 || (bytes - truth.bytes).abs() <= 0.1 * truth.bytes,
        "{kind}: {bytes}, {truth:?}"
    );
    let [made, closed] = truth.sessions;
    if truth.rule == "C1" && made > 0 {
        let excluded = finding["excluded"].as_array().expect("what was excluded");
        let sessions = excluded.iter().find(|excluded| excluded["what"] == "sessions").expect("sessions");
        assert_eq!(sessions["why"], format!("{made} opened, {closed} closed"), "{kind}");
    }
    Some(finding.clone())
}

fn verdict(rule: &str) -> &'static str {
    match rule {
        "C4" | "C12" => "leak (framework, known)",
        "C7" | "C36" => "cycle waiting for gc",
        "C35" => "unbounded cache",
        _ => "leak (your code)",
    }
}

fn assert_clean(test: &str, program: &str, kind: &str) {
    let Some(run) = ran(test, program, kind) else { return };
    assert_eq!(findings(&run), Vec::<Value>::new(), "{kind}");
}

const OPERATIONS: &str = "graph operations per iteration";

#[test]
fn constants_made_in_each_iteration_grow_the_graph_though_sessions_are_closed() {
    let test = "constants_made_in_each_iteration_grow_the_graph_though_sessions_are_closed";
    for kind in ["session_in_with"].iter().chain(besides(&["session_closed"])) {
        assert_found(test, kind, OPERATIONS);
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn what_a_session_keeps_to_run_new_operations_is_the_graphs() {
    let test = "what_a_session_keeps_to_run_new_operations_is_the_graphs";
    for kind in ["results_in_list"].iter().chain(besides(&["squared_loss"])) {
        assert_found(test, kind, OPERATIONS);
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn an_operation_hidden_in_an_operator_or_a_saver_is_counted() {
    let test = "an_operation_hidden_in_an_operator_or_a_saver_is_counted";
    assert_found(test, "hidden_product", OPERATIONS);
    assert_found(test, "saver", OPERATIONS);
    assert_found(test, "build_and_run", OPERATIONS);
}

#[test]
fn sessions_that_stay_open_are_reported_at_the_line_that_makes_them() {
    assert_found(
        "sessions_that_stay_open_are_reported_at_the_line_that_makes_them",
        "open_sessions",
        "sessions made per iteration",
    );
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_graph_that_is_built_once_or_goes_with_its_iteration_is_clean() {
    let test = "a_graph_that_is_built_once_or_goes_with_its_iteration_is_clean";
    assert_clean(test, "tf_graphs.py", "built_once");
    assert_clean(test, "tf_graphs.py", "graph_for_each");
}

const TRACES: &str = "function traces per iteration";
const PROGRAM: &str = "tf_functions.py";

#[test]
fn a_function_that_is_traced_again_is_reported_with_the_argument_that_changed() {
    let test = "a_function_that_is_traced_again_is_reported_with_the_argument_that_changed";
    let of_shapes = [("new_shapes", "step: value was float32 (1,), then float32 (2,)")];
    let of_numbers = [("python_argument", "step: scale was one float, then another")];
    for &(kind, truth) in of_shapes.iter().chain(besides(&of_numbers)) {
        let Some(finding) = assert_found_in(test, PROGRAM, kind, TRACES) else { return };
        // A variant calls both differently.
        let reason = finding["reasons"][0].as_str().expect("a reason").replace("other_", "");
        assert_eq!(reason, truth, "no value of the program's own");
    }
}

/// A function with a small one is reported as any other.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn an_array_that_each_trace_keeps_is_reported_as_such() {
    let test = "an_array_that_each_trace_keeps_is_reported_as_such";
    for kind in ["large_constant"].iter().chain(besides(&["small_constant"])) {
        assert_found_in(test, PROGRAM, kind, TRACES);
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn python_functions_that_a_graph_keeps_are_counted() {
    let test = "python_functions_that_a_graph_keeps_are_counted";
    let what = "Python functions registered per iteration";
    for kind in besides(&["py_functions"]) {
        assert_found_in(test, PROGRAM, kind, what);
    }
    let Some(finding) = assert_found_in(test, PROGRAM, "generators", what) else { return };
    assert_eq!(finding["holder"]["path"][1], "._py_funcs_used_in_graph (list)");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_model_for_each_trial_is_held_by_the_gradient_registry() {
    let test = "a_model_for_each_trial_is_held_by_the_gradient_registry";
    let what = "gradients registered per iteration";
    let Some(finding) = assert_found_in(test, PROGRAM, "trials", what) else { return };
    assert_eq!(finding["holder"]["path"][1], "gradient_registry (Registry)");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_model_that_is_compiled_in_each_iteration_is_reported_at_that_line() {
    let test = "a_model_that_is_compiled_in_each_iteration_is_reported_at_that_line";
    assert_found_in(test, PROGRAM, "recompiled", "calls of compile per iteration");
}

/// What the run of the collector at the end frees is the proof.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn calls_of_the_trainer_whose_garbage_nobody_collects_are_distinguished_from_cycles_of_the_program() {
    let test =
        "calls_of_the_trainer_whose_garbage_nobody_collects_are_distinguished_from_cycles_of_the_program";
    for kind in ["predicted"].iter().chain(besides(&["fitted", "own_cycles"])) {
        let Some(finding) = assert_found_in(test, PROGRAM, kind, "") else { return };
        assert!(evidence(&finding, "bytes that came back when asked for") > 0.0, "{kind}: {finding}");
        assert_eq!(finding["reasons"][0], "the collector is switched off", "{kind}");
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn models_that_stay_alive_are_counted() {
    assert_found_in(
        "models_that_stay_alive_are_counted",
        PROGRAM,
        "models_kept",
        "Keras models made per iteration",
    );
}

#[test]
fn tensors_and_tapes_that_are_kept_are_reported_at_the_line_that_makes_them() {
    let test = "tensors_and_tapes_that_are_kept_are_reported_at_the_line_that_makes_them";
    assert_found_in(test, PROGRAM, "tensors_kept", "");
    for kind in besides(&["tapes_kept"]) {
        assert_found_in(test, PROGRAM, kind, "gradient tapes made per iteration");
    }
}

/// The threads that they start are reported with them.
#[test]
#[ignore = "long: cargo xtask test --all"]
fn iterators_that_are_kept_are_reported_with_their_threads_at_the_line_that_makes_them() {
    let test = "iterators_that_are_kept_are_reported_with_their_threads_at_the_line_that_makes_them";
    let what = "dataset iterators made per iteration";
    let Some(finding) = assert_found_in(test, PROGRAM, "iterators_kept", what) else { return };
    assert!(evidence(&finding, "threads per iteration") > 0.0, "{finding}");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn each_new_scalar_stays_in_a_cache() {
    let Some(finding) = assert_found_in("each_new_scalar_stays_in_a_cache", PROGRAM, "new_scalars", "")
    else {
        return;
    };
    assert_eq!(finding["holder"]["path"][1], "its cache of scalars");
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn functions_that_are_traced_once_or_go_with_their_iteration_are_clean() {
    let test = "functions_that_are_traced_once_or_go_with_their_iteration_are_clean";
    for kind in
        ["traced_once", "same_scalars", "defined_in_loop", "mapped_in_loop", "predicted_and_collected"]
    {
        assert_clean(test, PROGRAM, kind);
    }
}

#[test]
fn whatever_an_iteration_makes_and_drops_is_clean() {
    assert_clean("whatever_an_iteration_makes_and_drops_is_clean", PROGRAM, "healthy");
}
