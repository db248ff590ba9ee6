// cause: cache-with-byte-limit
// class: cpp
// report: https://github.com/facebook/rocksdb/wiki/Block-Cache
// verdict: plateau
// note: The cache counts the bytes of its tiles and drops the least used ones above 24 MiB.

#include <cstdio>
#include <cstdlib>
#include <list>
#include <unordered_map>
#include <vector>

class TileCache {
public:
    explicit TileCache(std::size_t limit) : limit_(limit) {}

    const std::vector<unsigned char> &tile(unsigned number) {
        auto found = index_.find(number);
        if (found != index_.end()) {
            order_.splice(order_.begin(), order_, found->second);
            return found->second->bytes;
        }
        order_.push_front(Entry{number, render(number)});
        index_[number] = order_.begin();
        bytes_ += order_.front().bytes.size();
        while (bytes_ > limit_ && order_.size() > 1) {
            bytes_ -= order_.back().bytes.size();
            index_.erase(order_.back().number);
            order_.pop_back();
        }
        return order_.front().bytes;
    }

private:
    struct Entry {
        unsigned number;
        std::vector<unsigned char> bytes;
    };

    static std::vector<unsigned char> render(unsigned number) {
        std::vector<unsigned char> bytes(20000 + number % 13 * 1500);
        unsigned state = number;
        for (unsigned char &byte : bytes) {
            state = state * 1664525u + 1013904223u;
            byte = static_cast<unsigned char>(state >> 24);
        }
        return bytes;
    }

    std::size_t limit_, bytes_ = 0;
    std::list<Entry> order_;
    std::unordered_map<unsigned, std::list<Entry>::iterator> index_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 40000;
    TileCache cache(24u << 20);
    unsigned state = 9;
    unsigned long sum = 0;
    for (long i = 0; i < iterations; i++) {
        state = state * 22695477u + 1;
        sum += cache.tile((state >> 12) % 20000)[0];
    }
    std::printf("%lu\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
