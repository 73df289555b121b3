/* The C library's allocator, that fails where it is told to. Defined in the program, so that the libraries use it too. */
#include "harness.h"

#include <errno.h>
#include <stdatomic.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_int armed, seen;
static atomic_long live;
static int first, last;

void shim_arm(int from, int to) {
  first = from;
  last = to;
  atomic_store(&seen, 0);
  atomic_store(&armed, 1);
}

int shim_disarm(void) {
  atomic_store(&armed, 0);
  return atomic_load(&seen);
}

long shim_live(void) { return atomic_load(&live); }

/* Whether this allocation is one of those that fail. */
static int fails(void) {
  if (!atomic_load_explicit(&armed, memory_order_relaxed)) {
    return 0;
  }
  int number = atomic_fetch_add(&seen, 1) + 1;
  if (number < first || number > last) {
    return 0;
  }
  errno = ENOMEM;
  return 1;
}

static void *given(void *memory) {
  if (memory != NULL) {
    atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
  }
  return memory;
}

void *malloc(size_t size) { return fails() ? NULL : given(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return fails() ? NULL : given(__libc_calloc(count, size)); }

void *realloc(void *memory, size_t size) {
  if (fails()) {
    return NULL;
  }
  return memory == NULL ? given(__libc_malloc(size)) : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(memory, count * size);
}

void *memalign(size_t alignment, size_t size) { return fails() ? NULL : given(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (memory == NULL) {
    return ENOMEM;
  }
  *place = memory;
  return 0;
}

void free(void *memory) {
  if (memory != NULL) {
    atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
  }
  __libc_free(memory);
}
