// A random walk through functions of many shapes. At the end of each path is a leaf, where the scenario inspects the
// stack.
#pragma once
#include <csetjmp>
#include <cstdint>

struct Walk;
using Shape = void (*)(Walk&, unsigned depth);

// What is thrown.
struct Flung {
    unsigned levels;
};

// A place to jump back to.
struct Jump {
    Jump* outer;
    jmp_buf buffer;
};

struct Walk {
    uint64_t seed;
    uint64_t leaves_left;                  // the walk ends when there are none
    void (*at_leaf)(Walk&) = nullptr;      // what happens at a leaf; a check where it is not set
    void* context = nullptr;               // for at_leaf
    unsigned throws_once_in = 0;           // leaves, on average; 0: never
    unsigned jumps_once_in = 0;            // the same
    bool stays_loose = false;              // only functions whose frames are aligned more than their callers'
    bool works = false;                    // functions also do something worth interrupting
    Jump* jumps = nullptr;                 // innermost first

    uint64_t random();
    uint64_t random(uint64_t below) { return random() % below; }
    Shape pick();
    bool may_leave_early() const { return throws_once_in != 0 || jumps_once_in != 0; }
};

// Inspects the stack; throws or jumps where the walk asks for it.
void leaf(Walk&);

// Inspects the stack and does nothing else.
void visit(Walk&);

// Goes on until `leaves` leaves were visited, by paths of up to `deepest` calls.
void wander(Walk&, uint64_t leaves, unsigned deepest);

// The rest of the path. Always inlined: stacks consist of the shapes alone, one after another.
[[gnu::always_inline]] inline void descend(Walk& walk, unsigned depth) {
    if (depth == 0) return leaf(walk);
    // One third of the frames see more than one call, so that successive stacks share their outer part.
    for (unsigned calls = walk.random(3) == 0 ? 2 : 1; calls > 0 && walk.leaves_left > 0; --calls)
        walk.pick()(walk, depth - 1);
}
