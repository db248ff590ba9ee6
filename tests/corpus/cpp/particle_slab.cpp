// cause: custom-allocator-with-free-list
// class: cpp
// report: https://www.boost.org/doc/libs/release/libs/pool/doc/html/index.html
// verdict: plateau
// note: The slab allocator takes blocks of 256 KiB and gives none back; particles die as they are born, so the number of blocks settles.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

class Slab {
public:
    explicit Slab(std::size_t size) : size_((size + 15) / 16 * 16) {}

    void *take() {
        if (!free_)
            refill();
        Cell *cell = free_;
        free_ = cell->next;
        return cell;
    }

    void give(void *p) {
        Cell *cell = static_cast<Cell *>(p);
        cell->next = free_;
        free_ = cell;
    }

    std::size_t blocks() const { return blocks_.size(); }

private:
    struct Cell {
        Cell *next;
    };

    void refill() {
        constexpr std::size_t bytes = 256 * 1024;
        blocks_.push_back(std::make_unique<char[]>(bytes));
        char *p = blocks_.back().get();
        for (std::size_t at = 0; at + size_ <= bytes; at += size_)
            give(p + at);
    }

    std::size_t size_;
    Cell *free_ = nullptr;
    std::vector<std::unique_ptr<char[]>> blocks_;
};

struct Particle {
    float position[3];
    float velocity[3];
    int life;
    char trail[228];
};

static Slab slab(sizeof(Particle));

static void step(std::vector<Particle *> &alive, long frame) {
    for (int i = 0; i < 900; i++) {
        Particle *p = new (slab.take()) Particle();
        p->life = 60 + (i * 13 + static_cast<int>(frame)) % 60;
        alive.push_back(p);
    }
    std::size_t kept = 0;
    for (Particle *p : alive) {
        for (int k = 0; k < 3; k++)
            p->position[k] += p->velocity[k] * 0.016f;
        if (--p->life > 0)
            alive[kept++] = p;
        else
            slab.give(p);
    }
    alive.resize(kept);
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 3000;
    std::vector<Particle *> alive;
    for (long i = 0; i < iterations; i++)
        step(alive, i);
    std::printf("%zu alive in %zu blocks\n", alive.size(), slab.blocks());
    std::printf("truth iterations=%ld\n", iterations);
}
