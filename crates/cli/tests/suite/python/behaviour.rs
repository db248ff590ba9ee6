//! However Python is started and ended, it behaves as it does alone, and its lines are there.

use std::path::Path;
use std::process::{Command, Output};

use super::interpreters::{self, Interpreter};
use super::script;
use crate::harness::{Finished, Folder, Heaplens, program, skip};

fn first(test: &str) -> Interpreter {
    interpreters::some(test).remove(0)
}

/// Status and stdout with Heaplens and without, and the run itself.
fn alike(python: &Path, words: &[&str]) -> Finished {
    let alone = Command::new(python).args(words).output().expect("the interpreter starts");
    let run = words.iter().fold(Heaplens::on(python, &[]), |run, word| run.arg(word)).finish();
    assert_eq!(run.output.status.code(), alone.status.code(), "{words:?}: {}", run.stderr());
    assert_eq!(run.stdout(), String::from_utf8_lossy(&alone.stdout), "{words:?}");
    run
}

fn stderr_of(alone: &Output) -> String {
    String::from_utf8_lossy(&alone.stderr).into_owned()
}

#[test]
fn a_script_that_raises_or_exits_ends_as_it_does_alone() {
    let test = "python::behaviour::a_script_that_raises_or_exits_ends_as_it_does_alone";
    for Interpreter { path, .. } in interpreters::some(test) {
        for code in [
            "import sys; sys.exit(3)",
            "import sys; sys.exit('no')",
            "raise ValueError(1)",
            "import os; os._exit(7)",
        ] {
            let run = alike(&path, &["-c", code]);
            let alone = Command::new(&path).args(["-c", code]).output().expect("the interpreter starts");
            assert!(run.stderr().starts_with(&stderr_of(&alone)), "{}\n{}", run.stderr(), stderr_of(&alone));
        }
    }
}

#[test]
fn a_script_shows_its_line_however_it_is_started() {
    const CODE: &str = "import os\nkeep = bytearray(3_000_000)\nos._exit(0)";
    let test = "python::behaviour::a_script_shows_its_line_however_it_is_started";
    let folder = Folder::new();
    let module = folder.file("some_module.py");
    std::fs::write(&module, CODE).expect("the folder is writable");
    let (file, directory) = (module.display().to_string(), folder.file("").display().to_string());
    for Interpreter { path, version } in interpreters::some(test) {
        let commands: [(&[&str], &str); 5] = [
            (&[&file], "some_module.py"),
            (&["-c", CODE], "<string>"),
            (&["-I", "-S", "-E", &file], "some_module.py"),
            (&["-X", "importtime", "-O", &file], "some_module.py"),
            (
                &[
                    "-c",
                    "import sys, runpy; sys.path.insert(0, sys.argv[1]); runpy.run_module('some_module', run_name='__main__')",
                    &directory,
                ],
                "some_module.py",
            ),
        ];
        for (words, name) in commands {
            let run = alike(&path, words);
            let found = run.report().sites().iter().any(|site| {
                site.amounts[0] >= 3_000_000
                    && site.stack.iter().any(|frame| {
                        frame.line == Some(2)
                            && frame.file.as_deref().is_some_and(|file| file.ends_with(name))
                    })
            });
            assert!(found, "Python {version} {words:?}");
        }
    }
}

#[test]
fn processes_that_python_starts_are_exact_with_each_start_method() {
    let python = first("python::behaviour::processes_that_python_starts_are_exact_with_each_start_method");
    for method in ["fork", "spawn", "forkserver"] {
        let run = Heaplens::on(&python.path, &[]).arg(script("python_children.py")).arg(method).finish();
        let run = run.expect_status(0);
        assert_eq!(run.truth().pids.len(), 4, "{method}");
        run.assert_exact();
    }
}

#[test]
fn other_allocators_of_python_are_met_without_counting_twice() {
    let test = "python::behaviour::other_allocators_of_python_are_met_without_counting_twice";
    for python in interpreters::some(test).into_iter().take(2) {
        for allocator in ["malloc", "debug"] {
            eprintln!("Python {} with {allocator}", python.version);
            let run = Heaplens::on(&python.path, &[])
                .arg(script("python_stacks.py"))
                .env("PYTHONMALLOC", allocator);
            assert_all_there(&run.finish().expect_status(0));
        }
    }
}

/// Every block that the program speaks of is at its line, below its functions; other blocks may be there, too, since every
/// object is one of `malloc`.
fn assert_all_there(run: &Finished) {
    let truth = run.truth();
    let sites = run.report_on(truth.pid()).sites();
    for (row, chain) in truth.rows.iter().zip(&truth.chains) {
        let chain = truth.chains.iter().find(|chain| chain.line == row.line).unwrap_or(chain);
        let on_chain = sites.iter().filter(|site| {
            let own = site.stack.iter().filter(|frame| frame.file.as_deref() == Some(&chain.file));
            own.filter_map(|frame| frame.function.as_deref()).eq(chain.functions.iter().map(String::as_str))
        });
        let bytes: i64 = on_chain.map(|site| site.amounts[0]).sum();
        assert!(bytes >= row.claims[0].unwrap_or_default(), "{}:{}: {bytes}", row.file, row.line);
    }
}

#[test]
fn an_interpreter_that_is_loaded_late_shows_its_lines() {
    let test = "python::behaviour::an_interpreter_that_is_loaded_late_shows_its_lines";
    let mut checked = 0;
    for python in interpreters::some(test) {
        let Some(library) = python.library() else { continue };
        let Interpreter { path, version } = python;
        checked += 1;
        let home = path.with_file_name("..");
        let run = Heaplens::on(&program("embeds_python.c"), &[]).arg(&library).arg(script("embedded.py"));
        let run = run.env("PYTHONHOME", home).finish().expect_status(0);
        run.assert_exact();
        let order = ["inner", "call_back", "outer"];
        let report = run.report_on(run.truth().pid());
        let in_order = report.sites().iter().any(|site| {
            let position =
                |name: &str| site.stack.iter().position(|frame| frame.function.as_deref() == Some(name));
            let positions: Vec<_> = order.iter().filter_map(|name| position(name)).collect();
            positions.len() == order.len() && positions.is_sorted()
        });
        assert!(in_order, "Python {version}");
    }
    if checked == 0 {
        skip(test, "no interpreter here has a shared library");
    }
}

/// Those of the interpreters that have a library, each with a run in which a program loads it with these words.
pub fn loaded_late(
    test: &str,
    pythons: Vec<Interpreter>,
    how: &str,
    options: &[&str],
    words: &[&str],
) -> Vec<(Interpreter, Finished)> {
    let mut runs = Vec::new();
    for python in pythons {
        let Some(library) = python.library() else { continue };
        let run =
            Heaplens::on(&program("loads_python.c"), options).arg(how).arg(library).arg(script(words[0]));
        let run = words[1..].iter().fold(run, |run, word| run.arg(word));
        let home = python.path.with_file_name("..");
        runs.push((python, run.env("PYTHONHOME", home).finish().expect_status(0)));
    }
    if runs.is_empty() {
        skip(test, "no interpreter here has a shared library");
    }
    runs
}

#[test]
fn objects_of_an_interpreter_that_is_loaded_late_are_exact_however_it_is_loaded() {
    let test =
        "python::behaviour::objects_of_an_interpreter_that_is_loaded_late_are_exact_however_it_is_loaded";
    for how in ["global", "local", "thread", "again"] {
        let pythons = if how == "global" { interpreters::all(test) } else { interpreters::some(test) };
        let options = ["--python-allocations", "all"];
        for (python, run) in loaded_late(test, pythons, how, &options, &["python_objects.py", "500"]) {
            eprintln!("Python {} {how}", python.version);
            run.assert_exact();
        }
    }
}

#[test]
fn an_interpreter_that_was_started_before_it_was_seen_is_left_alone() {
    let test = "python::behaviour::an_interpreter_that_was_started_before_it_was_seen_is_left_alone";
    let (pythons, options) = (interpreters::some(test), ["--python-allocations", "all"]);
    for (python, run) in loaded_late(test, pythons, "begun", &options, &["python_objects.py", "100"]) {
        let report = run.report();
        assert!(report.0["python"]["object_interval_bytes"].is_null(), "Python {}", python.version);
        assert!(run.stdout().contains("truth-end"), "Python {}", python.version);
    }
}

#[test]
fn an_interpreter_that_is_unloaded_is_not_asked_again() {
    let test = "python::behaviour::an_interpreter_that_is_unloaded_is_not_asked_again";
    let mut checked = 0;
    for python in interpreters::all(test) {
        let Some(library) = python.library() else { continue };
        let Interpreter { path, version } = python;
        let alone = |command: &mut Command| {
            command.arg(&library).env("PYTHONHOME", path.with_file_name("..")).output().expect("it starts")
        };
        // Some interpreters cannot be unloaded: then there is nothing to see.
        if !alone(&mut Command::new(program("unloads_python.c"))).status.success() {
            continue;
        }
        checked += 1;
        let run = Heaplens::on(&program("unloads_python.c"), &[]).arg(&library);
        let run = run.env("PYTHONHOME", path.with_file_name("..")).finish().expect_status(0);
        assert!(run.stdout().contains("went on"), "Python {version}");
        assert!(run.report().sites().iter().any(|site| site.amounts[0] == 77777), "Python {version}");
    }
    if checked == 0 {
        skip(test, "no interpreter here has a shared library that can be unloaded");
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn an_interpreter_that_is_too_old_is_recorded_and_said_to_be() {
    let test = "python::behaviour::an_interpreter_that_is_too_old_is_recorded_and_said_to_be";
    let old = interpreters::too_old();
    if old.is_empty() {
        return skip(test, "no Python before 3.8 on this machine");
    }
    for python in old {
        let run = alike(&python, &["-c", "print(list(range(3)))"]);
        assert!(run.stderr().contains("stacks are native only"), "{}", run.stderr());
    }
}

/// An interpreter that prints and ends as it does alone, and of which the report says once that its lines are not there.
fn assert_native_only(test: &str, name: &str, sentence: &str) {
    let Some(python) = interpreters::unpacked(name) else {
        return skip(test, &format!("no {name} here: `cargo xtask soak interpreters` unpacks one"));
    };
    let code =
        "import json, sys; kept = [object() for _ in range(9)]; print(json.dumps(len(kept))); sys.exit(3)";
    for words in [&["-c", code][..], &["-I", "-S", "-c", code]] {
        let run = alike(&python, words);
        assert_eq!(run.output.status.code(), Some(3), "{}", run.stderr());
        assert_eq!(
            run.stderr().lines().filter(|line| line.trim_start() == sentence).count(),
            1,
            "{}",
            run.stderr()
        );
    }
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn an_interpreter_that_is_too_new_is_recorded_and_said_to_be() {
    let test = "python::behaviour::an_interpreter_that_is_too_new_is_recorded_and_said_to_be";
    let sentence = "Python 3.15     unsupported version, stacks are native only";
    assert_native_only(test, "python3.15", sentence);
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn a_debug_build_is_recorded_and_said_to_be() {
    let test = "python::behaviour::a_debug_build_is_recorded_and_said_to_be";
    let sentence = "Python 3.14     debug builds are not supported, stacks are native only";
    assert_native_only(test, "python3.14d", sentence);
}

#[test]
fn many_threads_and_many_interpreters_of_one_program_do_not_disturb_it() {
    let python =
        first("python::behaviour::many_threads_and_many_interpreters_of_one_program_do_not_disturb_it");
    const CODE: &str = "
import threading, sys
def work(number):
    kept = []
    for step in range(2000):
        kept.append([number, step, str(step) * 3, bytearray(step)])
        if step % 100 == 0: kept.clear()
threads = [threading.Thread(target=work, args=(number,)) for number in range(32)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
try:
    import _xxsubinterpreters as interpreters
    for _ in range(5):
        one = interpreters.create()
        interpreters.run_string(one, 'import json; kept = [json.dumps(list(range(n))) for n in range(200)]')
        interpreters.destroy(one)
except ImportError:
    pass
print('done')
";
    let run = alike(&python.path, &["-c", CODE]);
    assert!(run.stdout().contains("done"));
}
