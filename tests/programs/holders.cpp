// Keeps what it allocates in the variable that its word names, one block per iteration.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <string>
#include <time.h>
#include <unordered_map>
#include <vector>

struct Registry {
    static std::vector<char *> rows;
};
std::vector<char *> Registry::rows;
std::map<int, char *> cache;
std::vector<std::string> everything;


// Members of an object, of one on the heap, of one with virtual functions, and of the elements of containers.
struct Order {
    int number = 0;
    std::string text;
};
struct Shop {
    int open = 1;
    struct {
        std::map<int, Order> orders;
    } books;
    std::vector<std::shared_ptr<Order>> recent;
};
static Shop shop;
struct Link {
    Link *next;
    char body[6992];
};
struct Chain {
    long length;
    Link *head;
};
static Chain *chain = new Chain{};
struct Store {
    virtual ~Store() {}
    virtual void keep(int number) = 0;
};
struct Shelf : Store {
    std::unordered_map<int, Order> rows;
    void keep(int number) override { rows[number].text.assign(7000, 'x'); } // virtual
};
static Store *store = new Shelf;
static thread_local std::vector<std::string> scratch;

static void remember() {
    static std::vector<std::string> seen;
    seen.emplace_back(7000, 'x'); // static
}

static char *filled(char *block, size_t size) { return static_cast<char *>(memset(block, 1, size)); }

int main(int, char **words) {
    void (*mark)(const char *) = nullptr;
    *reinterpret_cast<void **>(&mark) = dlsym(RTLD_DEFAULT, "heaplens_mark");
    std::vector<char *> own;
    const std::string what = words[1];
    const int passes = what == "local" || what == "thread" ? 2500 : 600; // seen while it runs
    for (int pass = 0; pass < passes; pass++) {
        if (mark) mark("pass");
        if (what == "map") cache[pass] = filled(new char[7000], 7000); // map
        if (what == "vector") everything.emplace_back(7000, 'x'); // vector
        if (what == "member") Registry::rows.push_back(filled(new char[7000], 7000)); // member
        if (what == "local") own.push_back(filled(new char[7000], 7000)); // local
        if (what == "nested") shop.books.orders[pass].text.assign(7000, 'x'); // nested
        if (what == "pointers") {
            shop.recent.push_back(std::make_shared<Order>());
            shop.recent.back()->text.assign(7000, 'x'); // pointers
        }
        if (what == "chain") {
            Link *link = new Link{chain->head, {1}}; // chain
            chain->head = link;
        }
        if (what == "virtual") store->keep(pass);
        if (what == "static") remember();
        if (what == "thread") scratch.emplace_back(7000, 'x'); // thread
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, nullptr);
    }
    return 0;
}
