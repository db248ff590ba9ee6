/* An ordinary program: a few blocks, a line on stdout and one on stderr, exit status 4. Built static, setuid and with ASan;
 * run with closed streams and with a library that the user preloads himself. */
#include "truth.h"

FRAME static void work(void) {
    for (int i = 0; i < 10; i++) give(TAKE(malloc(50), 50));
    for (int i = 0; i < 3; i++) TAKE(malloc(70), 70);
}

int main(void) {
    static const char error[] = "plain: a line on stderr\n";
    work();
    (void)!write(STDERR_FILENO, error, sizeof error - 1);
    truth_print();
    return 4;
}
