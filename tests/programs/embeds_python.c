/* A program that loads an interpreter long after its start, and runs a script in it. Arguments: the
 * library, and the script. Between the two Python functions of the script stands a function of this program. */
#include "truth.h"

#include <dlfcn.h>

static int (*run_string)(const char *, void *);

FRAME void call_back(void) {
    int failed = run_string("inner()", NULL);
    ESCAPE(failed);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    void *library = dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    void (*initialize)(void) = dlsym(library, "Py_Initialize");
    run_string = dlsym(library, "PyRun_SimpleStringFlags");
    initialize();
    char script[4096];
    snprintf(script, sizeof script, "call_back = %lu\nexec(compile(open('%s').read(), '%s', 'exec'))",
             (unsigned long)call_back, words[2], words[2]);
    int failed = run_string(script, NULL);
    fflush(stdout);
    _exit(failed ? 1 : 0);
}
