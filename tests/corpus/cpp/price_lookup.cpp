// cause: map-index-inserts
// class: cpp
// report: https://github.com/intel/llvm/pull/2931
// verdict: leak
// line: 32
// bytes-per-iteration: 6912
// holder: quotes_
// fix: find, contains, count, at
// note: The look-up uses operator[], so each of the 8 unknown symbols of an iteration inserts an entry with an empty history of 800 bytes (a node of 864).

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

struct Quote {
    double last = 0;
    std::array<double, 99> history{};
};

class Market {
public:
    void publish(unsigned long symbol, double price) {
        Quote &quote = quotes_.at(symbol);
        quote.last = price;
        quote.history[symbol % quote.history.size()] = price;
    }

    void list(unsigned long symbol) { quotes_.emplace(symbol, Quote{}); }

    double price_of(unsigned long symbol) {
        const Quote &quote = quotes_[symbol];
        return quote.last > 0 ? quote.last : 1.0;
    }

private:
    std::map<unsigned long, Quote> quotes_;
};

static Market market;

static double evaluate(unsigned long &state) {
    double total = 0;
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 6000; k++)
            state = state * 6364136223846793005ul + 1442695040888963407ul;
        total += market.price_of(state | 1024);
        total += market.price_of(static_cast<unsigned long>(i));
    }
    return total;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 15000;
    for (unsigned long symbol = 0; symbol < 64; symbol++) {
        market.list(symbol);
        market.publish(symbol, 10.0 + static_cast<double>(symbol));
    }
    unsigned long state = 42;
    double total = 0;
    for (long i = 0; i < iterations; i++)
        total += evaluate(state);
    std::printf("%g\n", total);
    std::printf("truth iterations=%ld\n", iterations);
}
