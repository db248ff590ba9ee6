// cause: cache-still-filling
// class: cpp
// report: https://github.com/facebook/rocksdb/wiki/Memory-usage-in-RocksDB
// verdict: growth
// line: 37
// bytes-per-iteration: 4250
// holder: entries_
// fix: limit, smaller, bound
// note: The cache has a limit of 500,000 entries and evicts above it, but the run ends long before; an entry is a text of 4,000 bytes, a list node and an index node.

#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

class Addresses {
public:
    explicit Addresses(std::size_t limit) : limit_(limit) {}

    const std::string &resolve(unsigned long point) {
        auto found = index_.find(point);
        if (found != index_.end())
            return found->second->second;
        entries_.emplace_front(point, describe(point));
        index_[point] = entries_.begin();
        if (entries_.size() > limit_) {
            index_.erase(entries_.back().first);
            entries_.pop_back();
        }
        return entries_.front().second;
    }

private:
    static std::string describe(unsigned long point) {
        std::string text(4000, ' ');
        unsigned long state = point;
        for (int pass = 0; pass < 24; pass++)
            for (char &c : text) {
                state = state * 6364136223846793005ul + 1442695040888963407ul;
                c = static_cast<char>('a' + (state >> 60));
            }
        return text;
    }

    std::size_t limit_;
    std::list<std::pair<unsigned long, std::string>> entries_;
    std::unordered_map<unsigned long, std::list<std::pair<unsigned long, std::string>>::iterator> index_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 12000;
    Addresses addresses(500000);
    unsigned long sum = 0, state = 7;
    for (long i = 0; i < iterations; i++) {
        state = state * 2862933555777941757ul + 3037000493ul;
        sum += static_cast<unsigned char>(addresses.resolve(state)[state % 4000]);
    }
    std::printf("%lu\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
