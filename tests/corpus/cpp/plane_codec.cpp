// cause: destructor-not-virtual
// class: cpp
// report: https://github.com/FLIF-hub/FLIF/issues/184
// verdict: lost
// line: 25
// bytes-per-iteration: 32784
// holder: -
// fix: virtual
// note: The plane is deleted through its base class, which has no virtual destructor, so the derived class's sample buffer of 32 KiB stays behind.

#include <cstddef>
#include <cstdio>
#include <cstdlib>

class Plane {
public:
    Plane() = default;
    ~Plane() {}
    virtual long energy() const = 0;
};

class SamplePlane : public Plane {
public:
    SamplePlane(int width, int height, int seed) : count_(width * height) {
        samples_ = new short[static_cast<std::size_t>(count_)];
        for (int i = 0; i < count_; i++)
            samples_[i] = static_cast<short>((i * 31 + seed) % 255);
    }
    ~SamplePlane() { delete[] samples_; }

    long energy() const override {
        long sum = 0;
        for (int pass = 0; pass < 36; pass++)
            for (int i = 0; i < count_; i++)
                sum += samples_[i] * (samples_[i] - pass);
        return sum;
    }

private:
    int count_;
    short *samples_;
};

static Plane *decode(long number) { return new SamplePlane(128, 128, static_cast<int>(number)); }

#pragma GCC diagnostic ignored "-Wdelete-non-virtual-dtor"

static long transcode(long number) {
    Plane *plane = decode(number);
    long energy = plane->energy();
    delete plane;
    return energy;
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 3000;
    long sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += transcode(i);
    std::printf("%ld\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
