/* The environment variables that override what a program asks for. */
#include "check.h"
#include "data.h"

#ifdef _WIN32
#define setenv(name, value, overwrite) _putenv_s(name, value)
#define unsetenv(name) _putenv_s(name, "")
#endif

enum { NITEMS = 100000, NBYTES = NITEMS * 4 };

static int32_t *src;
static uint8_t *chunk;

static const char *const variables[] = {"BLOSC_CLEVEL",    "BLOSC_SHUFFLE",   "BLOSC_DELTA",     "BLOSC_TYPESIZE",
                                        "BLOSC_COMPRESSOR", "BLOSC_NTHREADS", "BLOSC_SPLITMODE", "BLOSC_BLOCKSIZE",
                                        "BLOSC_NOLOCK",    "BLOSC_TRACE",     "BLOSC_INFO",      "BLOSC_BLOSC1_COMPAT"};

static void clear(void) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    unsetenv(variables[i]);
  }
}

/* Compresses with the global functions under one variable, checks the round trip, and leaves the chunk. */
static int compress_under(const char *variable, const char *value) {
  static int32_t back[NITEMS];
  setenv(variable, value, 1);
  const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0, cbytes);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES), NBYTES, -1);
  CHECK_BYTES(back, src, NBYTES, -1);
  unsetenv(variable);
  return cbytes;
}

static int last_filter(void) { return chunk[BLOSC2_CHUNK_FILTER_CODES + BLOSC2_MAX_FILTERS - 1]; }

static void level(void) {
  CHECK_EQ(compress_under("BLOSC_CLEVEL", "0"), NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(compress_under("BLOSC_CLEVEL", "9") < NBYTES);
  const int five = compress_under("BLOSC_CLEVEL", "5");
  CHECK_EQ(compress_under("BLOSC_CLEVEL", "-1"), five);
}

static void shuffle(void) {
  CHECK(compress_under("BLOSC_SHUFFLE", "NOSHUFFLE") > 0);
  CHECK_EQ(last_filter(), BLOSC_NOFILTER);
  CHECK(compress_under("BLOSC_SHUFFLE", "BITSHUFFLE") > 0);
  CHECK_EQ(last_filter(), BLOSC_BITSHUFFLE);
  CHECK(compress_under("BLOSC_SHUFFLE", "SHUFFLE") > 0);
  CHECK_EQ(last_filter(), BLOSC_SHUFFLE);
  CHECK(compress_under("BLOSC_SHUFFLE", "what is this") > 0);
  CHECK_EQ(last_filter(), BLOSC_SHUFFLE);
}

static void delta(void) {
  CHECK(compress_under("BLOSC_DELTA", "1") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_CODES + BLOSC2_MAX_FILTERS - 2], BLOSC_DELTA);
  CHECK(compress_under("BLOSC_DELTA", "0") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_CODES + BLOSC2_MAX_FILTERS - 2], BLOSC_NOFILTER);
}

static void typesize(void) {
  CHECK(compress_under("BLOSC_TYPESIZE", "2") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_TYPESIZE], 2);
  CHECK(compress_under("BLOSC_TYPESIZE", "0") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_TYPESIZE], 4);
}

static void compressor(void) {
  CHECK(compress_under("BLOSC_COMPRESSOR", "zstd") > 0);
  CHECK_STR(blosc2_cbuffer_complib(chunk), "Zstd");
  /* The choice stays, as if the program had made it. */
  CHECK_STR(blosc1_get_compressor(), "zstd");
  /* So does the choice of a codec that is not there, until a good one is made. */
  setenv("BLOSC_COMPRESSOR", "no such codec", 1);
  CHECK(blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD) < 0);
  unsetenv("BLOSC_COMPRESSOR");
  CHECK(blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD) < 0);
  CHECK(compress_under("BLOSC_COMPRESSOR", "blosclz") > 0);
  CHECK_STR(blosc2_cbuffer_complib(chunk), "BloscLZ");
}

static void threads(void) {
  CHECK(compress_under("BLOSC_NTHREADS", "3") > 0);
  CHECK_EQ(blosc2_get_nthreads(), 3);
  CHECK(compress_under("BLOSC_NTHREADS", "1") > 0);
  CHECK_EQ(blosc2_get_nthreads(), 1);
  /* Too few is passed over when compressing, and refused when decompressing. */
  int32_t back[1];
  const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, src, 4, chunk, NBYTES);
  setenv("BLOSC_NTHREADS", "0", 1);
  CHECK_EQ(blosc2_compress(5, BLOSC_SHUFFLE, 4, src, 4, chunk, NBYTES), cbytes);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  unsetenv("BLOSC_NTHREADS");
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, sizeof back), 4);
}

static void split_mode(void) {
  CHECK(compress_under("BLOSC_SPLITMODE", "NEVER") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_FLAGS] & 0x10, 0x10);
  CHECK(compress_under("BLOSC_SPLITMODE", "ALWAYS") > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_FLAGS] & 0x10, 0);
  CHECK(compress_under("BLOSC_SPLITMODE", "AUTO") > 0);
  CHECK(compress_under("BLOSC_SPLITMODE", "FORWARD_COMPAT") > 0);
}

static void block_size(void) {
  int32_t blocksize;
  CHECK(compress_under("BLOSC_BLOCKSIZE", "20000") > 0);
  CHECK(blosc2_cbuffer_sizes(chunk, NULL, NULL, &blocksize) >= 0);
  CHECK_EQ(blocksize, 20000);
  CHECK_EQ(blosc1_get_blocksize(), 20000);
  blosc1_set_blocksize(0);
}

static void no_lock(void) {
  CHECK(compress_under("BLOSC_NOLOCK", "1") > 0);
  CHECK_EQ(last_filter(), BLOSC_SHUFFLE);
  CHECK_EQ(chunk[BLOSC2_CHUNK_VERSION], BLOSC2_VERSION_FORMAT_STABLE);
}

static void header_of_blosc1(void) {
  static int32_t back[NITEMS];
  setenv("BLOSC_BLOSC1_COMPAT", "1", 1);
  const int cbytes = blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES + BLOSC_MIN_HEADER_LENGTH);
  CHECK(cbytes > 0 && cbytes < NBYTES);
  CHECK_EQ(chunk[BLOSC2_CHUNK_FLAGS] & (BLOSC_DOSHUFFLE | BLOSC_DOBITSHUFFLE), BLOSC_DOSHUFFLE);
  CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  CHECK_EQ(blosc1_getitem(chunk, 70000, 5, back), 20);
  CHECK_BYTES(back, src + 70000, 20);
  /* What does not shrink takes the short header and the data. */
  CHECK_EQ(blosc1_compress(0, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES + BLOSC_MIN_HEADER_LENGTH),
           NBYTES + BLOSC_MIN_HEADER_LENGTH);
  CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  unsetenv("BLOSC_BLOSC1_COMPAT");
}

static void contexts_obey_too(void) {
  setenv("BLOSC_COMPRESSOR", "lz4", 1);
  setenv("BLOSC_CLEVEL", "9", 1);
  setenv("BLOSC_SHUFFLE", "BITSHUFFLE", 1);
  setenv("BLOSC_DELTA", "1", 1);
  setenv("BLOSC_TYPESIZE", "2", 1);
  setenv("BLOSC_NTHREADS", "2", 1);
  setenv("BLOSC_SPLITMODE", "NEVER", 1);
  setenv("BLOSC_BLOCKSIZE", "4096", 1);
  blosc2_context *cctx = blosc2_create_cctx(BLOSC2_CPARAMS_DEFAULTS);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  clear();
  blosc2_cparams told;
  CHECK_EQ(blosc2_ctx_get_cparams(cctx, &told), 0);
  CHECK_EQ(told.compcode, BLOSC_LZ4);
  CHECK_EQ(told.clevel, 9);
  CHECK_EQ(told.filters[5], BLOSC_BITSHUFFLE);
  CHECK_EQ(told.filters[4], BLOSC_DELTA);
  CHECK_EQ(told.typesize, 2);
  CHECK_EQ(told.nthreads, 2);
  CHECK_EQ(told.splitmode, BLOSC_NEVER_SPLIT);
  CHECK_EQ(told.blocksize, 4096);
  blosc2_dparams dtold;
  CHECK_EQ(blosc2_ctx_get_dparams(dctx, &dtold), 0);
  CHECK_EQ(dtold.nthreads, 2);
  blosc2_free_ctx(cctx);
  blosc2_free_ctx(dctx);
}

int main(void) {
  clear();
  src = ramp(NITEMS);
  chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_init();
  RUN(level);
  RUN(shuffle);
  RUN(delta);
  RUN(typesize);
  RUN(compressor);
  RUN(threads);
  RUN(split_mode);
  RUN(block_size);
  RUN(no_lock);
  RUN(header_of_blosc1);
  RUN(contexts_obey_too);
  blosc2_destroy();
  free(src);
  free(chunk);
  return finish();
}
