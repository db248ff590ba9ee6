// Every function that allocates, once or a few times each, one row per line.
#include "truth.h"

#include <malloc.h>
#include <cstdint>
#include <new>

static void *posix_block(size_t alignment, size_t bytes) {
    void *at = nullptr;
    NEED(posix_memalign(&at, alignment, bytes) == 0);
    return at;
}

FRAME static void plain() {
    for (int i = 1; i <= 100; i++) TAKE(malloc(i), i);
    for (int i = 1; i <= 100; i++) give(TAKE(malloc(i), i));
    for (int i = 1; i <= 50; i++) TAKE(calloc(i, 24), i * 24);
    struct block kept[60];
    for (int i = 0; i < 60; i++) kept[i] = TAKE(malloc(1000 + i), 1000 + i);
    for (int i = 0; i < 60; i += 2) give(kept[i]);
    TAKE(malloc(0), 0);
    TAKE(calloc(0, 8), 0);
    free(nullptr);
    TAKE(strdup("nineteen characters"), 20);
    TAKE(strndup("nineteen characters", 8), 9);
}

// A block that moves from row to row: every realloc is a new block at its own line.
FRAME static struct block resized(struct block old, void *at, int line, long bytes) {
    truth_forget_block(old);
    return truth_took(at, line, bytes);
}

FRAME static void chains() {
    struct block block = TAKE(malloc(10), 10);
    for (long size = 20; size <= 200000; size += size / 2) block = resized(block, realloc(block.at, size), __LINE__, size);
    for (long size = 150000; size >= 30; size /= 2) block = resized(block, realloc(block.at, size), __LINE__, size);
    block = resized(block, reallocarray(block.at, 7, 11), __LINE__, 77);
    struct block fresh = TAKE(realloc(nullptr, 321), 321);
    ESCAPE(fresh.at);
    struct block gone = TAKE(malloc(64), 64);
    resized(gone, realloc(gone.at, 0), __LINE__, 0);
    struct block stays = TAKE(malloc(65), 65);
    size_t absurd = SIZE_MAX / 4;
    ESCAPE(absurd);
    NEED(realloc(stays.at, absurd) == nullptr);
    NEED(reallocarray(stays.at, absurd, 64) == nullptr);
    NEED(malloc(absurd) == nullptr);
    NEED(calloc(absurd, absurd) == nullptr);
}

FRAME static void aligned() {
    for (size_t alignment = 8; alignment <= 65536; alignment *= 2) {
        TAKE(posix_block(alignment, 3 * alignment), 3 * alignment);
        TAKE(aligned_alloc(alignment, 2 * alignment), 2 * alignment);
        give(TAKE(memalign(alignment, alignment + 8), alignment + 8));
    }
    TAKE(memalign(64, 100), 100);
    TAKE(valloc(4096), 4096);
    TAKE(pvalloc(8192), 8192);
    void *at = nullptr;
    NEED(posix_memalign(&at, 3, 10) != 0);
}

struct alignas(64) Wide {
    char bytes[192];
};

struct Small {
    char bytes[40];
};

FRAME static void operators() {
    TAKE(operator new(33), 33);
    TAKE(operator new[](34), 34);
    TAKE(operator new(35, std::nothrow), 35);
    TAKE(operator new[](36, std::nothrow), 36);
    TAKE(operator new(128, std::align_val_t(128)), 128);
    TAKE(operator new[](256, std::align_val_t(128)), 256);
    TAKE(operator new(384, std::align_val_t(128), std::nothrow), 384);
    TAKE(operator new[](512, std::align_val_t(128), std::nothrow), 512);
    TAKE(operator new(0), 0);
    TAKE(new Small, sizeof(Small));
    TAKE(new Wide[3], sizeof(Wide) * 3);
}

FRAME static void deletes() {
    struct block block = TAKE(operator new(50), 50);
    truth_forget_block(block), operator delete(block.at);
    block = TAKE(operator new(51), 51);
    truth_forget_block(block), operator delete(block.at, size_t(51));
    block = TAKE(operator new[](52), 52);
    truth_forget_block(block), operator delete[](block.at);
    block = TAKE(operator new[](53), 53);
    truth_forget_block(block), operator delete[](block.at, size_t(53));
    block = TAKE(operator new(54, std::nothrow), 54);
    truth_forget_block(block), operator delete(block.at, std::nothrow);
    block = TAKE(operator new(64, std::align_val_t(64)), 64);
    truth_forget_block(block), operator delete(block.at, std::align_val_t(64));
    block = TAKE(operator new(192, std::align_val_t(64)), 192);
    truth_forget_block(block), operator delete(block.at, size_t(192), std::align_val_t(64));
    block = TAKE(operator new[](256, std::align_val_t(64)), 256);
    truth_forget_block(block), operator delete[](block.at, size_t(256), std::align_val_t(64));
    block = TAKE(new Wide[5], sizeof(Wide) * 5);
    truth_forget_block(block), delete[] static_cast<Wide *>(block.at);
}

// More than a 32-bit size. Nothing is touched, so it costs address space only.
FRAME static void huge() {
    const long bytes = (5L << 30) + 12345;
    struct block kept = TAKE(malloc(bytes), bytes);
    ESCAPE(kept.at);
    give(TAKE(malloc(bytes + 1), bytes + 1));
    struct block grown = TAKE(malloc(100), 100);
    grown = resized(grown, realloc(grown.at, 3 * bytes / 4), __LINE__, 3 * bytes / 4);
    grown = resized(grown, realloc(grown.at, 200), __LINE__, 200);
}

int main() {
    plain();
    chains();
    aligned();
    operators();
    deletes();
    huge();
    truth_print();
    return 0;
}
