// cause: lambda-captures-its-owner
// class: cpp
// report: https://github.com/llvm/llvm-project/issues/120924
// verdict: lost
// line: 20
// bytes-per-iteration: 16512
// holder: -
// fix: weak_from_this, weak_ptr, weak
// note: The handler stored in the request captures a shared pointer to that request, so neither it nor its body of 16 KiB is ever destroyed.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

class Request : public std::enable_shared_from_this<Request> {
public:
    explicit Request(long number) : number_(number) {
        body_.assign(16 * 1024, static_cast<char>('a' + number % 26));
    }

    void prepare() {
        on_timeout_ = [self = shared_from_this()] { return self->send(); };
    }

    unsigned run(int attempts) {
        unsigned sum = 0;
        for (int i = 0; i < attempts; i++)
            sum += on_timeout_();
        return sum;
    }

    unsigned send() {
        unsigned sum = static_cast<unsigned>(number_) + 17;
        for (unsigned char byte : body_)
            sum = sum * 31 + byte;
        return sum;
    }

private:
    long number_;
    std::string body_;
    std::function<unsigned()> on_timeout_;
};

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 5000;
    unsigned sum = 0;
    for (long i = 0; i < iterations; i++) {
        auto request = std::make_shared<Request>(i);
        request->prepare();
        sum ^= request->run(20);
    }
    std::printf("%u\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
