/* Allocates and frees until it is killed. What each of its four threads holds stands at every moment in a shared file (its
 * argument), so that the truth outlives the program:
 *
 *     pid u64 │ lane 0 │ … │ lane 3
 *     lane:  current u64 │ line u64 │ slot 0 │ slot 1
 *     slot:  bytes, blocks  held before the event │ bytes, blocks  once the old block is gone │ bytes, blocks  after it
 *
 * A thread fills the slot that is not current, then makes it current with one store: whenever the kill comes, the current
 * slot is whole. Between events all three pairs are equal. One `.` on stdout for every 64 events of the first thread. */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { LANES = 4, SHELF = 256 };

struct held {
    int64_t bytes, blocks;
};

struct lane {
    uint64_t current, line;
    struct {
        struct held before, between, after;
    } slots[2];
};

static struct published {
    uint64_t pid;
    struct lane lanes[LANES];
} *published;

static pthread_barrier_t start;

typedef void *resize(void *old, size_t bytes);

#define LANE(name)                                               \
    FRAME static void *name(void *old, size_t bytes) {           \
        void *at = old ? realloc(old, bytes) : malloc(bytes);    \
        ESCAPE(at);                                              \
        return at;                                               \
    }
LANE(lane_0) enum { LINE_0 = __LINE__ };
LANE(lane_1) enum { LINE_1 = __LINE__ };
LANE(lane_2) enum { LINE_2 = __LINE__ };
LANE(lane_3) enum { LINE_3 = __LINE__ };

static resize *const resizers[LANES] = {lane_0, lane_1, lane_2, lane_3};
static const int lines[LANES] = {LINE_0, LINE_1, LINE_2, LINE_3};

static void publish(struct lane *lane, struct held before, struct held between, struct held after) {
    uint64_t next = 1 - lane->current;
    lane->slots[next].before = before;
    lane->slots[next].between = between;
    lane->slots[next].after = after;
    __atomic_store_n(&lane->current, next, __ATOMIC_RELEASE);
}

static struct held without(struct held held, const struct block *block) {
    if (block->at == NULL) return held;
    return (struct held){held.bytes - block->bytes, held.blocks - 1};
}

static void one_event(int self, struct held *held, struct block *block, unsigned random) {
    struct lane *lane = &published->lanes[self];
    struct held between = without(*held, block), after = between;
    long bytes = block->at != NULL && random % 3 == 0 ? 0 : 1 + random / 3 % 2000;
    if (bytes) after = (struct held){between.bytes + bytes, between.blocks + 1};
    publish(lane, *held, between, after);
    if (bytes) {
        block->at = resizers[self](block->at, (size_t)bytes);
    } else {
        free(block->at);
        block->at = NULL;
    }
    block->bytes = bytes;
    publish(lane, after, after, after);
    *held = after;
}

static void *work(void *argument) {
    int self = (int)(long)argument;
    struct block shelf[SHELF] = {{NULL, 0, 0}};
    struct held held = {0, 0};
    unsigned random = 77u + (unsigned)self;
    published->lanes[self].line = (uint64_t)lines[self];
    pthread_barrier_wait(&start);
    for (unsigned event = 1;; event++) {
        random = random * 1664525u + 1013904223u;
        one_event(self, &held, &shelf[(random >> 8) % SHELF], random >> 16);
        if (self == 0 && event % 64 == 0) truth_say(".", 1);
    }
}

int main(int argc, char **argv) {
    NEED(argc == 2);
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    NEED(file >= 0 && ftruncate(file, sizeof *published) == 0);
    published = mmap(NULL, sizeof *published, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    NEED(published != MAP_FAILED);
    published->pid = (uint64_t)getpid();
    pthread_barrier_init(&start, NULL, LANES);
    pthread_t thread;
    for (long i = 1; i < LANES; i++) NEED(pthread_create(&thread, NULL, work, (void *)i) == 0);
    work((void *)0);
    return 0;
}
