// Touches memory that is not its own. The first word is the case, the second what looks on: `canary` (bytes behind blocks, and freed blocks), or
// `guard` (pages that nobody may touch); a third word `thread` has it done in a thread, `child` in a forked child. What is to be found is said
// before it is done:
//     error KIND COUNT BYTES LINE ALLOCATED FREED WORDS
// LINE is that of the access where that is seen, else that of the free by which it was found, or 0.

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include <new>

#include "truth.h"

static bool is_guarded;

// What comes after the call keeps it from becoming a jump, and the line of the call its own.
#define DO(call)                             \
    do {                                     \
        call;                                \
        __asm__ volatile("" : : : "memory"); \
    } while (0)

template <typename T> static T *kept(T *pointer) {
    ESCAPE(pointer);
    return pointer;
}

static void say(const char *kind, int bytes, int line, int allocated, int freed, const char *words) {
    dprintf(1, "error %s 1 %d %d %d %d %s\n", kind, bytes, line, allocated, freed, words);
}

static const char *const WRITE = "InvalidWrite", *const READ = "InvalidRead";
static const char *const PAST = "write past the end of a block", *const BEFORE = "write before the start of a block";
static const char *const FREED = "write to a freed block", *const CAUGHT = "invalid write", *const SEEN = "invalid read";

// A write past the end of a block of `bytes`: seen on a guard page, else found by the free at `freeing`.
static void say_overrun(int bytes, int access, int allocated, int freeing) {
    if (is_guarded) say(WRITE, bytes, access, allocated, 0, CAUGHT);
    else say(WRITE, bytes, freeing, allocated, 0, PAST);
}

static void say_late(int bytes, int access, int allocated, int freeing) {
    if (is_guarded) say(WRITE, bytes, access, allocated, freeing, CAUGHT);
    else say(WRITE, bytes, 0, allocated, freeing, FREED);
}

#define PUT(at, value) (*(volatile char *)(at) = (value))

FRAME static void overrun() {
    char *block = kept((char *)malloc(256));
    int allocated = __LINE__ - 1;
    say_overrun(256, __LINE__ + 1, allocated, __LINE__ + 2);
    block[256] = 0;
    DO(free(kept(block)));
}

FRAME static void overrun_of_calloc() {
    char *block = kept((char *)calloc(4, 20));
    int allocated = __LINE__ - 1;
    say_overrun(80, __LINE__ + 1, allocated, __LINE__ + 2);
    block[80] = 'x';
    DO(free(kept(block)));
}

FRAME static void overrun_of_new() {
    int *block = kept(new int[4]);
    int allocated = __LINE__ - 1;
    say_overrun(16, __LINE__ + 1, allocated, __LINE__ + 2);
    block[4] = 7;
    DO(delete[] kept(block));
}

struct alignas(64) Tile {
    char bytes[64];
};

// Such blocks have no guard page; in bytes that the operator rounds up they have a canary.
FRAME static void overrun_of_aligned_new() {
    char *block = kept((char *)::operator new(100, std::align_val_t(64)));
    int allocated = __LINE__ - 1;
    say(WRITE, 100, __LINE__ + 2, allocated, 0, PAST);
    block[100] = 7;
    DO(::operator delete(kept(block), std::align_val_t(64)));
}

FRAME static void overrun_of_aligned_array() {
    Tile *tiles = kept(new Tile[2]);
    int allocated = __LINE__ - 1;
    say(WRITE, 128, __LINE__ + 2, allocated, 0, PAST);
    tiles[2].bytes[1] = 7;
    DO(delete[] kept(tiles));
}

FRAME static void overrun_of_memalign() {
    void *block = nullptr;
    if (posix_memalign(&block, 64, 128)) abort();
    int allocated = __LINE__ - 1;
    char *bytes = kept((char *)block);
    say_overrun(128, __LINE__ + 1, allocated, __LINE__ + 2);
    bytes[130] = 1;
    DO(free(kept(bytes)));
}

// The bytes between the end of the block and the page are watched as well.
FRAME static void overrun_by_one() {
    char *block = kept((char *)malloc(13));
    int allocated = __LINE__ - 1;
    say(WRITE, 13, __LINE__ + 2, allocated, 0, PAST);
    block[13] = 0;
    DO(free(kept(block)));
}

FRAME static void overrun_found_by_realloc() {
    char *block = kept((char *)malloc(48));
    int allocated = __LINE__ - 1;
    say_overrun(48, __LINE__ + 1, allocated, __LINE__ + 2);
    block[48] = 3;
    block = kept((char *)realloc(block, 300));
    DO(free(block));
}

FRAME static void overrun_found_at_the_end() {
    static char *block;
    block = kept((char *)malloc(21));
    int allocated = __LINE__ - 1;
    say(WRITE, 21, 0, allocated, 0, PAST);
    block[21] = 0;
}

FRAME static void write_after_free() {
    char *block = kept((char *)malloc(64));
    int allocated = __LINE__ - 1;
    DO(free(block));
    say_late(64, __LINE__ + 1, allocated, __LINE__ - 1);
    DO(PUT(kept(block) + 8, 1));
}

FRAME static void write_after_delete() {
    long *block = kept(new long(5));
    int allocated = __LINE__ - 1;
    DO(delete block);
    say_late(8, __LINE__ + 1, allocated, __LINE__ - 1);
    DO(PUT((char *)kept(block), 1));
}

FRAME static void write_after_realloc() {
    char *block = kept((char *)malloc(100));
    int allocated = __LINE__ - 1;
    char *moved = kept((char *)realloc(block, 5000));
    say_late(100, __LINE__ + 1, allocated, __LINE__ - 1);
    DO(PUT(kept(block) + 40, 1));
    DO(free(moved));
}

FRAME static void read_too_far() {
    char *block = kept((char *)malloc(32));
    int allocated = __LINE__ - 1;
    if (is_guarded) say(READ, 32, __LINE__ + 1, allocated, 0, SEEN);
    volatile char there = block[32];
    (void)there;
    DO(free(kept(block)));
}

FRAME static void read_after_free() {
    char *block = kept((char *)malloc(48));
    int allocated = __LINE__ - 1;
    DO(free(block));
    if (is_guarded) say(READ, 48, __LINE__ + 1, allocated, __LINE__ - 1, SEEN);
    volatile char there = kept(block)[16];
    (void)there;
}

// The page is made accessible, and the program goes on with it.
FRAME static void twice_at_one_page() {
    char *block = kept((char *)malloc(512));
    int allocated = __LINE__ - 1;
    say_overrun(512, __LINE__ + 1, allocated, __LINE__ + 3);
    block[512] = 1;
    block[513] = 2;
    DO(free(kept(block)));
}

FRAME static void underrun() {
    char *block = kept((char *)malloc(4080));
    int allocated = __LINE__ - 1;
    say(WRITE, 4080, __LINE__ + 2, allocated, 0, BEFORE);
    if (is_guarded) block[-3] = 1;
    DO(free(kept(block)));
}

// What is allowed, up to the last byte.
FRAME static void healthy() {
    for (size_t size = 0; size < 600; size += 7) {
        char *block = kept((char *)malloc(size));
        memset(block, 1, size);
        if (malloc_usable_size(block) < size) abort();
        memset(block, 2, malloc_usable_size(block));
        block = kept((char *)realloc(block, 2 * size + 1));
        if (size && block[size - 1] != 2) abort();
        memset(block, 3, 2 * size + 1);
        block = kept((char *)realloc(block, 300000 + size));
        memset(block, 4, 300000 + size);
        block = kept((char *)realloc(block, 1 + size / 2));
        if (block[size / 2] != 4) abort();
        char *rounded = kept((char *)::operator new(size, std::align_val_t(128)));
        if ((size_t)rounded % 128) abort();
        memset(rounded, 6, size);
        ::operator delete(rounded, std::align_val_t(128));
        char *zeros = kept((char *)calloc(size + 1, 3));
        for (size_t at = 0; at < 3 * (size + 1); at++) if (zeros[at]) abort();
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 256, size)) abort();
        if ((size_t)aligned % 256) abort();
        static const size_t bad[] = {0, 1, 2, 3, 4, 24};
        for (int at = 0; at < 6; at++) {
            void *none;
            if (posix_memalign(&none, bad[at], size) != EINVAL) abort();
        }
        memset(kept((char *)aligned), 5, size);
        char *more = kept((char *)aligned_alloc(32, 64));
        memset(more, 6, 64);
        char *page = kept((char *)valloc(size + 1));
        memset(page, 7, size + 1);
        struct alignas(128) Wide { char bytes[200]; };
        Wide *wide = kept(new Wide);
        memset(wide, 8, sizeof *wide);
        delete wide;
        char *array = kept(new char[size]);
        memset(array, 9, size);
        delete[] array;
        free(page), free(more), free(aligned), free(zeros), free(block);
    }
}

struct test_case {
    const char *name;
    void (*run)();
};
static const test_case CASES[] = {
    {"overrun", overrun},
    {"overrun_of_calloc", overrun_of_calloc},
    {"overrun_of_new", overrun_of_new},
    {"overrun_of_aligned_new", overrun_of_aligned_new},
    {"overrun_of_aligned_array", overrun_of_aligned_array},
    {"overrun_of_memalign", overrun_of_memalign},
    {"overrun_by_one", overrun_by_one},
    {"overrun_found_by_realloc", overrun_found_by_realloc},
    {"overrun_found_at_the_end", overrun_found_at_the_end},
    {"write_after_free", write_after_free},
    {"write_after_delete", write_after_delete},
    {"write_after_realloc", write_after_realloc},
    {"read_too_far", read_too_far},
    {"read_after_free", read_after_free},
    {"twice_at_one_page", twice_at_one_page},
    {"underrun", underrun},
    {"healthy", healthy},
};

static void *run(void *of) {
    ((const test_case *)of)->run();
    return nullptr;
}

int main(int count, char **words) {
    if (count < 2) {
        for (const test_case &one : CASES) puts(one.name);
        return 0;
    }
    is_guarded = count > 2 && !strcmp(words[2], "guard");
    const char *where = count > 3 ? words[3] : "";
    for (const test_case &one : CASES) {
        if (strcmp(one.name, words[1])) continue;
        if (!strcmp(where, "thread")) {
            pthread_t thread;
            pthread_create(&thread, nullptr, run, (void *)&one);
            pthread_join(thread, nullptr);
        } else if (!strcmp(where, "child")) {
            int status = 0;
            if (fork() == 0) {
                one.run();
                exit(5);
            }
            wait(&status);
            return WEXITSTATUS(status);
        } else {
            one.run();
        }
        return 5;
    }
    return 9;
}
