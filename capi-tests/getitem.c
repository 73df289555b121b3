/* Reading single items out of a chunk, by item and by byte. */
#include "check.h"
#include "data.h"

enum { NITEMS = 40000, NBYTES = NITEMS * 4 };

static void every_kind_of_chunk(void) {
  static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  static const struct {
    int start, nitems;
  } ranges[] = {{0, 1}, {0, NITEMS}, {NITEMS - 1, 1}, {1023, 2}, {1024, 1024}, {777, 5000}, {NITEMS, 0}, {5, 0}};
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  for (size_t c = 0; c < sizeof codecs; c++) {
    for (int clevel = 0; clevel <= 5; clevel += 5) {
      for (int filter = BLOSC_NOFILTER; filter <= BLOSC_BITSHUFFLE; filter++) {
        blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
        cparams.compcode = codecs[c];
        cparams.clevel = (uint8_t)clevel;
        cparams.typesize = 4;
        cparams.blocksize = 4096;
        cparams.filters[BLOSC2_MAX_FILTERS - 1] = (uint8_t)filter;
        int cbytes;
        uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
        CHECK(cbytes > 0);
        blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
          const int start = ranges[r].start, nitems = ranges[r].nitems;
          memset(back, 0xFF, NBYTES);
          CHECK_EQ(blosc2_getitem_ctx(dctx, chunk, cbytes, start, nitems, back, NBYTES), nitems * 4);
          CHECK_BYTES(back, src + start, nitems * 4);
          memset(back, 0xFF, NBYTES);
          CHECK_EQ(blosc2_getitem(chunk, cbytes, start, nitems, back, nitems * 4), nitems * 4);
          CHECK_BYTES(back, src + start, nitems * 4);
          memset(back, 0xFF, NBYTES);
          CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, start * 4, nitems * 4, back, NBYTES), nitems * 4);
          CHECK_BYTES(back, src + start, nitems * 4);
        }
        blosc2_free_ctx(dctx);
        free(chunk);
      }
    }
  }
  free(src);
  free(back);
}

static void ranges_outside_are_refused(void) {
  int32_t *src = ramp(NITEMS);
  int32_t back[16];
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, -1, 1, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 0, -1, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, NITEMS, 1, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, NITEMS + 1, 1, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, INT32_MAX, 4, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 0, 17, back, sizeof back), BLOSC2_ERROR_WRITE_BUFFER);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 0, INT32_MAX, back, sizeof back), BLOSC2_ERROR_WRITE_BUFFER);
  CHECK(blosc2_getitem(chunk, cbytes - 1, 0, 1, back, sizeof back) < 0);
  CHECK(blosc2_getitem(chunk, 10, 0, 1, back, sizeof back) < 0);
  free(src);
  free(chunk);
}

static void bytes_must_be_whole_items(void) {
  int32_t *src = ramp(NITEMS);
  int32_t back[16];
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, 2, 4, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, 4, 6, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, -4, 4, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, 0, -4, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, 0, 68, back, sizeof back), BLOSC2_ERROR_WRITE_BUFFER);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, NBYTES, 4, back, sizeof back), BLOSC2_ERROR_INVALID_PARAM);
  blosc2_free_ctx(dctx);
  free(src);
  free(chunk);
}

static void wide_types_are_counted_in_bytes(void) {
  /* The header holds one byte for the type; above 255 it says 1, and an item is then a byte. */
  enum { TYPESIZE = 300, COUNT = 200 };
  uint8_t *src = wave(TYPESIZE * COUNT);
  uint8_t back[TYPESIZE];
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = TYPESIZE;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, TYPESIZE * COUNT, &cbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(chunk[BLOSC2_CHUNK_TYPESIZE], 1);
  blosc2_context *dctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK_EQ(blosc2_getitem_ctx(dctx, chunk, cbytes, 77 * TYPESIZE, TYPESIZE, back, sizeof back), TYPESIZE);
  CHECK_BYTES(back, src + 77 * TYPESIZE, TYPESIZE);
  CHECK_EQ(blosc2_getitem_bytes_ctx(dctx, chunk, cbytes, 1, 3, back, sizeof back), 3);
  CHECK_BYTES(back, src + 1, 3);
  blosc2_free_ctx(dctx);
  free(src);
  free(chunk);
}

static void nothing_is_written_past_the_items(void) {
  int32_t *src = ramp(NITEMS);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = 4096;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  int32_t back[12];
  memset(back, 0x5A, sizeof back);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 1020, 8, back, sizeof back), 32);
  CHECK_BYTES(back, src + 1020, 32);
  for (int i = 8; i < 12; i++) {
    CHECK_EQ(back[i], 0x5A5A5A5A);
  }
  free(src);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(every_kind_of_chunk);
  RUN(ranges_outside_are_refused);
  RUN(bytes_must_be_whole_items);
  RUN(wide_types_are_counted_in_bytes);
  RUN(nothing_is_written_past_the_items);
  blosc2_destroy();
  return finish();
}
