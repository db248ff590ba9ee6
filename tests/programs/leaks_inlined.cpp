// Blocks that are lost in functions which the compiler puts into others, in templates, in clones, and by ways to allocate that
// have names of their own.

#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

static void *volatile sink;

static void lose(void *block) {
    sink = block;
    sink = nullptr;
}

namespace boxes {
struct Box {
    int uses = 0;
    __attribute__((always_inline)) inline void fill(size_t size) { lose(malloc(size)); }
    __attribute__((noinline)) void outer(size_t size) {
        fill(size);
        uses++;
    }
};
} // namespace boxes

static inline __attribute__((always_inline)) void helper(boxes::Box &box, size_t size) {
    box.outer(size);
    box.uses += 2;
}

template <class Element> struct Holder {
    template <class Other> __attribute__((noinline)) Other *both(size_t count) {
        lose(new std::pair<Element, Other>[count]);
        return nullptr;
    }
    template <class Other> __attribute__((always_inline)) inline void inside(size_t count) {
        lose(calloc(count, sizeof(Other)));
    }
};

__attribute__((noinline)) static void overloaded(int size) { lose(malloc(size)); }
__attribute__((noinline)) static void overloaded(long size) { lose(malloc(size)); }

__attribute__((noinline)) static void by_the_library() { lose(strdup("a string that is lost")); }

__attribute__((noinline)) static void grown() { lose(realloc(malloc(40), 400)); }

__attribute__((noinline)) static void in_a_lambda() {
    std::function<void(int)> lambda = [](int size) { lose(operator new(size)); };
    lambda(72);
}

int main() {
    boxes::Box box;
    helper(box, 104);
    Holder<double> holder;
    holder.both<long>(7);
    holder.inside<short>(33);
    overloaded(50);
    overloaded(60L);
    by_the_library();
    grown();
    in_a_lambda();
    return box.uses == 3 ? 0 : 1;
}
