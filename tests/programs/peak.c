/* What each line held when the program held most: a sawtooth that rises, one thread. */
#include "truth.h"

enum { TEETH = 40, BLOCKS = 50 };

static struct block tooth[BLOCKS];
static struct block ground[TEETH];

FRAME static void climb(int height) {
    for (int i = 0; i < BLOCKS; i++) tooth[i] = i % 2 ? TAKE(malloc((size_t)(height * 100 + i)), height * 100 + i)
                                                      : (struct block){NULL, 0, 0};
    for (int i = 0; i < BLOCKS; i += 2) tooth[i] = TAKE(calloc(1, (size_t)(height * 300)), height * 300);
}

FRAME static void fall(void) {
    for (int i = 0; i < BLOCKS; i++) give(tooth[i]);
}

int main(void) {
    truth_peak_claimed = 1;
    for (int i = 0; i < TEETH; i++) {
        climb(i < 30 ? i + 1 : 60 - i);
        ground[i] = TAKE(malloc(512), 512);
        fall();
        give(TAKE(malloc(4096), 4096));
    }
    for (int i = 0; i < TEETH; i += 2) give(ground[i]);
    truth_print();
    return 0;
}
