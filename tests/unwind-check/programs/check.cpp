#include "check.h"

#include "reference.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace {

constexpr size_t ordinary_depth = 1024;
constexpr size_t greatest_depth = 40'000;
constexpr unsigned faults_shown = 4;

struct Counts {
    std::atomic<uint64_t> captures, frames, deepest, by_memo, by_walk, refused;
    std::atomic<uint64_t> wrong, disagreements, truncated, explained;
} counts;

const char* scenario = "none";
uint64_t scenario_seed;
std::atomic<unsigned> shown;

struct Event {
    std::atomic<const char*> name;
    std::atomic<uint64_t> value;
} events[16];

const char* name_of(Cut cut) {
    switch (cut) {
    case Cut::complete: return "complete";
    case Cut::no_unwind_info: return "no unwind info";
    case Cut::too_deep: return "too deep";
    case Cut::broken: return "broken";
    }
    return "?";
}

void show_address(const char* label, uint64_t address) {
    Dl_info info{};
    const bool known = address != 0 && dladdr(reinterpret_cast<void*>(address - 1), &info) != 0;
    const char* symbol = known && info.dli_sname ? info.dli_sname : "?";
    const uint64_t offset = known ? address - reinterpret_cast<uint64_t>(info.dli_fbase) : 0;
    fprintf(stderr, "  %s %#lx %s (%s+%#lx)", label, address, symbol, known ? info.dli_fname : "?", offset);
}

void show_fault(const char* what, const Stack& ours, const Reference& reference) {
    if (shown++ >= faults_shown) return;
    fprintf(stderr, "%s: scenario %s seed %lu: ours has %lu frames (%s), libgcc's %zu\n", what, scenario, scenario_seed,
            ours.count, name_of(ours.cut), reference.count);
    for (size_t index = 1; index < std::max<size_t>(ours.count, reference.count) && index < 80; ++index) {
        const uint64_t mine = index < ours.count ? address_of_frame(ours.frames[index]) : 0;
        const uint64_t theirs = index < reference.count ? reference.frames[index].address : 0;
        fprintf(stderr, "  %2zu%s", index, mine == theirs ? " " : "*");
        show_address(index < reference.count && reference.frames[index].interrupted ? "!" : " ", theirs);
        if (mine != theirs) show_address("| ours", mine);
        fputc('\n', stderr);
    }
}

// The first frame is the check itself, at three different calls. Everything else is equal, or it is a fault.
size_t equal_frames(const Stack& ours, const Reference& reference) {
    const size_t count = std::min<size_t>(ours.count, reference.count);
    size_t index = 1;
    while (index < count && address_of_frame(ours.frames[index]) == reference.frames[index].address) ++index;
    return index;
}

bool compare(const Stack& ours, const Reference& reference) {
    const size_t equal = equal_frames(ours, reference);
    if (equal == ours.count && equal == reference.count) return true;
    if (equal < ours.count) {
        ++counts.wrong;
        show_fault("WRONG FRAME", ours, reference);
    } else if (ours.cut == Cut::too_deep && ours.count == ours.capacity) {
        ++counts.explained;  // the scenario asked for less than there is
    } else if (is_lazy_binding(reference, ours.count - 1)) {
        ++counts.explained;
        count_event("lazy-binding");
    } else if (is_in_longjmp(reference, ours.count - 1)) {
        ++counts.explained;
        count_event("in-longjmp");
    } else {
        ++counts.truncated;
        show_fault("TRUNCATED", ours, reference);
    }
    return false;
}

bool agree(const Stack& memo, const Stack& walk) {
    return memo.count == walk.count && memo.cut == walk.cut &&
           memcmp(memo.frames + 1, walk.frames + 1, (memo.count - 1) * sizeof(uint64_t)) == 0;
}

void raise(std::atomic<uint64_t>& maximum, uint64_t value) {
    uint64_t now = maximum;
    while (now < value && !maximum.compare_exchange_weak(now, value)) {}
}

void count_capture(Way way, const Stack& memo, const Stack& walk, const Reference& reference) {
    ++counts.captures;
    ++(way == Way::memo ? counts.by_memo : counts.by_walk);
    counts.frames += reference.count;
    raise(counts.deepest, reference.count);
    if (way == Way::wrong_hash) report_wrong("the memo's hash is not that of its frames");
    if (!agree(memo, walk)) {
        ++counts.disagreements;
        show_fault("MEMO AND WALK DISAGREE, memo", memo, reference);
        show_fault("MEMO AND WALK DISAGREE, walk", walk, reference);
    }
}

// Inlined into the two checks, so that the frame that captures is the same for all three ways.
[[gnu::always_inline]] inline Finding check_in(uint64_t* memo_frames, uint64_t* walk_frames, Reference reference) {
    Stack memo{memo_frames, reference.capacity, 0, Cut::complete};
    Stack walk{walk_frames, reference.capacity, 0, Cut::complete};
    const Way way = unwind_check_by_memo(&memo);
    const Way second = unwind_check_by_walk(&walk);
    _Unwind_Backtrace(note_frame, &reference);
    if (way == Way::refused || second == Way::refused) {
        ++counts.refused;
        return {Way::refused, Cut::complete, 0, reference.count, true};
    }
    if (way == Way::blind || second == Way::blind) {
        report_wrong("the tracker did not start: is HEAPLENS_DIR a folder with space?");
        return {Way::blind, Cut::complete, 0, reference.count, false};
    }
    count_capture(way, memo, walk, reference);
    const bool equal = compare(memo, reference);
    return {way, memo.cut, memo.count, reference.count, equal};
}

[[gnu::destructor]] void print_summary() {
    check();
    printf("scenario=%s seed=%lu captures=%lu frames=%lu deepest=%lu memo=%lu walk=%lu refused=%lu wrong=%lu "
           "disagreements=%lu truncated=%lu explained=%lu",
           scenario, scenario_seed, counts.captures.load(), counts.frames.load(), counts.deepest.load(),
           counts.by_memo.load(), counts.by_walk.load(), counts.refused.load(), counts.wrong.load(),
           counts.disagreements.load(), counts.truncated.load(), counts.explained.load());
    for (auto& event : events)
        if (event.name) printf(" %s=%lu", event.name.load(), event.value.load());
    putchar('\n');
}

}  // namespace

[[gnu::noinline]] Finding check() {
    uint64_t memo[ordinary_depth], walk[ordinary_depth];
    ReferenceFrame frames[ordinary_depth];
    return check_in(memo, walk, {frames, ordinary_depth, 0});
}

[[gnu::noinline]] Cut check_memo_against_walk() {
    uint64_t memo_frames[ordinary_depth], walk_frames[ordinary_depth];
    Stack memo{memo_frames, ordinary_depth, 0, Cut::complete}, walk{walk_frames, ordinary_depth, 0, Cut::complete};
    const Way way = unwind_check_by_memo(&memo), second = unwind_check_by_walk(&walk);
    if (way == Way::wrong_hash) report_wrong("the memo's hash is not that of its frames");
    if (way == Way::refused || second == Way::refused) {
        report_wrong("a capture was refused outside of any other");
    } else if (!agree(memo, walk)) {
        ++counts.disagreements;
    }
    return walk.cut;
}

[[gnu::noinline]] Finding check_deep() {
    static uint64_t memo[greatest_depth], walk[greatest_depth];
    static ReferenceFrame frames[greatest_depth];
    return check_in(memo, walk, {frames, greatest_depth, 0});
}

void report_wrong(const char* what) {
    ++counts.wrong;
    if (shown++ < faults_shown) fprintf(stderr, "WRONG: scenario %s seed %lu: %s\n", scenario, scenario_seed, what);
}

void count_event(const char* name, uint64_t value) {
    for (auto& event : events) {
        const char* there = nullptr;
        if (event.name.compare_exchange_strong(there, name) || strcmp(there, name) == 0) {
            event.value += value;
            return;
        }
    }
    abort();  // more kinds of events than there is room for
}

void begin_scenario(const char* name, uint64_t seed) {
    scenario = name;
    scenario_seed = seed;
}
