// cause: thread-local-cache
// class: cpp
// report: https://github.com/tenstorrent/tt-metal/issues/13588
// verdict: leak
// line: 25
// bytes-per-iteration: 10400
// holder: plans
// fix: bound, clear, evict, lru
// note: The worker lives as long as the program and memoises every plan (10,240 bytes) by a key that never comes again.

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

static const std::string &plan_for(unsigned long key) {
    thread_local std::unordered_map<unsigned long, std::string> plans;
    auto found = plans.find(key);
    if (found != plans.end())
        return found->second;
    std::string text(10240, 'p');
    unsigned long state = key;
    for (int pass = 0; pass < 16; pass++)
        for (char &c : text) {
            state = state * 6364136223846793005ul + 1;
            c = static_cast<char>('a' + (state >> 60));
        }
    return plans.emplace(key, std::move(text)).first->second;
}

class Worker {
public:
    Worker() : thread_([this] { loop(); }) {}
    ~Worker() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stop_ = true;
        }
        ready_.notify_all();
        thread_.join();
    }

    void submit(unsigned long key) {
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [this] { return keys_.size() < 8; });
        keys_.push_back(key);
        ready_.notify_one();
    }

    unsigned long answer() {
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [this] { return keys_.empty() && !busy_; });
        return sum_;
    }

private:
    void loop() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            ready_.wait(lock, [this] { return stop_ || !keys_.empty(); });
            if (keys_.empty())
                return;
            unsigned long key = keys_.front();
            keys_.pop_front();
            busy_ = true;
            lock.unlock();
            unsigned long part = static_cast<unsigned char>(plan_for(key)[key % 10240]);
            lock.lock();
            sum_ += part;
            busy_ = false;
            room_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_, room_;
    std::deque<unsigned long> keys_;
    unsigned long sum_ = 0;
    bool stop_ = false, busy_ = false;
    std::thread thread_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 6000;
    Worker worker;
    for (long i = 0; i < iterations; i++)
        worker.submit(static_cast<unsigned long>(i) * 2654435761ul);
    std::printf("%lu\n", worker.answer());
    std::printf("truth iterations=%ld\n", iterations);
}
