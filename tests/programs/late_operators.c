/* A program without C++ that loads a library with it, late and into a scope of its own, as Python does. Argument: the
 * library, which tells the truth about itself. */
#include <dlfcn.h>
#include <stddef.h>

int main(int argc, char **argv) {
    if (argc != 2) return 98;
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return 97;
    int (*work)(void) = (int (*)(void))dlsym(handle, "late_work");
    return work == NULL ? 96 : work();
}
