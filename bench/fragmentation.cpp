// Fragments the heap: eight threads at a time make blocks of many sizes and free them, and a few of each thread's stay between
// the holes, up to a bound. With an argument the allocator is asked at the end to give free memory back. Says what was resident
// and what is live, in one line, read by `cargo xtask bench`:
//
//   fragmentation peak_bytes=… end_bytes=… live_bytes=…
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

static const int ROUNDS = 30, THREADS = 8, BLOCKS = 1500, EVERY = 60;
static const size_t MOST_KEPT = 4000;

static std::mutex lock;
static std::vector<char *> kept;
static size_t live = 0;

static size_t resident() {
    size_t all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu %zu", &all, &pages) != 2) abort();
    fclose(file);
    return pages * 4096;
}

// Whether the block stays.
static bool keep(char *block, size_t size) {
    std::lock_guard<std::mutex> guard(lock);
    if (kept.size() == MOST_KEPT) return false;
    kept.push_back(block);
    live += size;
    return true;
}

static void work(unsigned seed) {
    std::minstd_rand dice(seed);
    std::vector<char *> own;
    for (int index = 0; index < BLOCKS; ++index) {
        size_t size = 600 + dice() % 59400;
        char *block = static_cast<char *>(malloc(size));
        memset(block, 1, size);
        if (index % EVERY != 0 || !keep(block, size)) own.push_back(block);
    }
    for (char *block : own) free(block);
}

int main(int count, char **) {
    size_t peak = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        std::vector<std::thread> threads;
        for (int index = 0; index < THREADS; ++index) threads.emplace_back(work, 1 + round * THREADS + index);
        for (std::thread &thread : threads) thread.join();
        peak = std::max(peak, resident());
    }
    if (count > 1) malloc_trim(0);
    printf("fragmentation peak_bytes=%zu end_bytes=%zu live_bytes=%zu\n", peak, resident(), live);
}
