//! What blocks are, and what variables are called: classes of Python's and of C++'s, variables of C, where Python's interpreter is.
//! It does not know what leads to a block.

mod arenas;
mod cpp_classes;
mod globals;
mod interner;
mod native_frames;
mod python_runtime;
mod type_resolver;

pub(crate) use arenas::Arenas;
pub use cpp_classes::{CppClass, CppClasses};
pub use globals::{Global, Globals};
pub(crate) use globals::{NativeContainer, NativeTarget, NativeWord, OwnVariable, thread_local_size};
pub(crate) use interner::Interner;
pub(crate) use native_frames::NativeFrames;
pub(crate) use python_runtime::PythonRuntime;
pub(crate) use type_resolver::{TypeResolver, Types, WORDS, object_in};
