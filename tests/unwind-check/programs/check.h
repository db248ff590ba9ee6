// One check: a stack captured three times from the same place (by the memo, by the plain walk, by libgcc), compared
// frame by frame, and the counts of what was found.
#pragma once
#include "capture.h"

#include <atomic>

// What one check found; for scenarios that expect something special.
struct Finding {
    Way way;
    Cut cut;
    uint64_t count;      // frames of ours, the first of which is the check itself
    uint64_t reference;  // frames of libgcc's
    bool equal;
};

// Captures the caller's stack and compares. May be called anywhere, also in a signal handler in the middle of itself.
Finding check();

// Captures by the memo and by the plain walk alone, without libgcc: short enough to be interrupted at each instruction.
// How the stack ends.
Cut check_memo_against_walk();

// The same as check with room for stacks of any depth; one caller at a time.
Finding check_deep();

// A fault that only the scenario can see; it is counted as a wrong frame.
void report_wrong(const char* what);

// Something that the scenario did, to show that it did it; printed as `name=value` in the summary line.
void count_event(const char* name, uint64_t value = 1);

// The summary line is printed at the very end of the process, under this name.
void begin_scenario(const char* name, uint64_t seed);
