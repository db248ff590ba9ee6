/* A library that allocates and is unloaded again. plugin_second.c has the same size and, most of the time, the same address. */
#include "truth.h"

FRAME struct block first_take(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}
