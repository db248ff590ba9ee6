// A library whose users share its operator new and delete: a header before every block, so that a block must come back to the
// pair that made it. Whoever answers one half of the pair by another breaks the program.
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
constexpr std::uint64_t MARK = 0x6f776e20706169ULL;
struct Header {
    std::uint64_t mark, bytes;
};
long live;

void *make(std::size_t bytes) {
    Header *header = static_cast<Header *>(std::malloc(sizeof(Header) + bytes));
    if (header == nullptr) throw std::bad_alloc();
    *header = {MARK, bytes};
    __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return header + 1;
}

void take_back(void *block) {
    if (block == nullptr) return;
    Header *header = static_cast<Header *>(block) - 1;
    if (header->mark != MARK) __builtin_trap();
    header->mark = 0;
    __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    std::free(header);
}
} // namespace

extern "C" long own_live() {
    return live;
}

void *operator new(std::size_t bytes) {
    return make(bytes);
}
void *operator new[](std::size_t bytes) {
    return make(bytes);
}
void operator delete(void *block) noexcept {
    take_back(block);
}
void operator delete[](void *block) noexcept {
    take_back(block);
}
void operator delete(void *block, std::size_t) noexcept {
    take_back(block);
}
void operator delete[](void *block, std::size_t) noexcept {
    take_back(block);
}
