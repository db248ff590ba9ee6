// Blocks that can be reached in many ways, or no longer. Each line that allocates says what its blocks are:
//     leak KIND BYTES BLOCKS LINE
// Compiled without optimisation: no pointer may stay where the source does not put it. The stack is wiped at the end, since
// functions that have returned leave their words there.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>

static const char *const DEFINITE = "definitely", *const INDIRECT = "indirectly", *const POSSIBLE = "possibly",
                         *const REACHABLE = "still_reachable";

static void tell(const char *kind, size_t bytes, size_t blocks, int line) {
    printf("leak %s %zu %zu %d\n", kind, bytes, blocks, line);
}

struct Node {
    Node *next;
    char rest[56];
};

// Blocks of different lines differ in size, so that none takes the place of a freed one.
template <int Size> struct Sized : Node {
    char more[Size];
};

static Node *chain;
static char *middle;
static char *middle_of_chain;
static uintptr_t hidden;
static Node **mapped;
static thread_local Node *own_to_thread;
static uintptr_t for_register;
static const uintptr_t KEY = 0x5a5a5a5a5a5a5a5a;

static void tree_that_is_lost() {
    Node *root = (Node *)malloc(sizeof(Sized<8>));
    tell(DEFINITE, sizeof(Sized<8>), 1, __LINE__ - 1);
    root->next = (Node *)calloc(1, sizeof(Sized<24>));
    tell(INDIRECT, sizeof(Sized<24>), 1, __LINE__ - 1);
    root->next->next = (Node *)calloc(1, sizeof(Sized<40>));
    tell(INDIRECT, sizeof(Sized<40>), 1, __LINE__ - 1);
}

static void ring_that_is_lost() {
    Node *one = (Node *)calloc(1, 200);
    int line_of_one = __LINE__ - 1;
    Node *other = (Node *)calloc(1, 216);
    int line_of_other = __LINE__ - 1;
    one->next = other;
    other->next = one;
    bool is_first = one < other;
    tell(is_first ? DEFINITE : INDIRECT, 200, 1, line_of_one);
    tell(is_first ? INDIRECT : DEFINITE, 216, 1, line_of_other);
}

static void chain_that_is_reached() {
    chain = (Node *)calloc(1, 232);
    tell(REACHABLE, 232, 1, __LINE__ - 1);
    chain->next = (Node *)calloc(1, 248);
    tell(REACHABLE, 248, 1, __LINE__ - 1);
}

static void middle_that_is_pointed_to() {
    middle = (char *)calloc(1, 264) + 100;
    tell(POSSIBLE, 264, 1, __LINE__ - 1);
    Node *block = (Node *)calloc(1, 280);
    tell(POSSIBLE, 280, 1, __LINE__ - 1);
    block->next = (Node *)calloc(1, 296);
    tell(POSSIBLE, 296, 1, __LINE__ - 1);
    middle_of_chain = (char *)block + 32;
}

static void middle_that_a_lost_block_points_to() {
    Node *block = (Node *)calloc(1, 312);
    tell(DEFINITE, 312, 1, __LINE__ - 1);
    block->next = (Node *)((char *)calloc(1, 328) + 40);
    tell(INDIRECT, 328, 1, __LINE__ - 1);
}

static void pointer_that_is_hidden() {
    hidden = (uintptr_t)calloc(1, 344) ^ KEY;
    tell(DEFINITE, 344, 1, __LINE__ - 1);
}

static void pointer_in_freed_memory() {
    Node **block = (Node **)calloc(1, 360);
    block[20] = (Node *)calloc(1, 376);
    tell(DEFINITE, 376, 1, __LINE__ - 1);
    free(block);
}

static Node **again[2];

// Memory that is handed out again still has the pointers of its last owner, unless somebody writes to it.
static void pointer_in_memory_that_is_used_again() {
    size_t sizes[2] = {600, 30000};
    for (int at = 0; at < 2; at++) {
        Node **block = (Node **)malloc(sizes[at]);
        block[20] = (Node *)calloc(1, 520 + 16 * at);
        free(block);
        again[at] = (Node **)malloc(sizes[at]);
    }
    tell(DEFINITE, 520 + 536, 2, __LINE__ - 4);
    tell(REACHABLE, 30600, 2, __LINE__ - 3);
}

static void pointer_in_a_mapping() {
    mapped = (Node **)mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[700] = (Node *)calloc(1, 392);
    tell(REACHABLE, 392, 1, __LINE__ - 1);
}

static void pointer_in_thread_local_storage() {
    own_to_thread = (Node *)calloc(1, 408);
    tell(REACHABLE, 408, 1, __LINE__ - 1);
}

static union {
    double number;
    void *pointer;
} either;

static void pointer_in_a_union() {
    either.pointer = calloc(1, 424);
    tell(REACHABLE, 424, 1, __LINE__ - 1);
}

struct Counted {
    char bytes[24];
    ~Counted() { bytes[0] = 1; }
};

static Counted *counted;

static void array_of_objects() {
    counted = new Counted[19];
    tell(REACHABLE, 8 + 19 * sizeof(Counted), 1, __LINE__ - 1);
}

static void list_that_is_lost() {
    auto *list = new std::list<long>;
    tell(DEFINITE, sizeof *list, 1, __LINE__ - 1);
    for (long number = 0; number < 5; number++) {
        list->push_back(number);
    }
    tell(INDIRECT, 5 * 24, 5, __LINE__ - 2);
}

static void *leaves_a_pointer_on_its_stack(void *) {
    void *volatile block = calloc(1, 472);
    tell(DEFINITE, 472, 1, __LINE__ - 1);
    (void)block;
    return nullptr;
}

static int never_written[2];
static int ready[2];

// The only pointer is in rbx, while the thread waits for a byte that never comes.
static void *keeps_a_pointer_in_a_register(void *) {
    char byte;
    int own = (int)syscall(SYS_gettid);
    if (write(ready[1], &own, sizeof own) != sizeof own) {
        abort();
    }
    long result = SYS_read;
    asm volatile("mov %[hidden], %%rbx\n\t"
                 "xor %[key], %%rbx\n\t"
                 "syscall\n\t"
                 "xor %%rbx, %%rbx"
                 : "+a"(result)
                 : [hidden] "r"(for_register), [key] "r"(KEY), "D"((long)never_written[0]), "S"(&byte), "d"(1L)
                 : "rbx", "rcx", "r11", "memory");
    return nullptr;
}

// What the kernel says of a thread: S when it waits.
static char state_of(int thread) {
    char path[64], text[512] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int file = open(path, O_RDONLY);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
        abort();
    }
    close(file);
    return strrchr(text, ')')[2];
}

static void blocks_of_threads() {
    pthread_t thread;
    pthread_create(&thread, nullptr, leaves_a_pointer_on_its_stack, nullptr);
    pthread_join(thread, nullptr);
    for_register = (uintptr_t)calloc(1, 488) ^ KEY;
    tell(REACHABLE, 488, 1, __LINE__ - 1);
    if (pipe(never_written) != 0 || pipe(ready) != 0) {
        abort();
    }
    pthread_create(&thread, nullptr, keeps_a_pointer_in_a_register, nullptr);
    int waiting;
    if (read(ready[0], &waiting, sizeof waiting) != sizeof waiting) {
        abort();
    }
    while (state_of(waiting) != 'S') {
    }
}

static void wipe_the_stack() {
    volatile char words[64 * 1024];
    memset((char *)words, 0, sizeof words);
}

int main() {
    tree_that_is_lost();
    ring_that_is_lost();
    chain_that_is_reached();
    middle_that_is_pointed_to();
    middle_that_a_lost_block_points_to();
    pointer_that_is_hidden();
    pointer_in_freed_memory();
    pointer_in_memory_that_is_used_again();
    pointer_in_a_mapping();
    pointer_in_thread_local_storage();
    pointer_in_a_union();
    array_of_objects();
    list_that_is_lost();
    blocks_of_threads();
    fflush(stdout);
    wipe_the_stack();
    return 0;
}
