// malloc/free pairs at a given stack depth, from changing call paths. Arguments: depth, threads (0: the main thread alone,
// before there is another), pairs of each thread. The cost is that of one pair, in CPU time of the thread that makes it, as
// the mean of all threads.
//
// The stack is two kinds of frame, `left` and `right`, chosen by the bits of a counter. Every 64 pairs the whole stack is
// taken down and built up again along another path; in between the innermost four frames change with every pair.
#include "measure.h"

#include <pthread.h>

#include <thread>
#include <vector>

#define FRAME __attribute__((noipa))

static const int PAIRS_PER_DESCENT = 64, CHANGING = 4;

FRAME static void pair(uint32_t path) {
    void *block = malloc(16 + path % 256);
    __asm__ volatile("" : "+r"(block) : : "memory");
    free(block);
    __asm__ volatile("" : : : "memory");
}

static void descend(int frames, uint32_t path, uint32_t seed);

FRAME static void left(int frames, uint32_t path, uint32_t seed) {
    descend(frames - 1, path >> 1, seed);
    __asm__ volatile("" : : : "memory");
}

FRAME static void right(int frames, uint32_t path, uint32_t seed) {
    descend(frames - 1, path >> 1, seed);
    __asm__ volatile("" : : : "memory");
}

FRAME static void bottom(uint32_t seed) {
    for (int i = 0; i < PAIRS_PER_DESCENT; i++) descend(CHANGING, seed + i * 7, 0);
}

// `seed` is 0 in the innermost frames and odd in the others.
static void descend(int frames, uint32_t path, uint32_t seed) {
    if (frames == 0 && seed != 0) return bottom(seed);
    if (frames == 0) return pair(path);
    if (path & 1)
        left(frames, path, seed);
    else
        right(frames, path, seed);
}

// CPU nanoseconds per pair of this thread.
FRAME static double work(int depth, long pairs) {
    // work, bottom and pair are frames too.
    const int outer = depth - CHANGING - 3;
    const int64_t start = thread_cpu();
    for (long done = 0; done < pairs; done += PAIRS_PER_DESCENT) {
        const uint32_t seed = static_cast<uint32_t>(done / PAIRS_PER_DESCENT) % 8 * 2654435761u | 1;
        descend(outer, seed, seed);
    }
    return static_cast<double>(thread_cpu() - start) / static_cast<double>(pairs);
}

// All threads begin together: otherwise the first would be done before the last is made.
static double work_together(int depth, int threads, long pairs) {
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, nullptr, threads);
    std::vector<double> costs(threads);
    std::vector<std::thread> workers;
    for (double &cost : costs)
        workers.emplace_back([&begin, &cost, depth, pairs] {
            pthread_barrier_wait(&begin);
            cost = work(depth, pairs);
        });
    for (std::thread &worker : workers) worker.join();
    pthread_barrier_destroy(&begin);
    double sum = 0;
    for (double cost : costs) sum += cost;
    return sum / threads;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const int depth = atoi(argv[1]), threads = atoi(argv[2]);
    const long pairs = atol(argv[3]);
    if (depth < CHANGING + 3 || threads < 0 || pairs < 1) return 2;
    tell_measured(threads == 0 ? work(depth, pairs) : work_together(depth, threads, pairs));
    return 0;
}
