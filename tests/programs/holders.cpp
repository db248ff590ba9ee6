// Keeps what it allocates in the variable that its word names, one block per iteration.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <time.h>
#include <vector>

struct Registry {
    static std::vector<char *> rows;
};
std::vector<char *> Registry::rows;
std::map<int, char *> cache;
std::vector<std::string> everything;

static char *filled(char *block, size_t size) { return static_cast<char *>(memset(block, 1, size)); }

int main(int, char **words) {
    void (*mark)(const char *) = nullptr;
    *reinterpret_cast<void **>(&mark) = dlsym(RTLD_DEFAULT, "heaplens_mark");
    std::vector<char *> own;
    const std::string what = words[1];
    const int passes = what == "local" ? 2500 : 600; // what a function holds is seen while it runs
    for (int pass = 0; pass < passes; pass++) {
        if (mark) mark("pass");
        if (what == "map") cache[pass] = filled(new char[7000], 7000); // map
        if (what == "vector") everything.emplace_back(7000, 'x'); // vector
        if (what == "member") Registry::rows.push_back(filled(new char[7000], 7000)); // member
        if (what == "local") own.push_back(filled(new char[7000], 7000)); // local
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, nullptr);
    }
    return 0;
}
