/* Calls whose instructions are counted; run.sh, beside this file, runs it under callgrind.
 *
 * Of each row the calls are made twice, so that what is made once is there, and then counted: callgrind writes a file with what was
 * executed between MEASURE_BEGIN and MEASURE_END, and the row's name as the reason of the file. Since rows differ in how many calls they
 * count, the name ends with that number. */
#include <blosc2.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "../../capi-tests/data.h"

enum { CALLS = 100, TURNS = 3 };

/* Ends the program where a call fails. */
static int64_t need(int64_t code, const char *name) {
  if (code < 0) {
    fprintf(stderr, "%s: %lld\n", name, (long long)code);
    exit(1);
  }
  return code;
}

/* CALLGRIND_TOGGLE_COLLECT begins and ends: callgrind is started with --collect-atstart=no. */
static void begin(bool counted) {
  if (counted) {
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
  }
}

static void end(bool counted, const char *name, int calls) {
  char text[120];
  if (counted) {
    CALLGRIND_TOGGLE_COLLECT;
    snprintf(text, sizeof text, "%s|%d", name, calls);
    CALLGRIND_DUMP_STATS_AT(text);
  }
}

/* A kind of data. */
typedef struct {
  const char *name;
  int32_t typesize;
  void (*fill)(void *dest, int32_t nbytes);
} kind;

static uint64_t next_random(void) {
  static uint64_t state = 7;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static void fill_smooth(void *dest, int32_t nbytes) {
  double *items = dest;
  for (int32_t i = 0; i < nbytes / 8; i++) {
    const double x = i * 0.0005 + 3.1;
    items[i] = sin(x) * 100 + x;
  }
}

static void fill_walk(void *dest, int32_t nbytes) {
  int32_t *items = dest, value = 0;
  for (int32_t i = 0; i < nbytes / 4; i++) {
    value += (int32_t)(next_random() % 21) - 10;
    items[i] = value;
  }
}

static void fill_text(void *dest, int32_t nbytes) {
  static const char *const words[] = {"the", "of", "and", "to", "in", "is", "that", "word", "measurement", "temperature", "harbour", "1987"};
  char *bytes = dest;
  int32_t used = 0;
  while (used < nbytes) {
    for (const char *word = words[next_random() % 12]; *word != 0 && used < nbytes; word++) {
      bytes[used++] = *word;
    }
    if (used < nbytes) {
      bytes[used++] = ' ';
    }
  }
}

static const kind SMOOTH = {"smooth float64", 8, fill_smooth};
static const kind WALK = {"walk int32", 4, fill_walk};
static const kind TEXT = {"text", 1, fill_text};

static blosc2_cparams one_thread(int codec, int32_t typesize) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = (uint8_t)codec;
  cparams.typesize = typesize;
  cparams.nthreads = 1;
  return cparams;
}

/* Compresses many different buffers and decompresses what became of them; one row for each. */
static void buffers(int codec, kind kind, int32_t nbytes) {
  const char *codec_name;
  need(blosc2_compcode_to_compname(codec, &codec_name), "compcode_to_compname");
  char compressing[100], decompressing[100];
  snprintf(compressing, sizeof compressing, "compress %d bytes, %s, %s", nbytes, codec_name, kind.name);
  snprintf(decompressing, sizeof decompressing, "decompress %d bytes, %s, %s", nbytes, codec_name, kind.name);

  const int32_t room = nbytes + BLOSC2_MAX_OVERHEAD;
  uint8_t *data = reserve((size_t)CALLS * nbytes), *back = reserve(nbytes), *chunks = reserve((size_t)CALLS * room);
  kind.fill(data, CALLS * nbytes);
  int32_t cbytes[CALLS];
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = 1;
  blosc2_context *cctx = blosc2_create_cctx(one_thread(codec, kind.typesize)), *dctx = blosc2_create_dctx(dparams);
  for (int turn = 1; turn <= TURNS; turn++) {
    begin(turn == TURNS);
    for (int i = 0; i < CALLS; i++) {
      cbytes[i] = blosc2_compress_ctx(cctx, data + (size_t)i * nbytes, nbytes, chunks + (size_t)i * room, room);
    }
    end(turn == TURNS, compressing, CALLS);
  }
  for (int turn = 1; turn <= TURNS; turn++) {
    begin(turn == TURNS);
    for (int i = 0; i < CALLS; i++) {
      need(blosc2_decompress_ctx(dctx, chunks + (size_t)i * room, cbytes[i], back, nbytes), decompressing);
    }
    end(turn == TURNS, decompressing, CALLS);
  }
  if (memcmp(back, data + (size_t)(CALLS - 1) * nbytes, nbytes) != 0) {
    need(-1, decompressing);
  }
  blosc2_free_ctx(cctx);
  blosc2_free_ctx(dctx);
  free(data);
  free(back);
  free(chunks);
}

enum { CHUNK = 8192, NCHUNKS = 200, ITEMS = NCHUNKS * CHUNK / 8, SPARSE = 2000 };

/* A super-chunk in memory, of float64 in chunks of 8 KB and blocks of 4 KB, LZ4. */
static blosc2_schunk *super_chunk(bool contiguous, const double *data, int nchunks) {
  blosc2_cparams cparams = one_thread(BLOSC_LZ4, 8);
  cparams.blocksize = CHUNK / 2;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = 1;
  blosc2_storage storage = {.contiguous = contiguous, .cparams = &cparams, .dparams = &dparams};
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  for (int i = 0; i < nchunks; i++) {
    need(blosc2_schunk_append_buffer(schunk, data + i * CHUNK / 8, CHUNK), "append_buffer");
  }
  return schunk;
}

/* A frame of 20 chunks in a buffer is opened, and with `read` one of its chunks, too. */
static void open_frame(const double *data, bool read) {
  blosc2_schunk *schunk = super_chunk(true, data, 20);
  uint8_t *frame;
  bool needs_free;
  const int64_t nbytes = need(blosc2_schunk_to_buffer(schunk, &frame, &needs_free), "to_buffer");
  uint8_t *chunk = reserve(CHUNK);
  for (int turn = 1; turn <= TURNS; turn++) {
    begin(turn == TURNS);
    for (int i = 0; i < CALLS; i++) {
      blosc2_schunk *opened = blosc2_schunk_from_buffer(frame, nbytes, false);
      need(opened == NULL ? -1 : 0, "from_buffer");
      blosc2_schunk_avoid_cframe_free(opened, true);
      if (read) {
        need(blosc2_schunk_decompress_chunk(opened, i % 20, chunk, CHUNK), "decompress_chunk");
      }
      blosc2_schunk_free(opened);
    }
    end(turn == TURNS, read ? "a frame of 20 chunks opened, one read" : "a frame of 20 chunks opened", CALLS);
  }
  free(chunk);
  if (needs_free) {
    free(frame);
  }
  blosc2_schunk_free(schunk);
}

/* What one call of a row does; `i` is its number, which differs from turn to turn. */
typedef void (*step)(blosc2_schunk *schunk, int i, void *buffer);

static void chunk_read(blosc2_schunk *schunk, int i, void *buffer) {
  need(blosc2_schunk_decompress_chunk(schunk, i * 37 % NCHUNKS, buffer, CHUNK), "decompress_chunk");
}

static void slice_of(blosc2_schunk *schunk, int i, void *buffer, int items) {
  const int64_t start = (int64_t)i * 977 % (ITEMS - items);
  need(blosc2_schunk_get_slice_buffer(schunk, start, start + items, buffer), "get_slice_buffer");
}

static void slice_100(blosc2_schunk *schunk, int i, void *buffer) { slice_of(schunk, i, buffer, 100); }
static void slice_500(blosc2_schunk *schunk, int i, void *buffer) { slice_of(schunk, i, buffer, 500); }

/* Items all over the super-chunk, in no order. */
static int64_t coords[SPARSE];

static void sparse_read(blosc2_schunk *schunk, int i, void *buffer) {
  (void)i;
  need(blosc2_schunk_get_sparse_buffer(schunk, SPARSE, coords, buffer), "get_sparse_buffer");
}

static void append_256(blosc2_schunk *schunk, int i, void *buffer) {
  ((int32_t *)buffer)[0] = i;
  need(blosc2_schunk_append_buffer(schunk, buffer, 256), "append_buffer");
}

/* A row of calls on one super-chunk. */
static void on_super_chunk(const char *name, bool contiguous, const double *data, int nchunks, int calls, step call) {
  blosc2_schunk *schunk = super_chunk(contiguous, data, nchunks);
  double *buffer = reserve(CHUNK + SPARSE * sizeof *buffer);
  memcpy(buffer, data, CHUNK);
  for (int turn = 1; turn <= TURNS; turn++) {
    begin(turn == TURNS);
    for (int i = 0; i < calls; i++) {
      call(schunk, turn * calls + i, buffer);
    }
    end(turn == TURNS, name, calls);
  }
  free(buffer);
  blosc2_schunk_free(schunk);
}

int main(void) {
  blosc2_init();
  const int codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  const kind kinds[] = {SMOOTH, WALK, TEXT};
  for (int codec = 0; codec < 5; codec++) {
    for (int k = 0; k < 3; k++) {
      buffers(codecs[codec], kinds[k], 256);
    }
  }
  buffers(BLOSC_LZ4, WALK, 1024);
  buffers(BLOSC_LZ4, SMOOTH, 4096);

  for (int k = 0; k < SPARSE; k++) {
    coords[k] = (int64_t)k * 7919 % ITEMS;
  }
  double *data = reserve(NCHUNKS * CHUNK);
  fill_smooth(data, NCHUNKS * CHUNK);
  open_frame(data, false);
  open_frame(data, true);
  on_super_chunk("a chunk of 8 KB read, in memory", false, data, NCHUNKS, CALLS, chunk_read);
  on_super_chunk("a slice of 100 items, frame in memory", true, data, NCHUNKS, CALLS, slice_100);
  on_super_chunk("a slice of 500 items, chunks in memory", false, data, NCHUNKS, CALLS, slice_500);
  on_super_chunk("2,000 sparse items, chunks in memory", false, data, NCHUNKS, 5, sparse_read);
  on_super_chunk("2,000 sparse items, frame in memory", true, data, NCHUNKS, 5, sparse_read);
  on_super_chunk("256 bytes appended to a frame in memory", true, data, 0, CALLS, append_256);
  free(data);
  blosc2_destroy();
  return 0;
}
