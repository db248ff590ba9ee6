#include "reference.h"

#include <csetjmp>
#include <cstring>
#include <dlfcn.h>

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* argument) {
    constexpr int rbx = 3;  // in the numbering of DWARF
    auto& reference = *static_cast<Reference*>(argument);
    int interrupted = 0;
    const uint64_t address = _Unwind_GetIPInfo(context, &interrupted);
    // Behind a frame whose return address is undefined libgcc reports one more, at 0; the tracker does not.
    if (address == 0 || reference.count == reference.capacity) return _URC_END_OF_STACK;
    reference.frames[reference.count++] = {address + (interrupted != 0), _Unwind_GetCFA(context),
                                           _Unwind_GetGR(context, rbx), interrupted != 0};
    return _URC_NO_REASON;
}

bool is_lazy_binding(const Reference& reference, size_t index) {
    // Above the place that rbx points to: the saved rbx, two words that the stub pushed, the return address.
    constexpr uint64_t words_above = 4;
    if (index + 1 >= reference.count) return false;
    const ReferenceFrame& frame = reference.frames[index];
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(frame.address - 1), &info) == 0) return false;
    return strstr(info.dli_fname, "/ld-linux") != nullptr &&
           reference.frames[index + 1].stack_pointer == frame.rbx + 8 * words_above;
}

bool is_in_longjmp(const Reference& reference, size_t index) {
    // The code that restores the registers has no name: it lies right behind the function that calls it.
    constexpr uint64_t bytes_behind = 512;
    if (index >= reference.count || !reference.frames[index].interrupted) return false;
    return reference.frames[index].address - reinterpret_cast<uint64_t>(&_longjmp) < bytes_behind;
}
