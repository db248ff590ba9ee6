//! What an object file is, by its path alone: installed or the user's own, the runtime, a Python interpreter. Agent and analysis must agree: what the
//! user's own code does while a module is imported keeps its stacks.

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
pub const OWN_MODULES: &str = "/lib-dynload/";

/// Whether an object file was installed, and is not the user's own.
pub fn is_installed(path: &str) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
        || OF_PYTHON.iter().any(|folder| path.contains(folder))
}

/// Whether an object file is the runtime's.
pub fn is_runtime_file(path: &str) -> bool {
    let name = file_name(path);
    RUNTIME.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether an object file is the Python interpreter.
pub fn is_interpreter_file(path: &str) -> bool {
    let name = file_name(path);
    name == "python" || ["python2", "python3", "libpython"].iter().any(|prefix| name.starts_with(prefix))
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether an object file is the user's own: nothing that was installed, that works for others, or that runs Python.
pub fn is_users(path: &str) -> bool {
    path.starts_with('/') && !is_installed(path) && !is_runtime_file(path) && !is_interpreter_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_file_is_the_users_own_where_it_is_nothing_else() {
        assert!(is_users("/home/user/project/fast.cpython-312-x86_64-linux-gnu.so"));
        let others = [
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
            "/opt/venv/lib/python3.12/site-packages/numpy/_core/_multiarray_umath.so",
            "/home/user/.pyenv/versions/3.12.1/lib/python3.12/lib-dynload/_json.so",
            "/home/user/.pyenv/versions/3.12.1/lib/libpython3.12.so.1.0",
            "/opt/conda/bin/python3.12",
            "/opt/conda/lib/libstdc++.so.6",
            "",
            "linux-vdso.so.1",
        ];
        others.iter().for_each(|path| assert!(!is_users(path), "{path}"));
    }
}
