// The C side of src/lib.rs: the unwinder under test.
#pragma once
#include <cstddef>
#include <cstdint>

enum class Way : uint32_t { refused = 0, memo = 1, walk = 2, wrong_hash = 3, blind = 4 };

// Numbers of the pseudo frames that end a stack early.
enum class Cut : uint64_t { complete = 0, no_unwind_info = 1, too_deep = 2, broken = 3 };

struct Stack {
    uint64_t* frames;  // module << 48 | address
    uint64_t capacity;
    uint64_t count;
    Cut cut;
};

extern "C" {
Way unwind_check_by_memo(Stack*);
Way unwind_check_by_walk(Stack*);
void unwind_check_unloaded();
void unwind_check_unmapping(void* start, size_t length);
void unwind_check_through_rust(void (*callback)(void*), void* data);
}

constexpr uint64_t address_of_frame(uint64_t frame) { return frame & ((uint64_t{1} << 48) - 1); }
constexpr uint64_t module_of_frame(uint64_t frame) { return frame >> 48; }
