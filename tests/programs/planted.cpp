// One function under the name of each frame that a suppression of Heaplens names. Each loses one block, and, where the suppression
// is of possibly lost blocks, allocates another that only a pointer into its middle holds. `// plant` says which pattern it is for;
// the program says
//     planted BYTES LINE
// of each block that it loses, and
//     held BYTES
// of all that it holds so.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define OUT_OF_LINE __attribute__((noinline, visibility("hidden")))

static char *volatile held[64];
static size_t count, held_bytes;

static void tell(size_t bytes, int line) { printf("planted %zu %d\n", bytes, line); }

// Of every call the size is another one.
static size_t size() { return 5000 + 48 * count; }

// The compiler must not see that nobody uses it, and no pointer may stay in a register or on the stack.
OUT_OF_LINE static void drop(void *block) {
    asm volatile("" ::"r"(block) : "memory");
    memset(block, 0, 64);
}

OUT_OF_LINE static void hold(void *block) {
    memset(block, 0, 64);
    held[count++] = (char *)block + 1000;
    held_bytes += 30000;
}

#define LOSE(ALLOCATE)                                                                                                 \
    do {                                                                                                               \
        tell(size(), __LINE__);                                                                                        \
        drop(ALLOCATE(size()));                                                                                        \
    } while (0)
#define PLANT(ALLOCATE)                                                                                                \
    do {                                                                                                               \
        LOSE(ALLOCATE);                                                                                                \
        hold(ALLOCATE(30000));                                                                                         \
    } while (0)
#define ZEROED(SIZE) calloc(1, SIZE)

extern "C" {
OUT_OF_LINE void allocate_dtv() { PLANT(ZEROED); }                       // plant allocate_dtv
OUT_OF_LINE void _dl_allocate_tls() { PLANT(ZEROED); }                   // plant _dl_allocate_tls
OUT_OF_LINE void _dlfo_mappings_segment_allocate() { PLANT(malloc); }    // plant _dlfo_mappings_segment_allocate
OUT_OF_LINE void _PyObject_Malloc() { PLANT(malloc); }                   // plant _PyObject_Malloc
OUT_OF_LINE void _PyObject_GC_Resize() { PLANT(malloc); }                // plant _PyObject_GC_Resize
OUT_OF_LINE void _upb_Arena_SlowMalloc_dont_copy_me() { PLANT(malloc); } // plant _upb_Arena_SlowMalloc*
OUT_OF_LINE void _upb_Arena_InitSlow() { PLANT(malloc); }                // plant _upb_Arena_InitSlow
OUT_OF_LINE void g_type_register_planted() { PLANT(ZEROED); }            // plant g_type_register_*
OUT_OF_LINE void g_type_class_ref_planted() { PLANT(ZEROED); }           // plant g_type_class_ref*
OUT_OF_LINE void g_type_add_interface_planted() { PLANT(ZEROED); }       // plant g_type_add_interface_*
}

// A name that looks like the linker's and cannot be read.
OUT_OF_LINE void unreadable() asm("_ZN4absl_container_internal_raw_hash_set_unreadable");
void unreadable() { PLANT(operator new); } // plant _ZN4absl*container_internal*raw_hash_set*

namespace google::protobuf {
template <class Element> struct RepeatedField {
    OUT_OF_LINE void Grow() { PLANT(operator new); } // plant google::protobuf::RepeatedField<*>::Grow*
};
} // namespace google::protobuf

namespace Eigen {
template <class Environment> struct ThreadPoolTempl {
    OUT_OF_LINE ThreadPoolTempl() { PLANT(malloc); } // plant Eigen::ThreadPoolTempl<*>::ThreadPoolTempl*
};
} // namespace Eigen

namespace absl::lts::container_internal {
OUT_OF_LINE void PrepareInsertSmallNonSoo() { PLANT(operator new); } // plant absl::*container_internal::PrepareInsertSmallNonSoo*
} // namespace absl::lts::container_internal

namespace tsl::port {
OUT_OF_LINE void AlignedMalloc() { PLANT(malloc); } // plant tsl::port::AlignedMalloc*
} // namespace tsl::port

namespace tsl::inner {
struct PosixEnv {
    OUT_OF_LINE void StartThread() { PLANT(operator new); } // plant tsl::*PosixEnv::StartThread*
};
} // namespace tsl::inner

namespace tensorflow::profiler {
template <class Function> struct FunctionRegistry {
    OUT_OF_LINE void Register() { PLANT(operator new); } // plant tensorflow::profiler::FunctionRegistry<*
};
} // namespace tensorflow::profiler

// What its call of StartThread loses is suppressed, what it loses itself is not.
namespace tensorflow::data::inner {
OUT_OF_LINE void StartMemoryLoggerThread() { LOSE(operator new); } // plant tensorflow::data::*StartMemoryLoggerThread*
} // namespace tensorflow::data::inner

namespace tensorflow {
struct DeviceSet {
    OUT_OF_LINE void FindMatchingDevices() { PLANT(operator new); } // plant tensorflow::DeviceSet::FindMatchingDevices*
};
} // namespace tensorflow

extern "C" void plant() {
    allocate_dtv();
    _dl_allocate_tls();
    _dlfo_mappings_segment_allocate();
    _PyObject_Malloc();
    _PyObject_GC_Resize();
    _upb_Arena_SlowMalloc_dont_copy_me();
    _upb_Arena_InitSlow();
    g_type_register_planted();
    g_type_class_ref_planted();
    g_type_add_interface_planted();
    unreadable();
    google::protobuf::RepeatedField<int>().Grow();
    Eigen::ThreadPoolTempl<int>();
    absl::lts::container_internal::PrepareInsertSmallNonSoo();
    tsl::port::AlignedMalloc();
    tsl::inner::PosixEnv().StartThread();
    tensorflow::profiler::FunctionRegistry<int>().Register();
    tensorflow::DeviceSet().FindMatchingDevices();
    tensorflow::data::inner::StartMemoryLoggerThread();
    printf("held %zu\n", held_bytes);
    fflush(stdout);
}
