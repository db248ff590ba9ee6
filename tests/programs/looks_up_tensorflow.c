/* Looks up functions of TensorFlow that an agent may export, and calls what it finds although no TensorFlow is loaded. Says how many
 * calls it made, none where nothing was found:  calls N */
#include "truth.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#define RUN_WITH_OPTIONS                                                                                                       \
    "_ZN10tensorflow13DirectSession3RunERKNS_10RunOptionsERKSt6vectorISt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIc" \
    "EEENS_6TensorEESaISD_EERKS4_ISB_SaISB_EESL_PS4_ISC_SaISC_EEPNS_11RunMetadataERKN3tsl6thread17ThreadPoolOptionsE"

/* A pool of each kind: how it hands out a part, and how it takes it back. */
static const char *const pools[][2] = {
    {"_ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE", "_ZN3tsl12BFCAllocator13DeallocateRawEPv"},
    {"_ZN10tensorflow12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE",
     "_ZN10tensorflow12BFCAllocator13DeallocateRawEPv"},
    {"_ZN10tensorflow13PoolAllocator11AllocateRawEmm", "_ZN10tensorflow13PoolAllocator13DeallocateRawEPv"},
};

/* What is no object of TensorFlow's: its first word, where the virtual table would be, leads nowhere, to data, to code. */
static uint64_t objects[3];
static int calls;

static void call_pools(void *object) {
    for (int i = 0; i < 3; i++) {
        void *(*allocate)(void *, size_t, size_t, void *) = dlsym(RTLD_DEFAULT, pools[i][0]);
        void (*deallocate)(void *, void *) = dlsym(RTLD_DEFAULT, pools[i][1]);
        if (allocate == NULL || deallocate == NULL) continue;
        NEED(allocate(object, 64, 1000, NULL) == NULL);
        deallocate(object, &calls);
        calls += 2;
    }
}

static void call_source(void *object) {
    void *(*alloc)(void *, size_t, size_t, size_t *) = dlsym(RTLD_DEFAULT, "_ZN10tensorflow17BasicCPUAllocator5AllocEmmPm");
    void (*release)(void *, void *, size_t) = dlsym(RTLD_DEFAULT, "_ZN10tensorflow17BasicCPUAllocator4FreeEPvm");
    if (alloc == NULL || release == NULL) return;
    size_t received = 0;
    NEED(alloc(object, 64, 1000, &received) == NULL && received == 0);
    release(object, &calls, 1000);
    calls += 2;
}

/* The result is an absl::Status, made where its caller says; 1 is that of a success. */
static void call_session(void *object) {
    uint64_t *(*run)(uint64_t *, void *, void *, void *, void *, void *, void *, void *, void *) =
        dlsym(RTLD_DEFAULT, RUN_WITH_OPTIONS);
    if (run == NULL) return;
    uint64_t status = 0, other = 7;
    NEED(run(&status, object, &other, &other, &other, &other, &other, &other, &other) == &status);
    NEED(status != 1 && (status & 1) == 1 && other == 7);
    calls += 1;
}

/* A record of the thread's own, which it may write to. */
static void *call_annotation(void *unused) {
    char *(*annotation)(void) =
        dlsym(RTLD_DEFAULT, "_ZN3tsl8profiler27ScopedMemoryDebugAnnotation27ThreadMemoryDebugAnnotationEv");
    if (annotation == NULL) return NULL;
    char *record = annotation();
    for (int i = 0; i < 80; i++) NEED(record[i] == 0);
    memset(record, 0xff, 80);
    NEED(annotation() == record);
    __atomic_fetch_add(&calls, 2, __ATOMIC_RELAXED);
    return record;
}

int main(void) {
    objects[1] = (uint64_t)objects;
    objects[2] = (uint64_t)main;
    for (int i = 0; i < 3; i++) {
        call_pools(&objects[i]);
        call_source(&objects[i]);
        call_session(&objects[i]);
    }
    void *own = call_annotation(NULL), *others = NULL;
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, call_annotation, NULL) == 0);
    NEED(pthread_join(thread, &others) == 0);
    NEED(own == NULL || own != others);
    TAKE(malloc(4321), 4321);
    char text[32];
    truth_say(text, snprintf(text, sizeof text, "calls %d\n", calls));
    truth_print();
    return 13;
}
