/* A program that loads an interpreter, runs a line in it, ends and unloads it, and goes on without. Argument: the library. */
#include "truth.h"

#include <dlfcn.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        void (*initialize)(int) = dlsym(library, "Py_InitializeEx");
        int (*run_string)(const char *, void *) = dlsym(library, "PyRun_SimpleStringFlags");
        int (*finalize)(void) = dlsym(library, "Py_FinalizeEx");
        initialize(0);
        if (run_string("kept = [bytearray(1000 * n) for n in range(50)]", NULL)) return 4;
        finalize();
        dlclose(library);
        if (dlopen(words[1], RTLD_NOW | RTLD_NOLOAD)) return 5;
        for (int times = 0; times < 1000; times++) {
            void *block = malloc(3000);
            ESCAPE(block);
            free(block);
        }
    }
    void *kept = malloc(77777);
    ESCAPE(kept);
    printf("went on\n");
    return 0;
}
