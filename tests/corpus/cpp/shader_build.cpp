// cause: constructor-throws-after-new
// class: cpp
// report: https://github.com/deepmodeling/deepmd-kit/pull/3062
// verdict: lost
// line: 20
// bytes-per-iteration: 20496
// holder: -
// fix: unique_ptr, vector, catch
// note: When the check in the constructor throws, the destructor does not run and the raw buffer of 20 KiB is lost; one program of every iteration is wrong.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

class Program {
public:
    Program(const std::string &source, bool strict) {
        code_ = new unsigned char[size];
        compile(source);
        if (strict && checksum() % 2 == 1)
            throw std::runtime_error("checksum of program is odd");
    }
    ~Program() { delete[] code_; }
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;

    unsigned checksum() const {
        unsigned sum = 0;
        for (int i = 0; i < size; i++)
            sum += code_[i];
        return sum;
    }

private:
    static constexpr int size = 20 * 1024;

    void compile(const std::string &source) {
        unsigned state = 1;
        for (int i = 0; i < size; i++) {
            state = state * 1664525u + static_cast<unsigned char>(source[static_cast<std::size_t>(i) % source.size()]);
            code_[i] = static_cast<unsigned char>(state >> 24);
        }
        if (checksum() % 2 == 0)
            code_[0] ^= 1;
    }

    unsigned char *code_ = nullptr;
};

static long build_all(const std::string &source, long &failed) {
    long sum = 0;
    for (int variant = 0; variant < 8; variant++) {
        try {
            Program program(source, variant == 5);
            sum += program.checksum();
        } catch (const std::runtime_error &) {
            failed++;
        }
    }
    return sum;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 3000;
    long failed = 0, sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += build_all("void main() { gl_Position = vec4(" + std::to_string(i) + "); }", failed);
    std::printf("%ld, %ld failed\n", sum, failed);
    std::printf("truth iterations=%ld\n", iterations);
}
