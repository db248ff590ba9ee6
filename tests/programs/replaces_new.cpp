// Replaces operator new and delete for one object, and leaves the forms for arrays and for nothrow to the library, which
// ends them in the replaced ones: every block of the program must come through here. A block belongs to the line that calls
// the outermost form.
#include "truth.h"

#include <new>
#include <string>
#include <vector>

enum { MOST = 4096 };
static struct block blocks[MOST];
static int made, ended;

FRAME void *operator new(std::size_t bytes) {
    struct block block = {malloc(bytes), (long)bytes, 0};
    NEED(block.at != nullptr);
    made++;
    for (int i = 0; i < MOST; i++)
        if (blocks[i].at == nullptr) return (blocks[i] = block).at;
    abort();
}

FRAME void operator delete(void *at) noexcept {
    if (at == nullptr) return;
    for (int i = 0; i < MOST; i++)
        if (blocks[i].at == at) {
            blocks[i].at = nullptr;
            ended++;
            return free(at);
        }
    abort();
}

FRAME static void every_form() {
    for (int i = 1; i <= 100; i++) {
        operator delete(operator new(i));
        operator delete[](operator new[](i));
        operator delete(operator new(i, std::nothrow), std::nothrow);
        operator delete[](operator new[](i, std::nothrow), std::nothrow);
        operator delete(operator new(i), (std::size_t)i);
        operator delete[](operator new[](i), (std::size_t)i);
    }
}

FRAME static void containers() {
    std::vector<std::string> words;
    for (int i = 0; i < 500; i++) words.push_back("a word that is too long to live inside " + std::to_string(i));
}

int main() {
    every_form();
    NEED(made == 600 && ended == 600);
    containers();
    NEED(made == ended && made > 1100);
    for (int i = 0; i < 30; i++) TAKE(operator new[](77), 77);
    NEED(made == ended + 30);
    truth_print();
    return 0;
}
