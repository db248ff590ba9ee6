//! Builds the program of `programs/` with the machine's C++ compiler: one source of shapes several times, with flags that
//! change how frames look, and everything else once.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::LazyLock;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/programs");
const FLAGS: &[&str] = &["-std=c++20", "-g", "-Wall", "-Wextra", "-Wno-vla", "-pthread"];

/// The variants of `shapes.cpp` that `shapes.h` names, and what they are compiled with.
const VARIANTS: &[(&str, &[&str])] = &[
    ("O0", &["-O0"]),
    ("O1", &["-O1"]),
    ("O2", &["-O2"]),
    ("O3", &["-O3"]),
    ("Os", &["-Os"]),
    ("framed", &["-O2", "-fno-omit-frame-pointer", "-maccumulate-outgoing-args"]),
    ("hardened", &["-O2", "-fstack-protector-strong", "-fstack-clash-protection", "-fcf-protection"]),
];

const PARTS: &[&str] = &[
    "calls",
    "check",
    "coroutines",
    "endings",
    "growing",
    "hostile",
    "main",
    "reference",
    "reload",
    "signals",
    "walk",
];

/// Two libraries that differ in the size of their frames only.
const PLUGINS: &[(&str, &str)] = &[("plugin-first.so", "-DFRAME=200"), ("plugin-second.so", "-DFRAME=1000")];

/// The program, built once in a run.
pub fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(build);
    &PROGRAM
}

fn build() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("unwind-check");
    std::fs::create_dir_all(&folder).expect("the build folder is writable");
    let mut compilations: Vec<Compilation> =
        VARIANTS.iter().map(|variant| shapes(&folder, variant)).collect();
    compilations.extend(PARTS.iter().map(|part| Compilation::object(&folder, part, part, &["-O2"])));
    let objects: Vec<PathBuf> = compilations.iter().map(|compilation| compilation.output.clone()).collect();
    compilations.extend(PLUGINS.iter().map(|plugin| library(&folder, plugin)));
    run_side_by_side(compilations);
    link(&folder.join("unwind-check"), &objects)
}

fn shapes(folder: &Path, (variant, flags): &(&str, &[&str])) -> Compilation {
    let mut compilation = Compilation::object(folder, "shapes", &format!("shapes-{variant}"), flags);
    compilation.command.arg(format!("-DVARIANT={variant}"));
    compilation
}

fn library(folder: &Path, (name, frame): &(&str, &str)) -> Compilation {
    Compilation::new(folder.join(name), "plugin", &["-O2", "-fPIC", "-shared", frame])
}

/// Stubs are bound lazily, as most programs still are: the way through the dynamic linker is a part of the test.
fn link(output: &Path, objects: &[PathBuf]) -> PathBuf {
    let unwinder = unwinder_folder();
    let mut command = Command::new("c++");
    command.args(objects).arg("-o").arg(output).args([
        "-pthread",
        "-Wl,-z,lazy",
        "-lheaplens_unwind_check",
        "-ldl",
    ]);
    command.arg("-L").arg(&unwinder).arg(format!("-Wl,-rpath,{}", unwinder.display()));
    let status = command.status().expect("a C++ compiler is installed");
    assert!(status.success(), "the program does not link");
    output.to_owned()
}

/// Cargo puts the library beside the test.
fn unwinder_folder() -> PathBuf {
    let test = std::env::current_exe().expect("Linux knows the path of a process");
    let folder = test.ancestors().find(|folder| folder.join("libheaplens_unwind_check.so").exists());
    folder.expect("cargo builds the library before its tests").to_owned()
}

/// One call of the compiler.
struct Compilation {
    command: Command,
    output: PathBuf,
}

impl Compilation {
    fn new(output: PathBuf, source: &str, flags: &[&str]) -> Self {
        let mut command = Command::new("c++");
        command.args(FLAGS).args(flags).arg(Path::new(SOURCES).join(source).with_extension("cpp"));
        command.arg("-o").arg(&output);
        Self { command, output }
    }

    fn object(folder: &Path, source: &str, name: &str, flags: &[&str]) -> Self {
        let mut compilation = Self::new(folder.join(name).with_extension("o"), source, flags);
        compilation.command.arg("-c");
        compilation
    }

    fn start(mut self) -> Child {
        self.command.spawn().expect("a C++ compiler is installed")
    }
}

/// As many at a time as there are processors.
fn run_side_by_side(compilations: Vec<Compilation>) {
    let width = std::thread::available_parallelism().map_or(1, usize::from);
    let mut compilations = compilations.into_iter();
    loop {
        let running: Vec<Child> = compilations.by_ref().take(width).map(Compilation::start).collect();
        if running.is_empty() {
            return;
        }
        for mut child in running {
            assert!(child.wait().expect("a child can be waited for").success(), "a part does not compile");
        }
    }
}
