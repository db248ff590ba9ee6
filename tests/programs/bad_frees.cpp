// Frees what it must not free. The case is the first word; a second word `thread` has it done in a thread, `handler` in a signal handler,
// `child` in a forked child. Before each bad call it says what it is, since the allocator may abort:
//     error KIND COUNT BYTES LINE ALLOCATED FREED WORDS
// BYTES, ALLOCATED (a line) and FREED (the line of the first free) are 0 where there is no block, or none that was freed.

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <new>

#include "truth.h"

// What comes after the call keeps it from becoming a jump, and the line of the call its own.
#define DO(call)                         \
    do {                                 \
        call;                            \
        __asm__ volatile("" : : : "memory"); \
    } while (0)
#define BAD_TIMES(times, kind, words, bytes, allocated, freed, call)                                         \
    do {                                                                                                     \
        if (!is_told) dprintf(1, "error %s %d %d %d %d %d %s\n", kind, times, bytes, __LINE__, allocated, freed, words); \
        is_told = true;                                                                                      \
        DO(call);                                                                                            \
    } while (0)
#define BAD(kind, words, bytes, allocated, freed, call)                     \
    do {                                                                    \
        bool is_told = false;                                               \
        BAD_TIMES(1, kind, words, bytes, allocated, freed, call);           \
    } while (0)

static const char *const INVALID = "InvalidFree", *const MISMATCHED = "MismatchedFree";
static char in_data[64] = {1};

template <typename T> static T *kept(T *pointer) {
    ESCAPE(pointer);
    return pointer;
}

FRAME static void double_free() {
    void *block = kept(malloc(40));
    int allocated = __LINE__ - 1;
    DO(free(block));
    BAD(INVALID, "double free", 40, allocated, __LINE__ - 1, free(kept(block)));
}

FRAME static void double_delete() {
    int *block = kept(new int(7));
    int allocated = __LINE__ - 1;
    DO(delete block);
    BAD(INVALID, "double free", 4, allocated, __LINE__ - 1, delete kept(block));
}

FRAME static void double_delete_array() {
    char *block = kept(new char[100]);
    int allocated = __LINE__ - 1;
    DO(delete[] block);
    BAD(INVALID, "double free", 100, allocated, __LINE__ - 1, delete[] kept(block));
}

// The address is another block's in between: to the allocator the second free is the first of that block.
FRAME static void double_after_reuse() {
    void *first = kept(malloc(72));
    DO(free(first));
    void *second = kept(malloc(72));
    int allocated = __LINE__ - 1;
    if (second != first) exit(9);
    DO(free(first));
    BAD(INVALID, "double free", 72, allocated, __LINE__ - 1, free(kept(second)));
}

// The allocator has given the memory back to the kernel.
FRAME static void double_large() {
    void *block = kept(malloc(1 << 20));
    int allocated = __LINE__ - 1;
    DO(free(block));
    BAD(INVALID, "double free", 1 << 20, allocated, __LINE__ - 1, free(kept(block)));
}

FRAME static void realloc_of_freed() {
    void *block = kept(malloc(40));
    int allocated = __LINE__ - 1;
    DO(free(block));
    BAD(INVALID, "realloc of a freed block", 40, allocated, __LINE__ - 1, block = realloc(kept(block), 4000));
    kept(block);
}

FRAME static void free_after_realloc() {
    void *block = kept(malloc(40));
    int allocated = __LINE__ - 1;
    void *barrier = kept(malloc(24)), *moved;
    DO(moved = kept(realloc(block, 5000)));
    if (moved == block || barrier == nullptr) exit(9);
    BAD(INVALID, "double free", 40, allocated, __LINE__ - 2, free(kept(block)));
}

FRAME static void inside() {
    char *block = kept((char *)malloc(300));
    int allocated = __LINE__ - 1;
    BAD(INVALID, "free of a pointer into the middle of a block", 300, allocated, 0, free(kept(block) + 16));
}

// The first word of a block is its own, and so is the word behind one of a byte.
FRAME static void in_first_word() {
    char *block = kept((char *)malloc(300));
    int allocated = __LINE__ - 1;
    BAD(INVALID, "free of a pointer into the middle of a block", 300, allocated, 0, free(kept(block) + 1));
}

FRAME static void behind_a_byte() {
    char *block = kept((char *)malloc(1));
    BAD(INVALID, "free of an address that was never allocated", 0, 0, 0, free(kept(block) + 1));
}

FRAME static void in_freed_word() {
    char *block = kept((char *)malloc(300));
    DO(free(block));
    BAD(INVALID, "free of an address that was never allocated", 0, 0, 0, free(kept(block) + 4));
}

FRAME static void delete_inside() {
    char *block = kept(new char[300]);
    int allocated = __LINE__ - 1;
    BAD(INVALID, "operator delete[] of a pointer into the middle of a block", 300, allocated, 0, delete[](kept(block) + 8));
}

// Blocks that were freed lie in the middle of a live one.
FRAME static void covered() {
    char *small[4];
    for (char *&one : small) one = kept((char *)malloc(2000));
    char *barrier = kept((char *)malloc(2000));
    for (char *one : small) DO(free(one));
    char *large = kept((char *)malloc(7000));
    int allocated = __LINE__ - 1;
    if (!(large < small[1] && small[1] < large + 7000) || barrier == nullptr) exit(9);
    BAD(INVALID, "free of a pointer into the middle of a block", 7000, allocated, 0, free(kept(small[1])));
}

FRAME static void stack() {
    alignas(16) char local[64] = {1};
    char *pointer = kept(&local[16]);
    BAD(INVALID, "free of memory on the stack", 0, 0, 0, free(pointer));
}

FRAME static void delete_of_stack() {
    alignas(16) char local[64] = {1};
    int *pointer = kept((int *)&local[16]);
    BAD(INVALID, "operator delete of memory on the stack", 0, 0, 0, delete pointer);
}

FRAME static void data() { BAD(INVALID, "free of static data", 0, 0, 0, free(kept(&in_data[16]))); }

FRAME static void text() { BAD(INVALID, "free of static data", 0, 0, 0, free(kept((void *)"a constant in the text"))); }

FRAME static void nowhere() {
    BAD(INVALID, "free of an address that was never allocated", 0, 0, 0, free(kept((void *)0x4141414141414140)));
}

FRAME static void small_number() {
    BAD(INVALID, "free of an address that was never allocated", 0, 0, 0, free(kept((void *)64)));
}

FRAME static void unmapped() {
    void *page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    BAD(INVALID, "free of an address that was never allocated", 0, 0, 0, free(kept((char *)page + 64)));
}

// Each is harmless to glibc, and wrong.
FRAME static void mismatches() {
    int *one = kept(new int(7));
    BAD(MISMATCHED, "free of a block from operator new", 4, __LINE__ - 1, 0, free(one));
    char *many = kept(new char[50]);
    BAD(MISMATCHED, "free of a block from operator new[]", 50, __LINE__ - 1, 0, free(many));
    one = kept((int *)malloc(60));
    BAD(MISMATCHED, "operator delete of a block from malloc", 60, __LINE__ - 1, 0, delete one);
    many = kept((char *)calloc(7, 10));
    BAD(MISMATCHED, "operator delete[] of a block from malloc", 70, __LINE__ - 1, 0, delete[] many);
    many = kept(new char[80]);
    BAD(MISMATCHED, "operator delete of a block from operator new[]", 80, __LINE__ - 1, 0, delete many);
    many = kept(new char);
    BAD(MISMATCHED, "operator delete[] of a block from operator new", 1, __LINE__ - 1, 0, delete[] many);
    many = kept(new char[90]);
    BAD(MISMATCHED, "realloc of a block from operator new[]", 90, __LINE__ - 1, 0, many = kept((char *)realloc(many, 95)));
    DO(free(many));
}

FRAME static void many_times() {
    bool is_told = false;
    for (int time = 0; time < 5; time++) {
        int *one = kept(new int(time));
        BAD_TIMES(5, MISMATCHED, "free of a block from operator new", 4, __LINE__ - 1, 0, free(one));
    }
}

static void *freed_by_another(void *block) {
    DO(free(block));
    return nullptr;
}

// All of it is right, though some of it looks like something wrong.
FRAME static void healthy() {
    DO(free(nullptr));
    delete (int *)nullptr;
    struct alignas(64) Wide {
        char bytes[128];
    };
    for (int size = 1; size < 5000; size = size * 5 / 4 + 1) {
        void *again = kept(malloc(size));
        DO(free(again));
        again = kept(calloc(1, size));
        again = kept(realloc(again, size * 3));
        again = kept(realloc(again, size));
        DO(free(again));
        again = kept(realloc(nullptr, size));
        DO(free(again));
        void *aligned = nullptr;
        if (posix_memalign(&aligned, 64, size) == 0) DO(free(kept(aligned)));
        DO(free(kept(aligned_alloc(64, 128))));
        DO(free(kept(memalign(32, size))));
        DO(free(kept(strdup("text"))));
        delete kept(new int(size));
        delete[] kept(new char[size]);
        delete kept(new Wide);
        delete[] kept(new Wide[3]);
        delete kept(new (std::nothrow) int(size));
        operator delete(kept(operator new(size)), (size_t)size);
        char *text = nullptr;
        if (asprintf(&text, "%d", size) > 0) DO(free(kept(text)));
        pthread_t thread;
        if (pthread_create(&thread, nullptr, freed_by_another, kept(malloc(size))) == 0) pthread_join(thread, nullptr);
    }
}

static const struct {
    const char *name;
    void (*function)();
} CASES[] = {
    {"double_free", double_free},
    {"double_delete", double_delete},
    {"double_delete_array", double_delete_array},
    {"double_after_reuse", double_after_reuse},
    {"double_large", double_large},
    {"realloc_of_freed", realloc_of_freed},
    {"free_after_realloc", free_after_realloc},
    {"inside", inside},
    {"in_first_word", in_first_word},
    {"behind_a_byte", behind_a_byte},
    {"in_freed_word", in_freed_word},
    {"delete_inside", delete_inside},
    {"covered", covered},
    {"stack", stack},
    {"delete_of_stack", delete_of_stack},
    {"data", data},
    {"text", text},
    {"nowhere", nowhere},
    {"small_number", small_number},
    {"unmapped", unmapped},
    {"mismatches", mismatches},
    {"many_times", many_times},
    {"healthy", healthy},
};

static void (*chosen)();

static void *in_thread(void *) {
    chosen();
    return nullptr;
}

static void in_handler(int) { chosen(); }

static int in_child() {
    pid_t child = fork();
    if (child == 0) {
        chosen();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int count, char **words) {
    for (const auto &one : CASES) {
        if (count > 1 && strcmp(one.name, words[1]) == 0) chosen = one.function;
        if (count == 1) puts(one.name);
    }
    if (chosen == nullptr) return count == 1 ? 0 : 9;
    const char *where = count > 2 ? words[2] : "";
    pthread_t thread;
    if (strcmp(where, "thread") == 0) {
        pthread_create(&thread, nullptr, in_thread, nullptr);
        pthread_join(thread, nullptr);
    } else if (strcmp(where, "handler") == 0) {
        signal(SIGUSR1, in_handler);
        raise(SIGUSR1);
    } else if (strcmp(where, "child") == 0) {
        return in_child();
    } else {
        chosen();
    }
    return 0;
}
