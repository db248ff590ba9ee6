/* A program that is linked with an interpreter, which is there from the start. Arguments: what is unusual about the
 * interpreter, and the text that it runs, which comes without any event that announces a script.
 *   ordinary    nothing
 *   no-site     `site` is not imported: the first import is the text's own
 *   no-atexit   the interpreter has no module `atexit`
 *   twice       it is ended and begun again before the text */
#include <stdio.h>
#include <string.h>

struct row {
    const char *name;
    void *(*make)(void);
};
extern struct row *PyImport_Inittab;
extern int Py_NoSiteFlag;
void Py_Initialize(void);
int Py_FinalizeEx(void);
int PyRun_SimpleStringFlags(const char *, void *);

static void drop(const char *name) {
    struct row *to = PyImport_Inittab;
    for (struct row *from = PyImport_Inittab;; from++) {
        if (from->name && !strcmp(from->name, name)) continue;
        *to++ = *from;
        if (!from->name) return;
    }
}

int main(int count, char **words) {
    if (count != 3) return 2;
    if (!strcmp(words[1], "no-site")) Py_NoSiteFlag = 1;
    if (!strcmp(words[1], "no-atexit")) drop("atexit");
    Py_Initialize();
    if (!strcmp(words[1], "twice")) {
        Py_FinalizeEx();
        Py_Initialize();
    }
    int failed = PyRun_SimpleStringFlags(words[2], NULL);
    return Py_FinalizeEx() || failed ? 1 : 0;
}
