// Objects of which only a pointer to a part is left. Each line that allocates says what its blocks are: leak KIND BYTES BLOCKS LINE
#include <cstdio>
#include <cstdlib>

static void tell(const char *kind, size_t bytes, int line) { printf("leak %s %zu 1 %d\n", kind, bytes, line); }

struct Named {
    virtual ~Named() {}
    long name[2];
};
struct Shown {
    virtual ~Shown() {}
    virtual void show() {}
    long colour[3];
};
struct Window : Named, Shown {
    long size[4];
};
struct Node {
    Shown *next;
    virtual ~Node() {}
};
struct Link : Named, Node, Shown {
    void show() override {}
};
struct Base {
    virtual ~Base() {}
    long own[2];
};
struct Left : virtual Base {
    long left;
};
struct Right : virtual Base {
    long right;
};
struct Both : Left, Right {
    long both[3];
};
struct Plain {
    long header[6];
    long part[6];
};

Shown *shown;
Node *first;
Base *base;
long *part;

static __attribute__((noinline)) void fill() {
    shown = new Window;
    tell("still_reachable", sizeof(Window), __LINE__ - 1);
    Link *link = new Link;
    tell("still_reachable", sizeof(Link), __LINE__ - 1);
    // An object that can be reached by such a pointer alone leads to others.
    link->next = new Link;
    tell("still_reachable", sizeof(Link), __LINE__ - 1);
    first = link;
    base = new Both;
    tell("still_reachable", sizeof(Both), __LINE__ - 1);
    Plain *plain = new Plain();
    tell("possibly", sizeof(Plain), __LINE__ - 1);
    part = plain->part;
}

static __attribute__((noinline)) void wipe_stack() {
    volatile char old[8 << 10];
    for (size_t i = 0; i < sizeof old; i++) old[i] = 0;
}

int main() {
    setvbuf(stdout, nullptr, _IONBF, 0);
    fill();
    wipe_stack();
    return 0;
}
