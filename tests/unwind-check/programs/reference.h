// The stack as libgcc sees it. It is slow, and it is the truth: exceptions of every C++ program on the machine depend on
// it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unwind.h>

struct ReferenceFrame {
    // As the tracker keeps it: the return address; directly below a signal frame, where the address is that of the
    // interrupted instruction, plus one.
    uint64_t address;
    uint64_t stack_pointer;
    uint64_t rbx;
    bool interrupted;
};

struct Reference {
    ReferenceFrame* frames;
    size_t capacity;
    size_t count;
};

// Adds one frame; for `_Unwind_Backtrace`, with a Reference as the argument.
_Unwind_Reason_Code note_frame(_Unwind_Context*, void* argument);

// Whether the frame belongs to the lazy binding of the dynamic linker (`_dl_runtime_resolve_*`), which finds its way back
// by rbx. The tracker follows rsp and rbp only; nothing there allocates, so only a signal handler can see it.
bool is_lazy_binding(const Reference&, size_t index);

// Whether a signal interrupted `longjmp` while it restores registers: there the return address is in rdx and the stack pointer in r8. The
// tracker has neither of them; nothing there allocates, so only a signal handler can see it.
bool is_in_longjmp(const Reference&, size_t index);
