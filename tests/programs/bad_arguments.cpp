// Gives functions of the C library what they must not be given. Each bad call says what it is, as in bad_frees.cpp:
//     error KIND COUNT BYTES LINE ALLOCATED FREED WORDS
// With the word `healthy` it makes the same calls as they should be.

#include <malloc.h>
#include <pthread.h>

#include "truth.h"

#define DO(call)                             \
    do {                                     \
        call;                                \
        __asm__ volatile("" : : : "memory"); \
    } while (0)
#define BAD(kind, words, call)                                                  \
    do {                                                                        \
        dprintf(1, "error %s 1 0 %d 0 0 %s\n", kind, __LINE__, words);          \
        DO(call);                                                               \
    } while (0)

template <typename T> static T kept(T value) {
    ESCAPE(value);
    return value;
}

static char room[4096];

static char *filled(const char *text) {
    memset(room, 0, sizeof room);
    strcpy(room, text);
    return kept(&room[0]);
}

FRAME static void copies() {
    char *at = filled("abcdefghijklmnopqrstuvwxyz");
    BAD("Overlap", "memcpy between overlapping blocks", memcpy(at, at + 4, kept((size_t)20)));
    BAD("Overlap", "memcpy between overlapping blocks", memcpy(at + 4, at, kept((size_t)5)));
    BAD("Overlap", "mempcpy between overlapping blocks", kept(mempcpy(at, at + 1, kept((size_t)2))));
    at = filled("abcdefghijklmnopqrstuvwxyz");
    BAD("Overlap", "strcpy between overlapping blocks", strcpy(at, at + 3));
    at = filled("abcdefghijklmnopqrstuvwxyz");
    BAD("Overlap", "strncpy between overlapping blocks", strncpy(at + 10, at, kept((size_t)12)));
    at = filled("abcdefgh");
    BAD("Overlap", "stpcpy between overlapping blocks", kept(stpcpy(at, at + 2)));
    at = filled("abcd");
    memcpy(at + 6, "xyz", 4);
    BAD("Overlap", "strcat between overlapping blocks", strcat(at, at + 6));
    at = filled("abcd");
    BAD("Overlap", "strncat between overlapping blocks", strncat(at, at + 2, kept((size_t)3)));
}

FRAME static void sizes() {
    BAD("FishyValue", "malloc of a size that was probably negative", kept(malloc(kept((size_t)-3))));
    BAD("FishyValue", "calloc of a size that was probably negative", kept(calloc(kept((size_t)-7), 8)));
    char *block = kept((char *)malloc(10));
    BAD("FishyValue", "realloc of a size that was probably negative", kept(realloc(block, kept((size_t)-5))));
    BAD("FishyValue", "memalign of a size that was probably negative", kept(memalign(64, kept((size_t)-64))));
    BAD("ReallocSizeZero", "realloc to size 0", kept(realloc(block, kept((size_t)0))));
}

// What touches, and what only looks so.
FRAME static void healthy() {
    char *at = filled("abcdefghijklmnopqrstuvwxyz");
    DO(memcpy(at, at + 20, kept((size_t)20)));
    DO(memcpy(at + 20, at, kept((size_t)20)));
    DO(memcpy(at, at, kept((size_t)20)));
    DO(memcpy(at, at + 1, kept((size_t)1)));
    DO(memcpy(at, at + 4, kept((size_t)0)));
    DO(memmove(at, at + 4, kept((size_t)20)));
    DO(kept(mempcpy(at + 100, at, kept((size_t)100))));
    at = filled("abcdefgh");
    DO(strcpy(at + 9, at));
    DO(kept(stpcpy(at + 100, at)));
    DO(strncpy(at + 20, at, kept((size_t)20)));
    at = filled("abcd");
    memcpy(at + 9, "xyz", 4);
    DO(strcat(at, at + 9));
    at = filled("abcd");
    DO(strncat(at, at + 200, kept((size_t)30)));
    void *block = kept(malloc(0));
    block = kept(realloc(block, 100));
    DO(free(block));
    DO(kept(malloc(kept((size_t)1 << 62))));
    DO(free(kept(calloc(0, 0))));
}

static void *all(void *is_healthy) {
    if (is_healthy != nullptr) {
        healthy();
    } else {
        copies();
        sizes();
    }
    return nullptr;
}

int main(int count, char **words) {
    void *is_healthy = count > 1 && strcmp(words[1], "healthy") == 0 ? words : nullptr;
    if (count > 2) {
        pthread_t thread;
        pthread_create(&thread, nullptr, all, is_healthy);
        pthread_join(thread, nullptr);
    } else {
        all(is_healthy);
    }
    return 0;
}
