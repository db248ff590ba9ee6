// A library that is loaded and unloaded; compiled twice, with another size of FRAME. All instructions have the same
// lengths, so that the same return addresses belong to frames of different sizes.
extern "C" {

[[gnu::noinline]] void inner(void (*callback)()) {
    char buffer[FRAME];
    asm volatile("" : : "r"(buffer) : "memory");
    callback();
    asm volatile("" : : "r"(buffer) : "memory");
}

void outer(void (*callback)()) {
    char buffer[FRAME * 2];
    asm volatile("" : : "r"(buffer) : "memory");
    inner(callback);
    asm volatile("" : : "r"(buffer) : "memory");
}

}
