// The ends of things: before main, in thread-local and static destructors, in handlers of `atexit`, in threads that
// leave by pthread_exit, and on stacks deeper than the tracker remembers.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <cstdlib>
#include <pthread.h>
#include <thread>

namespace {

constexpr unsigned deepest = 10;
constexpr uint64_t leaves = 40;

void inspect_around(uint64_t seed) {
    Walk walk{seed, 0};
    wander(walk, leaves, deepest);
}

// Called by the dynamic linker, whose entry has no unwind information.
[[gnu::constructor]] void before_main() {
    const Finding finding = check();
    if (finding.way != Way::memo || finding.cut != Cut::complete) report_wrong("a stack before main is not complete");
}

struct InspectsAtEndOfThread {
    uint64_t seed = 0;
    ~InspectsAtEndOfThread() { inspect_around(seed); }
};

thread_local InspectsAtEndOfThread at_end_of_thread;

// Runs after the tracker's own destructor of the same kind: the thread has no thread slot any more.
void inspect_without_slot(void* seed) {
    inspect_around(reinterpret_cast<uint64_t>(seed));
    count_event("without-slot");
}

void live_shortly(pthread_key_t key, uint64_t seed) {
    at_end_of_thread.seed = seed;
    pthread_setspecific(key, reinterpret_cast<void*>(seed | 1));
    inspect_around(seed);
    if (seed % 2 == 0) pthread_exit(nullptr);
}

[[gnu::noinline]] void dig(unsigned levels, Finding (*inspect)()) {
    if (levels == 0) {
        if (inspect().way == Way::walk) count_event("beyond-memo");
    } else {
        dig(levels - 1, inspect);
    }
    asm volatile("");
}

}  // namespace

void endings(uint64_t seed, uint64_t captures) {
    pthread_key_t key;
    pthread_key_create(&key, inspect_without_slot);
    atexit([] { inspect_around(7); });
    for (uint64_t number = 0; number < captures / (3 * leaves); ++number)
        std::thread(live_shortly, key, seed + number).join();
}

void deep(uint64_t seed, uint64_t captures) {
    constexpr unsigned memo_limit = 16'384;
    Walk walk{seed, 0};
    for (uint64_t number = 0; number < captures; ++number) {
        // Around the limit and far from it, in turn: once a stack was too deep its depth is remembered.
        const unsigned levels = number % 2 == 0 ? memo_limit - 30 + unsigned(walk.random(60)) : unsigned(walk.random(20'000));
        dig(levels, check_deep);
        dig(unsigned(walk.random(2000)), check_deep);
    }
}
