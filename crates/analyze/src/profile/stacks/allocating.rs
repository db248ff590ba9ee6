//! Whose code allocated a block: a library's or the user's own, by the innermost frame that does not allocate for others.

use heaplens_format::object_file::{OWN_MODULES, file_name, is_installed, is_runtime_file};

use super::frame::StackFrame;
use super::naming::{is_interpreter, is_library};
use super::origin::Origin;

/// How the agent's object file is called at the beginning.
const AGENT: &str = "libheaplens-";
/// And ctypes'.
const CTYPES: &str = "_ctypes.";

/// Whether a block was allocated by code that was installed, and not by the user's own. Who called that code does not matter.
pub(crate) fn allocated_by_library<'a>(mut stack: impl Iterator<Item = &'a StackFrame>) -> bool {
    let allocating = stack.find(|frame| !is_library(frame) && !is_runtime(frame) && !is_interpreter(frame));
    allocating.is_none_or(|frame| match frame.origin {
        Origin::User | Origin::Generated => false,
        Origin::Library(_) | Origin::Import | Origin::Imported(_) => true,
        // Code of no object file was made by a compiler at run time.
        Origin::Native => frame.module.as_deref().is_none_or(is_installed),
    })
}

/// The file name of the extension module that allocated a Python object: of the innermost native code that is neither the interpreter,
/// its own modules nor the runtime. Code that called a Python function is none: that function allocated it.
pub(crate) fn extension_module<'a>(stack: impl Iterator<Item = &'a StackFrame>) -> Option<&'a str> {
    let native = stack.take_while(|frame| !frame.is_python());
    let mut others = native.filter(|frame| !is_runtime(frame) && !is_interpreter(frame));
    let module = others.find_map(|frame| frame.module.as_deref().filter(|module| !is_agent(module)))?;
    (!module.contains(OWN_MODULES)).then(|| file_name(module))
}

/// Whether a Python object was made by a function that C code called through ctypes.
pub(crate) fn is_callback_of_ctypes<'a>(stack: impl Iterator<Item = &'a StackFrame>) -> bool {
    let mut callers = stack.skip_while(|frame| !frame.is_python()).skip_while(|frame| frame.is_python());
    callers
        .next()
        .and_then(|frame| frame.module.as_deref())
        .is_some_and(|module| file_name(module).starts_with(CTYPES))
}

fn is_agent(module: &str) -> bool {
    file_name(module).starts_with(AGENT)
}

fn is_runtime(frame: &StackFrame) -> bool {
    frame.module.as_deref().is_some_and(is_runtime_file)
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

    #[test]
    fn a_function_that_c_code_calls_through_ctypes_is_its_callback() {
        let interpreter = native("PyBytes_FromStringAndSize", "/usr/lib/libpython3.11.so.1.0");
        let ctypes = native("_CallPythonObject", "/usr/lib/python3.11/lib-dynload/_ctypes.cpython-311.so");
        let (library, script) = (native("hash_entry", "/v/libhash.so"), python("/home/a/app/names.py"));
        let is_callback = |stack: &[&StackFrame]| is_callback_of_ctypes(stack.iter().copied());
        assert!(is_callback(&[&interpreter, &script, &script, &ctypes, &library, &ctypes, &script]));
        assert!(!is_callback(&[&interpreter, &ctypes, &script]), "ctypes itself allocates");
        assert!(!is_callback(&[&interpreter, &script, &interpreter]));
    }

    #[test]
    fn the_innermost_module_that_is_not_pythons_own_is_the_extension() {
        let malloc = native("malloc", "/usr/lib/libheaplens-0123456789abcdef.so");
        let interpreter = native("PyBytes_FromStringAndSize", "/usr/lib/libpython3.11.so.1.0");
        let own = native("pack", "/usr/lib/python3.11/lib-dynload/_struct.cpython-311-x86_64-linux-gnu.so");
        let (inner, outer) = (native("decode", "/v/codec.abi3.so"), native("run", "/v/scheduler.so"));
        let script = python("/home/a/app/train.py");
        let module = |stack: &[&StackFrame]| extension_module(stack.iter().copied()).map(str::to_owned);
        let codec = Some("codec.abi3.so".to_owned());
        assert_eq!(module(&[&malloc, &interpreter, &inner, &outer, &interpreter, &script]), codec);
        assert_eq!(module(&[&malloc, &interpreter, &script, &interpreter, &outer]), None, "it called Python");
        assert_eq!(module(&[&malloc, &interpreter, &own, &interpreter, &script]), None, "Python's own");
    }
}
