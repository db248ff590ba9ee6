// Prints, for each call of `probe`, the return address as an address of this file, the line of the call and the
// function that the call is in: the truth that the test compares with.
#include <cstdio>
#include <dlfcn.h>

[[gnu::noinline]] static void probe(int line, const char* function) {
    Dl_info info;
    char* address = static_cast<char*>(__builtin_extract_return_addr(__builtin_return_address(0)));
    if (dladdr(address, &info) == 0) return;
    std::printf("%lx %d %s\n", static_cast<unsigned long>(address - static_cast<char*>(info.dli_fbase)), line, function);
    std::fflush(stdout);
}

namespace shop {
struct Rows {
    int filled = 0;
    [[gnu::noinline]] void fill(int) {
        probe(__LINE__, "shop::Rows::fill");
        ++filled;
    }
};
}  // namespace shop

[[gnu::noinline]] static int hidden(int value) {
    probe(__LINE__, "hidden");
    return value + 1;
}

[[gnu::always_inline]] static inline int folded(int value) {
    probe(__LINE__, "folded");
    return value + 2;
}

extern "C" [[gnu::noinline]] int visible(int value) {
    value = folded(value);
    probe(__LINE__, "visible");
    return value + 3;
}

int main() {
    shop::Rows rows;
    rows.fill(1);
    return hidden(visible(0)) - 6 + rows.filled - 1;
}
