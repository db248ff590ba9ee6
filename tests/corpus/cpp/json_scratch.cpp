// cause: monotonic-resource-released
// class: cpp
// report: https://en.cppreference.com/w/cpp/memory/monotonic_buffer_resource
// verdict: clean
// note: A monotonic resource never frees single blocks, but it is destroyed with every document and its blocks with it.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

using Object = std::pmr::map<std::pmr::string, std::pmr::vector<double>>;

static double parse(long number) {
    std::pmr::monotonic_buffer_resource scratch(16 * 1024);
    Object document(&scratch);
    for (int key = 0; key < 200; key++) {
        std::pmr::string name(&scratch);
        name = "a rather long key with the number ";
        name += std::to_string(key * 31 % 200);
        auto &values = document[name];
        for (int i = 0; i < 64; i++)
            values.push_back(static_cast<double>(number + i * key));
    }
    double sum = 0;
    for (const auto &entry : document)
        sum += entry.second.back();
    return sum;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 8000;
    double sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += parse(i);
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
