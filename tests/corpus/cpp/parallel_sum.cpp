// cause: tasks-joined
// class: cpp
// report: https://en.cppreference.com/w/cpp/thread/async
// verdict: clean
// note: Each iteration starts four asynchronous tasks with their own buffers and waits for all of them.

#include <cstdio>
#include <cstdlib>
#include <future>
#include <numeric>
#include <vector>

static double partial(int part, long round) {
    std::vector<double> values(60000);
    for (std::size_t i = 0; i < values.size(); i++)
        values[i] = static_cast<double>((static_cast<long>(i) * part + round) % 97);
    return std::accumulate(values.begin(), values.end(), 0.0);
}

static double total(long round) {
    std::vector<std::future<double>> parts;
    for (int part = 1; part <= 4; part++)
        parts.push_back(std::async(std::launch::async, partial, part, round));
    double sum = 0;
    for (auto &part : parts)
        sum += part.get();
    return sum;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 1500;
    double sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += total(i);
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
