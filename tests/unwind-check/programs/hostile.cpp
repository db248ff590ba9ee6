// Code that says nothing about its frames, or the wrong thing. A stack ends there, cleanly and with the reason; where the
// tables are right, whatever else is in rbp does no harm.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <cstring>
#include <sys/mman.h>

extern "C" {
void call_without_tables(void (*)(void*), void*);
void call_with_garbage_in_rbp(void (*)(void*), void*, uint64_t garbage);
void call_and_lie_about_rbp(void (*)(void*), void*, uint64_t garbage);
void call_on_stack(void (*)(void*), void*, void* stack_end);
}

asm(R"(
    .text
    .globl call_without_tables
call_without_tables:
    push %rbp
    mov %rsp, %rbp
    xchg %rdi, %rsi
    call *%rsi
    pop %rbp
    ret

    # Its tables say where rbp is saved and hold the frame by rsp: what is in rbp meanwhile does not matter.
    .globl call_with_garbage_in_rbp
call_with_garbage_in_rbp:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    mov %rdx, %rbp
    xchg %rdi, %rsi
    call *%rsi
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
    .cfi_endproc

    # Its tables do not say that rbp is saved, so that its caller's seems to be what is in it now.
    .globl call_and_lie_about_rbp
call_and_lie_about_rbp:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    mov %rdx, %rbp
    xchg %rdi, %rsi
    call *%rsi
    pop %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc

    # Switches to another stack and back.
    .globl call_on_stack
call_on_stack:
    .cfi_startproc
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    mov %rdx, %rsp
    xchg %rdi, %rsi
    call *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
)");

namespace {

constexpr unsigned deepest = 8;

void expect(bool holds, const char* what) {
    if (!holds) report_wrong(what);
}

void expect_end_without_tables(Walk&) {
    const Finding finding = check();
    expect(finding.cut == Cut::no_unwind_info, "code without tables does not end the stack");
}

void expect_whole_stack(Walk&) {
    const Finding finding = check();
    expect(finding.cut == Cut::complete && finding.equal, "garbage in rbp ends the stack");
}

void wander_in(void* walk) { wander(*static_cast<Walk*>(walk), 20, deepest); }

void without_tables(Walk& walk) {
    walk.at_leaf = expect_end_without_tables;
    call_without_tables(wander_in, &walk);
    count_event("without-tables");
}

void with_garbage(Walk& walk) {
    walk.at_leaf = expect_whole_stack;
    call_with_garbage_in_rbp(wander_in, &walk, walk.random());
    count_event("garbage-in-rbp");
}

// push rbp; mov rbp, rsp; xchg rdi, rsi; call rsi; pop rbp; ret, after some bytes that are never run.
void just_in_time(Walk& walk) {
    constexpr unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x87, 0xfe, 0xff, 0xd6, 0x5d, 0xc3};
    constexpr size_t length = 4096;
    auto* page = static_cast<unsigned char*>(
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    auto* start = page + walk.random(64);
    memcpy(start, code, sizeof code);
    mprotect(page, length, PROT_READ | PROT_EXEC);
    walk.at_leaf = expect_end_without_tables;
    reinterpret_cast<void (*)(void (*)(void*), void*)>(start)(wander_in, &walk);
    unwind_check_unmapping(page, length);
    munmap(page, length);
    count_event("just-in-time");
}

// libgcc believes the tables and would read anywhere: no reference here. It is enough to survive, and to see the same
// stack with and without the memory of the last one, which ended elsewhere for another rbp.
[[gnu::noinline]] void capture_alone(void* cut) { *static_cast<Cut*>(cut) = check_memo_against_walk(); }

[[gnu::noinline]] void be_lied_to(Walk& walk, uint64_t garbage) {
    Cut cut = Cut::complete;
    char buffer[16 + walk.random(100)];  // so that this frame is held by rbp
    asm volatile("" : : "r"(buffer) : "memory");
    call_and_lie_about_rbp(capture_alone, &cut, garbage);
    asm volatile("" : : "r"(buffer) : "memory");
    if (cut == Cut::broken) count_event("broken");
}

void lied_to(Walk& walk) {
    const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    const uint64_t garbage[] = {walk.random(),      walk.random() & ~7ull,   0,        8,
                                ~0ull,              ~7ull,                   here,     here + walk.random(64) * 8,
                                here - 4096,        here + walk.random(512), 1ull << 63, here + (1 << 20)};
    for (const uint64_t value : garbage) be_lied_to(walk, value);
}

// The frame of the switch lies on another stack than its caller: the stack ends there, and libgcc's goes on.
void expect_end_of_stack(void*) {
    uint64_t frames[256];
    Stack stack{frames, 256, 0, Cut::complete};
    unwind_check_by_memo(&stack);
    expect(stack.cut == Cut::broken && stack.count == 2, "a switch of stacks does not end the stack");
    count_event("stack-switches");
}

void on_another_stack() {
    constexpr size_t length = 64 << 10;
    auto* stack = static_cast<char*>(
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    call_on_stack(expect_end_of_stack, nullptr, stack + length);
    unwind_check_unmapping(stack, length);
    munmap(stack, length);
}

}  // namespace

void hostile(uint64_t seed, uint64_t captures) {
    Walk walk{seed, 0};
    for (uint64_t round = 0; round < captures / 60; ++round) {
        without_tables(walk);
        with_garbage(walk);
        just_in_time(walk);
        lied_to(walk);
        on_another_stack();
    }
}
