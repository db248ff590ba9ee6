/* A library that a user preloads: it says that it is there, and allocates while it is loaded. */
#include "truth.h"

__attribute__((constructor)) static void loaded(void) {
    void *at = malloc(123);
    ESCAPE(at);
    truth_say("preloaded library is here\n", 26);
}
