// Arrays of no elements: where elements have destructors, the pointer to them is one to the end of a block that is their number alone.
//
//     leak KIND BYTES BLOCKS LINE
#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Counted {
    ~Counted() { std::printf("destroyed\n"); }
};

static void tell(const char *kind, int line) { std::printf("leak %s 8 1 %d\n", kind, line); }

static Counted *held;
static Counted **holder;
static char *end_of_text;
static volatile int none = 0;

static __attribute__((noinline)) void make() {
    held = new Counted[none];
    tell("still_reachable", __LINE__ - 1);
    holder = static_cast<Counted **>(std::malloc(8));
    tell("still_reachable", __LINE__ - 1);
    *holder = new Counted[none];
    tell("still_reachable", __LINE__ - 1);
    static_cast<void>(new Counted[none]);
    tell("definitely", __LINE__ - 1);
    end_of_text = static_cast<char *>(std::malloc(8));
    tell("definitely", __LINE__ - 1);
    std::memset(end_of_text, 'x', 8);
    end_of_text += 8;
}

static __attribute__((noinline)) void wipe_stack() {
    volatile char old[8 << 10];
    for (size_t i = 0; i < sizeof old; i++) old[i] = 0;
}

int main() {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    make();
    wipe_stack();
    return 0;
}
