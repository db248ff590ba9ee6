// malloc/free pairs at a given stack depth, from changing call paths. Arguments: depth, pairs. Prints nanoseconds per pair.
//
// The stack is two kinds of frame, `left` and `right`, chosen by the bits of a counter. Every 64 pairs the whole stack is
// taken down and built up again along another path; in between the innermost four frames change with every pair.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

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

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int depth = atoi(argv[1]);
    const long pairs = atol(argv[2]);
    // main, bottom and pair are frames too.
    const int outer = depth - CHANGING - 3;
    const auto start = std::chrono::steady_clock::now();
    for (long done = 0; done < pairs; done += PAIRS_PER_DESCENT) {
        const uint32_t seed = static_cast<uint32_t>(done / PAIRS_PER_DESCENT) % 8 * 2654435761u | 1;
        descend(outer, seed, seed);
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    std::printf("%.2f\n", taken.count() / static_cast<double>(pairs));
    return 0;
}
