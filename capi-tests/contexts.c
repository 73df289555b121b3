/* Compression and decompression contexts: defaults, what a context tells of itself, reuse, misuse. */
#include "check.h"
#include "data.h"

enum { NITEMS = 60000, NBYTES = NITEMS * 4 };

static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};

static void defaults_equal_the_headers(void) {
  const blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
  CHECK_EQ(c.compcode, BLOSC2_CPARAMS_DEFAULTS.compcode);
  CHECK_EQ(c.compcode, BLOSC_BLOSCLZ);
  CHECK_EQ(c.clevel, 5);
  CHECK_EQ(c.typesize, 8);
  CHECK_EQ(c.nthreads, 1);
  CHECK_EQ(c.blocksize, 0);
  CHECK_EQ(c.splitmode, BLOSC_FORWARD_COMPAT_SPLIT);
  CHECK_EQ(c.use_dict, 0);
  CHECK_EQ(c.instr_codec, false);
  CHECK_BYTES(c.filters, BLOSC2_CPARAMS_DEFAULTS.filters, BLOSC2_MAX_FILTERS);
  CHECK_EQ(c.filters[BLOSC2_MAX_FILTERS - 1], BLOSC_SHUFFLE);
  CHECK(c.schunk == NULL && c.prefilter == NULL && c.preparams == NULL && c.tuner_params == NULL);

  const blosc2_dparams d = blosc2_get_blosc2_dparams_defaults();
  CHECK_EQ(d.nthreads, 1);
  CHECK_EQ(d.typesize, 8);
  CHECK(d.schunk == NULL && d.postfilter == NULL && d.postparams == NULL);

  const blosc2_storage storage = blosc2_get_blosc2_storage_defaults();
  CHECK(!storage.contiguous && storage.urlpath == NULL && storage.cparams == NULL && storage.dparams == NULL);
  const blosc2_io io = blosc2_get_blosc2_io_defaults();
  CHECK_EQ(io.id, BLOSC2_IO_FILESYSTEM);
  CHECK_STR(io.name, "filesystem");
  const blosc2_stdio_mmap mmap = blosc2_get_blosc2_stdio_mmap_defaults();
  CHECK_STR(mmap.mode, BLOSC2_STDIO_MMAP_DEFAULTS.mode);
  CHECK_EQ(mmap.initial_mapping_size, BLOSC2_STDIO_MMAP_DEFAULTS.initial_mapping_size);
}

static void context_tells_its_parameters(void) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = BLOSC_ZSTD;
  cparams.compcode_meta = 3;
  cparams.clevel = 7;
  cparams.typesize = 4;
  cparams.nthreads = 2;
  cparams.blocksize = 16384;
  cparams.splitmode = BLOSC_NEVER_SPLIT;
  cparams.use_dict = 1;
  cparams.filters[4] = BLOSC_DELTA;
  cparams.filters_meta[5] = 2;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  CHECK(cctx != NULL);
  blosc2_cparams told = BLOSC2_CPARAMS_DEFAULTS;
  CHECK_EQ(blosc2_ctx_get_cparams(cctx, &told), BLOSC2_ERROR_SUCCESS);
  CHECK_EQ(told.compcode, BLOSC_ZSTD);
  CHECK_EQ(told.compcode_meta, 3);
  CHECK_EQ(told.clevel, 7);
  CHECK_EQ(told.typesize, 4);
  CHECK_EQ(told.nthreads, 2);
  CHECK_EQ(told.blocksize, 16384);
  CHECK_EQ(told.splitmode, BLOSC_NEVER_SPLIT);
  CHECK_EQ(told.use_dict, 1);
  CHECK_BYTES(told.filters, cparams.filters, BLOSC2_MAX_FILTERS);
  CHECK_BYTES(told.filters_meta, cparams.filters_meta, BLOSC2_MAX_FILTERS);
  blosc2_free_ctx(cctx);

  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = 3;
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  CHECK(dctx != NULL);
  blosc2_dparams dtold = BLOSC2_DPARAMS_DEFAULTS;
  CHECK_EQ(blosc2_ctx_get_dparams(dctx, &dtold), BLOSC2_ERROR_SUCCESS);
  CHECK_EQ(dtold.nthreads, 3);
  blosc2_free_ctx(dctx);
}

static void every_codec_and_typesize(void) {
  static const int32_t typesizes[] = {1, 2, 3, 4, 7, 8, 12, 16, 255, 300};
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (size_t c = 0; c < sizeof codecs; c++) {
    for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
      for (int clevel = 0; clevel <= 9; clevel += 3) {
        blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
        cparams.compcode = codecs[c];
        cparams.typesize = typesizes[t];
        cparams.clevel = (uint8_t)clevel;
        /* A length that is no multiple of the type leaves some bytes over. */
        const int32_t nbytes = NBYTES / 4 - 5;
        int cbytes;
        uint8_t *chunk = compress_with(cparams, src, nbytes, &cbytes);
        CHECK(cbytes > 0 && cbytes <= nbytes + BLOSC2_MAX_OVERHEAD);
        memset(back, 0xFF, NBYTES);
        CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), nbytes);
        CHECK_BYTES(back, src, nbytes);
        CHECK_EQ(chunk[BLOSC2_CHUNK_TYPESIZE], typesizes[t] > BLOSC_MAX_TYPESIZE ? 1 : typesizes[t]);
        free(chunk);
      }
    }
  }
  free(src);
  free(back);
}

static void one_context_serves_many_buffers(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  uint8_t *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  /* Up and down in size: what a call leaves behind in a context must not reach the next. */
  static const int32_t sizes[] = {NBYTES, 0, 1, 31, 100, NBYTES / 2 + 1, 33, 4096, NBYTES - 3};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const int32_t nbytes = sizes[i];
    const int cbytes = blosc2_compress_ctx(cctx, src, nbytes, chunk, nbytes + BLOSC2_MAX_OVERHEAD);
    CHECK(cbytes > 0);
    CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, nbytes), nbytes);
    CHECK_BYTES(back, src, nbytes);
  }
  blosc2_free_ctx(cctx);
  blosc2_free_ctx(dctx);
  free(src);
  free(chunk);
  free(back);
}

static void contexts_refuse_the_other_trade(void) {
  uint8_t src[1000] = {0}, chunk[1000 + BLOSC2_MAX_OVERHEAD];
  blosc2_context *cctx = blosc2_create_cctx(BLOSC2_CPARAMS_DEFAULTS);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK_EQ(blosc2_compress_ctx(dctx, src, sizeof src, chunk, sizeof chunk), BLOSC2_ERROR_INVALID_PARAM);
  const int cbytes = blosc2_compress_ctx(cctx, src, sizeof src, chunk, sizeof chunk);
  CHECK(cbytes > 0);
  CHECK_EQ(blosc2_decompress_ctx(cctx, chunk, cbytes, src, sizeof src), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, src, sizeof src), 1000);
  blosc2_free_ctx(cctx);
  blosc2_free_ctx(dctx);
}

static void filters_that_do_not_exist(void) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.filters[0] = BLOSC_LAST_FILTER;
  CHECK(blosc2_create_cctx(cparams) == NULL);
  cparams.filters[0] = BLOSC_LAST_REGISTERED_FILTER + 1;
  CHECK(blosc2_create_cctx(cparams) == NULL);
}

static void contexts_work_without_init(void) {
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = BLOSC_LZ4;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  free(src);
  free(chunk);
  free(back);
}

int main(void) {
  RUN(contexts_work_without_init);
  blosc2_init();
  RUN(defaults_equal_the_headers);
  RUN(context_tells_its_parameters);
  RUN(every_codec_and_typesize);
  RUN(one_context_serves_many_buffers);
  RUN(contexts_refuse_the_other_trade);
  RUN(filters_that_do_not_exist);
  blosc2_destroy();
  return finish();
}
