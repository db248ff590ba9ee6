// Uses the operators of own_operators_library.cpp, which stand before libstdc++'s in the search order.
#include "truth.h"

#include <string>
#include <vector>

extern "C" long own_live();

FRAME static void pairs() {
    for (int i = 1; i <= 300; i++) {
        struct block block = TAKE(operator new(i), i);
        truth_forget_block(block), operator delete(block.at);
        block = TAKE(operator new[](i), i);
        truth_forget_block(block), operator delete[](block.at);
    }
    for (int i = 0; i < 50; i++) TAKE(operator new(500), 500);
}

FRAME static void containers() {
    std::vector<std::string> words;
    for (int i = 0; i < 2000; i++) words.push_back("a word that is too long to live inside " + std::to_string(i));
    NEED(own_live() > 2000);
}

int main() {
    pairs();
    containers();
    NEED(own_live() == 50);
    truth_print();
    return 0;
}
