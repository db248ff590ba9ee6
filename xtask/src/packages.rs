//! Debian packages that a task needs: installed when root, named when not.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::workspace::printed;

/// A package, and a file whose presence shows that it (or something as good) is there.
pub struct Package {
    name: &'static str,
    witness: &'static str,
}

/// What the tests need. Tests whose package cannot be had are skipped, and say so.
pub const FOR_TESTS: &[Package] = &[
    Package { name: "gcc", witness: "/usr/bin/cc" },
    Package { name: "g++", witness: "/usr/bin/c++" },
    Package { name: "binutils", witness: "/usr/bin/readelf" },
    Package { name: "libjemalloc2", witness: "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2" },
    Package { name: "libtcmalloc-minimal4", witness: "/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4" },
    Package { name: "libmimalloc2.0", witness: "/usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0" },
    Package { name: "sqlite3", witness: "/usr/bin/sqlite3" },
    Package { name: "git", witness: "/usr/bin/git" },
    Package { name: "perl", witness: "/usr/bin/perl" },
    Package { name: "nodejs", witness: "/usr/bin/node" },
    Package { name: "openssl", witness: "/usr/bin/openssl" },
    Package { name: "valgrind", witness: "/usr/bin/valgrind" },
    Package { name: "google-perftools", witness: "/usr/bin/google-pprof" },
    Package { name: "golang-go", witness: "/usr/bin/go" },
    Package { name: "graphviz", witness: "/usr/bin/dot" },
    Package { name: "libxml2-utils", witness: "/usr/bin/xmllint" },
    Package { name: "chromium", witness: "/usr/bin/chromium" },
    Package { name: "groff-base", witness: "/usr/bin/groff" },
    Package { name: "zsh", witness: "/usr/bin/zsh" },
    Package { name: "fish", witness: "/usr/bin/fish" },
    Package { name: "python3-venv", witness: "/usr/lib/python3.11/ensurepip/__init__.py" },
    Package { name: "python3-torch", witness: "/usr/lib/python3/dist-packages/torch/__init__.py" },
    Package { name: "python3-pytest", witness: "/usr/lib/python3/dist-packages/pytest/__init__.py" },
    Package { name: "libpython3.11", witness: "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0" },
    Package { name: "libpython3.11-testsuite", witness: "/usr/lib/python3.11/test/test_gc.py" },
];

/// What the long runs need besides.
pub const FOR_SOAK: &[Package] = &[Package { name: "postgresql", witness: "/usr/bin/pg_ctlcluster" }];

/// What the benchmark compares with.
pub const FOR_BENCHMARKS: &[Package] = &[
    Package { name: "g++", witness: "/usr/bin/c++" },
    Package { name: "heaptrack", witness: "/usr/bin/heaptrack" },
    Package { name: "libheaptrack", witness: "/usr/lib/heaptrack/libheaptrack_preload.so" },
    Package { name: "libgoogle-perftools4", witness: "/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4" },
    Package { name: "liblsan0", witness: "/usr/lib/x86_64-linux-gnu/liblsan.so.0" },
    Package { name: "valgrind", witness: "/usr/bin/valgrind" },
    Package { name: "python3-venv", witness: "/usr/lib/python3.11/ensurepip/__init__.py" },
];

/// What programs of the corpus need.
pub const FOR_CORPUS: &[Package] = &[
    Package { name: "gcc", witness: "/usr/bin/cc" },
    Package { name: "g++", witness: "/usr/bin/c++" },
    Package { name: "python3-dev", witness: "/usr/include/python3.11/Python.h" },
    Package { name: "python3-venv", witness: "/usr/lib/python3.11/ensurepip/__init__.py" },
    Package { name: "python3-torch", witness: "/usr/lib/python3/dist-packages/torch/__init__.py" },
];

/// What the demo needs.
pub const FOR_DEMO: &[Package] = &[
    Package { name: "g++", witness: "/usr/bin/c++" },
    Package { name: "python3-venv", witness: "/usr/lib/python3.11/ensurepip/__init__.py" },
];

/// Installs what is missing, or says what is.
pub fn provide(packages: &[Package]) {
    let missing = missing(packages);
    if missing.is_empty() {
        return;
    }
    if is_root() && install(&missing) {
        return;
    }
    let names = missing.join(" ");
    eprintln!("these Debian packages are missing, what needs them is skipped: {names}");
    eprintln!("hint: sudo apt-get install {names}");
}

/// Makes sure that the toolchain has its formatter and linter.
pub fn provide_components() {
    for (component, word) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        let there = Command::new("cargo")
            .args([word, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if !there.is_ok_and(|status| status.success()) {
            let added = Command::new("rustup").args(["component", "add", component]).status();
            if !added.is_ok_and(|status| status.success()) {
                eprintln!("the Rust component {component} is missing and could not be added");
            }
        }
    }
}

fn missing(packages: &[Package]) -> Vec<&'static str> {
    packages
        .iter()
        .filter(|package| !Path::new(package.witness).exists())
        .map(|package| package.name)
        .collect()
}

fn is_root() -> bool {
    printed(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// A fresh machine has no package lists yet: then they are loaded first.
fn install(names: &[&str]) -> bool {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let words: Vec<&str> =
        ["install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-unsafe-io"]
            .into_iter()
            .chain(names.iter().copied())
            .collect();
    apt(&words) || (apt(&["update", "-q"]) && apt(&words))
}
