/* Memory of every kind, and what the program itself knows about it, printed as
 *
 *     ledger NAME BYTES
 *
 * just before it ends. The argument says what to do:
 *
 *     blocks      small blocks of many sizes from several threads, every other one freed
 *     raw         64 MiB mapped by a raw system call, written
 *     untouched   64 MiB of malloc that nobody touches
 *     mapped      32 MiB mapped by the function, written, and 48 MiB that stay untouched
 *     shared      16 MiB of shared memory, written
 *     stacks      eight threads that wait with 2 MiB of their stacks in use
 *     zeros       64 MiB of calloc that are only read
 *     killed      ends itself by a signal
 *
 * With a second argument, `stands`, it says `ready` then, waits for a line of its input, and writes 32 MiB more before it ends.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

static const size_t MIB = 1 << 20;

static void say(const char *name, size_t bytes) { printf("ledger %s %zu\n", name, bytes); }

static void *escaped(void *pointer) {
    __asm__ volatile("" : "+r"(pointer) : : "memory");
    return pointer;
}

/* Resident bytes as the kernel counts them. */
static size_t resident() {
    size_t all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%zu %zu", &all, &pages) != 2) abort();
    fclose(file);
    return pages * 4096;
}

struct Part {
    std::vector<char *> kept;
    size_t live = 0, overhead = 0;
};

/* Sizes whose blocks have no room to spare, below the size from which they get a mapping of their own. */
static void *make_blocks(void *argument) {
    Part *part = static_cast<Part *>(argument);
    unsigned seed = 7;
    std::vector<char *> freed;
    part->kept.reserve(6000);
    freed.reserve(6000);
    for (int index = 0; index < 12000; ++index) {
        seed = seed * 1103515245 + 12345;
        size_t size = 1112 + (seed >> 16) % 64 * 16;
        char *block = static_cast<char *>(escaped(malloc(size)));
        memset(block, 1, size);
        if (index % 2) {
            freed.push_back(block);
            continue;
        }
        part->kept.push_back(block);
        part->live += size;
        part->overhead += malloc_usable_size(block) + 8 - size;
    }
    for (char *block : freed) free(block);
    return nullptr;
}

/* What glibc has free, by its own account: the totals are the last ones. */
static size_t free_by_glibc() {
    char *text = nullptr;
    size_t length = 0, free_bytes = 0;
    FILE *stream = open_memstream(&text, &length);
    malloc_info(0, stream);
    fclose(stream);
    for (const char *name : {"<total type=\"fast\"", "<total type=\"rest\""}) {
        const char *last = nullptr;
        for (const char *at = text; (at = strstr(at, name)); ++at) last = at;
        const char *size = last ? strstr(last, "size=\"") : nullptr;
        if (size) free_bytes += strtoull(size + 6, nullptr, 10);
    }
    free(text);
    return free_bytes;
}

static void blocks() {
    const int THREADS = 4;
    static Part parts[THREADS];
    pthread_t threads[THREADS];
    for (int index = 0; index < THREADS; ++index)
        pthread_create(&threads[index], nullptr, make_blocks, &parts[index]);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
    size_t live = 0, overhead = 0;
    for (Part &part : parts) {
        live += part.live + part.kept.capacity() * sizeof(char *);
        overhead += part.overhead;
    }
    say("live", live);
    say("overhead", overhead);
    say("free", free_by_glibc());
}

static void raw() {
    int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    long at = syscall(SYS_mmap, nullptr, 64 * MIB, protection, flags, -1, 0);
    memset(reinterpret_cast<void *>(at), 1, 64 * MIB);
    /* What lies beside it may be one area with it in the kernel's list. */
    for (int index = 0; index < 4; ++index) memset(escaped(malloc(MIB)), 1, MIB);
}

static void untouched() { escaped(malloc(64 * MIB)); }

static void zeros() {
    volatile char *at = static_cast<char *>(escaped(calloc(64, MIB)));
    for (size_t page = 0; page < 64 * MIB; page += 4096) (void)at[page];
}

static void mapped() {
    int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    memset(mmap(nullptr, 32 * MIB, protection, flags, -1, 0), 1, 32 * MIB);
    escaped(mmap(nullptr, 48 * MIB, protection, flags, -1, 0));
}

static void shared() {
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_ANONYMOUS;
    memset(mmap(nullptr, 16 * MIB, protection, flags, -1, 0), 1, 16 * MIB);
}

static pthread_barrier_t ready;

static void *stay(void *) {
    char here[2 * MIB];
    memset(here, 1, sizeof here);
    escaped(here);
    pthread_barrier_wait(&ready);
    for (;;) pause();
}

static void stacks() {
    pthread_barrier_init(&ready, nullptr, 9);
    for (int index = 0; index < 8; ++index) {
        pthread_t thread;
        pthread_create(&thread, nullptr, stay, nullptr);
    }
    pthread_barrier_wait(&ready);
}

/* Nothing is allocated while it stands. */
static void stand() {
    char line[16];
    say("resident-middle", resident());
    printf("ready\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) abort();
    memset(escaped(malloc(32 * MIB)), 1, 32 * MIB);
}

int main(int count, char **words) {
    std::string what = count > 1 ? words[1] : "";
    if (what == "blocks") blocks();
    if (what == "raw") raw();
    if (what == "untouched") untouched();
    if (what == "zeros") zeros();
    if (what == "mapped") mapped();
    if (what == "shared") shared();
    if (what == "stacks") stacks();
    if (what == "killed") kill(getpid(), SIGKILL);
    if (count > 2) stand();
    say("resident", resident());
    fflush(stdout);
    return 0;
}
