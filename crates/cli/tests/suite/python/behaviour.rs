//! Whatever way Python is started and ended, it behaves as it does alone, and its lines are there.

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
fn every_way_to_start_a_script_shows_its_line() {
    const CODE: &str = "import os\nkeep = bytearray(3_000_000)\nos._exit(0)";
    let test = "python::behaviour::every_way_to_start_a_script_shows_its_line";
    let folder = Folder::new();
    let module = folder.file("some_module.py");
    std::fs::write(&module, CODE).expect("the folder is writable");
    let (file, place) = (module.display().to_string(), folder.file("").display().to_string());
    for Interpreter { path, version } in interpreters::some(test) {
        let ways: [(&[&str], &str); 5] = [
            (&[&file], "some_module.py"),
            (&["-c", CODE], "<string>"),
            (&["-I", "-S", "-E", &file], "some_module.py"),
            (&["-X", "importtime", "-O", &file], "some_module.py"),
            (
                &[
                    "-c",
                    "import sys, runpy; sys.path.insert(0, sys.argv[1]); runpy.run_module('some_module', run_name='__main__')",
                    &place,
                ],
                "some_module.py",
            ),
        ];
        for (words, name) in ways {
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
fn processes_that_python_starts_are_exact_whatever_the_way() {
    let python = first("python::behaviour::processes_that_python_starts_are_exact_whatever_the_way");
    for way in ["fork", "spawn", "forkserver"] {
        let run = Heaplens::on(&python.path, &[]).arg(script("python_children.py")).arg(way).finish();
        let run = run.expect_status(0);
        assert_eq!(run.truth().pids.len(), 4, "{way}");
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
    let report = run.report_on(truth.pid());
    for (row, chain) in truth.rows.iter().zip(&truth.chains) {
        let chain = truth.chains.iter().find(|chain| chain.line == row.line).unwrap_or(chain);
        let sites = report.sites();
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
    let mut tried = 0;
    for python in interpreters::some(test) {
        let Some(library) = python.library() else { continue };
        let Interpreter { path, version } = python;
        tried += 1;
        let home = path.with_file_name("..");
        let run = Heaplens::on(&program("embeds_python.c"), &[]).arg(&library).arg(script("embedded.py"));
        let run = run.env("PYTHONHOME", home).finish().expect_status(0);
        run.assert_exact();
        let order = ["inner", "call_back", "outer"];
        let report = run.report_on(run.truth().pid());
        let in_order = report.sites().iter().any(|site| {
            let place =
                |name: &str| site.stack.iter().position(|frame| frame.function.as_deref() == Some(name));
            let places: Vec<_> = order.iter().filter_map(|name| place(name)).collect();
            places.len() == order.len() && places.is_sorted()
        });
        assert!(in_order, "Python {version}");
    }
    if tried == 0 {
        skip(test, "no interpreter here has a shared library");
    }
}

#[test]
fn an_interpreter_that_is_unloaded_is_not_asked_again() {
    let test = "python::behaviour::an_interpreter_that_is_unloaded_is_not_asked_again";
    let mut tried = 0;
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
        tried += 1;
        let run = Heaplens::on(&program("unloads_python.c"), &[]).arg(&library);
        let run = run.env("PYTHONHOME", path.with_file_name("..")).finish().expect_status(0);
        assert!(run.stdout().contains("went on"), "Python {version}");
        assert!(run.report().sites().iter().any(|site| site.amounts[0] == 77777), "Python {version}");
    }
    if tried == 0 {
        skip(test, "no interpreter here has a shared library that can be unloaded");
    }
}

#[test]
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
