// Two libraries in turn at the same address: what was known of the first must not be believed of the second. libgcc asks
// the dynamic linker afresh for every frame, so it can be trusted here.
#include "check.h"
#include "scenarios.h"
#include "walk.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <thread>

namespace {

constexpr unsigned deepest = 10;

// For and from the callback, which gets no argument.
Walk* walk_here;
uint64_t frame_here;

// The libraries lie beside the program.
std::string beside_program(const char* name) {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(beside_program), &info);
    const std::string program = info.dli_fname;
    return program.substr(0, program.rfind('/') + 1) + name;
}

// The frame below this function's own is in the library.
[[gnu::noinline]] void inspect() {
    uint64_t frames[64];
    Stack stack{frames, 64, 0, Cut::complete};
    if (unwind_check_by_memo(&stack) == Way::memo && stack.count > 1) frame_here = frames[1];
    wander(*walk_here, 10, deepest);
}

// Where a library was when it was last seen, and the number that it had.
struct Known {
    uint64_t address, module;
};

// A library that comes back elsewhere is another one: somebody mapped memory where it was.
void expect_same_module(Known& known, uint64_t frame) {
    if (known.address != address_of_frame(frame)) known = {address_of_frame(frame), module_of_frame(frame)};
    if (known.module == module_of_frame(frame)) return;
    char text[160];
    snprintf(text, sizeof text, "a library that came back has number %llu instead of %llu, or another library has its",
             static_cast<unsigned long long>(module_of_frame(frame)), static_cast<unsigned long long>(known.module));
    report_wrong(text);
}

void load_and_unload(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW);
    if (library == nullptr) {
        fprintf(stderr, "%s\n", dlerror());
        abort();
    }
    reinterpret_cast<void (*)(void (*)())>(dlsym(library, "outer"))(inspect);
    dlclose(library);
    unwind_check_unloaded();
}

}  // namespace

void reload(uint64_t seed, uint64_t captures) {
    const std::string paths[] = {beside_program("plugin-first.so"), beside_program("plugin-second.so")};
    Walk walk{seed, 0};
    walk_here = &walk;
    Known known[2] = {};
    // As many unloadings as a short counter would take for none.
    load_and_unload(paths[0]);
    for (unsigned unloaded = 1; unloaded < 1 << 16; ++unloaded) unwind_check_unloaded();
    load_and_unload(paths[1]);
    // Another thread inspects stacks meanwhile: it must not bring old rules back.
    std::atomic<bool> stop = false;
    std::thread other([&] {
        Walk elsewhere{seed + 1, 0};
        while (!stop) wander(elsewhere, 50, deepest);
    });
    for (uint64_t round = 0; round < captures / 10; ++round) {
        const unsigned which = unsigned(walk.random(2));
        const uint64_t before = frame_here;
        load_and_unload(paths[which]);
        expect_same_module(known[which], frame_here);
        if (frame_here != before && address_of_frame(frame_here) == address_of_frame(before))
            count_event("other-library-same-address");
    }
    stop = true;
    other.join();
    if (known[0].module == known[1].module) report_wrong("two libraries at one address have the same number");
}
