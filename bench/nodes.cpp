// A heap of small nodes: a list and a map of a million elements each, per unit of the argument. What counts here is the
// resident memory; the cost is the CPU time of the whole program.
#include "measure.h"

#include <list>
#include <map>

static const long ELEMENTS = 1000000;

// Spreads the keys, so that the map grows everywhere and not along its edge.
static uint64_t scattered(uint64_t index) { return index * UINT64_C(0x9e3779b97f4a7c15); }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const long elements = atol(argv[1]) * ELEMENTS;
    std::list<uint64_t> list;
    std::map<uint64_t, uint64_t> map;
    for (long i = 0; i < elements; i++) {
        list.push_back(i);
        map.emplace(scattered(i), i);
    }
    uint64_t sum = 0;
    for (uint64_t value : list) sum += value;
    for (const auto &[key, value] : map) sum += key ^ value;
    printf("checksum %" PRIu64 "\n", sum);
    tell_measured(static_cast<double>(process_cpu()));
    return 0;
}
