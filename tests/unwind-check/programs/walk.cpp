#include "walk.h"

#include "check.h"
#include "shapes.h"

#include <array>

namespace {

// Cut off from the walk: the call to it is the last instruction of its caller, so that the return address lies after
// the caller's code.
[[noreturn, gnu::noinline]] void fling(Walk& walk) {
    visit(walk);
    count_event("thrown");
    throw Flung{unsigned(walk.random(8))};
}

[[noreturn, gnu::noinline]] void jump(Walk& walk) {
    visit(walk);
    count_event("jumped");
    Jump* target = walk.jumps;
    for (uint64_t outwards = walk.random(4); outwards > 0 && target->outer != nullptr; --outwards)
        target = target->outer;
    longjmp(target->buffer, 1);
}

void wander_once(Walk& walk, unsigned depth) {
    Jump jump{nullptr, {}};
    walk.jumps = &jump;
    if (setjmp(jump.buffer) != 0) return;
    try {
        descend(walk, depth);
    } catch (const Flung&) {
        visit(walk);
    }
}

}  // namespace

uint64_t Walk::random() {  // splitmix64
    uint64_t value = seed += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

Shape Walk::pick() {
    if (stays_loose) return shapes_O2.functions[random(shapes_O2.loose)];
    const Shapes& shapes = *all_shapes[random(all_shapes.size())];
    return shapes.functions[random(shapes.count)];
}

[[gnu::noinline]] void visit(Walk& walk) {
    if (walk.at_leaf != nullptr) {
        walk.at_leaf(walk);
    } else {
        check();
    }
    asm volatile("");  // not a tail call: this frame stays on the stack
}

[[gnu::noinline]] void leaf(Walk& walk) {
    if (walk.leaves_left == 0) return;
    --walk.leaves_left;
    visit(walk);
    if (walk.throws_once_in != 0 && walk.random(walk.throws_once_in) == 0) fling(walk);
    if (walk.jumps_once_in != 0 && walk.random(walk.jumps_once_in) == 0) jump(walk);
}

void wander(Walk& walk, uint64_t leaves, unsigned deepest) {
    walk.leaves_left = leaves;
    while (walk.leaves_left > 0) wander_once(walk, 1 + unsigned(walk.random(deepest)));
}
