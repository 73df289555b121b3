/* The whole test framework: checks that print file and line, cases that stop at the first failed check, and a main
 * that runs every case and returns non-zero when one failed.
 *
 *   static void adds(void) { CHECK_EQ(1 + 1, 2); }
 *   int main(void) { RUN(adds); return finish(); }
 *
 * Checks may be made from threads and from callbacks too, but only those made on the main thread end their case. */
#ifndef OXIBLOSC_CHECK_H
#define OXIBLOSC_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counted from any thread; compiled as C and as C++, which share no header of atomics. */
static int check_failures;

static inline void count_failure(void) { __atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED); }
static inline int failures(void) { return __atomic_load_n(&check_failures, __ATOMIC_RELAXED); }

#define CHECK_FAILED(...)                                                                                              \
  do {                                                                                                                 \
    count_failure();                                                                                                   \
    fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                    \
    fprintf(stderr, __VA_ARGS__);                                                                                      \
    fputc('\n', stderr);                                                                                               \
  } while (0)

/* The condition holds; if not, the function that checks returns (with the value given last, if it returns one). */
#define CHECK(condition, ...)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      CHECK_FAILED("not true: %s", #condition);                                                                        \
      return __VA_ARGS__;                                                                                              \
    }                                                                                                                  \
  } while (0)

/* Both integers are equal. */
#define CHECK_EQ(actual, expected, ...)                                                                                \
  do {                                                                                                                 \
    const long long actual_ = (long long)(actual);                                                                     \
    const long long expected_ = (long long)(expected);                                                                 \
    if (actual_ != expected_) {                                                                                        \
      CHECK_FAILED("%s is %lld, expected %s = %lld", #actual, actual_, #expected, expected_);                          \
      return __VA_ARGS__;                                                                                              \
    }                                                                                                                  \
  } while (0)

/* Both strings are there and equal. */
#define CHECK_STR(actual, expected, ...)                                                                               \
  do {                                                                                                                 \
    const char *actual_ = (actual);                                                                                    \
    if (actual_ == NULL || strcmp(actual_, (expected)) != 0) {                                                         \
      CHECK_FAILED("%s is \"%s\", expected \"%s\"", #actual, actual_ == NULL ? "(null)" : actual_, (expected));        \
      return __VA_ARGS__;                                                                                              \
    }                                                                                                                  \
  } while (0)

/* The first n bytes are equal. */
#define CHECK_BYTES(actual, expected, n, ...)                                                                          \
  do {                                                                                                                 \
    const size_t where_ = first_difference((actual), (expected), (size_t)(n));                                         \
    if (where_ != (size_t)(n)) {                                                                                       \
      CHECK_FAILED("%s differs from %s at byte %zu of %zu", #actual, #expected, where_, (size_t)(n));                  \
      return __VA_ARGS__;                                                                                              \
    }                                                                                                                  \
  } while (0)

/* Runs one case and says how it went. */
#define RUN(test)                                                                                                      \
  do {                                                                                                                 \
    const int before_ = failures();                                                                                    \
    test();                                                                                                            \
    printf("%s %s\n", failures() == before_ ? "ok    " : "FAILED", #test);                                             \
    fflush(stdout);                                                                                                    \
  } while (0)

static inline size_t first_difference(const void *a, const void *b, size_t n) {
  const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
  size_t i = 0;
  while (i < n && x[i] == y[i]) {
    i++;
  }
  return i;
}

/* What main returns: zero if and only if every check held. */
static inline int finish(void) { return failures() == 0 ? EXIT_SUCCESS : EXIT_FAILURE; }

#endif
