// A program that allocates much and works between: it indexes made-up documents, answers queries from the index through a
// cache, and evaluates formulas. Argument: rounds. The cost is the CPU time of the whole program, per round.
#include "measure.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// The same numbers on every machine and in every run.
class Numbers {
  public:
    explicit Numbers(uint64_t seed) : state_(seed * 2 + 1) {}

    uint32_t below(uint32_t limit) {
        state_ = state_ * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return static_cast<uint32_t>((state_ >> 33) % limit);
    }

  private:
    uint64_t state_;
};

static std::string make_word(Numbers &numbers) {
    // Few words are frequent, many are rare, as in a language.
    const uint32_t rank = numbers.below(1 + numbers.below(4000));
    std::string word = "w";
    for (uint32_t rest = rank * 2654435761u; rest != 0; rest /= 23) word += static_cast<char>('a' + rest % 23);
    return word.append(rank % 12, 'e');
}

static std::string make_document(Numbers &numbers, int words) {
    std::string text;
    for (int i = 0; i < words; i++) text.append(make_word(numbers)).append(i % 11 == 10 ? ". " : " ");
    return text;
}

static std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> words;
    size_t start = 0;
    for (size_t end; (end = text.find_first_of(" .", start)) != std::string::npos; start = end + 1)
        if (end > start) words.emplace_back(text, start, end - start);
    return words;
}

struct Posting {
    int document;
    std::vector<int> positions;
};

class Index {
  public:
    void add(int document, const std::string &text) {
        int position = 0;
        for (const std::string &word : split(text)) {
            std::deque<Posting> &postings = postings_[word];
            if (postings.empty() || postings.back().document != document) postings.push_back({document, {}});
            postings.back().positions.push_back(position++);
        }
    }

    // The documents that hold all words, the ones with most occurrences first.
    std::vector<std::pair<size_t, int>> search(const std::vector<std::string> &words) const {
        std::map<int, std::pair<size_t, size_t>> found;
        for (const std::string &word : words) {
            const auto entry = postings_.find(word);
            if (entry == postings_.end()) return {};
            for (const Posting &posting : entry->second) {
                auto &[hits, occurrences] = found[posting.document];
                hits += 1, occurrences += posting.positions.size();
            }
        }
        std::vector<std::pair<size_t, int>> ranked;
        for (const auto &[document, counts] : found)
            if (counts.first == words.size()) ranked.emplace_back(counts.second, document);
        std::sort(ranked.rbegin(), ranked.rend());
        return ranked;
    }

  private:
    std::unordered_map<std::string, std::deque<Posting>> postings_;
};

// Answers that were given lately, the oldest dropped first.
class Cache {
  public:
    explicit Cache(size_t capacity) : capacity_(capacity) {}

    const std::string *find(const std::string &query) {
        const auto entry = places_.find(query);
        if (entry == places_.end()) return nullptr;
        order_.splice(order_.begin(), order_, entry->second);
        return &entry->second->second;
    }

    void keep(const std::string &query, std::string answer) {
        order_.emplace_front(query, std::move(answer));
        places_[query] = order_.begin();
        if (order_.size() <= capacity_) return;
        places_.erase(order_.back().first);
        order_.pop_back();
    }

  private:
    size_t capacity_;
    std::list<std::pair<std::string, std::string>> order_;
    std::map<std::string, std::list<std::pair<std::string, std::string>>::iterator> places_;
};

static std::string answer(const Index &index, const std::string &query) {
    std::ostringstream text;
    for (const auto &[occurrences, document] : index.search(split(query)))
        text << document << ':' << occurrences << ';';
    return text.str();
}

struct Formula {
    virtual ~Formula() = default;
    virtual double value(double x) const = 0;
};

struct Leaf : Formula {
    explicit Leaf(double factor) : factor(factor) {}
    double value(double x) const override { return factor * x; }
    double factor;
};

struct Branch : Formula {
    Branch(std::unique_ptr<Formula> left, std::unique_ptr<Formula> right)
        : left(std::move(left)), right(std::move(right)) {}
    double value(double x) const override { return left->value(x) * 0.5 + right->value(x + 1); }
    std::unique_ptr<Formula> left, right;
};

static std::unique_ptr<Formula> grow(Numbers &numbers, int height) {
    if (height == 0) return std::make_unique<Leaf>(numbers.below(100) / 100.0);
    return std::make_unique<Branch>(grow(numbers, height - 1), grow(numbers, height - 1));
}

static uint64_t round_of_work(Numbers &numbers) {
    Index index;
    for (int document = 0; document < 200; document++) index.add(document, make_document(numbers, 150));
    Cache cache(64);
    uint64_t sum = 0;
    for (int i = 0; i < 400; i++) {
        const std::string query = make_word(numbers) + " " + make_word(numbers) + " ";
        const std::string *known = cache.find(query);
        if (known == nullptr) cache.keep(query, answer(index, query));
        sum += cache.find(query)->size();
    }
    for (int i = 0; i < 20; i++) {
        const std::unique_ptr<Formula> formula = grow(numbers, 9);
        for (int x = 0; x < 8; x++) sum += static_cast<uint64_t>(formula->value(x));
    }
    return sum;
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const long rounds = atol(argv[1]);
    if (rounds < 1) return 2;
    Numbers numbers(42);
    uint64_t sum = 0;
    for (long i = 0; i < rounds; i++) sum += round_of_work(numbers);
    printf("checksum %" PRIu64 "\n", sum);
    tell_measured(static_cast<double>(process_cpu()) / static_cast<double>(rounds));
    return 0;
}
