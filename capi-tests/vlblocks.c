/* Chunks of blocks that each have a length of their own. */
#include "check.h"
#include "data.h"

enum { NBLOCKS = 40, LONGEST = 3000, CHUNK_ROOM = NBLOCKS * (LONGEST + 64) + BLOSC2_MAX_OVERHEAD };

/* Blocks of 1 to LONGEST bytes, cut out of one text. */
static char *blocks(const void **srcs, int32_t *sizes, int32_t *total) {
  char *bytes = text(NBLOCKS * LONGEST);
  *total = 0;
  for (int i = 0; i < NBLOCKS; i++) {
    srcs[i] = bytes + i * LONGEST;
    sizes[i] = 1 + i * 733 % LONGEST;
    *total += sizes[i];
  }
  return bytes;
}

static int compress_blocks(uint8_t compcode, int16_t nthreads, const void *const *srcs, const int32_t *sizes,
                           uint8_t *chunk) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = compcode;
  cparams.typesize = 1;
  cparams.nthreads = nthreads;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  const int cbytes = blosc2_vlcompress_ctx(cctx, srcs, sizes, NBLOCKS, chunk, CHUNK_ROOM);
  blosc2_free_ctx(cctx);
  return cbytes;
}

static void every_codec(void) {
  static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  const void *srcs[NBLOCKS];
  int32_t sizes[NBLOCKS], total;
  char *bytes = blocks(srcs, sizes, &total);
  uint8_t *chunk = reserve(CHUNK_ROOM);
  uint8_t *whole = reserve((size_t)total);
  for (size_t c = 0; c < sizeof codecs; c++) {
    for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
      const int cbytes = compress_blocks(codecs[c], nthreads, srcs, sizes, chunk);
      CHECK(cbytes > 0);
      CHECK_EQ(chunk[BLOSC2_CHUNK_VERSION], BLOSC2_VERSION_FORMAT_VL_BLOCKS);
      CHECK((chunk[BLOSC2_CHUNK_BLOSC2_FLAGS2] & BLOSC2_VL_BLOCKS) != 0);

      blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
      dparams.nthreads = nthreads;
      blosc2_context *dctx = blosc2_create_dctx(dparams);
      void *dests[NBLOCKS] = {NULL};
      int32_t destsizes[NBLOCKS];
      CHECK_EQ(blosc2_vldecompress_ctx(dctx, chunk, cbytes, dests, destsizes, NBLOCKS), NBLOCKS);
      for (int i = 0; i < NBLOCKS; i++) {
        CHECK_EQ(destsizes[i], sizes[i]);
        CHECK_BYTES(dests[i], srcs[i], sizes[i]);
        free(dests[i]);
      }
      for (int i = NBLOCKS - 1; i >= 0; i -= 13) {
        uint8_t *one = NULL;
        int32_t size = 0;
        CHECK_EQ(blosc2_vldecompress_block_ctx(dctx, chunk, cbytes, i, &one, &size), sizes[i]);
        CHECK_EQ(size, sizes[i]);
        CHECK_BYTES(one, srcs[i], size);
        free(one);
      }
      /* Read as an ordinary chunk it is the blocks end to end. */
      CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, whole, total), total);
      for (int32_t i = 0, at = 0; i < NBLOCKS; at += sizes[i], i++) {
        CHECK_BYTES(whole + at, srcs[i], sizes[i]);
      }
      blosc2_free_ctx(dctx);
    }
  }
  free(bytes);
  free(chunk);
  free(whole);
}

static void number_of_blocks(void) {
  const void *srcs[NBLOCKS];
  int32_t sizes[NBLOCKS], total, nblocks = 0, blocksize = 0;
  char *bytes = blocks(srcs, sizes, &total);
  uint8_t *chunk = reserve(CHUNK_ROOM);
  const int cbytes = compress_blocks(BLOSC_LZ4, 1, srcs, sizes, chunk);
  CHECK_EQ(blosc2_vlchunk_get_nblocks(chunk, cbytes, &nblocks), 0);
  CHECK_EQ(nblocks, NBLOCKS);
  CHECK(blosc2_cbuffer_sizes(chunk, NULL, NULL, &blocksize) >= 0);
  CHECK_EQ(blocksize, NBLOCKS);
  free(bytes);
  free(chunk);
}

static void what_is_refused(void) {
  const void *srcs[NBLOCKS];
  int32_t sizes[NBLOCKS], total, nblocks, size;
  char *bytes = blocks(srcs, sizes, &total);
  uint8_t *chunk = reserve(CHUNK_ROOM), *one = NULL;
  void *dests[NBLOCKS] = {NULL};
  int32_t destsizes[NBLOCKS];
  const int cbytes = compress_blocks(BLOSC_ZSTD, 1, srcs, sizes, chunk);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK_EQ(blosc2_vldecompress_ctx(dctx, chunk, cbytes, dests, destsizes, NBLOCKS - 1), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_ctx(dctx, chunk, cbytes, NULL, destsizes, NBLOCKS), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_block_ctx(dctx, chunk, cbytes, -1, &one, &size), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_block_ctx(dctx, chunk, cbytes, NBLOCKS, &one, &size), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_block_ctx(dctx, chunk, cbytes, 0, NULL, &size), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem_ctx(dctx, chunk, cbytes, 0, 1, &size, sizeof size), BLOSC2_ERROR_INVALID_PARAM);

  /* An ordinary chunk has no blocks of this kind. */
  int plain_cbytes;
  uint8_t *plain = compress_with(BLOSC2_CPARAMS_DEFAULTS, bytes, LONGEST, &plain_cbytes);
  CHECK_EQ(blosc2_vlchunk_get_nblocks(plain, plain_cbytes, &nblocks), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_ctx(dctx, plain, plain_cbytes, dests, destsizes, NBLOCKS), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_vldecompress_block_ctx(dctx, plain, plain_cbytes, 0, &one, &size), BLOSC2_ERROR_INVALID_PARAM);
  blosc2_free_ctx(dctx);

  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 1;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  CHECK(blosc2_vlcompress_ctx(cctx, srcs, sizes, 0, chunk, CHUNK_ROOM) < 0);
  CHECK(blosc2_vlcompress_ctx(cctx, NULL, sizes, NBLOCKS, chunk, CHUNK_ROOM) < 0);
  sizes[3] = 0;
  CHECK(blosc2_vlcompress_ctx(cctx, srcs, sizes, NBLOCKS, chunk, CHUNK_ROOM) < 0);
  blosc2_free_ctx(cctx);
  free(bytes);
  free(plain);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(every_codec);
  RUN(number_of_blocks);
  RUN(what_is_refused);
  blosc2_destroy();
  return finish();
}
