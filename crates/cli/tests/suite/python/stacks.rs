//! Every kind of Python stack, as the interpreter itself reports it: bytes per line, and the functions that lead there.

use super::interpreters;
use super::script;
use crate::harness::{Finished, Heaplens, Report, assert_chains};

fn run_on(python: &std::path::Path, program: &std::path::Path) -> Finished {
    Heaplens::on(python, &[]).arg(program).finish().expect_status(0)
}

fn assert_true(run: &Finished) {
    run.assert_exact();
    let truth = run.truth();
    assert_chains(&truth, &run.report_on(truth.pid()));
}

#[test]
fn every_line_has_its_bytes_and_every_stack_its_functions_on_every_interpreter() {
    let test = "python::stacks::every_line_has_its_bytes_and_every_stack_its_functions_on_every_interpreter";
    for python in interpreters::all(test) {
        eprintln!("Python {} at {}", python.version, python.path.display());
        assert_true(&run_on(&python.path, &script("python_stacks.py")));
    }
}

#[test]
fn a_script_with_a_name_beyond_ascii_keeps_it() {
    let test = "python::stacks::a_script_with_a_name_beyond_ascii_keeps_it";
    let folder = crate::harness::Folder::new();
    for (python, name) in
        interpreters::all(test).iter().zip(["größe.py", "лінія.py", "行🐍.py"].into_iter().cycle())
    {
        let copy = folder.file(name);
        std::fs::copy(script("python_stacks.py"), &copy).expect("the folder is writable");
        assert_true(&run_on(&python.path, &copy));
    }
}

#[test]
fn code_of_c_between_two_python_functions_stands_between_them() {
    let test = "python::stacks::code_of_c_between_two_python_functions_stands_between_them";
    for python in interpreters::some(test) {
        let run = run_on(&python.path, &script("python_stacks.py"));
        let report = run.report_on(run.truth().pid());
        assert!(calls_in_order(&report), "Python {}", python.version);
    }
}

/// `called_back_by_c` calls qsort, which calls `compare`: innermost first, the one, then C, then the other.
fn calls_in_order(report: &Report) -> bool {
    report.sites().iter().any(|site| {
        let position = |wanted: &str| {
            site.stack
                .iter()
                .position(|frame| frame.function.as_deref().is_some_and(|name| name.ends_with(wanted)))
        };
        match (
            position("compare"),
            position("qsort_r").or_else(|| position("qsort")),
            position("called_back_by_c"),
        ) {
            (Some(compare), Some(sort), Some(caller)) => compare < sort && sort < caller,
            _ => false,
        }
    })
}
