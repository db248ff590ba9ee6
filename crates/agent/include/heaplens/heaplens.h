/* What a program in C or C++ may tell Heaplens. It needs this file alone and links with nothing: every function is declared weak, and a call
 * does nothing where the program runs without Heaplens.
 *
 *     #include <heaplens/heaplens.h>
 *
 *     HEAPLENS_MARK("epoch");                      a moment, shown on the timeline
 *     HEAPLENS_IGNORE(cache);                      a block that is kept on purpose
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
HEAPLENS_WEAK void __lsan_ignore_object(const void *block);
HEAPLENS_WEAK void __lsan_disable(void);
HEAPLENS_WEAK void __lsan_enable(void);
HEAPLENS_WEAK int __lsan_do_recoverable_leak_check(void);

/* Marks this moment, with a label in UTF-8. */
#define HEAPLENS_MARK(label) ((void)(heaplens_mark ? heaplens_mark(label) : (void)0))

/* Takes a heap snapshot, and waits until the recorder has a copy of the heap. */
#define HEAPLENS_SNAPSHOT() ((void)(heaplens_snapshot ? heaplens_snapshot() : (void)0))

/* A block that is kept on purpose, and whatever it leads to: still reachable, whoever points to it. */
#define HEAPLENS_IGNORE(block) ((void)(__lsan_ignore_object ? __lsan_ignore_object(block) : (void)0))

/* The same for everything that this thread allocates from BEGIN to END. Pairs may be nested. */
#define HEAPLENS_IGNORE_BEGIN() ((void)(__lsan_disable ? __lsan_disable() : (void)0))
#define HEAPLENS_IGNORE_END() ((void)(__lsan_enable ? __lsan_enable() : (void)0))

/* Checks for leaks now, and goes on: whether any block is definitely lost. 0 where that was not looked at. */
#define HEAPLENS_LEAK_CHECK() (__lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0)

#ifdef __cplusplus
}
#endif

#endif
