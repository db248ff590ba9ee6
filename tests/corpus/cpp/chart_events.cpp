// cause: observers-never-removed
// class: cpp
// report: https://github.com/palacaze/sigslot/issues/38
// verdict: leak
// line: 36
// bytes-per-iteration: 24592
// holder: slots_
// fix: disconnect, remove, weak
// note: Every chart connects a slot that owns its points (24 KiB) to a signal that outlives it; nobody disconnects.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

class Signal {
public:
    void connect(std::function<void(double)> slot) { slots_.push_back(std::move(slot)); }
    void emit(double value) {
        std::size_t first = slots_.size() > 120 ? slots_.size() - 120 : 0;
        for (std::size_t i = first; i < slots_.size(); i++)
            slots_[i](value);
    }

private:
    std::vector<std::function<void(double)>> slots_;
};

static Signal theme_changed;

class Chart {
public:
    explicit Chart(long seed) {
        points_ = std::make_shared<std::vector<double>>();
        points_->reserve(3072);
        for (int i = 0; i < 3072; i++)
            points_->push_back(static_cast<double>(seed % 100 + i));
        theme_changed.connect([points = points_](double scale) {
            for (double &point : *points)
                point = point * scale + 1;
        });
    }
    double height() const { return points_->back() - points_->front(); }

private:
    std::shared_ptr<std::vector<double>> points_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 4000;
    double sum = 0;
    for (long i = 0; i < iterations; i++) {
        Chart chart(i);
        theme_changed.emit(0.5);
        sum += chart.height();
    }
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
