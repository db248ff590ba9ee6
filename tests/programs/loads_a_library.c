/* Loads the library of its first word, and succeeds if it is there. */
#include <dlfcn.h>

int main(int count, char **words) { return count < 2 || !dlopen(words[1], RTLD_NOW); }
