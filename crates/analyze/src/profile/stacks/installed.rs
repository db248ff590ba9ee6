//! What an object file is, by its path alone: installed or the user's own, the runtime, a Python interpreter.

/// Object files of the runtime, which work for whoever calls them: how their names begin.
const RUNTIME: [&str; 10] = [
    "libc.so.",
    "libc-",
    "libpthread",
    "libm.so.",
    "libstdc++.so.",
    "libgcc_s.so.",
    "ld-linux",
    "libffi.so.",
    "libffi-",
    "_ctypes.",
];
/// Folders below which object files are installed.
const SYSTEM: [&str; 5] = ["/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"];
/// Folders of Python that its packages and its own extension modules are in.
const OF_PYTHON: [&str; 3] = ["/site-packages/", "/dist-packages/", OWN_MODULES];
/// The folder of the extension modules that come with the interpreter.
pub(super) const OWN_MODULES: &str = "/lib-dynload/";

/// Whether an object file was installed, and is not the user's own.
pub(crate) fn is_installed(path: &str) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
        || OF_PYTHON.iter().any(|folder| path.contains(folder))
}

/// Whether an object file is the runtime's.
pub(crate) fn is_runtime_file(path: &str) -> bool {
    let name = file_name(path);
    RUNTIME.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an object file is the Python interpreter.
pub(crate) fn is_interpreter_file(path: &str) -> bool {
    let name = file_name(path);
    name == "python" || ["python2", "python3", "libpython"].iter().any(|prefix| name.starts_with(prefix))
}

/// The last part of a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
