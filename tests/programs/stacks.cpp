// Stacks as the program knows them: longjmp, alloca, realigned frames, callbacks through libc, deep recursion. A `chain`
// line gives the program's own functions on the stack of a row, innermost first.
#include "truth.h"

#include <alloca.h>
#include <csetjmp>
#include <stdexcept>

static jmp_buf back;

FRAME static void leaf_before_jump(int depth) {
    TAKE(malloc(31), 31);
    truth_chain(__LINE__ - 1, "leaf_before_jump;jumper;jumper;jumper;longjmps;main");
    if (depth == 0) longjmp(back, 1);
}

FRAME static void jumper(int depth) {
    char space[100];
    char *keep = space;
    ESCAPE(keep);
    depth == 0 ? leaf_before_jump(0) : jumper(depth - 1);
    ESCAPE(keep);
}

FRAME static void leaf_after_jump() {
    TAKE(malloc(32), 32);
    truth_chain(__LINE__ - 1, "leaf_after_jump;longjmps;main");
}

FRAME static void longjmps() {
    if (setjmp(back) == 0) jumper(2);
    leaf_after_jump();
}

FRAME static void leaf_of_alloca(char *space, size_t size) {
    memset(space, 1, size);
    TAKE(malloc(33), 33);
    truth_chain(__LINE__ - 1, "leaf_of_alloca;allocas;main");
}

FRAME static void allocas(size_t size) {
    char *space = static_cast<char *>(alloca(size));
    leaf_of_alloca(space, size);
    ESCAPE(space);
}

struct alignas(64) Vector {
    double lanes[8];
};

FRAME static void leaf_of_realigned(Vector *vector) {
    vector->lanes[0] = 1;
    TAKE(malloc(34), 34);
    truth_chain(__LINE__ - 1, "leaf_of_realigned;realigned;main");
}

// A frame that the compiler must align by hand and that has a variable size as well (CFA through r10).
FRAME static void realigned(size_t size) {
    Vector vector;
    char *space = static_cast<char *>(alloca(size));
    ESCAPE(space);
    leaf_of_realigned(&vector);
    ESCAPE(space);
}

FRAME static int compare(const void *left, const void *right) {
    TAKE(malloc(35), 35);
    truth_chain(__LINE__ - 1, "compare;through_libc;main");
    return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

FRAME static void through_libc() {
    int pair[2] = {2, 1};
    qsort(pair, 2, sizeof(int), compare);
    NEED(pair[0] == 1);
}

FRAME static void leaf_in_catch() {
    TAKE(malloc(36), 36);
    truth_chain(__LINE__ - 1, "leaf_in_catch;catches;main");
}

FRAME static void throws(int depth) {
    if (depth == 0) throw 1;
    throws(depth - 1);
    ESCAPE(depth);
}

FRAME static void catches() {
    try {
        throws(5);
    } catch (int) {
        leaf_in_catch();
    }
}

FRAME static long recurse(long depth) {
    if (depth == 0) {
        struct block block = TAKE(malloc(1001), 1001);
        return reinterpret_cast<long>(block.at);
    }
    long below = recurse(depth - 1);
    ESCAPE(below);
    return below + 1;
}

int main(int argc, char **argv) {
    if (argc > 1) {
        recurse(atol(argv[1]));
    } else {
        longjmps();
        allocas(1000 + argc);
        realigned(100 + argc);
        through_libc();
        catches();
    }
    truth_print();
    return 0;
}
