//! Which CPython an object file has in it, by the symbols that it exports.

use core::ffi::CStr;

use crate::debug_offsets::Unreadable;
use crate::layout::Layout;
use crate::memory::ReadMemory;
use crate::version::Version;

/// The state of the runtime: where everything begins.
pub const RUNTIME: &CStr = c"_PyRuntime";

/// Exported since 3.11: the version.
const VERSION: &CStr = c"Py_Version";

/// What was first exported by which version, newest first. Before 3.8 nothing is known but that it is older.
const FIRST_EXPORTED: [(&CStr, u8); 4] = [
    (c"PyModule_AddObjectRef", 10),
    (c"PyFrame_GetBack", 9),
    (c"PyCode_NewWithPosOnlyArgs", 8),
    (c"PyImport_GetModule", 7),
];

/// Debug builds export one of these.
const OF_DEBUG_BUILDS: [&CStr; 3] = [c"_Py_RefTotal", c"_Py_INCREF_IncRefTotal", c"_Py_NegativeRefcount"];

/// The version of an interpreter, and its layout or why that is not known. `find` has the addresses of its exports.
pub fn recognise<M: ReadMemory>(
    memory: &M,
    find: impl Fn(&CStr) -> Option<u64>,
) -> (Version, Result<Layout, Unreadable>) {
    let version = version(memory, &find);
    if OF_DEBUG_BUILDS.iter().any(|name| find(name).is_some()) {
        return (version, Err(Unreadable::DebugBuild));
    }
    // Before 3.13 the runtime is not asked for anything.
    let layout = Layout::read(memory, version, find(RUNTIME).unwrap_or(0));
    (version, layout)
}

/// Said by the interpreter since 3.11, before that known by what it exports; minor 0 where even that does not say.
fn version<M: ReadMemory>(memory: &M, find: &impl Fn(&CStr) -> Option<u64>) -> Version {
    if let Some(hex) = find(VERSION).and_then(|address| memory.word(address)) {
        return Version::from_hex(hex);
    }
    let first = FIRST_EXPORTED.iter().find(|(name, _)| find(name).is_some());
    Version::new(3, first.map_or(0, |&(_, minor)| minor))
}
