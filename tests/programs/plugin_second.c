/* The counterpart of plugin_first.c, with its one row on another line. */
#include "truth.h"

/* A line that the first one does not have. */

FRAME struct block second_take(long bytes) {
    return TAKE(malloc((size_t)bytes), bytes);
}
