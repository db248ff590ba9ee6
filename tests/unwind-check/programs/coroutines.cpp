// Coroutines by ucontext: each walks on a stack of its own, mapped or from malloc, and gives way to another one at some
// of its leaves, deep in its calls. Stacks end and begin all the time, in different sizes at the same places. In one of
// the scenarios their leaves are interrupted by a signal whose handler runs on a part of the thread's own stack: then
// what the thread remembers of its own stack leads to one that may be gone at the next inspection.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace {

constexpr unsigned deepest = 8;
constexpr uint64_t leaves_of_one = 60;

// Either a check, or a signal whose handler checks.
using Inspect = void (*)();

class Coroutine {
public:
    Coroutine(uint64_t seed, ucontext_t& scheduler, Inspect inspect) : walk{seed, 0}, scheduler(scheduler), inspect(inspect) {
        walk.at_leaf = inspect_and_yield;
        walk.context = this;
        is_mapped = walk.random(2) == 0;
        size = (512 << 10) + (walk.random(128) << 12);
        stack = is_mapped ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : malloc(size);
        getcontext(&context);
        context.uc_stack.ss_sp = stack;
        context.uc_stack.ss_size = size;
        context.uc_link = &scheduler;
        const auto self = reinterpret_cast<uint64_t>(this);
        makecontext(&context, reinterpret_cast<void (*)()>(start), 2, int(self >> 32), int(self));
    }
    ~Coroutine() {
        if (is_mapped) {
            unwind_check_unmapping(stack, size);
            munmap(stack, size);
        } else {
            free(stack);
        }
    }
    Coroutine(const Coroutine&) = delete;
    Coroutine& operator=(const Coroutine&) = delete;

    void go_on() { swapcontext(&scheduler, &context); }
    bool is_done = false;

private:
    static void start(unsigned high, unsigned low) {
        auto& self = *reinterpret_cast<Coroutine*>(uint64_t(high) << 32 | low);
        wander(self.walk, leaves_of_one, deepest);
        self.is_done = true;
    }
    static void inspect_and_yield(Walk& walk) {
        auto& self = *static_cast<Coroutine*>(walk.context);
        self.inspect();
        if (walk.random(3) != 0) return;
        count_event("switches");
        swapcontext(&self.context, &self.scheduler);
        self.inspect();
    }

    Walk walk;
    ucontext_t& scheduler;
    Inspect inspect;
    ucontext_t context;
    bool is_mapped;
    size_t size;
    void* stack;
};

// The scheduler is at a different depth of the thread's own stack each time.
struct Scheduler {
    std::vector<std::unique_ptr<Coroutine>> coroutines;
    ucontext_t context;
    Walk own;
    Inspect inspect;
};

void switch_to_one(Walk& walk) {
    auto& scheduler = *static_cast<Scheduler*>(walk.context);
    auto& coroutine = scheduler.coroutines[walk.random(scheduler.coroutines.size())];
    if (coroutine == nullptr) {
        coroutine = std::make_unique<Coroutine>(walk.random(), scheduler.context, scheduler.inspect);
        count_event("coroutines");
    }
    coroutine->go_on();
    if (coroutine->is_done) coroutine = nullptr;
    check();
}

void run(uint64_t seed, uint64_t captures, Inspect inspect) {
    Scheduler scheduler{{}, {}, {seed, 0}, inspect};
    scheduler.coroutines.resize(20);
    scheduler.own.context = &scheduler;
    scheduler.own.at_leaf = switch_to_one;
    // A switch ends with one check here, and there are about four for it on the other side.
    wander(scheduler.own, captures / 5, deepest);
}

void check_once() {
    check();
    asm volatile("");
}

void on_signal(int) {
    count_event("signals");
    check();
    asm volatile("");
}

}  // namespace

void coroutines(uint64_t seed, uint64_t captures) { run(seed, captures, check_once); }

void signals_in_coroutines(uint64_t seed, uint64_t captures) {
    alignas(64) char memory[128 << 10];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    run(seed, captures, [] { raise(SIGUSR1); });
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
}
