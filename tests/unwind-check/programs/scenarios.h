// The scenarios; each gets its seed and inspects about so many stacks as it is asked for.
#pragma once
#include <cstdint>

using Scenario = void(uint64_t seed, uint64_t captures);

Scenario tree, gaps, exceptions, jumps, threads;                            // calls.cpp
Scenario steps, steps_on_alternate_stack, timer, timer_on_alternate_stack;  // signals.cpp
Scenario coroutines, signals_in_coroutines;                                 // coroutines.cpp
Scenario growing_stacks;                                                    // growing.cpp
Scenario reload;                                                            // reload.cpp
Scenario hostile;                                                           // hostile.cpp
Scenario endings, deep;                                                     // endings.cpp
