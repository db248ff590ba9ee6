//! The package `heaplens`, as users install and call it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::interpreters::{self, Interpreter};
use crate::harness::{Folder, Heaplens, program, skip};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python");

/// Calls whatever the package has, with every kind of label, and says what it finds.
const SCRIPT: &str = r#"
import heaplens, sys
for label in ["epoch 3", "", "naïve ☃", "\ud800", "a\0b", "long" * 10_000]:
    assert heaplens.mark(label) is None
try:
    heaplens.mark(b"bytes")
except TypeError as error:
    print(error)
print("running", heaplens.is_running(), "ctypes", "ctypes" in sys.modules)
"#;

fn run(command: &mut Command) -> Output {
    command.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The interpreter of a fresh virtual environment; `None` when this one cannot make any.
fn environment(python: &Interpreter, folder: &Folder) -> Option<PathBuf> {
    // Two interpreters may be of one version.
    let environment = folder.file(&python.path.display().to_string().replace('/', "-"));
    let made = run(Command::new(&python.path).args(["-m", "venv"]).arg(&environment)).status.success();
    made.then(|| environment.join("bin/python"))
}

#[test]
#[ignore = "long: cargo xtask test --all"]
fn the_package_installs_with_pip_alone_and_marks_only_under_heaplens() {
    let test = "python::package::the_package_installs_with_pip_alone_and_marks_only_under_heaplens";
    let folder = Folder::new();
    for interpreter in interpreters::some(test) {
        let Some(python) = environment(&interpreter, &folder) else {
            skip(test, &format!("{} makes no virtual environments", interpreter.path.display()));
            continue;
        };
        let options = ["--disable-pip-version-check", "--no-index", "--no-cache-dir"];
        let mut pip = Command::new(&python);
        stdout(&run(pip
            .args(["-m", "pip", "install"])
            .args(options)
            .arg(PACKAGE)
            .current_dir(folder.path())));
        let expected =
            |running: &str| format!("a label is a str, not bytes\nrunning {running} ctypes False\n");
        let alone = run(Command::new(&python).args(["-c", SCRIPT]).current_dir(folder.path()));
        assert_eq!(stdout(&alone), expected("False"), "Python {}", interpreter.version);
        let recorded = Heaplens::on(&python, &[]).arg("-c").arg(SCRIPT).finish().expect_status(0);
        assert_eq!(recorded.stdout(), expected("True"), "Python {}", interpreter.version);
    }
    assert!(!Path::new(PACKAGE).join("build").exists(), "the build left something beside the sources");
}

#[test]
fn every_interpreter_has_the_module_that_the_package_calls() {
    let test = "python::package::every_interpreter_has_the_module_that_the_package_calls";
    for Interpreter { path, version } in interpreters::all(test) {
        const CODE: &str = "import _heaplens, sys
print(_heaplens.__name__, _heaplens.mark(b'here'), sys.modules['_heaplens'] is _heaplens)
try: _heaplens.mark('here')
except TypeError: print('only bytes')";
        let options = ["-I", "-S", "-E", "-W", "error", "-c"];
        let run = options.iter().fold(Heaplens::on(&path, &[]), |run, word| run.arg(word)).arg(CODE);
        let run = run.finish().expect_status(0);
        assert_eq!(run.stdout(), "_heaplens None True\nonly bytes\n", "Python {version}");
    }
}

#[test]
fn marks_of_threads_children_and_other_interpreters_do_not_disturb_the_program() {
    const CODE: &str = "
import os, sys, threading
sys.path.insert(0, sys.argv[1])
import heaplens
def work():
    for step in range(200): heaplens.mark('step %d' % step)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
child = os.fork()
if child == 0:
    heaplens.mark('in the child')
    sys.exit(5)
print(os.waitpid(child, 0)[1] >> 8)
try:
    import _xxsubinterpreters as interpreters
    one = interpreters.create()
    interpreters.run_string(one, 'import sys; sys.path.insert(0, %r); import heaplens; heaplens.mark(str())' % sys.argv[1])
    interpreters.destroy(one)
except ImportError: pass
print('done', heaplens.is_running())
";
    let test = "python::package::marks_of_threads_children_and_other_interpreters_do_not_disturb_the_program";
    for Interpreter { path, version } in interpreters::some(test) {
        let run = Heaplens::on(&path, &[]).arg("-c").arg(CODE).arg(PACKAGE);
        let run = run.env("PYTHONDONTWRITEBYTECODE", "1").finish().expect_status(0);
        assert_eq!(run.stdout(), "5\ndone True\n", "Python {version}: {}", run.stderr());
    }
}

#[test]
fn an_interpreter_that_was_started_unseen_marks_through_ctypes() {
    let test = "python::package::an_interpreter_that_was_started_unseen_marks_through_ctypes";
    let folder = Folder::new();
    let script = folder.file("late.py");
    std::fs::write(&script, format!("import sys\nsys.path.insert(0, {PACKAGE:?})\n{SCRIPT}"))
        .expect("the folder is writable");
    let mut checked = 0;
    for python in interpreters::some(test) {
        let Some(library) = python.library() else { continue };
        let Interpreter { path, version } = python;
        checked += 1;
        let run = Heaplens::on(&program("loads_python.c"), &[]).arg("begun").arg(&library).arg(&script);
        let run = run.env("PYTHONHOME", path.with_file_name("..")).env("PYTHONDONTWRITEBYTECODE", "1");
        let run = run.finish().expect_status(0);
        assert!(run.stdout().ends_with("running True ctypes True\n"), "Python {version}: {}", run.stdout());
    }
    if checked == 0 {
        skip(test, "no interpreter here has a shared library");
    }
}
