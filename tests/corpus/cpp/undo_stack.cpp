// cause: history-with-bound
// class: cpp
// report: https://doc.qt.io/qt-6/qundostack.html#undoLimit-prop
// verdict: plateau
// note: The undo history keeps 500 snapshots of 60 KB and pops the oldest at the other end.

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

class Document {
public:
    void type(char c, std::size_t at) {
        history_.push_back(text_);
        if (history_.size() > 500)
            history_.pop_front();
        text_[at % text_.size()] = c;
    }

    unsigned checksum() const {
        unsigned sum = 0;
        for (unsigned char c : text_)
            sum = sum * 31 + c;
        return sum;
    }

private:
    std::string text_ = std::string(60000, ' ');
    std::deque<std::string> history_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 20000;
    Document document;
    unsigned sum = 0;
    for (long i = 0; i < iterations; i++) {
        document.type(static_cast<char>('a' + i % 26), static_cast<std::size_t>(i) * 7919);
        sum ^= document.checksum();
    }
    std::printf("%u\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
