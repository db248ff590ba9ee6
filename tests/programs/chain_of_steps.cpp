// A chain of objects that begins with the newest, as the graph of a computation does, and memory without a type that knows one of them.
#include <cstdlib>
#include <cstring>

struct Step {
    explicit Step(Step *before) : before(before) { std::memset(values, 1, sizeof values); }
    virtual ~Step() = default;
    Step *before;
    char values[20000];
};

extern "C" void *step_after(void *before) { return new Step(static_cast<Step *>(before)); }

extern "C" void *table_with(void *step) {
    void **table = static_cast<void **>(std::calloc(4, sizeof *table));
    table[1] = step;
    return table;
}
