/* What the cases of the sweep have in common. A case prepares, makes one call whose allocations fail as its trial says
   (CALL), and leaves its handles in `t`, where they are looked at before and after, and freed. */
#ifndef OXIBLOSC_MEMORY_HARNESS_H
#define OXIBLOSC_MEMORY_HARNESS_H

#include <b2nd.h>
#include <blosc2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the call's allocation number `from` to number `to`, all fail. */
void shim_arm(int from, int to);
/* How many allocations there were since. */
int shim_disarm(void);
/* Allocations that were not freed yet. */
long shim_live(void);

#define ITEMS 4000
#define NBYTES (ITEMS * 4)

/* Where a super-chunk or an array is kept. */
enum storage { FRAME, CHUNKS, FILE_, DIRECTORY, MAPPED, STORAGES };

/* One trial. The handles are the case's; what they show is the state that a failed call must not change. */
struct trial {
  int param;
  enum storage storage;
  blosc2_schunk *schunk, *made_schunk;
  b2nd_array_t *array, *other, *made_array;
  b2nd_context_t *array_ctx;
  blosc2_context *ctx;
  /* A buffer from malloc, and how much of it there is. */
  uint8_t *made;
  int64_t made_len;
  /* What the call writes into. */
  uint8_t *out;
  int64_t out_len;
  /* Whether another handle has changed the frame of `array`, which reads it again before it is looked at. */
  bool follows;
  /* Whether the contents of `out` are looked at after an error, too. */
  bool keeps_out;
  /* Whether `out` becomes a chunk with a dictionary. */
  bool has_dictionary;
  /* The frames that the case may touch. */
  char path[64], new_path[64];
  bool has_path;
};
extern struct trial t;

/* Around the call. */
void before_call(void);
/* Whether the call is to be made once more: the answer was not the one without failures. */
bool after_call(int64_t rc);

/* Makes the call, under failures; then, if it failed, once more without them. */
#define CALL(expr)               \
  do {                           \
    before_call();               \
    int64_t rc_ = (int64_t)(expr); \
    if (after_call(rc_)) {       \
      after_call((int64_t)(expr)); \
    }                            \
  } while (0)
/* As CALL, for calls that give a pointer or NULL, which is a memory error. */
#define CALL_POINTER(expr) CALL((expr) != NULL ? 0 : BLOSC2_ERROR_MEMORY_ALLOC)
/* As CALL, for calls that can be made only once, as those that free. They must not fail. */
#define CALL_ONCE(expr)          \
  do {                           \
    before_call();               \
    after_call((int64_t)(expr)); \
  } while (0)

/* As CALL, for calls that make a frame: the parameters of a memory map can be used only once. */
#define CALL_NEW(expr)           \
  do {                           \
    if (t.storage == MAPPED) {   \
      CALL_ONCE(expr);           \
    } else {                     \
      CALL(expr);                \
    }                            \
  } while (0)

/* Which storages a case is for. */
#define NO_STORAGE 0
#define ALL_STORAGES 0x1f
#define ON_DISK (1 << FILE_ | 1 << DIRECTORY)
#define IN_FILE (1 << FILE_)

/* What the answer to a failure may be. */
enum answer { CODE, ZERO_TOO };

struct test_case {
  const char *name;
  void (*run)(void);
  /* How many parameters it takes: `t.param` counts from 0. */
  int params;
  int storages;
  enum answer answer;
};

extern const struct test_case chunk_cases[], schunk_cases[], array_cases[], other_cases[];

/* The data of every case: small integers that compress; made before the first trial. */
extern int32_t data[ITEMS];

/* The parameters of a super-chunk, with `nthreads`. */
blosc2_cparams parameters(int16_t nthreads);
/* Makes `t.schunk` in `t.storage`, with three chunks, a metalayer and a vlmetalayer. */
void make_schunk(int16_t nthreads);
/* Storage parameters for something new beside it; `new_path` where that is on disk. */
blosc2_storage new_storage(blosc2_cparams *cparams, blosc2_dparams *dparams);
/* Makes `t.array`, of ROWS x COLUMNS integers; `t.other` in memory if asked for. */
void make_array(int16_t nthreads, bool other);
#define ROWS 40
#define COLUMNS 30
/* A context for arrays of the same kind, in `new_path`. */
b2nd_context_t *array_context(const char *path, int16_t nthreads);
/* Stops the trial: the preparation did not work. */
void need(bool ok, const char *what);

#endif
