// Ordinary calls: one thread and four, with exceptions and jumps.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <thread>
#include <vector>

namespace {

constexpr unsigned deepest = 25;

}  // namespace

void tree(uint64_t seed, uint64_t captures) {
    Walk walk{seed, 0};
    wander(walk, captures, deepest);
}

// Frames of the same functions at the same places again and again, called by others than before.
void gaps(uint64_t seed, uint64_t captures) {
    Walk walk{seed, 0};
    walk.stays_loose = true;
    wander(walk, captures, 5);
}

void exceptions(uint64_t seed, uint64_t captures) {
    Walk walk{seed, 0};
    walk.throws_once_in = 60;
    wander(walk, captures, deepest);
}

void jumps(uint64_t seed, uint64_t captures) {
    Walk walk{seed, 0};
    walk.jumps_once_in = 60;
    wander(walk, captures, deepest);
}

void threads(uint64_t seed, uint64_t captures) {
    constexpr uint64_t count = 4;
    std::vector<std::thread> threads;
    for (uint64_t number = 0; number < count; ++number) {
        threads.emplace_back([=] {
            Walk walk{seed + number, 0};
            walk.throws_once_in = number % 2 == 0 ? 80 : 0;
            walk.jumps_once_in = number % 2 == 0 ? 0 : 80;
            wander(walk, captures / count, deepest);
        });
    }
    for (auto& thread : threads) thread.join();
    count_event("threads", count);
}
