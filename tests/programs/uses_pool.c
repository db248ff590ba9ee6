/* Loads a library with a pool for itself alone, has parts from it and gives them back: the pool's own functions must be reached.
 * Argument: the library. */
#include "truth.h"

#include <dlfcn.h>

struct pool {
    struct {
        char *(*allocate)(const struct pool *, size_t, size_t, const void *);
        void (*deallocate)(const struct pool *, char *);
    } *table;
};

int main(int argc, char **argv) {
    NEED(argc == 2);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    NEED(library != NULL);
    const struct pool *pool = dlsym(library, "the_pool");
    NEED(pool != NULL);
    for (int i = 0; i < 3; i++) {
        char *part = pool->table->allocate(pool, 64, 1000, NULL);
        NEED(part != NULL);
        pool->table->deallocate(pool, part);
        NEED(part[0] == 'd');
    }
    return 14;
}
