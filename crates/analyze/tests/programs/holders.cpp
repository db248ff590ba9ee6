// Builds objects and containers, says what each block is and what holds it, and waits until its input ends.
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Entry { void *at; std::size_t size; };
static Entry table[100000];
static std::size_t used;

void *operator new(std::size_t size) {
    void *at = std::malloc(size);
    table[used++] = {at, size};
    return at;
}
static void forget(void *at) {
    for (std::size_t i = used; i-- > 0;)
        if (table[i].at == at) { table[i] = table[--used]; break; }
    std::free(at);
}
void operator delete(void *at) noexcept { if (at) forget(at); }
void operator delete(void *at, std::size_t) noexcept { if (at) forget(at); }

namespace shop {
struct Item { virtual ~Item() {} long price = 1; };
struct Book : Item { std::string title; };
struct Tagged { virtual ~Tagged() {} long tag = 2; };
struct Both : Item, Tagged {};
struct Base : virtual Item {};
struct Deep : Base { std::vector<long> pages; };
template <class T> struct Box : Item { T held{}; };
struct Plain { long first = 3; void *next = nullptr; };
}
namespace { struct Hidden : shop::Item {}; }

std::map<int, std::string> g_cache;
std::vector<long> g_table[3];
static std::list<shop::Item *> s_items;
shop::Plain *g_plain;
int g_initialised[4] = {1, 2, 3, 4};
long *g_buffer;

static std::deque<int> &queue() {
    static std::deque<int> values;
    return values;
}

template <class T> static T *tell(T *object, const char *name) {
    std::printf("class %p %s\n", static_cast<void *>(object), name);
    s_items.push_back(object);
    return object;
}

int main() {
    auto *book = tell(new shop::Book, "shop::Book");
    book->title = "a title that is too long for its header";
    std::printf("payload %p string\n", static_cast<const void *>(book->title.data()));
    tell(new shop::Item, "shop::Item");
    tell(new shop::Both, "shop::Both");
    tell(new shop::Box<std::vector<int>>, "shop::Box<std::vector<int, std::allocator<int> > >");
    tell(new Hidden, "(anonymous namespace)::Hidden");
    auto *deep = new shop::Deep;
    std::printf("class %p shop::Deep\n", static_cast<void *>(deep));
    s_items.push_back(deep);
    deep->pages.resize(100);
    std::printf("payload %p vector\n", static_cast<void *>(deep->pages.data()));
    g_plain = new shop::Plain;
    std::printf("plain %p -\n", static_cast<void *>(g_plain));
    for (int i = 0; i < 1000; i++) g_cache[i] = std::string(100, 'x');
    for (int i = 0; i < 3; i++) g_table[i].assign(50, i);
    g_table[1].shrink_to_fit();
    std::printf("payload %p vector\n", static_cast<void *>(g_table[1].data()));
    queue().push_back(1);
    std::printf("plain %p -\n", static_cast<void *>(&queue().front()));
    g_buffer = static_cast<long *>(operator new(40000));
    std::printf("plain %p -\n", static_cast<void *>(g_buffer));

    std::printf("global %p g_cache\n", static_cast<void *>(&g_cache));
    std::printf("global %p g_table+24\n", static_cast<void *>(&g_table[1]));
    std::printf("global %p s_items\n", static_cast<void *>(&s_items));
    std::printf("global %p g_initialised+8\n", static_cast<void *>(&g_initialised[2]));
    std::printf("global %p queue()::values\n", static_cast<void *>(&queue()));
    std::printf("held %p g_cache\n", static_cast<const void *>(g_cache[777].data()));
    std::printf("held %p g_table+24\n", static_cast<const void *>(g_table[1].data()));
    std::printf("held %p s_items\n", static_cast<const void *>(book->title.data()));
    std::printf("held %p g_buffer\n", static_cast<const void *>(g_buffer));
    for (std::size_t i = 0; i < used; i++)
        std::printf("block %p %zu\n", table[i].at, table[i].size);
    std::printf("done\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) {}
}
