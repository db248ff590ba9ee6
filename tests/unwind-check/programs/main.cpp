// unwind-check SCENARIO SEED CAPTURES: runs one scenario; the last line on stdout counts what was found.
#include "check.h"
#include "scenarios.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr struct {
    const char* name;
    Scenario* run;
} scenarios[] = {
    {"tree", tree},
    {"gaps", gaps},
    {"exceptions", exceptions},
    {"jumps", jumps},
    {"threads", threads},
    {"steps", steps},
    {"steps-on-alternate-stack", steps_on_alternate_stack},
    {"timer", timer},
    {"timer-on-alternate-stack", timer_on_alternate_stack},
    {"coroutines", coroutines},
    {"signals-in-coroutines", signals_in_coroutines},
    {"growing-stacks", growing_stacks},
    {"reload", reload},
    {"hostile", hostile},
    {"endings", endings},
    {"deep", deep},
};

}  // namespace

int main(int count, char** arguments) {
    if (count == 4) {
        const uint64_t seed = strtoull(arguments[2], nullptr, 10), captures = strtoull(arguments[3], nullptr, 10);
        for (const auto& scenario : scenarios) {
            if (strcmp(scenario.name, arguments[1]) != 0) continue;
            begin_scenario(scenario.name, seed);
            scenario.run(seed, captures);
            return 0;
        }
    }
    fprintf(stderr, "usage: unwind-check SCENARIO SEED CAPTURES\nscenarios:");
    for (const auto& scenario : scenarios) fprintf(stderr, " %s", scenario.name);
    fputc('\n', stderr);
    return 2;
}
