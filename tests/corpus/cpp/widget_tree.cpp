// cause: weak-back-pointer
// class: cpp
// report: https://en.cppreference.com/w/cpp/memory/weak_ptr
// verdict: clean
// note: Children point to their parent weakly, so the tree goes as soon as its root is dropped.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

class Widget : public std::enable_shared_from_this<Widget> {
public:
    explicit Widget(int depth) : pixels_(800, depth) {}

    void grow(int depth) {
        if (depth == 0)
            return;
        for (int i = 0; i < 3; i++) {
            auto child = std::make_shared<Widget>(depth);
            child->parent_ = weak_from_this();
            child->grow(depth - 1);
            children_.push_back(std::move(child));
        }
    }

    long paint() const {
        long sum = parent_.expired() ? 1 : 2;
        for (int pixel : pixels_)
            sum += pixel;
        for (const auto &child : children_)
            sum += child->paint();
        return sum;
    }

private:
    std::vector<int> pixels_;
    std::vector<std::shared_ptr<Widget>> children_;
    std::weak_ptr<Widget> parent_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 4000;
    long sum = 0;
    for (long i = 0; i < iterations; i++) {
        auto root = std::make_shared<Widget>(0);
        root->grow(5);
        sum += root->paint();
    }
    std::printf("%ld\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
