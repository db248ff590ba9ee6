// The scenarios; each gets its seed and looks at about so many stacks as it is asked for.
#pragma once
#include <cstdint>

void tree(uint64_t seed, uint64_t captures);
void exceptions(uint64_t seed, uint64_t captures);
void jumps(uint64_t seed, uint64_t captures);
void threads(uint64_t seed, uint64_t captures);
void steps(uint64_t seed, uint64_t captures);
void steps_on_alternate_stack(uint64_t seed, uint64_t captures);
void timer(uint64_t seed, uint64_t captures);
void timer_on_alternate_stack(uint64_t seed, uint64_t captures);
void deep(uint64_t seed, uint64_t captures);
void endings(uint64_t seed, uint64_t captures);
