// cause: polymorphic-owner
// class: cpp
// report: https://isocpp.github.io/CppCoreGuidelines/CppCoreGuidelines#c35-a-base-class-destructor-should-be-either-public-and-virtual-or-protected-and-non-virtual
// verdict: clean
// note: Shapes of three classes are owned through the base class, whose destructor is virtual.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

class Shape {
public:
    virtual ~Shape() = default;
    virtual double area() const = 0;
};

class Circle : public Shape {
public:
    explicit Circle(double r) : r_(r) {}
    double area() const override { return 3.14159265 * r_ * r_; }

private:
    double r_;
};

class Polygon : public Shape {
public:
    explicit Polygon(int corners) {
        for (int i = 0; i < corners; i++) {
            x_.push_back(std::cos(0.1 * i));
            y_.push_back(std::sin(0.1 * i));
        }
    }
    double area() const override {
        double sum = 0;
        for (std::size_t i = 1; i < x_.size(); i++)
            sum += x_[i - 1] * y_[i] - x_[i] * y_[i - 1];
        return sum / 2;
    }

private:
    std::vector<double> x_, y_;
};

class Raster : public Shape {
public:
    explicit Raster(int side) : cells_(std::make_unique<unsigned char[]>(static_cast<std::size_t>(side) * side)), side_(side) {
        for (int i = 0; i < side * side; i++)
            cells_[static_cast<std::size_t>(i)] = i % 3 == 0;
    }
    double area() const override {
        double sum = 0;
        for (int i = 0; i < side_ * side_; i++)
            sum += cells_[static_cast<std::size_t>(i)];
        return sum;
    }

private:
    std::unique_ptr<unsigned char[]> cells_;
    int side_;
};

static std::unique_ptr<Shape> read_shape(long number) {
    switch (number % 3) {
    case 0:
        return std::make_unique<Circle>(1.0 + static_cast<double>(number % 10));
    case 1:
        return std::make_unique<Polygon>(3000);
    default:
        return std::make_unique<Raster>(256);
    }
}

int main() {
    const char *value = std::getenv("CORPUS_ITERATIONS");
    long iterations = value ? std::atol(value) : 20000;
    double sum = 0;
    for (long i = 0; i < iterations; i++) {
        std::vector<std::unique_ptr<Shape>> shapes;
        for (int k = 0; k < 3; k++)
            shapes.push_back(read_shape(i + k));
        for (const auto &shape : shapes)
            sum += shape->area();
    }
    std::printf("%g\n", sum);
    std::printf("truth iterations=%ld\n", iterations);
}
