// A mapping that holds a stack grows by a call that nobody sees, as the heap does under blocks that serve as stacks: what
// was remembered of its end is in the way of a later, larger stack at the same place.
#include "check.h"
#include "scenarios.h"

#include <alloca.h>
#include <cstdlib>
#include <sys/mman.h>
#include <ucontext.h>

namespace {

constexpr size_t half = 256 << 10;

// Memory whose upper half is not there at first; nothing lies directly below or above it.
class Region {
public:
    Region() : start(static_cast<char*>(mmap(nullptr, 4 * half, PROT_NONE, flags, -1, 0)) + half) { map(start); }
    ~Region() {
        unwind_check_unmapping(start - half, 4 * half);
        munmap(start - half, 4 * half);
    }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    void grow() { map(start + half); }
    char* const start;

private:
    static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    static void map(char* buffer) {
        if (mmap(buffer, half, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == MAP_FAILED) abort();
    }
};

// For the function of the context, which gets no argument.
size_t room;

void inspect_below() {
    auto* buffer = static_cast<char*>(alloca(room));
    asm volatile("" : : "r"(buffer) : "memory");
    check();
    asm volatile("" : : "r"(buffer) : "memory");
}

void inspect_on_stack(char* start, size_t size, size_t skipped) {
    ucontext_t here, there;
    room = skipped;
    getcontext(&there);
    there.uc_stack.ss_sp = start;
    there.uc_stack.ss_size = size;
    there.uc_link = &here;
    makecontext(&there, inspect_below, 0);
    swapcontext(&here, &there);
}

}  // namespace

void growing_stacks(uint64_t, uint64_t captures) {
    for (uint64_t round = 0; round < captures / 2; ++round) {
        Region region;
        inspect_on_stack(region.start, half, 16);
        region.grow();
        // So deep that it stands about where the small stack stood.
        inspect_on_stack(region.start, 2 * half, half + 16 * (round % 64));
        count_event("grown");
    }
}
