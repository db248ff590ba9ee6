/* A pool as TensorFlow has them, as far as its caller sees: an object that begins with the address of a table of functions, which the
 * dynamic linker fills in by name. */
#include <stddef.h>

#define ALLOCATE _ZN3tsl12BFCAllocator11AllocateRawEmmRKNS_20AllocationAttributesE
#define DEALLOCATE _ZN3tsl12BFCAllocator13DeallocateRawEPv

static _Alignas(64) char region[4096];

void *ALLOCATE(void *pool, size_t alignment, size_t size, const void *attributes) { return region; }

void DEALLOCATE(void *pool, void *part) { *(char *)part = 'd'; }

static void *const table[] = {(void *)ALLOCATE, (void *)DEALLOCATE};
const void *const the_pool[] = {table};
