/* Calls each function that changes a frame, when no more can be written to the frame: no file may grow beyond some bytes, or the frame is a map
 * that is only read. Prints a line for each: the storage, the function, and what it returned (0 and -1 for functions that return a
 * pointer or an error). Each call is made in a process of its own, on a frame of its own. The arguments are a folder, and "ignored" where the
 * signals that the system sends for such writes are ignored. The last lines are of pipes that nothing reads: of a frame that is written into
 * one, and of a trace. */

#include "b2nd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 100, ITEMS = SIDE * SIDE, BYTES = ITEMS * (int)sizeof(int32_t), LIMIT = 100 };

static int32_t items[2 * ITEMS];
static char path[4096], other[sizeof path + 8];

/* A frame of 4 chunks, which is an array of 200 x 200 items in chunks of 100 x 100. */
static b2nd_array_t *make(bool contiguous) {
  int64_t shape[] = {2 * SIDE, 2 * SIDE};
  int32_t chunk[] = {SIDE, SIDE}, block[] = {SIDE / 2, SIDE / 2};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = {.contiguous = contiguous, .urlpath = path, .cparams = &cparams};
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunk, block, NULL, 0, NULL, 0);
  b2nd_array_t *array = NULL;
  static int32_t all[4 * ITEMS];
  for (int i = 0; i < 4 * ITEMS; i++) all[i] = rand();
  if (b2nd_from_cbuffer(ctx, &array, all, sizeof all) != 0) exit(2);
  b2nd_free_ctx(ctx);
  uint8_t content[] = {1, 2, 3};
  if (blosc2_vlmeta_add(array->sc, "old", content, sizeof content, NULL) < 0) exit(2);
  return array;
}

static uint8_t *chunk_of(blosc2_schunk *schunk) {
  static uint8_t chunk[BYTES + BLOSC2_MAX_OVERHEAD];
  if (blosc2_compress_ctx(schunk->cctx, items, BYTES, chunk, sizeof chunk) <= 0) exit(2);
  return chunk;
}

static int64_t append_buffer(b2nd_array_t *a) { return blosc2_schunk_append_buffer(a->sc, items, BYTES); }
static int64_t append_chunk(b2nd_array_t *a) { return blosc2_schunk_append_chunk(a->sc, chunk_of(a->sc), true); }
static int64_t insert_chunk(b2nd_array_t *a) { return blosc2_schunk_insert_chunk(a->sc, 1, chunk_of(a->sc), true); }
static int64_t update_chunk(b2nd_array_t *a) { return blosc2_schunk_update_chunk(a->sc, 1, chunk_of(a->sc), true); }
static int64_t delete_chunk(b2nd_array_t *a) { return blosc2_schunk_delete_chunk(a->sc, 1); }
static int64_t reorder(b2nd_array_t *a) {
  int64_t order[] = {1, 0, 2, 3};
  return blosc2_schunk_reorder_offsets(a->sc, order);
}
static int64_t set_slice_buffer(b2nd_array_t *a) { return blosc2_schunk_set_slice_buffer(a->sc, 10, ITEMS + 10, items); }
static int64_t set_whole_chunk(b2nd_array_t *a) { return blosc2_schunk_set_slice_buffer(a->sc, ITEMS, 2 * ITEMS, items); }
static int64_t vlmeta_add(b2nd_array_t *a) { return blosc2_vlmeta_add(a->sc, "new", (uint8_t *)items, BYTES, NULL); }
static int64_t vlmeta_update(b2nd_array_t *a) { return blosc2_vlmeta_update(a->sc, "old", (uint8_t *)items, BYTES, NULL); }
static int64_t vlmeta_delete(b2nd_array_t *a) { return blosc2_vlmeta_delete(a->sc, "old"); }
static int64_t to_file(b2nd_array_t *a) { return blosc2_schunk_to_file(a->sc, other); }
static int64_t append_file(b2nd_array_t *a) { return blosc2_schunk_append_file(a->sc, other); }
static int64_t copy_to_file(b2nd_array_t *a) {
  blosc2_storage storage = {.contiguous = true, .urlpath = other};
  return blosc2_schunk_copy(a->sc, &storage) ? 0 : -1;
}

static int64_t set_slice(b2nd_array_t *a) {
  int64_t start[] = {7, 9}, stop[] = {107, 109}, shape[] = {SIDE, SIDE};
  return b2nd_set_slice_cbuffer(items, shape, BYTES, start, stop, a);
}
static int64_t set_orthogonal(b2nd_array_t *a) {
  int64_t rows[] = {3, 190}, columns[] = {5, 150}, *selection[] = {rows, columns}, sizes[] = {2, 2};
  return b2nd_set_orthogonal_selection(a, selection, sizes, items, sizes, 4 * sizeof(int32_t));
}
static int64_t append(b2nd_array_t *a) { return b2nd_append(a, items, 2 * BYTES, 0); }
static int64_t insert(b2nd_array_t *a) { return b2nd_insert(a, items, 2 * BYTES, 0, SIDE); }
static int64_t delete(b2nd_array_t *a) { return b2nd_delete(a, 0, 0, SIDE); }
static int64_t resize_to(b2nd_array_t *a, int64_t rows) {
  int64_t shape[] = {rows, 2 * SIDE};
  return b2nd_resize(a, shape, NULL);
}
static int64_t grow(b2nd_array_t *a) { return resize_to(a, 3 * SIDE); }
static int64_t grow_within(b2nd_array_t *a) { return resize_to(a, 2 * SIDE + 1); }
static int64_t shrink(b2nd_array_t *a) { return resize_to(a, SIDE); }
static int64_t shrink_within(b2nd_array_t *a) { return resize_to(a, 2 * SIDE - 1); }
static int64_t concatenate(b2nd_array_t *a) {
  int64_t shape[] = {SIDE, 2 * SIDE};
  int32_t chunk[] = {SIDE, SIDE}, block[] = {SIDE / 2, SIDE / 2};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = {.cparams = &cparams};
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunk, block, NULL, 0, NULL, 0);
  b2nd_array_t *more = NULL;
  if (b2nd_from_cbuffer(ctx, &more, items, sizeof items) != 0) exit(2);
  return b2nd_concatenate(ctx, a, more, 0, false, &a);
}
static int64_t save(b2nd_array_t *a) { return b2nd_save(a, other); }
static int64_t save_append(b2nd_array_t *a) { return b2nd_save_append(a, other); }

typedef struct {
  const char *name;
  int64_t (*make)(b2nd_array_t *);
} call;
#define CALL(name) {#name, name}
static const call calls[] = {
    CALL(append_buffer), CALL(append_chunk),  CALL(insert_chunk),  CALL(update_chunk),  CALL(delete_chunk), CALL(reorder),
    CALL(set_whole_chunk), CALL(set_slice_buffer), CALL(vlmeta_add), CALL(vlmeta_update), CALL(vlmeta_delete), CALL(to_file),
    CALL(append_file),   CALL(copy_to_file),  CALL(set_slice),     CALL(set_orthogonal), CALL(append),      CALL(insert),
    CALL(delete),        CALL(grow),          CALL(grow_within),   CALL(shrink),        CALL(shrink_within), CALL(concatenate),
    CALL(save),          CALL(save_append),
};

static b2nd_array_t *open_map(void) {
  b2nd_array_t *array = make(true);
  b2nd_free(array);
  blosc2_stdio_mmap *map = malloc(sizeof *map);
  *map = BLOSC2_STDIO_MMAP_DEFAULTS;
  blosc2_io *io = malloc(sizeof *io);
  *io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM_MMAP, .params = map};
  blosc2_schunk *schunk = blosc2_schunk_open_udio(path, io);
  if (!schunk || b2nd_from_schunk(schunk, &array) != 0) exit(2);
  return array;
}

static void limit_files(void) {
  struct rlimit limit = {LIMIT, LIMIT};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) exit(2);
}

/* Makes `descriptor` a pipe that nothing reads. */
static void leave(int descriptor) {
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], descriptor) < 0 || close(ends[1]) != 0 || close(ends[0]) != 0) exit(2);
}

static int64_t to_pipe(void) {
  leave(20);
  b2nd_array_t *array = make(true);
  return blosc2_schunk_to_file(array->sc, "/dev/fd/20");
}

static int64_t trace_to_pipe(void) {
  leave(2);
  setenv("BLOSC_TRACE", "1", 1);
  return blosc2_schunk_to_file(make(true)->sc, "/nowhere/frame");
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) return 2;
  if (argc == 3) signal(SIGXFSZ, SIG_IGN), signal(SIGPIPE, SIG_IGN);
  blosc2_init();
  for (int i = 0; i < 2 * ITEMS; i++) items[i] = rand();
  const char *storages[] = {"file", "directory", "map"};
  for (int storage = 0; storage < 3; storage++) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
      snprintf(path, sizeof path, "%s/%s-%zu", argv[1], storages[storage], i);
      snprintf(other, sizeof other, "%s.other", path);
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) {
        b2nd_array_t *array = storage == 2 ? open_map() : make(storage == 0);
        limit_files();
        printf("%s %s %lld\n", storages[storage], calls[i].name, (long long)calls[i].make(array));
        fflush(stdout);
        _exit(0);
      }
      int status;
      if (child < 0 || waitpid(child, &status, 0) != child) return 2;
      if (status != 0) printf("%s %s died\n", storages[storage], calls[i].name);
    }
  }
  int64_t (*pipes[])(void) = {to_pipe, trace_to_pipe};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/pipe-%d", argv[1], i);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      printf("pipe %d %lld\n", i, (long long)pipes[i]());
      fflush(stdout);
      _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (status != 0) printf("pipe %d died\n", i);
  }
  return 0;
}
