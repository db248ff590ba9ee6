// Signals. By the trap flag of the processor a handler runs after every single instruction, so that prologues, epilogues,
// linkage stubs and hand-written code are seen at each of their instructions; by a timer it runs at any moment, also in
// the middle of a capture, which must then be refused.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <thread>
#include <ucontext.h>
#include <unwind.h>
#include <vector>

extern "C" void set_trap_flag();
asm(R"(
    .text
    .globl set_trap_flag
    .type set_trap_flag, @function
set_trap_flag:
    .cfi_startproc
    pushfq
    .cfi_adjust_cfa_offset 8
    orq $0x100, (%rsp)
    popfq
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size set_trap_flag, . - set_trap_flag
)");

namespace {

constexpr greg_t trap_flag = 0x100;
constexpr unsigned deepest = 12;

volatile uint64_t steps_left;

struct Range {
    uint64_t start, end;
    bool has(uint64_t address) const { return address - start < end - start; }
};

// The object file that holds an address.
Range code_around(uint64_t address) {
    dl_find_object object;
    if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) abort();
    return {reinterpret_cast<uint64_t>(object.dlfo_map_start), reinterpret_cast<uint64_t>(object.dlfo_map_end)};
}

// A stack of its own for handlers of this thread, as long as this object lives.
class AlternateStack {
public:
    AlternateStack() : memory(aligned_alloc(64, size)) {
        stack_t stack{};
        stack.ss_sp = memory;
        stack.ss_size = size;
        sigaltstack(&stack, nullptr);
    }
    ~AlternateStack() {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        sigaltstack(&none, nullptr);
        free(memory);
    }
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;

private:
    static constexpr size_t size = 256 << 10;
    void* memory;
};

void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
    sigaction(signal, &action, nullptr);
}

// Whether libgcc is at work on an exception, or has just called something small. When it has found the landing pad it
// overwrites the registers that its own frames have saved, then its return address: until the landing pad runs there is
// no stack that tables could describe, and libgcc itself reads anywhere when it is asked for one.
bool is_throwing(const greg_t* registers) {
    static const Range libgcc = code_around(reinterpret_cast<uint64_t>(&_Unwind_Resume));
    return libgcc.has(uint64_t(registers[REG_RIP])) || libgcc.has(*reinterpret_cast<uint64_t*>(registers[REG_RSP]));
}

void on_step(int, siginfo_t*, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (is_throwing(registers)) {
        count_event("throwing");
    } else {
        check();
    }
    steps_left = steps_left - 1;
    if (steps_left == 0) registers[REG_EFL] &= ~trap_flag;
}

// What is inspected is every instruction on the way to the leaves; some of them capture, to be interrupted in it.
void capture_at_some(Walk& walk) {
    if (walk.random(20) != 0) return;
    check_memo_against_walk();
    count_event("interrupted-captures");
}

void step_through(Walk& walk, uint64_t steps) {
    steps_left = steps;
    set_trap_flag();
    while (steps_left > 0) wander(walk, 100, deepest);
    count_event("steps", steps);
}

// First with everything that is bound at its first call, then with exceptions, whose own calls are bound before.
void step(uint64_t seed, uint64_t captures, int flags) {
    handle(SIGTRAP, on_step, flags);
    Walk walk{seed, 0};
    walk.at_leaf = capture_at_some;
    walk.works = true;
    step_through(walk, captures / 2);
    walk.throws_once_in = 8;
    wander(walk, 1000, deepest);
    step_through(walk, captures / 2);
}

void on_timer(int, siginfo_t*, void*) {
    check();
    count_event("signals");
}

void start_timer(suseconds_t period_us) {
    const itimerval period{{0, period_us}, {0, period_us}};
    setitimer(ITIMER_REAL, &period, nullptr);
}

void wander_under_fire(uint64_t seed, uint64_t captures) {
    AlternateStack stack;
    Walk walk{seed, 0};
    walk.works = true;
    walk.jumps_once_in = 50;
    wander(walk, captures, deepest);
}

void block(int how) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(how, &alarms, nullptr);
}

void under_timer(uint64_t seed, uint64_t captures, int flags) {
    constexpr suseconds_t period_us = 150;
    constexpr uint64_t threads = 4;
    handle(SIGALRM, on_timer, flags);
    start_timer(period_us);
    wander_under_fire(seed, captures / 2);
    std::vector<std::thread> others;
    for (uint64_t number = 1; number <= threads; ++number)
        others.emplace_back(wander_under_fire, seed + number, captures / 2 / threads);
    block(SIG_BLOCK);  // the kernel prefers the first thread for a signal to the process
    for (auto& other : others) other.join();
    start_timer(0);
    block(SIG_UNBLOCK);
}

}  // namespace

void steps(uint64_t seed, uint64_t captures) { step(seed, captures, 0); }

void steps_on_alternate_stack(uint64_t seed, uint64_t captures) {
    AlternateStack stack;
    step(seed, captures, SA_ONSTACK);
}

void timer(uint64_t seed, uint64_t captures) { under_timer(seed, captures, 0); }

void timer_on_alternate_stack(uint64_t seed, uint64_t captures) { under_timer(seed, captures, SA_ONSTACK); }
