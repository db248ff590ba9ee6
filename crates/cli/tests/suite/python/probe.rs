//! The code that we run in the program's interpreter: it is there, and nobody notices.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::interpreters::{self, Interpreter};
use crate::harness::{Finished, Heaplens, program_with, skip};

/// How often the probe could not do its work.
fn failures(run: &Finished) -> u64 {
    run.report().loss("could not prepare itself")
}

fn alone(program: &Path, words: &[&str]) -> Output {
    Command::new(program).args(words).output().expect("the program starts")
}

fn recorded(program: &Path, words: &[&str]) -> Finished {
    words.iter().fold(Heaplens::on(program, &[]), |run, word| run.arg(word)).finish()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What differs between two runs of anything: times and addresses.
fn without_numbers(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_hexdigit() || c == ' ';
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| !(word.starts_with(|c: char| c.is_ascii_digit()) || word.chars().all(is_number)))
        .collect()
}

/// Status, stdout and what the interpreter says on stderr are the same with Heaplens and without.
fn assert_alike(Interpreter { path, version }: &Interpreter, words: &[&str]) -> Finished {
    let (alone, run) = (alone(path, words), recorded(path, words));
    assert_eq!(run.output.status.code(), alone.status.code(), "Python {version} {words:?}: {}", run.stderr());
    assert_eq!(run.stdout(), text(&alone.stdout), "Python {version} {words:?}");
    let (said, expected) = (without_numbers(&run.stderr()), without_numbers(&text(&alone.stderr)));
    assert!(said.starts_with(&expected), "Python {version} {words:?}:\n{said}\ninstead of\n{expected}");
    assert_eq!(failures(&run), 0, "Python {version} {words:?}");
    run
}

/// All that a program can ask its interpreter about what is there. Tuples leave the collector's lists in its own time.
const SEARCH: &str = "
import sys
print(sorted(sys.modules))
import gc
gc.collect()
kinds = [type(each).__name__ for each in gc.get_objects()]
print(sorted((kind, kinds.count(kind)) for kind in set(kinds) if kind != 'tuple'))
print(gc.isenabled(), gc.callbacks, gc.get_threshold(), gc.garbage)
print(sys.flags, sys.warnoptions, sys.argv, sys.path, dir(sys), sorted(vars(sys.modules['builtins'])))
print(len(sys.meta_path), len(sys.path_hooks), sorted(sys.path_importer_cache))
print(sys.gettrace(), sys.getprofile(), sys.exc_info(), sys.getrecursionlimit(), sorted(globals()))
";

#[test]
fn nothing_is_left_that_a_program_could_find() {
    let test = "python::probe::nothing_is_left_that_a_program_could_find";
    for python in interpreters::all(test) {
        for options in [&[][..], &["-I", "-S", "-E", "-W", "error", "-bb", "-X", "dev"]] {
            let words: Vec<&str> = options.iter().chain(&["-c", SEARCH]).copied().collect();
            assert_alike(&python, &words);
        }
    }
}

#[test]
fn what_the_interpreter_says_about_itself_is_the_same() {
    let test = "python::probe::what_the_interpreter_says_about_itself_is_the_same";
    for python in interpreters::some(test) {
        for options in
            [&["-X", "importtime"][..], &["-v"], &["-v", "-I", "-S"], &["-X", "tracemalloc=3", "-W", "error"]]
        {
            let code = "import json; print(json.dumps({}))";
            let words: Vec<&str> = options.iter().chain(&["-c", code]).copied().collect();
            assert_alike(&python, &words);
        }
    }
}

#[test]
fn every_end_of_a_script_is_as_it_is_alone() {
    const ENDS: [&str; 7] = [
        "import sys; sys.exit(3)",
        "import atexit; atexit.register(print, 1); atexit.register(print, 2); raise ValueError(1)",
        "import atexit\n@atexit.register\ndef bad(): raise KeyError('late')",
        "import atexit; atexit.register = None; print('broken')",
        "import atexit; atexit.register(print, 'never'); atexit._clear()",
        "import atexit; atexit.register(print, 'early'); atexit._run_exitfuncs(); print('late')",
        "import sys; sys.modules['atexit'] = None; sys.modules['gc'] = None; print(len(sys.argv))",
    ];
    let test = "python::probe::every_end_of_a_script_is_as_it_is_alone";
    for python in interpreters::some(test) {
        for code in ENDS {
            assert_alike(&python, &["-c", code]);
        }
    }
}

/// The one thing by which it can be seen: a call that Python makes at the end is ours, the first that was registered.
#[test]
fn the_end_of_every_script_is_marked() {
    const CODE: &str = "import atexit; print(atexit._ncallbacks())";
    let test = "python::probe::the_end_of_every_script_is_marked";
    for Interpreter { path, version } in interpreters::all(test) {
        for options in [&["-c", CODE][..], &["-I", "-S", "-E", "-c", CODE]] {
            let count = |output: &Output| text(&output.stdout).trim().parse::<u32>().expect("a number");
            let (alone, run) = (alone(&path, options), recorded(&path, options).expect_status(0));
            assert_eq!(count(&run.output), count(&alone) + 1, "Python {version} {options:?}");
        }
    }
}

/// `links_python.c` with this interpreter inside, where it has a library.
fn linked(python: &Interpreter) -> Option<PathBuf> {
    let library = python.library()?;
    let folder = library.parent().expect("a file is in a folder");
    let folder = format!("-Wl,--no-as-needed,-rpath,{}", folder.display());
    let name = format!("links_python-{}", python.version);
    let built = program_with("links_python.c", &name, &[&folder, &library.display().to_string()]);
    Some(built.expect("an ordinary program compiles"))
}

#[test]
fn a_program_with_an_interpreter_inside_is_met_whatever_it_leaves_out() {
    const CODE: &str = "import sys, json; sys.stdout.write('here %d\\n' % ('site' in sys.modules))";
    let test = "python::probe::a_program_with_an_interpreter_inside_is_met_whatever_it_leaves_out";
    let mut checked = 0;
    for python in interpreters::some(test) {
        let Some(program) = linked(&python) else { continue };
        checked += 1;
        let home = python.path.with_file_name("..");
        for (option, says, fails) in
            [("ordinary", 1, 0), ("no-site", 0, 0), ("twice", 1, 0), ("no-atexit", 1, 1)]
        {
            let run = Heaplens::on(&program, &[]).arg(option).arg(CODE).env("PYTHONHOME", &home);
            let run = run.finish().expect_status(0);
            assert_eq!(run.stdout(), format!("here {says}\n"), "Python {} {option}", python.version);
            // Before 3.10 nothing has to be done where there is no such module.
            let fails = if matches!(python.version.as_str(), "3.8" | "3.9") { 0 } else { fails };
            assert_eq!(failures(&run), fails, "Python {} {option}", python.version);
        }
    }
    if checked == 0 {
        skip(test, "no interpreter here has a shared library");
    }
}

/// What the probe makes is not the program's: with every object recorded none is of its code, and no block is freed that
/// was not recorded.
#[test]
fn objects_of_the_probe_are_not_the_programs() {
    let test = "python::probe::objects_of_the_probe_are_not_the_programs";
    for Interpreter { path, version } in interpreters::all(test) {
        let run = Heaplens::on(&path, &["--python-allocations", "all"]).arg("-c").arg("import atexit");
        let run = run.finish().expect_status(0);
        let report = run.report();
        assert_eq!(report.loss("frees of blocks that were not recorded"), 0, "Python {version}");
        let report = report.whole();
        let sites = report["sites"].as_array().into_iter().flatten();
        let ours = sites.filter(|site| {
            let mut frames = site["stack"].as_array().into_iter().flatten();
            site["kind"] == "python-object" && frames.any(|frame| frame["file"] == "<heaplens>")
        });
        assert_eq!(ours.count(), 0, "Python {version}");
    }
}
