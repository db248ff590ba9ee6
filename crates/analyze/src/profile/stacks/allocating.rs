//! Whose code allocated a block: a library's or the user's own, by the innermost frame that does not allocate for others.

use super::frame::StackFrame;
use super::naming::{is_interpreter, is_library};
use super::origin::Origin;

/// Object files of the runtime, which allocate for whoever calls them: how their names begin.
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
const OF_PYTHON: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib-dynload/"];

/// Whether a block was allocated by code that was installed, and not by the user's own. Who called that code does not matter.
pub(crate) fn allocated_by_library<'a>(mut stack: impl Iterator<Item = &'a StackFrame>) -> bool {
    let allocating = stack.find(|frame| !is_library(frame) && !is_runtime(frame) && !is_interpreter(frame));
    allocating.is_none_or(|frame| match frame.origin {
        Origin::User | Origin::Generated => false,
        Origin::Library(_) | Origin::Import => true,
        // Code of no object file was made by a compiler at run time.
        Origin::Native => frame.module.as_deref().is_none_or(is_installed),
    })
}

fn is_runtime(frame: &StackFrame) -> bool {
    let name = frame.module.as_deref().and_then(|module| module.rsplit('/').next()).unwrap_or_default();
    RUNTIME.iter().any(|prefix| name.starts_with(prefix))
}

fn is_installed(module: &str) -> bool {
    SYSTEM.iter().any(|folder| module.starts_with(folder))
        || OF_PYTHON.iter().any(|folder| module.contains(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(function: &str, module: &str) -> StackFrame {
        StackFrame {
            origin: Origin::Native,
            function: Some(function.into()),
            file: None,
            line: None,
            module: Some(module.into()),
            offset: 16,
        }
    }

    fn python(file: &str) -> StackFrame {
        StackFrame { origin: Origin::of(file), file: Some(file.into()), module: None, ..native("f", "") }
    }

    #[test]
    fn the_innermost_frame_that_does_not_allocate_for_others_decides() {
        let torch = native("at::empty", "/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so");
        let numpy = python("/v/lib/python3.11/site-packages/numpy/lib/npyio.py");
        let new = native("operator new", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
        let interpreter = native("_PyEval_EvalFrameDefault", "/usr/bin/python3.11");
        let ctypes = native("_call_function_pointer", "/usr/lib/python3.11/lib-dynload/_ctypes.so");
        let (own, script) = (native("parse", "/home/a/app/build/parse.so"), python("/home/a/app/train.py"));
        let is_of_library = |stack: &[&StackFrame]| allocated_by_library(stack.iter().copied());
        assert!(is_of_library(&[&new, &torch, &interpreter, &script]));
        assert!(is_of_library(&[&interpreter, &numpy, &interpreter, &script]));
        assert!(is_of_library(&[&new]), "nobody of the user's is there");
        assert!(is_of_library(&[&native("perl_alloc", "/usr/bin/perl")]));
        assert!(
            !is_of_library(&[&new, &own, &torch, &script]),
            "called by a library, and the user's all the same"
        );
        assert!(!is_of_library(&[&interpreter, &script]));
        assert!(!is_of_library(&[&ctypes, &interpreter, &script]), "by a call through ctypes");
    }
}
