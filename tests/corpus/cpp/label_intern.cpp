// cause: interning-without-end
// class: cpp
// report: https://github.com/Robbepop/string-interner/issues/31
// verdict: leak
// line: 20
// bytes-per-iteration: 5500
// holder: names
// fix: intern, bound, view, clear
// note: 32 new labels of 120 characters an iteration are interned for ever: a set node (48 bytes, a chunk of 64), its bucket and the text (121 bytes, a chunk of 144) each.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_set>

class Names {
public:
    const std::string *intern(std::string_view text) {
        return &*names_.emplace(text).first;
    }
    std::size_t size() const { return names_.size(); }

private:
    std::unordered_set<std::string> names_;
};

static Names names;

static std::size_t ingest(long batch) {
    char label[128];
    std::size_t sum = 0;
    for (int i = 0; i < 32; i++) {
        int n = std::snprintf(label, sizeof label, "http_requests_total{pod=\"web-%08ld\",path=\"/item/%05d\",code=\"200\"", batch, i);
        while (n < 120)
            label[n++] = '}';
        const std::string *name = names.intern(std::string_view(label, 120));
        for (int pass = 0; pass < 40; pass++)
            for (char c : *name)
                sum = sum * 33 + static_cast<unsigned char>(c);
    }
    return sum;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 8000;
    std::size_t sum = 0;
    for (long i = 0; i < iterations; i++)
        sum ^= ingest(i);
    std::printf("%zu labels, %zu\n", names.size(), sum);
    std::printf("truth iterations=%ld\n", iterations);
}
