/* Blocks that only variables of main point to. When main returns they are lost, whatever its old words on the stack say; when it
 * calls exit they are not. Compiled without optimisation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    int leaves_by_exit = count > 1 && strcmp(words[1], "exit") == 0;
    const char *kind = leaves_by_exit ? "still_reachable" : "definitely";
    char *block = calloc(1, 100);
    printf("leak %s 100 1 %d\n", kind, __LINE__ - 1);
    char *short_one = calloc(1, 20);
    printf("leak %s 20 1 %d\n", kind, __LINE__ - 1);
    block[1] = short_one[2] = 1;
    fflush(stdout);
    if (leaves_by_exit) {
        exit(0);
    }
    return 0;
}
