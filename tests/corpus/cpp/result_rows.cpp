// cause: vector-reused
// class: cpp
// report: https://en.cppreference.com/w/cpp/container/vector/clear
// verdict: clean
// note: clear() keeps the capacity, so the vector holds the size of the largest result and is used again.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

struct Row {
    long id;
    double value;
    char tag[16];
};

class Query {
public:
    double run(long number) {
        rows_.clear();
        long count = 20000 + number * 7919 % 20000;
        for (long i = 0; i < count; i++) {
            Row row{i, static_cast<double>(i % 100) * 0.25, "row"};
            rows_.push_back(row);
        }
        double sum = 0;
        for (const Row &row : rows_)
            sum += row.value;
        return sum / static_cast<double>(rows_.size());
    }

private:
    std::vector<Row> rows_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 8000;
    Query query;
    double sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += query.run(i);
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
