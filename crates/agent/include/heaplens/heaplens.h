/* What a program in C or C++ may tell Heaplens. It needs this file alone and links with nothing: every function is weak, and a call does
 * nothing where the program runs without Heaplens.
 *
 *     #include <heaplens/heaplens.h>
 *
 *     HEAPLENS_MARK("epoch");                      a moment, shown on the timeline
 *     HEAPLENS_LEAK_CHECK_BEGIN("eval");           what is allocated from here on by any thread ...
 *     HEAPLENS_LEAK_CHECK_END("eval");             ... and is lost or still held here, is reported by line
 *
 * In C++ an object of heaplens::LeakCheck does both, also where an exception leaves its scope. */
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

/* Marks this moment, with a label in UTF-8. */
#define HEAPLENS_MARK(label) HEAPLENS_CALL(heaplens_mark, label)

/* From BEGIN to END leaks are checked: the report lists by line what was allocated in between, by all threads, and is lost or still held at
 * the end, and by what. The name is in UTF-8; passes with the same name are summed. Sections may be nested and may overlap. */
#define HEAPLENS_LEAK_CHECK_BEGIN(name) HEAPLENS_CALL(heaplens_leak_check_begin, name)
#define HEAPLENS_LEAK_CHECK_END(name) HEAPLENS_CALL(heaplens_leak_check_end, name)

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
