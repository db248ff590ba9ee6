//! The functions of an interpreter that we call, found in its own tables. They are called where its lock is held and it
//! expects calls: in an audit hook, in functions that it calls. Never in a hook of the allocator.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Release};

use heaplens_tracker::modules::symbols::Exports;

/// An object of Python, seen from afar.
pub type Object = *mut c_void;

/// A function that a module gives to Python: of the module and its arguments.
pub type Function = unsafe extern "C" fn(Object, Object) -> Object;

/// `PyMethodDef`.
#[repr(C)]
pub struct Method {
    /// Its name.
    pub name: *const c_char,
    /// The function.
    pub function: Option<Function>,
    /// [`NO_ARGUMENTS`] or [`ONE_ARGUMENT`].
    pub flags: c_int,
    /// What `help` shows.
    pub doc: *const c_char,
}
// SAFETY: consists of addresses of constants.
unsafe impl Sync for Method {}

/// A function that the interpreter calls in its main thread, between two instructions.
pub type PendingCall = unsafe extern "C" fn(*mut c_void) -> c_int;

/// `METH_NOARGS`.
pub const NO_ARGUMENTS: c_int = 4;
/// `METH_VARARGS`.
pub const ANY_ARGUMENTS: c_int = 1;
/// `METH_O`.
pub const ONE_ARGUMENT: c_int = 8;
/// `Py_file_input`.
pub const WHOLE_FILE: c_int = 257;

macro_rules! interface {
    (
        functions { $($field:ident = $name:literal: $type:ty;)* }
        objects { $($object:ident = $object_name:literal: $object_type:ty;)* }
        of_some_versions { $($optional:ident = $optional_name:literal: $optional_type:ty;)* }
    ) => {
        /// The functions by our names for them. Those that only some versions have may be missing.
        #[derive(Clone, Copy)]
        pub struct Interface {
            $(pub $field: $type,)*
            $(pub $object: $object_type,)*
            $(pub $optional: Option<$optional_type>,)*
        }

        impl Interface {
            fn of(exports: &Exports) -> Option<Self> {
                // SAFETY: the functions of these names have these types in every version that is read, 3.8 to 3.14.
                unsafe {
                    Some(Self {
                        $($field: core::mem::transmute::<u64, $type>(exports.find($name)?.address),)*
                        $($object: exports.find($object_name)?.address as $object_type,)*
                        $($optional: exports.find($optional_name).map(|symbol| {
                            core::mem::transmute::<u64, $optional_type>(symbol.address)
                        }),)*
                    })
                }
            }
        }
    };
}

interface! {
    functions {
        is_initialized = c"Py_IsInitialized": unsafe extern "C" fn() -> c_int;
        fetch_error = c"PyErr_Fetch": unsafe extern "C" fn(*mut Object, *mut Object, *mut Object);
        restore_error = c"PyErr_Restore": unsafe extern "C" fn(Object, Object, Object);
        error_is = c"PyErr_ExceptionMatches": unsafe extern "C" fn(Object) -> c_int;
        interrupt = c"PyErr_SetInterrupt": unsafe extern "C" fn();
        clear_error = c"PyErr_Clear": unsafe extern "C" fn();
        compile = c"Py_CompileString": unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> Object;
        evaluate = c"PyEval_EvalCode": unsafe extern "C" fn(Object, Object, Object) -> Object;
        builtins = c"PyEval_GetBuiltins": unsafe extern "C" fn() -> Object;
        new_dict = c"PyDict_New": unsafe extern "C" fn() -> Object;
        set_item = c"PyDict_SetItemString": unsafe extern "C" fn(Object, *const c_char, Object) -> c_int;
        get_item = c"PyDict_GetItemString": unsafe extern "C" fn(Object, *const c_char) -> Object;
        clear_dict = c"PyDict_Clear": unsafe extern "C" fn(Object);
        new_function = c"PyCFunction_NewEx": unsafe extern "C" fn(*const Method, Object, Object) -> Object;
        get_attribute = c"PyObject_GetAttrString": unsafe extern "C" fn(Object, *const c_char) -> Object;
        call = c"PyObject_CallFunctionObjArgs": unsafe extern "C" fn(Object, ...) -> Object;
        untrack = c"PyObject_GC_UnTrack": unsafe extern "C" fn(Object);
        hold = c"Py_IncRef": unsafe extern "C" fn(Object);
        release = c"Py_DecRef": unsafe extern "C" fn(Object);
        bytes = c"PyBytes_AsString": unsafe extern "C" fn(Object) -> *const c_char;
        number = c"PyLong_AsLong": unsafe extern "C" fn(Object) -> c_long;
        is_true = c"PyObject_IsTrue": unsafe extern "C" fn(Object) -> c_int;
        new_number = c"PyLong_FromLong": unsafe extern "C" fn(c_long) -> Object;
        truth = c"PyBool_FromLong": unsafe extern "C" fn(c_long) -> Object;
        parse = c"PyArg_ParseTuple": unsafe extern "C" fn(Object, *const c_char, ...) -> c_int;
        collect = c"PyGC_Collect": unsafe extern "C" fn() -> isize;
        add_pending_call = c"Py_AddPendingCall": unsafe extern "C" fn(PendingCall, *mut c_void) -> c_int;
        import_module = c"PyImport_ImportModule": unsafe extern "C" fn(*const c_char) -> Object;
        init_module = c"PyModuleDef_Init": unsafe extern "C" fn(*mut c_void) -> Object;
        unlock = c"PyEval_SaveThread": unsafe extern "C" fn() -> *mut c_void;
        lock = c"PyEval_RestoreThread": unsafe extern "C" fn(*mut c_void);
        main_interpreter = c"PyInterpreterState_Main": unsafe extern "C" fn() -> *mut c_void;
    }
    objects {
        interrupted = c"PyExc_KeyboardInterrupt": *const Object;
        none = c"_Py_NoneStruct": Object;
        definition_type = c"PyModuleDef_Type": Object;
    }
    of_some_versions {
        // Since 3.9, and before.
        this_interpreter = c"PyInterpreterState_Get": unsafe extern "C" fn() -> *mut c_void;
        this_interpreter_old = c"_PyInterpreterState_Get": unsafe extern "C" fn() -> *mut c_void;
        // Since 3.10.
        disable_collector = c"PyGC_Disable": unsafe extern "C" fn() -> c_int;
        enable_collector = c"PyGC_Enable": unsafe extern "C" fn() -> c_int;
        // Up to 3.9.
        at_exit = c"_Py_PyAtExit": unsafe extern "C" fn(Option<unsafe extern "C" fn(Object)>, Object);
        // In debug builds, up to 3.11.
        is_debug = c"_Py_NegativeRefcount": unsafe extern "C" fn();
    }
}

struct Found(UnsafeCell<Option<Interface>>);
// SAFETY: written before `IS_FOUND`, and only while there is no interpreter that could lead to a reader.
unsafe impl Sync for Found {}

static FOUND: Found = Found(UnsafeCell::new(None));
static IS_FOUND: AtomicBool = AtomicBool::new(false);

/// Looks the functions up. Called before the interpreter runs.
pub fn find(exports: &Exports) -> Option<&'static Interface> {
    let interface = Interface::of(exports)?;
    // SAFETY: nobody reads it before `IS_FOUND`.
    unsafe { *FOUND.0.get() = Some(interface) };
    IS_FOUND.store(true, Release);
    get()
}

/// The interpreter has gone, or is not to be touched.
pub fn forget() {
    IS_FOUND.store(false, Release);
}

/// The functions of the interpreter that was prepared; `None` when one is missing.
pub fn get() -> Option<&'static Interface> {
    // Acquire: pairs with the Release in `find`.
    let is_found = IS_FOUND.load(Acquire);
    // SAFETY: written before, and not again while that interpreter is there.
    if is_found { unsafe { (*FOUND.0.get()).as_ref() } } else { None }
}

/// Whether the interpreter is up: it sets this before it imports `site`.
pub fn is_initialised(interface: &Interface) -> bool {
    // SAFETY: reads a flag.
    unsafe { (interface.is_initialized)() != 0 }
}

/// Whether the interpreter runs or is being started: then it is too late for what it reads at its start.
pub fn has_begun(interface: &Interface) -> bool {
    // SAFETY: reads a word, which is null up to the making of the main interpreter.
    is_initialised(interface) || unsafe { !(interface.main_interpreter)().is_null() }
}

impl Interface {
    /// `None`, for a function to return.
    ///
    /// # Safety
    /// The interpreter's lock is held.
    pub unsafe fn nothing(&self) -> Object {
        // SAFETY: as the caller says; the object lives as long as the interpreter.
        unsafe { (self.hold)(self.none) };
        self.none
    }

    /// Whether this thread runs the main interpreter, not one beside it.
    ///
    /// # Safety
    /// The interpreter's lock is held.
    pub unsafe fn is_main(&self) -> bool {
        let this = self.this_interpreter.or(self.this_interpreter_old);
        // SAFETY: as the caller says; both only read.
        this.is_some_and(|this| unsafe { this() == (self.main_interpreter)() })
    }
}
