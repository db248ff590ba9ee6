//! What is the same in all versions. Written by `cargo xtask cpython-tables`: not to be edited.

/// `array`
pub mod array {
    /// `arrayobject.ob_item`
    pub const ITEMS: u64 = 24;
}

/// `builtin`
pub mod builtin {
    /// `PyCFunctionObject.m_self`
    pub const SELF: u64 = 24;
}

/// `bytearray`
pub mod bytearray {
    /// `PyByteArrayObject.ob_bytes`
    pub const BYTES: u64 = 32;
}

/// `bytes`
pub mod bytes {
    /// `PyBytesObject.ob_sval`
    pub const DATA: u64 = 32;
    /// `PyBytesObject.ob_shash`
    pub const HASH: u64 = 24;
    /// `PyBytesObject.ob_base.ob_size`
    pub const SIZE: u64 = 16;
}

/// `cell`
pub mod cell {
    /// `PyCellObject.ob_ref`
    pub const CONTENTS: u64 = 16;
}

/// `code_flag`
pub mod code_flag {
    /// `CO_ASYNC_GENERATOR`
    pub const ASYNC_GENERATOR: u64 = 1 << 9;
    /// `CO_COROUTINE`
    pub const COROUTINE: u64 = 1 << 7;
    /// `CO_GENERATOR`
    pub const GENERATOR: u64 = 1 << 5;
}

/// `deque`
pub mod deque {
    /// `dequeobject.leftblock`
    pub const LEFTBLOCK: u64 = 24;
    /// `dequeobject.leftindex`
    pub const LEFTINDEX: u64 = 40;
    /// `dequeobject.maxlen`
    pub const MAXLEN: u64 = 64;
    /// `dequeobject.rightindex`
    pub const RIGHTINDEX: u64 = 48;
}

/// `deque_block`
pub mod deque_block {
    /// `struct BLOCK.data`
    pub const DATA: u64 = 8;
    /// `sizeof(((struct BLOCK *)0)->data) / sizeof(PyObject *)`
    pub const LENGTH: u64 = 64;
    /// `struct BLOCK.rightlink`
    pub const RIGHTLINK: u64 = 520;
}

/// `dict`
pub mod dict {
    /// `PyDictObject.ma_keys`
    pub const KEYS: u64 = 32;
    /// `PyDictObject.ma_used`
    pub const USED: u64 = 16;
    /// `PyDictObject.ma_values`
    pub const VALUES: u64 = 40;
}

/// `dict_iterator`
pub mod dict_iterator {
    /// `dictiterobject.len`
    pub const LEFT: u64 = 48;
    /// `dictiterobject.di_used`
    pub const USED: u64 = 24;
}

/// `enumerate`
pub mod enumerate {
    /// `enumobject.en_index`
    pub const INDEX: u64 = 16;
    /// `enumobject.en_sit`
    pub const ITERATOR: u64 = 24;
}

/// `exception`
pub mod exception {
    /// `PyBaseExceptionObject.args`
    pub const ARGS: u64 = 24;
}

/// `frame`
pub mod frame {
    /// `FRAME_OWNED_BY_INTERPRETER`
    pub const OWNED_BY_C: u64 = 3;
}

/// `gc`
pub mod gc {
    /// `sizeof(PyGC_Head)`
    pub const LINKS: u64 = 16;
}

/// `int`
pub mod int {
    /// `PyLong_SHIFT`
    pub const DIGIT_BITS: u64 = 30;
    /// `struct _longobject.long_value.ob_digit`
    pub const DIGITS: u64 = 24;
}

/// `list`
pub mod list {
    /// `PyListObject.allocated`
    pub const ALLOCATED: u64 = 32;
    /// `PyListObject.ob_item`
    pub const ITEMS: u64 = 24;
}

/// `list_iterator`
pub mod list_iterator {
    /// `_PyListIterObject.it_index`
    pub const INDEX: u64 = 16;
    /// `_PyListIterObject.it_seq`
    pub const SEQUENCE: u64 = 24;
}

/// `lru_cache`
pub mod lru_cache {
    /// `lru_cache_object.cache`
    pub const CACHE: u64 = 72;
    /// `lru_cache_object.func`
    pub const FUNC: u64 = 88;
    /// `lru_list_elem.key`
    pub const LINK_KEY: u64 = 40;
    /// `lru_list_elem.result`
    pub const LINK_RESULT: u64 = 48;
    /// `lru_cache_object.maxsize`
    pub const MAXSIZE: u64 = 96;
}

/// `managed`
pub mod managed {
    /// `3 * sizeof(PyObject *)`
    pub const DICT: u64 = 24;
    /// `4 * sizeof(PyObject *)`
    pub const VALUES: u64 = 32;
}

/// `member`
pub mod member {
    /// `PyMemberDef.type`
    pub const KIND: u64 = 8;
    /// `sizeof(PyMemberDef)`
    pub const LENGTH: u64 = 40;
    /// `PyMemberDef.name`
    pub const NAME: u64 = 0;
    /// `T_OBJECT`
    pub const OBJECT: u64 = 6;
    /// `T_OBJECT_EX`
    pub const OBJECT_EX: u64 = 16;
    /// `PyMemberDef.offset`
    pub const OFFSET: u64 = 16;
}

/// `module`
pub mod module {
    /// `PyModuleObject.md_dict`
    pub const DICT: u64 = 16;
    /// `PyModuleObject.md_state`
    pub const STATE: u64 = 32;
}

/// `object`
pub mod object {
    /// `PyObject.ob_refcnt`
    pub const REFERENCES: u64 = 0;
    /// `PyVarObject.ob_size`
    pub const SIZE: u64 = 16;
    /// `PyObject.ob_type`
    pub const TYPE: u64 = 8;
}

/// `ordered_dict`
pub mod ordered_dict {
    /// `struct _odictobject.od_fast_nodes`
    pub const FAST_NODES: u64 = 64;
    /// `struct _odictobject.od_first`
    pub const FIRST: u64 = 48;
    /// `struct _odictnode.next`
    pub const NODE_NEXT: u64 = 16;
}

/// `pool`
pub mod pool {
    /// `ALIGNMENT`
    pub const ALIGNMENT: u64 = 16;
    /// `struct pool_header.ref.count`
    pub const COUNT: u64 = 0;
    /// `struct pool_header.freeblock`
    pub const FREEBLOCK: u64 = 8;
    /// `sizeof(struct pool_header)`
    pub const HEADER: u64 = 48;
    /// `SMALL_REQUEST_THRESHOLD`
    pub const LARGEST: u64 = 512;
    /// `struct pool_header.maxnextoffset`
    pub const MAXNEXTOFFSET: u64 = 44;
    /// `struct pool_header.nextoffset`
    pub const NEXTOFFSET: u64 = 40;
    /// `struct pool_header.szidx`
    pub const SZIDX: u64 = 36;
}

/// `set`
pub mod set {
    /// `PySetObject.mask`
    pub const MASK: u64 = 32;
    /// `PySetObject.smalltable`
    pub const SMALLTABLE: u64 = 64;
    /// `PySetObject.table`
    pub const TABLE: u64 = 40;
    /// `PySetObject.used`
    pub const USED: u64 = 24;
}

/// `traceback`
pub mod traceback {
    /// `PyTracebackObject.tb_frame`
    pub const FRAME: u64 = 24;
    /// `PyTracebackObject.tb_next`
    pub const NEXT: u64 = 16;
}

/// `tuple_iterator`
pub mod tuple_iterator {
    /// `_PyTupleIterObject.it_index`
    pub const INDEX: u64 = 16;
    /// `_PyTupleIterObject.it_seq`
    pub const SEQUENCE: u64 = 24;
}

/// `type_flag`
pub mod type_flag {
    /// `Py_TPFLAGS_BYTES_SUBCLASS`
    pub const BYTES: u64 = 1 << 27;
    /// `Py_TPFLAGS_DICT_SUBCLASS`
    pub const DICT: u64 = 1 << 29;
    /// `Py_TPFLAGS_BASE_EXC_SUBCLASS`
    pub const EXCEPTION: u64 = 1 << 30;
    /// `Py_TPFLAGS_HAVE_GC`
    pub const HAVE_GC: u64 = 1 << 14;
    /// `Py_TPFLAGS_HEAPTYPE`
    pub const HEAP_TYPE: u64 = 1 << 9;
    /// `Py_TPFLAGS_INLINE_VALUES`
    pub const INLINE_VALUES: u64 = 1 << 2;
    /// `Py_TPFLAGS_LONG_SUBCLASS`
    pub const INT: u64 = 1 << 24;
    /// `Py_TPFLAGS_LIST_SUBCLASS`
    pub const LIST: u64 = 1 << 25;
    /// `Py_TPFLAGS_MANAGED_DICT`
    pub const MANAGED_DICT: u64 = 1 << 4;
    /// `Py_TPFLAGS_MANAGED_WEAKREF`
    pub const MANAGED_WEAKREF: u64 = 1 << 3;
    /// `Py_TPFLAGS_UNICODE_SUBCLASS`
    pub const STR: u64 = 1 << 28;
    /// `Py_TPFLAGS_TUPLE_SUBCLASS`
    pub const TUPLE: u64 = 1 << 26;
    /// `Py_TPFLAGS_TYPE_SUBCLASS`
    pub const TYPE: u64 = 1 << 31;
}

/// `type_object`
pub mod type_object {
    /// `PyTypeObject.tp_base`
    pub const BASE: u64 = 256;
    /// `PyTypeObject.tp_bases`
    pub const BASES: u64 = 336;
    /// `PyTypeObject.tp_basicsize`
    pub const BASICSIZE: u64 = 32;
    /// `PyTypeObject.tp_dealloc`
    pub const DEALLOC: u64 = 48;
    /// `PyTypeObject.tp_dict`
    pub const DICT: u64 = 264;
    /// `PyTypeObject.tp_dictoffset`
    pub const DICTOFFSET: u64 = 288;
    /// `PyTypeObject.tp_doc`
    pub const DOC: u64 = 176;
    /// `PyTypeObject.tp_flags`
    pub const FLAGS: u64 = 168;
    /// `PyTypeObject.tp_itemsize`
    pub const ITEMSIZE: u64 = 40;
    /// `PyTypeObject.tp_iternext`
    pub const ITERNEXT: u64 = 224;
    /// `PyTypeObject.tp_members`
    pub const MEMBERS: u64 = 240;
    /// `PyTypeObject.tp_mro`
    pub const MRO: u64 = 344;
    /// `PyTypeObject.tp_name`
    pub const NAME: u64 = 24;
    /// `PyTypeObject.tp_subclasses`
    pub const SUBCLASSES: u64 = 360;
    /// `PyTypeObject.tp_weaklistoffset`
    pub const WEAKLISTOFFSET: u64 = 208;
}

/// `unicode`
pub mod unicode {
    /// `PyASCIIObject.hash`
    pub const HASH: u64 = 24;
    /// `state_bits(7, 0, 0) >> __builtin_ctz(state_bits(7, 0, 0))`
    pub const KIND_MASK: u64 = 7;
    /// `__builtin_ctz(state_bits(7, 0, 0))`
    pub const KIND_SHIFT: u64 = 2;
    /// `PyASCIIObject.length`
    pub const LENGTH: u64 = 16;
    /// `PyASCIIObject.state`
    pub const STATE: u64 = 32;
    /// `state_bits(0, 0, 1)`
    pub const STATE_ASCII: u64 = 64;
    /// `state_bits(0, 1, 0)`
    pub const STATE_COMPACT: u64 = 32;
}

/// `weakref`
pub mod weakref {
    /// `PyWeakReference.wr_next`
    pub const NEXT: u64 = 48;
    /// `PyWeakReference.wr_object`
    pub const OBJECT: u64 = 16;
    /// `PyWeakReference.wr_prev`
    pub const PREVIOUS: u64 = 40;
}

/// `zip`
pub mod zip {
    /// `zipobject.ittuple`
    pub const ITERATORS: u64 = 24;
    /// `zipobject.tuplesize`
    pub const SIZE: u64 = 16;
}
