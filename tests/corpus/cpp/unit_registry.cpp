// cause: static-registry
// class: cpp
// report: https://isocpp.org/wiki/faq/ctors#construct-on-first-use-v2
// verdict: leak
// line: 25
// bytes-per-iteration: 12290
// holder: instances
// fix: unregister, erase, remove, weak
// note: Each unit adds itself to the static list in its constructor and nothing takes it out; a unit is a block of 12,272 bytes.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

class Unit {
public:
    static std::vector<std::shared_ptr<Unit>> &instances() {
        static std::vector<std::shared_ptr<Unit>> instances;
        return instances;
    }

    static std::shared_ptr<Unit> create(int kind) {
        auto unit = std::make_shared<Unit>(kind);
        instances().push_back(unit);
        return unit;
    }

    explicit Unit(int kind) { state_.fill(static_cast<double>(kind)); }

    double simulate(int steps) {
        double energy = 0;
        for (int step = 0; step < steps; step++)
            for (double &value : state_) {
                value = value * 0.99 + 0.01 * step;
                energy += value;
            }
        return energy;
    }

private:
    std::array<double, 1530> state_;
};

static double battle(long round) {
    auto unit = Unit::create(static_cast<int>(round % 5));
    return unit->simulate(150);
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 5000;
    double energy = 0;
    for (long i = 0; i < iterations; i++)
        energy += battle(i);
    std::printf("%g\n", energy);
    std::printf("truth iterations=%ld\n", iterations);
}
