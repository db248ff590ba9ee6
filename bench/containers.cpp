// Nothing but containers that are filled and thrown away, the worst case of a C++ program: no work between the allocations.
// Argument: rounds. The cost is the CPU time of the whole program, per round.
#include "measure.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

struct Record {
    std::string name;
    std::vector<int> numbers;
    std::map<int, std::string> fields;
};

static std::unique_ptr<Record> make_record(int index) {
    auto record = std::make_unique<Record>();
    record->name = "a name that is too long to be held in place " + std::to_string(index);
    for (int i = 0; i < 8; i++) {
        record->numbers.push_back(index + i);
        record->fields[i] = std::string(40, static_cast<char>('a' + i));
    }
    return record;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const long rounds = atol(argv[1]);
    if (rounds < 1) return 2;
    size_t sum = 0;
    for (long round = 0; round < rounds; round++) {
        std::vector<std::unique_ptr<Record>> records;
        for (int i = 0; i < 5000; i++) records.push_back(make_record(i));
        sum += records.back()->fields.size();
    }
    printf("checksum %zu\n", sum);
    tell_measured(static_cast<double>(process_cpu()) / static_cast<double>(rounds));
    return 0;
}
