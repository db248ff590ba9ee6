/* What a program in C or C++ may tell Heaplens. It needs this file alone and links with nothing: every function is declared weak, and a call
 * does nothing where the program runs without Heaplens.
 *
 *     #include <heaplens/heaplens.h>
 *
 *     HEAPLENS_MARK("epoch");                      a moment, shown on the timeline
 *     HEAPLENS_LEAK_CHECK_BEGIN("eval");           what is allocated from here on by any thread ...
 *     HEAPLENS_LEAK_CHECK_END("eval");             ... and is lost or still held here, is reported by line
 *     HEAPLENS_IGNORE(cache);                      a block that is kept on purpose
 *
 * In C++ an object of heaplens::LeakCheck is a section that is as long as its scope, also where an exception leaves it.
 *
 * Programs that use LeakSanitizer's interface (<sanitizer/lsan_interface.h>) need no change: the same functions exist under its names.
 * Valgrind's client requests are instructions that only Valgrind sees; here they do nothing. */
#ifndef HEAPLENS_HEAPLENS_H
#define HEAPLENS_HEAPLENS_H

#ifdef __cplusplus
extern "C" {
#endif

#define HEAPLENS_WEAK __attribute__((weak))

/* Implemented by libheaplens.so, null without it. */
HEAPLENS_WEAK void heaplens_mark(const char *label);
HEAPLENS_WEAK void heaplens_snapshot(void);
HEAPLENS_WEAK void heaplens_leak_check_begin(const char *name);
HEAPLENS_WEAK void heaplens_leak_check_end(const char *name);
HEAPLENS_WEAK void __lsan_ignore_object(const void *block);
HEAPLENS_WEAK void __lsan_disable(void);
HEAPLENS_WEAK void __lsan_enable(void);
HEAPLENS_WEAK int __lsan_do_recoverable_leak_check(void);

#ifdef __cplusplus
}
#endif

/* The address of a weak function. In a program that is loaded at a fixed address the linker would settle it as null: there it is read from
 * the table that the dynamic linker fills. */
#if defined(__x86_64__) && !defined(__PIC__)
#define HEAPLENS_FIND(pointer, function) __asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" : "=r"(pointer))
#else
#define HEAPLENS_FIND(pointer, function) ((void)((pointer) = (function)))
#endif

#define HEAPLENS_CALL(function, text)                        \
    do {                                                     \
        void (*heaplens_found)(const char *);                \
        HEAPLENS_FIND(heaplens_found, function);             \
        if (heaplens_found) heaplens_found(text);            \
    } while (0)

#define HEAPLENS_DO(function)                                \
    do {                                                     \
        void (*heaplens_found)(void);                        \
        HEAPLENS_FIND(heaplens_found, function);             \
        if (heaplens_found) heaplens_found();                \
    } while (0)

/* Marks this moment, with a label in UTF-8. */
#define HEAPLENS_MARK(label) HEAPLENS_CALL(heaplens_mark, label)

/* From BEGIN to END leaks are checked: the report lists by line what was allocated in between, by all threads, and is lost or still held at
 * the end, and by what. The name is in UTF-8; passes with the same name are summed. Sections may be nested and may overlap. */
#define HEAPLENS_LEAK_CHECK_BEGIN(name) HEAPLENS_CALL(heaplens_leak_check_begin, name)
#define HEAPLENS_LEAK_CHECK_END(name) HEAPLENS_CALL(heaplens_leak_check_end, name)

/* Takes a heap snapshot, and waits until the recorder has a copy of the heap. */
#define HEAPLENS_SNAPSHOT() HEAPLENS_DO(heaplens_snapshot)

/* A block that is kept on purpose, and whatever it leads to: still reachable, whoever points to it. */
#define HEAPLENS_IGNORE(block)                               \
    do {                                                     \
        void (*heaplens_found)(const void *);                \
        HEAPLENS_FIND(heaplens_found, __lsan_ignore_object); \
        if (heaplens_found) heaplens_found(block);           \
    } while (0)

/* The same for everything that this thread allocates from BEGIN to END. Pairs may be nested. */
#define HEAPLENS_IGNORE_BEGIN() HEAPLENS_DO(__lsan_disable)
#define HEAPLENS_IGNORE_END() HEAPLENS_DO(__lsan_enable)

/* Checks for leaks now, and goes on: whether any block is definitely lost. 0 where that was not looked at. */
static inline int heaplens_leak_check(void) {
    int (*found)(void);
    HEAPLENS_FIND(found, __lsan_do_recoverable_leak_check);
    return found ? found() : 0;
}
#define HEAPLENS_LEAK_CHECK() heaplens_leak_check()

#ifdef __cplusplus
namespace heaplens {

/* A section that is as long as its scope. The name must live as long. */
class LeakCheck {
public:
    explicit LeakCheck(const char *name) : name_(name) { HEAPLENS_LEAK_CHECK_BEGIN(name_); }
    ~LeakCheck() { HEAPLENS_LEAK_CHECK_END(name_); }
    LeakCheck(const LeakCheck &) = delete;
    LeakCheck &operator=(const LeakCheck &) = delete;

private:
    const char *name_;
};

} // namespace heaplens
#endif

#endif
