/* Makes each call with each allocation failing in turn, and with all allocations failing from each one on, in a forked child. The call must
   return the same as without failures, or an error. Made again, without failures, it must succeed.

   The allocator is that of tests/programs/memory. */
#define _GNU_SOURCE
#include "../../include/blosc.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void shim_arm(int from, int to);
int shim_disarm(void);
long shim_live(void);

#define ITEMS 40000
#define NBYTES (ITEMS * 4)
#define ROOM (NBYTES + BLOSC_MAX_OVERHEAD)
#define FIRST_ITEM 1000
#define SOME_ITEMS 5000

static const char *const COMPRESSORS[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
static const char *const CALLS[] = {"blosc_compress",       "blosc_compress_ctx", "blosc_decompress",
                                    "blosc_decompress_ctx", "blosc_getitem",      "blosc_get_complib_info"};
#define NCOMPRESSORS ((int)(sizeof COMPRESSORS / sizeof *COMPRESSORS))
#define NCALLS ((int)(sizeof CALLS / sizeof *CALLS))

static int32_t data[ITEMS];
/* A chunk that was made without failures, and the buffer for results. */
static char chunk[ROOM], out[ROOM];

/* The result of a child, in memory that is shared with its parent. */
struct result {
  int seen, code[2];
  bool right[2];
  long live;
};
static struct result *result;

static int make_chunk(const char *compressor, int nthreads, char *to) {
  return blosc_compress_ctx(5, BLOSC_SHUFFLE, 4, NBYTES, data, to, ROOM, compressor, 8192, nthreads);
}

/* Reads the texts about a compressor's library. Copies them to `out`, one behind the other, unless they are NULL. */
static int read_complib(const char *compressor) {
  char *library = NULL, *version = NULL;
  int code = blosc_get_complib_info(compressor, &library, &version);
  snprintf(out, ROOM, "%s %s", library == NULL ? "" : library, version == NULL ? "" : version);
  free(library);
  free(version);
  return code;
}

static int make_call(int call, const char *compressor, int nthreads) {
  switch (call) {
    case 0:
      return blosc_compress(5, BLOSC_SHUFFLE, 4, NBYTES, data, out, ROOM);
    case 1:
      return make_chunk(compressor, nthreads, out);
    case 2:
      return blosc_decompress(chunk, out, NBYTES);
    case 3:
      return blosc_decompress_ctx(chunk, out, NBYTES, nthreads);
    case 4:
      return blosc_getitem(chunk, FIRST_ITEM, SOME_ITEMS, out);
    default:
      return read_complib(compressor);
  }
}

/* Whether a call that returned `code` wrote the right bytes to `out`. */
static bool is_right(int call, int code, int chunk_len) {
  switch (call) {
    case 0:
    case 1:
      return code == chunk_len && memcmp(out, chunk, (size_t)code) == 0;
    case 2:
    case 3:
      return code == NBYTES && memcmp(out, data, NBYTES) == 0;
    case 4:
      return code == SOME_ITEMS * 4 && memcmp(out, data + FIRST_ITEM, SOME_ITEMS * 4) == 0;
    default:
      return code >= 0 && out[0] != ' ' && out[strlen(out) - 1] != ' ';
  }
}

static void child(int call, const char *compressor, int nthreads, int chunk_len, int from, int to) {
  alarm(20);
  long live = shim_live();
  blosc_init();
  blosc_set_compressor(compressor);
  blosc_set_blocksize(8192);
  blosc_set_nthreads(nthreads);
  for (int again = 0; again < 2; again++) {
    if (again == 0) {
      shim_arm(from, to);
    }
    result->code[again] = make_call(call, compressor, nthreads);
    if (again == 0) {
      result->seen = shim_disarm();
    }
    result->right[again] = is_right(call, result->code[again], chunk_len);
  }
  blosc_destroy();
  result->live = shim_live() - live;
  _exit(0);
}

static bool trial(int call, const char *compressor, int nthreads, int chunk_len, int from, int to) {
  memset(result, 0, sizeof *result);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    child(call, compressor, nthreads, chunk_len, from, to);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

int main(void) {
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < ITEMS; i++) {
    data[i] = i % 97 * (i / 500 + 1);
  }
  int trials = 0, wrong = 0, refused[NCOMPRESSORS] = {0};
  for (int which = 0; which < NCOMPRESSORS * NCALLS * 2; which++) {
    const char *compressor = COMPRESSORS[which % NCOMPRESSORS];
    int call = which / NCOMPRESSORS % NCALLS, nthreads = which / NCOMPRESSORS / NCALLS + 1;
    /* In a child, so that the library keeps no memory for the calls below. */
    char *shared = mmap(NULL, ROOM + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
      *(int *)shared = make_chunk(compressor, 1, shared + sizeof(int));
      _exit(0);
    }
    waitpid(pid, NULL, 0);
    int chunk_len = *(int *)shared;
    memcpy(chunk, shared + sizeof(int), ROOM);
    munmap(shared, ROOM + sizeof(int));
    if (chunk_len <= 0 || !trial(call, compressor, nthreads, chunk_len, INT_MAX, INT_MAX) || !result->right[0] || !result->right[1]) {
      printf("%s, %s, %d threads: not without failures either\n", CALLS[call], compressor, nthreads);
      wrong++;
      continue;
    }
    struct result good = *result;
    for (int at = 1; at <= good.seen; at++) {
      for (int all = 0; all < 2; all++) {
        trials++;
        bool lives = trial(call, compressor, nthreads, chunk_len, at, all ? INT_MAX : at);
        refused[which % NCOMPRESSORS] += result->code[0] < 0;
        if (!lives || (!result->right[0] && result->code[0] >= 0) || !result->right[1] || result->live > good.live) {
          printf("%s, %s, %d threads: allocation %d%s: %s (%d, %d; left %ld, %ld)\n", CALLS[call], compressor, nthreads, at,
                 all ? " and all later ones" : "", lives ? "another answer" : "died", result->code[0], result->code[1],
                 result->live, good.live);
          wrong++;
        }
      }
    }
  }
  printf("%d trials, %d wrong; refused", trials, wrong);
  for (int i = 0; i < NCOMPRESSORS; i++) {
    printf(" %s %d", COMPRESSORS[i], refused[i]);
    wrong += refused[i] == 0;
  }
  printf("\n");
  return wrong != 0;
}
