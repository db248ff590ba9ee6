// Keeps what it allocates in a container of the class that its word names, one block per iteration. All of them have room for 6,000 elements,
// and make a quarter as many; what `client` has is no limit of its container.
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <map>
#include <string>
#include <time.h>
#include <unordered_map>
#include <vector>

const int LIMIT = 6000;
const int PASSES = 1500;

struct Index {
    unsigned short maxEntries = LIMIT;
    std::map<int, std::string> rows;
};
struct Cache {
    bool is_open = true;
    std::size_t capacity_ = LIMIT;
    struct {
        std::unordered_map<int, std::string> entries_;
    } hidden;
    std::unordered_map<int, std::string> entries_;
};
struct Log {
    std::list<std::string> lines;
    long max_lines = LIMIT;
};
struct Table {
    int limit = LIMIT;
    std::vector<std::string> rows;
};
struct Client {
    int max_retries = LIMIT;
    std::vector<std::string> answers;
};
static Index *index_ = new Index;
static Cache cache;
static Log logged;
static Table table;
static Client client;

int main(int, char **words) {
    void (*mark)(const char *) = nullptr;
    *reinterpret_cast<void **>(&mark) = dlsym(RTLD_DEFAULT, "heaplens_mark");
    const std::string what = words[1];
    for (int pass = 0; pass < PASSES; pass++) {
        if (mark) mark("pass");
        if (what == "index") index_->rows[pass].assign(7000, 'x'); // index
        if (what == "cache") cache.entries_[pass].assign(7000, 'x'); // cache
        if (what == "log") logged.lines.emplace_back(7000, 'x'); // log
        if (what == "table") table.rows.emplace_back(7000, 'x'); // table
        if (what == "client") client.answers.emplace_back(7000, 'x'); // client
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, nullptr);
    }
    return 0;
}
