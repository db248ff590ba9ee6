// cause: shared-ptr-parent-cycle
// class: cpp
// report: https://github.com/boostorg/smart_ptr/issues/71
// verdict: lost
// line: 19
// bytes-per-iteration: 49392
// holder: -
// fix: weak_ptr, weak
// note: Parent and children own each other, so a scene's 12 nodes with 4,000 bytes of mesh each are unreachable but never deleted.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

class Node {
public:
    explicit Node(int kind) : kind_(kind) {
        mesh_.assign(1000, static_cast<float>(kind));
    }

    static void attach(const std::shared_ptr<Node> &parent, const std::shared_ptr<Node> &child) {
        parent->children_.push_back(child);
        child->parent_ = parent;
    }

    float bounds() const {
        float sum = 0;
        for (int pass = 0; pass < 40; pass++)
            for (float value : mesh_)
                sum = sum * 0.5f + value;
        for (const auto &child : children_)
            sum += child->bounds();
        return sum;
    }

private:
    int kind_;
    std::vector<float> mesh_;
    std::vector<std::shared_ptr<Node>> children_;
    std::shared_ptr<Node> parent_;
};

static float render(long frame) {
    auto root = std::make_shared<Node>(static_cast<int>(frame % 7));
    for (int i = 0; i < 11; i++)
        Node::attach(root, std::make_shared<Node>(i));
    return root->bounds();
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 2000;
    float sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += render(i);
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
