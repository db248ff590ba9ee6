// Functions whose frames differ: in size, alignment, saved registers, in how they are called and in how they are left.
// Each does its part before and after the rest of the path, so that no call but those meant to be is a tail call.
#include "shapes.h"

#include "capture.h"

#include <alloca.h>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <unistd.h>

namespace {

volatile uint64_t sink;

// Keeps the compiler from knowing what is in a buffer.
template <class T> void hide(T* buffer) { asm volatile("" : : "r"(buffer) : "memory"); }

// A function without calls: its locals lie in the red zone, below the stack pointer.
[[gnu::noinline]] uint64_t without_calls(uint64_t value) {
    volatile uint64_t slots[6];
    for (auto& slot : slots) slot = value += 3;
    return slots[value % 6];
}

// Something to interrupt: the red zone, stubs of the linkage table, libc's hand-written code, the kernel's page.
[[gnu::noinline]] void work(Walk& walk) {
    char from[200], to[200];
    memset(from, int(walk.random(26)) + 'a', sizeof from);
    from[walk.random(sizeof from)] = 0;
    memcpy(to, from, 1 + walk.random(sizeof to));
    hide(to);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sink = sink + without_calls(strnlen(to, sizeof to)) + uint64_t(now.tv_nsec) + uint64_t(getppid());
}

void plain(Walk& walk, unsigned depth) {
    if (walk.works) work(walk);
    descend(walk, depth);
    sink = sink + depth;
}

void small_buffer(Walk& walk, unsigned depth) {
    char buffer[40];
    hide(buffer);
    descend(walk, depth);
    hide(buffer);
}

void large_frame(Walk& walk, unsigned depth) {
    char buffer[3000];
    hide(buffer);
    descend(walk, depth);
    hide(buffer);
}

// Several pages: a hardened compiler touches them one by one, in a loop whose frame is held by r11.
void huge_frame(Walk& walk, unsigned depth) {
    char buffer[24'000];
    hide(buffer);
    descend(walk, depth);
    hide(buffer);
}

void saves_registers(Walk& walk, unsigned depth) {
    uint64_t a = walk.random(), b = a * 3, c = a * 5, d = a * 7, e = a * 11, f = a * 13;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    descend(walk, depth);
    asm volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
}

void allocates_on_stack(Walk& walk, unsigned depth) {
    auto* buffer = static_cast<char*>(alloca(16 + walk.random(900)));
    hide(buffer);
    descend(walk, depth);
    hide(buffer);
}

void variable_array(Walk& walk, unsigned depth) {
    char array[1 + walk.random(700)];
    hide(array);
    descend(walk, depth);
    hide(array);
}

void realigns(Walk& walk, unsigned depth) {
    alignas(64) char line[64];
    hide(line);
    if (walk.works) work(walk);
    descend(walk, depth);
    hide(line);
}

void realigns_and_allocates(Walk& walk, unsigned depth) {
    alignas(256) char line[256];
    auto* buffer = static_cast<char*>(alloca(16 + walk.random(500)));
    hide(line);
    hide(buffer);
    descend(walk, depth);
    hide(line);
    hide(buffer);
}

// Arguments on the stack of a function that realigns its own.
[[gnu::noinline]] void many_arguments(Walk& walk, unsigned depth, long a, long b, long c, long d, long e, long f, long g) {
    alignas(128) long values[] = {a, b, c, d, e, f, g};
    hide(values);
    descend(walk, depth);
    sink = sink + uint64_t(values[depth % 7]);
}

void passes_on_stack(Walk& walk, unsigned depth) {
    many_arguments(walk, depth, 1, 2, 3, 4, 5, 6, long(depth));
    sink = sink + depth;
}

[[gnu::noinline]] void variadic(Walk* walk, unsigned depth, ...) {
    va_list arguments;
    va_start(arguments, depth);
    sink = sink + uint64_t(va_arg(arguments, int)) + uint64_t(va_arg(arguments, double));
    va_end(arguments);
    descend(*walk, depth);
    sink = sink + depth;
}

void calls_variadic(Walk& walk, unsigned depth) {
    variadic(&walk, depth, 7, 0.5);
    sink = sink + depth;
}

[[gnu::noinline]] void recurse(Walk& walk, unsigned depth, uint64_t rounds) {
    if (rounds > 0) {
        recurse(walk, depth, rounds - 1);
    } else {
        descend(walk, depth);
    }
    sink = sink + rounds;
}

void recursive(Walk& walk, unsigned depth) {
    recurse(walk, depth, walk.random(6));
    sink = sink + depth;
}

// With optimisation this frame is gone when the next one is there.
void tail_call(Walk& walk, unsigned depth) {
    sink = sink + depth;
    if (depth == 0) return leaf(walk);
    return walk.pick()(walk, depth - 1);
}

[[gnu::cold, gnu::noinline]] void seldom(Walk& walk, unsigned depth) {
    descend(walk, depth);
    sink = sink + depth;
}

// The branch that is always taken is thought unlikely: an optimiser moves it to a part of its own, far from the rest.
void split_in_two(Walk& walk, unsigned depth) {
    uint64_t kept = walk.random();
    asm volatile("" : "+r"(kept));
    if (__builtin_expect(walk.leaves_left > 0, 0)) {
        char buffer[300];
        hide(buffer);
        seldom(walk, depth);
        hide(buffer);
    }
    sink = sink + kept;
}

struct Descent {
    Walk& walk;
    unsigned depth;
    bool done;
};

int compare(const void*, const void*, void* argument) {
    auto& descent = *static_cast<Descent*>(argument);
    if (!descent.done) {
        descent.done = true;
        descend(descent.walk, descent.depth);
    }
    return 0;
}

void through_sort(Walk& walk, unsigned depth) {
    Descent descent{walk, depth, false};
    char letters[8] = "zebra";
    qsort_r(letters, sizeof letters, 1, compare, &descent);
    sink = sink + uint64_t(letters[0]);
}

void descend_from_rust(void* argument) {
    auto& descent = *static_cast<Descent*>(argument);
    descend(descent.walk, descent.depth);
    sink = sink + descent.depth;
}

// Frames of Rust may not be left early: an exception would end the program there.
void through_rust(Walk& walk, unsigned depth) {
    if (walk.may_leave_early()) return descend(walk, depth);
    Descent descent{walk, depth, false};
    unwind_check_through_rust(descend_from_rust, &descent);
    sink = sink + depth;
}

void through_function_object(Walk& walk, unsigned depth) {
    const std::function<void(unsigned)> next = [&walk](unsigned rest) {
        descend(walk, rest);
        sink = sink + rest;
    };
    next(depth);
    sink = sink + depth;
}

struct Animal {
    virtual ~Animal() = default;
    virtual void go(Walk& walk, unsigned depth) const = 0;
};

struct Cat : Animal {
    void go(Walk& walk, unsigned depth) const override {
        descend(walk, depth);
        sink = sink + depth;
    }
};

struct Dog : Animal {
    void go(Walk& walk, unsigned depth) const override {
        alignas(32) char bone[96];
        hide(bone);
        descend(walk, depth);
        hide(bone);
    }
};

void through_virtual_call(Walk& walk, unsigned depth) {
    Cat cat;
    Dog dog;
    const Animal* animals[] = {&cat, &dog};
    hide(animals);
    animals[walk.random(2)]->go(walk, depth);
    sink = sink + depth;
}

// Its destructor inspects the stack: after the rest of the path, or while an exception passes.
struct InspectsAtEnd {
    Walk& walk;
    ~InspectsAtEnd() { visit(walk); }
};

void cleans_up(Walk& walk, unsigned depth) {
    InspectsAtEnd inspect{walk};
    descend(walk, depth);
    sink = sink + depth;
}

void catches(Walk& walk, unsigned depth) {
    try {
        descend(walk, depth);
    } catch (Flung& flung) {
        visit(walk);
        if (flung.levels-- > 0) throw;
    }
    sink = sink + depth;
}

void jump_target(Walk& walk, unsigned depth) {
    Jump jump{walk.jumps, {}};
    if (setjmp(jump.buffer) == 0) {
        walk.jumps = &jump;
        descend(walk, depth);
    }
    walk.jumps = jump.outer;
}

// A jump target stays known when an exception passes it; walks that throw do not jump.
void jump_target_where_nothing_is_thrown(Walk& walk, unsigned depth) {
    if (walk.throws_once_in == 0) {
        jump_target(walk, depth);
    } else {
        descend(walk, depth);
    }
    sink = sink + depth;
}

constexpr Shape functions[] = {
    // With these alone a stack is soon built anew where another one was, with the same return addresses at the same
    // places and something else in the gaps between them.
    realigns,
    realigns_and_allocates,
    passes_on_stack,
    through_virtual_call,
    plain,
    catches,
    // These are all different.
    small_buffer,
    large_frame,
    huge_frame,
    saves_registers,
    allocates_on_stack,
    variable_array,
    calls_variadic,
    recursive,
    tail_call,
    split_in_two,
    through_sort,
    through_rust,
    through_function_object,
    cleans_up,
    jump_target_where_nothing_is_thrown,
};
constexpr size_t loose = 6;

}  // namespace

#define JOINED(a, b) a##b
#define NAMED(variant) JOINED(shapes_, variant)
extern const Shapes NAMED(VARIANT){functions, sizeof functions / sizeof *functions, loose};
