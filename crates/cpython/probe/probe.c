/* Prints where one CPython keeps what Heaplens reads, as its own headers say: compiled and run once for each interpreter by
 * `cargo xtask cpython-tables`, which turns the lines into crates/cpython/src/generated. A value is a Rust expression.
 *
 *   layout PATH VALUE     differs between versions
 *   fixed PATH VALUE C    the same in every version that has it: the generator insists; C is what it is there
 *   words FIELD INDEX     a word of `_Py_DebugOffsets` (3.13 and later)
 *   deopt OPCODE BASE     the instruction that an instruction is a specialised form of (3.11 and later)
 *   caches OPCODE UNITS   inline caches after an instruction (3.11 and later)
 *   at TYPE|FIELD OFFSET  an offset that was used, to be compared with debug information
 *
 * Structures that no installed header has are declared below as far as they are read, under their own names and with the source
 * file that they are from: debug information of the interpreters is what they are compared with.
 */

#define Py_BUILD_CORE 1
#define NEED_OPCODE_TABLES 1
#define NEED_OPCODE_METADATA 1

#include <Python.h>

#define VERSION(minor) (PY_VERSION_HEX >= 0x03000000 + ((minor) << 16))

#include <frameobject.h>
#include <structmember.h>
#include <internal/pycore_pystate.h>
#if VERSION(9)
#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if VERSION(11)
#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_function.h>
#include <internal/pycore_object.h>
#endif
#if VERSION(11) && !VERSION(13)
#include <internal/pycore_opcode.h>
#endif
#if VERSION(12)
#include <internal/pycore_list.h>
#include <internal/pycore_long.h>
#include <internal/pycore_moduleobject.h>
#include <internal/pycore_obmalloc.h>
#include <internal/pycore_range.h>
#include <internal/pycore_tuple.h>
#endif
#if VERSION(13)
#include <internal/pycore_opcode_metadata.h>
#endif
#if VERSION(14)
#include <internal/pycore_freelist_state.h>
#include <internal/pycore_genobject.h>
#include <internal/pycore_interpframe_structs.h>
#endif

#include <stdio.h>

/* -- structures that no header has ------------------------------------------------------------------------------------- */

/* Modules/_collectionsmodule.c */
struct BLOCK {
    struct BLOCK *leftlink;
    PyObject *data[64];
    struct BLOCK *rightlink;
};

typedef struct {
    PyObject_VAR_HEAD
    struct BLOCK *leftblock;
    struct BLOCK *rightblock;
    Py_ssize_t leftindex;
    Py_ssize_t rightindex;
    size_t state;
    Py_ssize_t maxlen;
} dequeobject;

/* Objects/odictobject.c */
struct _odictnode {
    PyObject *key;
    Py_hash_t hash;
    struct _odictnode *next;
    struct _odictnode *prev;
};

struct _odictobject {
    PyDictObject od_dict;
    struct _odictnode *od_first;
    struct _odictnode *od_last;
    struct _odictnode **od_fast_nodes;
};

/* Modules/_functoolsmodule.c */
typedef struct lru_list_elem {
    PyObject_HEAD
    struct lru_list_elem *prev, *next;
    Py_hash_t hash;
    PyObject *key, *result;
} lru_list_elem;

typedef struct {
    lru_list_elem root;
    void *wrapper;
    int typed;
    PyObject *cache;
    Py_ssize_t hits;
    PyObject *func;
    Py_ssize_t maxsize;
} lru_cache_object;

/* Modules/arraymodule.c */
typedef struct {
    PyObject_VAR_HEAD
    char *ob_item;
} arrayobject;

/* Objects/dictobject.c */
typedef struct {
    PyObject_HEAD
    PyDictObject *di_dict;
    Py_ssize_t di_used;
    Py_ssize_t di_pos;
    PyObject *di_result;
    Py_ssize_t len;
} dictiterobject;

/* Objects/enumobject.c */
typedef struct {
    PyObject_HEAD
    Py_ssize_t en_index;
    PyObject *en_sit;
} enumobject;

/* Python/bltinmodule.c */
typedef struct {
    PyObject_HEAD
    Py_ssize_t tuplesize;
    PyObject *ittuple;
} zipobject;

#if !VERSION(12)
/* Objects/listobject.c */
typedef struct {
    PyObject_HEAD
    Py_ssize_t it_index;
    PyListObject *it_seq;
} listiterobject;

/* Objects/tupleobject.c */
typedef struct {
    PyObject_HEAD
    Py_ssize_t it_index;
    PyTupleObject *it_seq;
} tupleiterobject;

/* Objects/rangeobject.c */
typedef struct {
    PyObject_HEAD
    long index;
    long start;
    long step;
    long len;
} rangeiterobject;

/* Objects/obmalloc.c */
struct pool_header {
    union { uint8_t *_padding; unsigned int count; } ref;
    uint8_t *freeblock;
    struct pool_header *nextpool;
    struct pool_header *prevpool;
    unsigned int arenaindex;
    unsigned int szidx;
    unsigned int nextoffset;
    unsigned int maxnextoffset;
};
#define ALIGNMENT 16
#define SMALL_REQUEST_THRESHOLD 512
#if VERSION(10)
#define ARENA_SIZE (1 << 20)
#define POOL_SIZE (1 << 14)
#else
#define ARENA_SIZE (256 << 10)
#define POOL_SIZE (4 << 10)
#endif

/* Objects/moduleobject.c */
typedef struct {
    PyObject_HEAD
    PyObject *md_dict;
    struct PyModuleDef *md_def;
    void *md_state;
} PyModuleObject;
#endif

#if !VERSION(11)
/* Objects/dict-common.h */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt;
    Py_ssize_t dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable;
    Py_ssize_t dk_nentries;
    char dk_indices[];
};

typedef struct {
    Py_hash_t me_hash;
    PyObject *me_key;
    PyObject *me_value;
} PyDictKeyEntry;
#endif

/* -- printing ---------------------------------------------------------------------------------------------------------- */

#define AT(type, field) noted(#type, #field, offsetof(type, field))
#define NUMBER(kind, path, value) printf(kind " " path " %zu\n", (size_t)(value))
#define LAYOUT(path, value) NUMBER("layout", path, value)
#define FIXED(path, value) printf("fixed " path " %zu " #value "\n", (size_t)(value))
#define SOME(path, value) printf("layout " path " Some(%zu)\n", (size_t)(value))
#define NONE(path) puts("layout " path " None")
#define IS(path, ...) (printf("layout " path " "), printf(__VA_ARGS__), putchar('\n'))
/* What the readers take for granted: any other line ends the generator. */
#define CHECK(truth) ((truth) ? 0 : puts("it is not so that " #truth))

static char notes[1 << 16];
static size_t notes_length;

/* Keeps an offset in mind, to be compared with debug information. */
static size_t noted(const char *type, const char *field, size_t offset)
{
    size_t room = sizeof(notes) - notes_length;
    notes_length += snprintf(notes + notes_length, room, "at %s|%s %zu\n", type, field, offset);
    return offset;
}

static void interpreters(void)
{
    LAYOUT("runtime.interpreters", AT(_PyRuntimeState, interpreters.head));
    LAYOUT("interpreter.next", AT(PyInterpreterState, next));
#if VERSION(11)
    LAYOUT("interpreter.threads", AT(PyInterpreterState, threads.head));
#else
    LAYOUT("interpreter.threads", AT(PyInterpreterState, tstate_head));
#endif
#if VERSION(12)
    LAYOUT("interpreter.modules", AT(PyInterpreterState, imports.modules));
#else
    LAYOUT("interpreter.modules", AT(PyInterpreterState, modules));
#endif
#if VERSION(13)
    IS("interpreter.codecs", "[%zu, %zu]", AT(PyInterpreterState, codecs.search_path),
       AT(PyInterpreterState, codecs.search_cache));
#else
    IS("interpreter.codecs", "[%zu, %zu]", AT(PyInterpreterState, codec_search_path),
       AT(PyInterpreterState, codec_search_cache));
#endif
}

static void threads(void)
{
    LAYOUT("thread.next", AT(PyThreadState, next));
    LAYOUT("thread.thread_id", AT(PyThreadState, thread_id));
#if VERSION(11)
    SOME("thread.native_thread_id", AT(PyThreadState, native_thread_id));
#else
    NONE("thread.native_thread_id");
#endif
#if VERSION(13)
    LAYOUT("thread.frame", AT(PyThreadState, current_frame));
    NONE("thread.frame_of_record");
    NONE("thread.record");
#elif VERSION(11)
    LAYOUT("thread.frame", AT(PyThreadState, cframe));
    SOME("thread.frame_of_record", AT(_PyCFrame, current_frame));
#elif VERSION(10)
    LAYOUT("thread.frame", AT(PyThreadState, frame));
    NONE("thread.frame_of_record");
#else
    LAYOUT("thread.frame", AT(PyThreadState, frame));
    NONE("thread.frame_of_record");
    NONE("thread.record");
#endif
#if VERSION(11) && !VERSION(13)
    IS("thread.record", "Some(Record { innermost: %zu, previous: %zu })", AT(PyThreadState, cframe),
       AT(_PyCFrame, previous));
#elif VERSION(10) && !VERSION(11)
    IS("thread.record", "Some(Record { innermost: %zu, previous: %zu })", AT(PyThreadState, cframe),
       AT(CFrame, previous));
#endif
}

#if VERSION(11)
static void frames(void)
{
#if VERSION(13)
    LAYOUT("frame.code", AT(struct _PyInterpreterFrame, f_executable));
    LAYOUT("frame.instruction", AT(struct _PyInterpreterFrame, instr_ptr));
#else
    LAYOUT("frame.code", AT(struct _PyInterpreterFrame, f_code));
    LAYOUT("frame.instruction", AT(struct _PyInterpreterFrame, prev_instr));
#endif
    IS("frame.position", "Position::Address(%zu)", AT(PyCodeObject, co_code_adaptive));
    LAYOUT("frame.previous", AT(struct _PyInterpreterFrame, previous));
    LAYOUT("frame.globals", AT(struct _PyInterpreterFrame, f_globals));
    LAYOUT("frame.locals", AT(struct _PyInterpreterFrame, f_locals));
    LAYOUT("frame.variables", AT(struct _PyInterpreterFrame, localsplus));
    NONE("frame.stack");
#if VERSION(12)
    SOME("frame.owner", AT(struct _PyInterpreterFrame, owner));
    NONE("frame.is_entry");
    IS("frame.runs", "Runs::EntryFrame");
#else
    NONE("frame.owner");
    SOME("frame.is_entry", AT(struct _PyInterpreterFrame, is_entry));
    IS("frame.runs", "Runs::EntryFlag");
#endif
#if VERSION(14)
    FIXED("frame.owned_by_c", FRAME_OWNED_BY_INTERPRETER);
#elif VERSION(12)
    FIXED("frame.owned_by_c", FRAME_OWNED_BY_CSTACK);
#endif
    SOME("frame.of_object", AT(PyFrameObject, f_frame));
    CHECK(FRAME_CREATED < 0 && FRAME_EXECUTING == 0 && FRAME_COMPLETED == 1 && FRAME_CLEARED > 1);
    IS("generator", "Generator::Inside { frame: %zu, state: %zu }", AT(PyGenObject, gi_iframe),
       AT(PyGenObject, gi_frame_state));
}
#else
static void frames(void)
{
    LAYOUT("frame.code", AT(PyFrameObject, f_code));
    LAYOUT("frame.instruction", AT(PyFrameObject, f_lasti));
    /* Since 3.10 an index counts instructions, not bytes. */
    IS("frame.position", "Position::Index(%d)", VERSION(10) ? 1 : 2);
    LAYOUT("frame.previous", AT(PyFrameObject, f_back));
    LAYOUT("frame.globals", AT(PyFrameObject, f_globals));
    LAYOUT("frame.locals", AT(PyFrameObject, f_locals));
    LAYOUT("frame.variables", AT(PyFrameObject, f_localsplus));
    SOME("frame.stack", AT(PyFrameObject, f_valuestack));
    NONE("frame.owner");
    NONE("frame.is_entry");
    IS("frame.runs", VERSION(10) ? "Runs::SingleRecorded" : "Runs::Single");
    NONE("frame.of_object");
    IS("generator", "Generator::Object(%zu)", AT(PyGenObject, gi_frame));
}
#endif

static void code(void)
{
    LAYOUT("code.filename", AT(PyCodeObject, co_filename));
    LAYOUT("code.name", AT(PyCodeObject, co_name));
    LAYOUT("code.firstlineno", AT(PyCodeObject, co_firstlineno));
    LAYOUT("code.argcount", AT(PyCodeObject, co_argcount));
    LAYOUT("code.stacksize", AT(PyCodeObject, co_stacksize));
    LAYOUT("code.flags", AT(PyCodeObject, co_flags));
    FIXED("code_flag.generator", CO_GENERATOR);
    FIXED("code_flag.coroutine", CO_COROUTINE);
    FIXED("code_flag.async_generator", CO_ASYNC_GENERATOR);
#if VERSION(11)
    LAYOUT("code.qualname", AT(PyCodeObject, co_qualname));
    SOME("code.nlocalsplus", AT(PyCodeObject, co_nlocalsplus));
    IS("code.variable_names", "&[%zu]", AT(PyCodeObject, co_localsplusnames));
    IS("code.instructions", "Instructions::Inside");
    IS("code.spare", "&[]");
#else
    LAYOUT("code.qualname", AT(PyCodeObject, co_name));
    NONE("code.nlocalsplus");
    IS("code.variable_names", "&[%zu, %zu, %zu]", AT(PyCodeObject, co_varnames), AT(PyCodeObject, co_cellvars),
       AT(PyCodeObject, co_freevars));
    IS("code.instructions", "Instructions::Bytes(%zu)", AT(PyCodeObject, co_code));
    IS("code.spare", "&[%zu, %zu]", AT(PyCodeObject, co_zombieframe), AT(PyCodeObject, co_opcache));
#endif
#if VERSION(12)
    SOME("code.version", AT(PyCodeObject, co_version));
#else
    /* 3.11 has the field, but gives numbers only to code that is called often. */
    NONE("code.version");
#endif
#if VERSION(10)
    LAYOUT("code.lines", AT(PyCodeObject, co_linetable));
    IS("code.line_table", VERSION(11) ? "LineTable::Locations" : "LineTable::Ranges");
#else
    LAYOUT("code.lines", AT(PyCodeObject, co_lnotab));
    IS("code.line_table", "LineTable::Deltas");
#endif
}

static void objects(void)
{
    FIXED("object.references", AT(PyObject, ob_refcnt));
    FIXED("object.type", AT(PyObject, ob_type));
    FIXED("object.size", AT(PyVarObject, ob_size));
    FIXED("gc.links", sizeof(PyGC_Head));
    IS("object.count_mask", "0x%llx", sizeof(((PyObject *)0)->ob_refcnt) == 4 ? 0xffffffffull : ~0ull);
#if VERSION(14)
    IS("object.flags_mask", "0x%llx", 0xffffull << 8 * AT(PyObject, ob_flags));
#else
    IS("object.flags_mask", "0");
#endif
#if VERSION(14)
    IS("object.constant", "Some(Constant { references: 0x%llx, slack: 1 << 20 })",
       (unsigned long long)_Py_STATIC_IMMORTAL_INITIAL_REFCNT);
#elif VERSION(12)
    IS("object.constant", "Some(Constant { references: 0x%llx, slack: 1 })", (unsigned long long)_Py_IMMORTAL_REFCNT);
#elif VERSION(11)
    IS("object.constant", "Some(Constant { references: %zd, slack: 1 << 20 })",
       ((PyObject)_PyObject_IMMORTAL_INIT(NULL)).ob_refcnt);
#else
    NONE("object.constant");
#endif
#if VERSION(14)
    CHECK(Py_INT_TAG == 3);
    IS("frame.tag_mask", "%d", Py_TAG_BITS);
#else
    IS("frame.tag_mask", "0");
#endif

    FIXED("list.items", AT(PyListObject, ob_item));
    FIXED("list.allocated", AT(PyListObject, allocated));
    LAYOUT("tuple.items", AT(PyTupleObject, ob_item));
    FIXED("dict.used", AT(PyDictObject, ma_used));
    FIXED("dict.keys", AT(PyDictObject, ma_keys));
    FIXED("dict.values", AT(PyDictObject, ma_values));
    FIXED("set.used", AT(PySetObject, used));
    FIXED("set.mask", AT(PySetObject, mask));
    FIXED("set.table", AT(PySetObject, table));
    FIXED("set.smalltable", AT(PySetObject, smalltable));
    FIXED("bytes.size", AT(PyBytesObject, ob_base.ob_size));
    FIXED("bytes.hash", AT(PyBytesObject, ob_shash));
    FIXED("bytes.data", AT(PyBytesObject, ob_sval));
    FIXED("bytearray.bytes", AT(PyByteArrayObject, ob_bytes));
    FIXED("cell.contents", AT(PyCellObject, ob_ref));
    FIXED("module.dict", AT(PyModuleObject, md_dict));
    FIXED("module.state", AT(PyModuleObject, md_state));
    FIXED("builtin.self", AT(PyCFunctionObject, m_self));
    FIXED("traceback.next", AT(PyTracebackObject, tb_next));
    FIXED("traceback.frame", AT(PyTracebackObject, tb_frame));
    FIXED("weakref.object", AT(PyWeakReference, wr_object));
    FIXED("weakref.previous", AT(PyWeakReference, wr_prev));
    FIXED("weakref.next", AT(PyWeakReference, wr_next));
    FIXED("exception.args", AT(PyBaseExceptionObject, args));
    LAYOUT("exception.traceback", AT(PyBaseExceptionObject, traceback));
    LAYOUT("exception.context", AT(PyBaseExceptionObject, context));
    LAYOUT("exception.cause", AT(PyBaseExceptionObject, cause));
    LAYOUT("function.code", AT(PyFunctionObject, func_code));
    LAYOUT("function.globals", AT(PyFunctionObject, func_globals));
    LAYOUT("function.defaults", AT(PyFunctionObject, func_defaults));
    LAYOUT("function.kwdefaults", AT(PyFunctionObject, func_kwdefaults));
    LAYOUT("function.closure", AT(PyFunctionObject, func_closure));
#if VERSION(12)
    FIXED("int.digits", AT(struct _longobject, long_value.ob_digit));
    IS("integer", "Integer::Tagged { shift: %d, sign_mask: %d, negative: %d }", NON_SIZE_BITS, SIGN_MASK, SIGN_NEGATIVE);
#else
    FIXED("int.digits", AT(struct _longobject, ob_digit));
    IS("integer", "Integer::Signed");
#endif
    FIXED("int.digit_bits", PyLong_SHIFT);
}

/* The bits of a string's state are bit fields: set each, and look. */
static unsigned state_bits(unsigned kind, unsigned compact, unsigned ascii)
{
    PyASCIIObject text;
    unsigned bits;
    memset(&text, 0, sizeof(text));
    text.state.kind = kind;
    text.state.compact = compact;
    text.state.ascii = ascii;
    memcpy(&bits, &text.state, sizeof(bits));
    return bits;
}

static void texts(void)
{
    FIXED("unicode.length", AT(PyASCIIObject, length));
    FIXED("unicode.hash", AT(PyASCIIObject, hash));
    FIXED("unicode.state", AT(PyASCIIObject, state));
    FIXED("unicode.kind_shift", __builtin_ctz(state_bits(7, 0, 0)));
    FIXED("unicode.kind_mask", state_bits(7, 0, 0) >> __builtin_ctz(state_bits(7, 0, 0)));
    FIXED("unicode.state_compact", state_bits(0, 1, 0));
    FIXED("unicode.state_ascii", state_bits(0, 0, 1));
    LAYOUT("unicode.ascii", sizeof(PyASCIIObject));
    LAYOUT("unicode.compact", sizeof(PyCompactUnicodeObject));
    LAYOUT("unicode.utf8", AT(PyCompactUnicodeObject, utf8));
    CHECK(AT(PyUnicodeObject, data) == sizeof(PyCompactUnicodeObject));
    CHECK(PyUnicode_1BYTE_KIND == 1 && PyUnicode_2BYTE_KIND == 2 && PyUnicode_4BYTE_KIND == 4);
}

static void dicts(void)
{
#if VERSION(11)
    IS("keys", "Keys::Compact { log2_size: %zu, log2_index_bytes: %zu, kind: %zu, nentries: %zu, indices: %zu }",
       AT(struct _dictkeysobject, dk_log2_size), AT(struct _dictkeysobject, dk_log2_index_bytes), AT(struct _dictkeysobject, dk_kind), AT(struct _dictkeysobject, dk_nentries),
       AT(struct _dictkeysobject, dk_indices));
    CHECK(DICT_KEYS_GENERAL == 0);
    CHECK(AT(PyDictUnicodeEntry, me_key) == 0 && AT(PyDictUnicodeEntry, me_value) == 8);
    CHECK(sizeof(PyDictUnicodeEntry) == 16);
#else
    IS("keys", "Keys::Wide { size: %zu, nentries: %zu, indices: %zu }", AT(struct _dictkeysobject, dk_size), AT(struct _dictkeysobject, dk_nentries),
       AT(struct _dictkeysobject, dk_indices));
#endif
    CHECK(AT(PyDictKeyEntry, me_hash) == 0 && AT(PyDictKeyEntry, me_key) == 8 && AT(PyDictKeyEntry, me_value) == 16);
    CHECK(sizeof(PyDictKeyEntry) == 24);
    CHECK(AT(setentry, key) == 0 && AT(setentry, hash) == 8 && sizeof(setentry) == 16);
#if VERSION(11)
    LAYOUT("attributes.first_value", AT(struct _dictvalues, values));
#if VERSION(13)
    CHECK(AT(struct _dictvalues, capacity) == 0);
#endif
    FIXED("managed.dict", 3 * sizeof(PyObject *));
#else
    LAYOUT("attributes.first_value", 0);
#endif
#if VERSION(13)
    IS("attributes.managed", "ManagedDict::Inline { valid: %zu }", AT(struct _dictvalues, valid));
    CHECK(MANAGED_DICT_OFFSET == -24 && MANAGED_WEAKREF_OFFSET == -32);
#elif VERSION(12)
    IS("attributes.managed", "ManagedDict::OneWord");
    CHECK(MANAGED_WEAKREF_OFFSET == -32);
#elif VERSION(11)
    IS("attributes.managed", "ManagedDict::TwoWords");
    FIXED("managed.values", 4 * sizeof(PyObject *));
    CHECK(MANAGED_DICT_OFFSET == -24);
#else
    IS("attributes.managed", "ManagedDict::None");
#endif
}

static void types(void)
{
    FIXED("type_object.name", AT(PyTypeObject, tp_name));
    FIXED("type_object.basicsize", AT(PyTypeObject, tp_basicsize));
    FIXED("type_object.itemsize", AT(PyTypeObject, tp_itemsize));
    FIXED("type_object.dealloc", AT(PyTypeObject, tp_dealloc));
    FIXED("type_object.flags", AT(PyTypeObject, tp_flags));
    FIXED("type_object.doc", AT(PyTypeObject, tp_doc));
    FIXED("type_object.weaklistoffset", AT(PyTypeObject, tp_weaklistoffset));
    FIXED("type_object.iternext", AT(PyTypeObject, tp_iternext));
    FIXED("type_object.members", AT(PyTypeObject, tp_members));
    FIXED("type_object.base", AT(PyTypeObject, tp_base));
    FIXED("type_object.dict", AT(PyTypeObject, tp_dict));
    FIXED("type_object.dictoffset", AT(PyTypeObject, tp_dictoffset));
    FIXED("type_object.bases", AT(PyTypeObject, tp_bases));
    FIXED("type_object.mro", AT(PyTypeObject, tp_mro));
    FIXED("type_object.subclasses", AT(PyTypeObject, tp_subclasses));
    LAYOUT("heap_type.qualname", AT(PyHeapTypeObject, ht_qualname));
    LAYOUT("heap_type.cached_keys", AT(PyHeapTypeObject, ht_cached_keys));

    FIXED("type_flag.heap_type", Py_TPFLAGS_HEAPTYPE);
    FIXED("type_flag.have_gc", Py_TPFLAGS_HAVE_GC);
    FIXED("type_flag.int", Py_TPFLAGS_LONG_SUBCLASS);
    FIXED("type_flag.list", Py_TPFLAGS_LIST_SUBCLASS);
    FIXED("type_flag.tuple", Py_TPFLAGS_TUPLE_SUBCLASS);
    FIXED("type_flag.bytes", Py_TPFLAGS_BYTES_SUBCLASS);
    FIXED("type_flag.str", Py_TPFLAGS_UNICODE_SUBCLASS);
    FIXED("type_flag.dict", Py_TPFLAGS_DICT_SUBCLASS);
    FIXED("type_flag.exception", Py_TPFLAGS_BASE_EXC_SUBCLASS);
    FIXED("type_flag.type", Py_TPFLAGS_TYPE_SUBCLASS);
#if VERSION(11)
    FIXED("type_flag.managed_dict", Py_TPFLAGS_MANAGED_DICT);
#endif
#if VERSION(12)
    FIXED("type_flag.managed_weakref", Py_TPFLAGS_MANAGED_WEAKREF);
#endif
#if VERSION(13)
    FIXED("type_flag.inline_values", Py_TPFLAGS_INLINE_VALUES);
#endif

    FIXED("member.length", sizeof(PyMemberDef));
    FIXED("member.name", AT(PyMemberDef, name));
    FIXED("member.kind", AT(PyMemberDef, type));
    FIXED("member.offset", AT(PyMemberDef, offset));
    FIXED("member.object", T_OBJECT);
    FIXED("member.object_ex", T_OBJECT_EX);
}

static void without_header(void)
{
    FIXED("deque.leftblock", AT(dequeobject, leftblock));
    FIXED("deque.leftindex", AT(dequeobject, leftindex));
    FIXED("deque.maxlen", AT(dequeobject, maxlen));
    FIXED("deque.rightindex", AT(dequeobject, rightindex));
    FIXED("deque_block.data", AT(struct BLOCK, data));
    FIXED("deque_block.length", sizeof(((struct BLOCK *)0)->data) / sizeof(PyObject *));
    FIXED("deque_block.rightlink", AT(struct BLOCK, rightlink));
    FIXED("ordered_dict.first", AT(struct _odictobject, od_first));
    FIXED("ordered_dict.fast_nodes", AT(struct _odictobject, od_fast_nodes));
    FIXED("ordered_dict.node_next", AT(struct _odictnode, next));
    FIXED("lru_cache.cache", AT(lru_cache_object, cache));
    FIXED("lru_cache.func", AT(lru_cache_object, func));
    FIXED("lru_cache.link_key", AT(lru_list_elem, key));
    FIXED("lru_cache.link_result", AT(lru_list_elem, result));
    FIXED("lru_cache.maxsize", AT(lru_cache_object, maxsize));
    FIXED("array.items", AT(arrayobject, ob_item));
#if VERSION(12)
    FIXED("list_iterator.index", AT(_PyListIterObject, it_index));
    FIXED("list_iterator.sequence", AT(_PyListIterObject, it_seq));
    FIXED("tuple_iterator.index", AT(_PyTupleIterObject, it_index));
    FIXED("tuple_iterator.sequence", AT(_PyTupleIterObject, it_seq));
#else
    FIXED("list_iterator.index", AT(listiterobject, it_index));
    FIXED("list_iterator.sequence", AT(listiterobject, it_seq));
    FIXED("tuple_iterator.index", AT(tupleiterobject, it_index));
    FIXED("tuple_iterator.sequence", AT(tupleiterobject, it_seq));
#endif
    FIXED("dict_iterator.used", AT(dictiterobject, di_used));
    FIXED("dict_iterator.left", AT(dictiterobject, len));
    FIXED("enumerate.index", AT(enumobject, en_index));
    FIXED("enumerate.iterator", AT(enumobject, en_sit));
    FIXED("zip.size", AT(zipobject, tuplesize));
    FIXED("zip.iterators", AT(zipobject, ittuple));
#ifdef Py_range_iters_MAXFREELIST
    CHECK(Py_range_iters_MAXFREELIST > 0 && Py_list_iters_MAXFREELIST > 0 && Py_tuple_iters_MAXFREELIST > 0);
    IS("iterators_have_free_lists", "true");
#else
    IS("iterators_have_free_lists", "false");
#endif
#if VERSION(12)
    IS("range_iterator", "RangeIterator::CountsDown { start: %zu, step: %zu, left: %zu }",
       AT(_PyRangeIterObject, start), AT(_PyRangeIterObject, step), AT(_PyRangeIterObject, len));
#else
    IS("range_iterator", "RangeIterator::CountsUp { index: %zu, length: %zu }", AT(rangeiterobject, index),
       AT(rangeiterobject, len));
#endif
    LAYOUT("pools.arena", ARENA_SIZE);
    LAYOUT("pools.pool", POOL_SIZE);
    FIXED("pool.header", sizeof(struct pool_header));
    FIXED("pool.count", AT(struct pool_header, ref.count));
    FIXED("pool.freeblock", AT(struct pool_header, freeblock));
    FIXED("pool.szidx", AT(struct pool_header, szidx));
    FIXED("pool.nextoffset", AT(struct pool_header, nextoffset));
    FIXED("pool.maxnextoffset", AT(struct pool_header, maxnextoffset));
    FIXED("pool.alignment", ALIGNMENT);
    FIXED("pool.largest", SMALL_REQUEST_THRESHOLD);
}

#if VERSION(13)
#define WORD(name, field) NUMBER("words", name, offsetof(struct _Py_DebugOffsets, field) / 8)
static void words(void)
{
    WORD("free_threaded", free_threaded);
    WORD("interpreters", runtime_state.interpreters_head);
    WORD("next_interpreter", interpreter_state.next);
    WORD("threads", interpreter_state.threads_head);
    WORD("modules", interpreter_state.imports_modules);
    WORD("next_thread", thread_state.next);
    WORD("thread_frame", thread_state.current_frame);
    WORD("thread_id", thread_state.thread_id);
    WORD("native_thread_id", thread_state.native_thread_id);
    WORD("frame_previous", interpreter_frame.previous);
    WORD("frame_code", interpreter_frame.executable);
    WORD("frame_instruction", interpreter_frame.instr_ptr);
    WORD("frame_variables", interpreter_frame.localsplus);
    WORD("frame_owner", interpreter_frame.owner);
    WORD("filename", code_object.filename);
    WORD("name", code_object.name);
    WORD("qualname", code_object.qualname);
    WORD("lines", code_object.linetable);
    WORD("firstlineno", code_object.firstlineno);
    WORD("argcount", code_object.argcount);
    WORD("instructions", code_object.co_code_adaptive);
    WORD("tuple_items", tuple_object.ob_item);
}
#endif

int main(void)
{
    printf("version %s\n", PY_VERSION);
    threads();
    frames();
    code();
    texts();
    objects();
    dicts();
    types();
    interpreters();
    without_header();
#if VERSION(13)
    words();
#endif
#if VERSION(11)
    for (int opcode = 0; opcode < 256; opcode++) {
        printf("deopt %d %d\n", opcode, _PyOpcode_Deopt[opcode]);
        printf("caches %d %d\n", opcode, _PyOpcode_Caches[opcode]);
    }
#endif
    fputs(notes, stdout);
    return 0;
}
