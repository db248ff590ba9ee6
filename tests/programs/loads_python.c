/* A program that loads an interpreter after its start and runs a script in it, then ends it. Arguments: the kind, the library,
 * the script and its words.
 *   global   ordinarily
 *   local    for itself alone
 *   thread   on another thread than the first, while others load something else
 *   again    three times, each but the last time with nothing to do, and unloaded after it
 *   begun    so that nobody can see that it came before it was started */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *find_function(void *, const char *);

static char **words;
static const char *way;
static atomic_int is_over;
static char text[8192];

static int is(const char *name) { return !strcmp(way, name); }

/* The first `bytes` is not the script's: 3.10 looks up a name there and may have to make room for it. */
static void write_text(void) {
    char *end = text + sprintf(text, "import sys\nbytes(1)\nsys.argv = ['%s'", words[3]);
    for (char **word = words + 4; *word; word++) end += sprintf(end, ", '%s'", *word);
    sprintf(end, "]\nexec(compile(open('%s').read(), '%s', 'exec'), {'__name__': '__main__', '__file__': '%s'})\n", words[3],
            words[3], words[3]);
}

static int run(const char *code, find_function *find, int unload) {
    void *library = dlopen(words[2], RTLD_NOW | (is("local") || is("again") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    void (*initialize)(int) = find(library, "Py_InitializeEx");
    initialize(0);
    int (*run_string)(const char *, void *) = dlsym(library, "PyRun_SimpleStringFlags");
    int (*finalize)(void) = dlsym(library, "Py_FinalizeEx");
    int status = run_string(code, NULL) || finalize();
    return unload && dlclose(library) ? 4 : status;
}

static void *run_there(void *status) {
    *(int *)status = run(text, dlsym, 0);
    return NULL;
}

static void *load(void *unused) {
    while (!is_over) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        if (!library || !dlsym(library, "cos")) abort();
    }
    return unused;
}

static int run_beside_others(void) {
    pthread_t others[3], own;
    int status = 5;
    for (int each = 0; each < 3; each++) pthread_create(&others[each], NULL, load, NULL);
    pthread_create(&own, NULL, run_there, &status);
    pthread_join(own, NULL);
    is_over = 1;
    for (int each = 0; each < 3; each++) pthread_join(others[each], NULL);
    return status;
}

int main(int count, char **given) {
    if (count < 4) return 2;
    words = given;
    way = words[1];
    write_text();
    if (is("thread")) return run_beside_others();
    if (is("again") && (run("", dlsym, 1) || run("kept = [object() for _ in range(999)]", dlsym, 1))) return 6;
    find_function *find = is("begun") ? (find_function *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5") : dlsym;
    return run(text, find, 0);
}
