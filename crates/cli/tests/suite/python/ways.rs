//! The ways in which people start Python: the report is about the interpreter that runs their lines, and shows them.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::interpreters::{self, Interpreter};
use crate::harness::{Finished, Folder, Heaplens, Report, skip};

/// Its second line keeps a block that nothing else is as large as.
const CODE: &str = "import os\nkeep = bytearray(3_000_000)\nos._exit(0)\n";
const BYTES: i64 = 3_000_000;

#[test]
fn a_script_on_stdin_shows_its_line() {
    let folder = Folder::new();
    let script = written(&folder, "script.py", CODE);
    for Interpreter { path, version } in interpreters::some("python::ways::a_script_on_stdin_shows_its_line")
    {
        let (out, mut command) = Heaplens::on(&path, &["-q"]).into_parts();
        command.stdin(Stdio::from(File::open(&script).expect("it was just written")));
        let run = finished(out, command).expect_status(0);
        assert!(has_line(&run.report(), "<stdin>", 2), "Python {version}");
    }
}

#[test]
fn a_package_started_by_its_name_shows_its_line() {
    let test = "python::ways::a_package_started_by_its_name_shows_its_line";
    let folder = Folder::new();
    written(&folder, "parcel/__init__.py", "");
    written(&folder, "parcel/__main__.py", CODE);
    for Interpreter { path, version } in interpreters::some(test) {
        let (out, mut command) = Heaplens::on(&path, &["-q"]).arg("-m").arg("parcel").into_parts();
        command.current_dir(folder.path());
        let run = finished(out, command).expect_status(0);
        assert!(has_line(&run.report(), "__main__.py", 2), "Python {version}");
    }
}

#[test]
fn the_interpreter_of_an_environment_shows_the_line() {
    let test = "python::ways::the_interpreter_of_an_environment_shows_the_line";
    let folder = Folder::new();
    let script = written(&folder, "script.py", CODE);
    let mut checked = 0;
    for Interpreter { path, version } in interpreters::some(test) {
        let environment = folder.file(&format!("environment-{checked}"));
        let mut made = Command::new(&path);
        made.args(["-m", "venv", "--without-pip"]).arg(&environment);
        // Debian keeps the module in a package of its own.
        if !made.output().is_ok_and(|output| output.status.success()) {
            continue;
        }
        checked += 1;
        let run =
            Heaplens::on(&environment.join("bin/python"), &["-q"]).arg(&script).finish().expect_status(0);
        assert!(has_line(&run.report(), "script.py", 2), "Python {version}");
    }
    if checked == 0 {
        skip(test, "no Python here can make an environment");
    }
}

/// As version managers put them before the interpreter: a script asks around and hands over to another one, which does, too.
#[test]
fn the_report_is_about_the_interpreter_that_a_shim_starts() {
    const SHIM: &str = r#"#!/usr/bin/env bash
set -e
program="$(basename "$0")"
exec "$(dirname "$0")/manager" exec "$program" "$@"
"#;
    const MANAGER: &str = r#"#!/usr/bin/env bash
version="$(echo "$2" | tr a-z A-Z)"
test -n "$version" || exit 1
shift 2
exec "$THE_INTERPRETER" "$@"
"#;
    let test = "python::ways::the_report_is_about_the_interpreter_that_a_shim_starts";
    let folder = Folder::new();
    let script = written(&folder, "script.py", CODE);
    let shim = executable(&folder, "shims/python3", SHIM);
    executable(&folder, "shims/manager", MANAGER);
    for Interpreter { path, version } in interpreters::some(test) {
        let run = Heaplens::on(&shim, &["-q"]).arg(&script).env("THE_INTERPRETER", &path);
        let report = run.finish().expect_status(0).report();
        assert!(has_line(&report, "script.py", 2), "Python {version}");
        assert_eq!(shells(&report), [""; 0], "Python {version}");
        let main = main_command(&report).expect("the report is about a process");
        assert!(main.starts_with(&*path.to_string_lossy()), "Python {version}: {main}");
    }
}

#[test]
fn a_test_under_pytest_shows_its_line() {
    const TEST: &str =
        "KEPT = []\n\n\ndef test_that_keeps():\n    KEPT.append(bytearray(3_000_000))\n    assert KEPT\n";
    let Some(python) = python_with("pytest") else {
        return skip("python::ways::a_test_under_pytest_shows_its_line", "no Python here has pytest");
    };
    let folder = Folder::new();
    let file = written(&folder, "test_keeping.py", TEST);
    let run = Heaplens::on(&python, &["-q"]).arg("-m").arg("pytest").arg("-p").arg("no:cacheprovider");
    let run = run.arg(file).finish().expect_status(0);
    assert!(run.stdout().contains("1 passed"), "{}", run.stdout());
    assert!(has_line(&run.report(), "test_keeping.py", 5));
}

#[test]
fn a_cell_of_a_notebook_shows_its_line() {
    const CLIENT: &str = "from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name='python3')
client.execute_interactive('x = 1\\nKEPT = bytearray(3_000_000)\\nprint(len(KEPT))')
client.stop_channels()
manager.shutdown_kernel(now=False)
";
    let Some(python) = python_with("ipykernel, jupyter_client") else {
        return skip("python::ways::a_cell_of_a_notebook_shows_its_line", "no Python here has ipykernel");
    };
    let folder = Folder::new();
    let client = written(&folder, "client.py", CLIENT);
    let run = Heaplens::on(&python, &["-q"]).arg(client).finish().expect_status(0);
    assert!(run.stdout().contains("3000000"), "{}", run.stdout());
    let report = run.report();
    let processes = report.0["processes"].as_array().into_iter().flatten();
    let mut kernels = processes
        .filter(|process| process["command"].as_str().is_some_and(|words| words.contains("ipykernel")));
    let kernel = kernels.next().and_then(|process| process["pid"].as_u64()).expect("the kernel is recorded");
    let report = run.report_on(u32::try_from(kernel).expect("a process id"));
    let is_cell = |site: &crate::harness::Site| {
        let innermost = site.stack.iter().find(|frame| frame.function.as_deref() == Some("<module>"));
        site.amounts[2] >= BYTES && innermost.is_some_and(|frame| frame.line == Some(2))
    };
    assert!(report.sites().iter().any(is_cell));
}

fn written(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = folder.file(name);
    std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("the folder is writable");
    std::fs::write(&path, text).expect("the folder is writable");
    path
}

fn executable(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let path = written(folder, name, text);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("the file is ours");
    path
}

fn finished(folder: Folder, mut command: Command) -> Finished {
    Finished { folder, output: command.output().expect("heaplens starts") }
}

/// Whether the large block is there, with this line on its stack.
fn has_line(report: &Report, file: &str, line: u64) -> bool {
    report.sites().iter().filter(|site| site.amounts[2] >= BYTES).any(|site| {
        site.stack.iter().any(|frame| frame.file.as_deref() == Some(file) && frame.line == Some(line))
    })
}

/// The command of the process that the report is about.
fn main_command(report: &Report) -> Option<String> {
    let mut processes = report.0["processes"].as_array().into_iter().flatten();
    let main = processes.find(|process| process["main"] == true)?;
    main["command"].as_str().map(str::to_owned)
}

/// Shells and wrappers among the report's processes.
fn shells(report: &Report) -> Vec<String> {
    let processes = report.0["processes"].as_array().into_iter().flatten();
    let commands = processes.filter_map(|process| process["command"].as_str().map(str::to_owned));
    let is_shell = |command: &String| {
        let program = command.split(' ').next().unwrap_or_default();
        Path::new(program).file_name().is_some_and(|name| name == "bash" || name == "env")
    };
    commands.filter(is_shell).collect()
}

/// An interpreter that has these modules, by the name under which it finds them: an environment is more than its program.
fn python_with(modules: &str) -> Option<PathBuf> {
    let code = format!("import sys, {modules}; print(sys.executable)");
    let ask = |name: &str| {
        let output = Command::new(name).args(["-c", &code]).output().ok()?;
        let path = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(PathBuf::from(path.trim_end()))
    };
    let made = std::env::var("HEAPLENS_NOTEBOOK_PYTHON").ok();
    let names = ["python3".to_owned(), "/usr/bin/python3".to_owned()];
    names.into_iter().chain(made).find_map(|name| ask(&name))
}
