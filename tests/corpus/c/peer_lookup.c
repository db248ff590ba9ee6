// cause: getaddrinfo-not-freed
// class: c
// report: https://github.com/dermesser/libsocket/pull/47
// verdict: lost
// line: 26
// bytes-per-iteration: 4096
// holder: -
// fix: freeaddrinfo
// note: 64 numeric look-ups in an iteration leave one list entry each (addrinfo and address in one block of 64 bytes, a chunk of 80).

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int resolve(const char *host, const char *port, struct sockaddr_in *address) {
    struct addrinfo hints, *result;
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    if (getaddrinfo(host, port, &hints, &result) != 0)
        return -1;
    memcpy(address, result->ai_addr, sizeof *address);
    return 0;
}

static unsigned long ping_peers(long round) {
    char host[32];
    struct sockaddr_in address;
    unsigned long sum = 0;
    for (int i = 0; i < 64; i++) {
        snprintf(host, sizeof host, "10.%d.%ld.%d", i, round % 256, 255 - i);
        if (resolve(host, "8080", &address) == 0)
            sum += ntohl(address.sin_addr.s_addr) ^ ntohs(address.sin_port);
    }
    return sum;
}

int main(void) {
    const char *text = getenv("CORPUS_ITERATIONS");
    long iterations = text ? atol(text) : 30000;
    unsigned long sum = 0;
    for (long i = 0; i < iterations; i++)
        sum += ping_peers(i);
    printf("%lu\n", sum);
    printf("truth iterations=%ld\n", iterations);
    return 0;
}
