/* The functions of Blosc 1: one global setting of codec, block size and split mode, sizes as size_t. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4 };

static void round_trip_at_every_level(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  int32_t *back = reserve(NBYTES);
  for (int clevel = 0; clevel <= 9; clevel++) {
    for (int filter = BLOSC_NOFILTER; filter <= BLOSC_BITSHUFFLE; filter++) {
      const int cbytes = blosc1_compress(clevel, filter, 4, NBYTES, src, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
      CHECK(cbytes > 0);
      if (clevel == 0) {
        CHECK_EQ(cbytes, NBYTES + BLOSC2_MAX_OVERHEAD);
      } else if (filter != BLOSC_NOFILTER) {
        CHECK(cbytes < NBYTES / 2);
      }
      memset(back, 0xFF, NBYTES);
      CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
    }
  }
  free(src);
  free(chunk);
  free(back);
}

static void compressor_is_chosen_by_name(void) {
  static const struct {
    const char *name;
    int code;
    const char *library;
  } codecs[] = {{"blosclz", BLOSC_BLOSCLZ, "BloscLZ"},
                {"lz4", BLOSC_LZ4, "LZ4"},
                {"lz4hc", BLOSC_LZ4HC, "LZ4"},
                {"zlib", BLOSC_ZLIB, "Zlib"},
                {"zstd", BLOSC_ZSTD, "Zstd"}};
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  int32_t *back = reserve(NBYTES);
  CHECK_STR(blosc1_get_compressor(), "blosclz");
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    CHECK_EQ(blosc1_set_compressor(codecs[i].name), codecs[i].code);
    CHECK_STR(blosc1_get_compressor(), codecs[i].name);
    CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
    CHECK_STR(blosc2_cbuffer_complib(chunk), codecs[i].library);
    CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
  }
  CHECK_EQ(blosc1_set_compressor("no such codec"), -1);
  CHECK_EQ(blosc1_set_compressor("blosclz"), BLOSC_BLOSCLZ);
  free(src);
  free(chunk);
  free(back);
}

static void block_size_is_remembered(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  size_t nbytes, cbytes, blocksize;
  CHECK_EQ(blosc1_get_blocksize(), 0);
  blosc1_set_blocksize(4096);
  CHECK_EQ(blosc1_get_blocksize(), 4096);
  CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
  blosc1_cbuffer_sizes(chunk, &nbytes, &cbytes, &blocksize);
  CHECK_EQ(nbytes, NBYTES);
  CHECK_EQ(blocksize, 4096);
  blosc1_set_blocksize(0);
  CHECK_EQ(blosc1_get_blocksize(), 0);
  free(src);
  free(chunk);
}

static void split_modes_decode_alike(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  int32_t *back = reserve(NBYTES);
  for (int mode = BLOSC_ALWAYS_SPLIT; mode <= BLOSC_FORWARD_COMPAT_SPLIT; mode++) {
    blosc1_set_splitmode(mode);
    CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
    CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    /* Bit 4 of the flags says that the blocks are whole. */
    if (mode == BLOSC_ALWAYS_SPLIT || mode == BLOSC_NEVER_SPLIT) {
      CHECK_EQ((chunk[BLOSC2_CHUNK_FLAGS] & 0x10) != 0, mode == BLOSC_NEVER_SPLIT);
    }
  }
  free(src);
  free(chunk);
  free(back);
}

static void items_come_out_by_index(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  int32_t back[100];
  CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
  CHECK_EQ(blosc1_getitem(chunk, 12345, 100, back), 400);
  CHECK_BYTES(back, src + 12345, 400);
  CHECK_EQ(blosc1_getitem(chunk, NITEMS - 1, 1, back), 4);
  CHECK_EQ(back[0], NITEMS - 1);
  CHECK(blosc1_getitem(chunk, NITEMS - 1, 2, back) < 0);
  CHECK(blosc1_getitem(chunk, -1, 1, back) < 0);
  free(src);
  free(chunk);
}

static void small_destinations(void) {
  uint8_t *src = noise(NBYTES, 1);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  uint8_t *back = reserve(NBYTES);
  /* What cannot shrink needs the room of a plain copy; one byte less, and the answer is "does not fit". */
  CHECK_EQ(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES + BLOSC2_MAX_OVERHEAD - 1), 0);
  CHECK_EQ(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES + BLOSC2_MAX_OVERHEAD),
           NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(blosc1_decompress(chunk, back, NBYTES - 1) < 0);
  CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  free(src);
  free(chunk);
  free(back);
}

static void resources_are_freed_and_come_back(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  int32_t *back = reserve(NBYTES);
  CHECK_EQ(blosc2_free_resources(), 0);
  CHECK(blosc1_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES) > 0);
  blosc2_destroy();
  blosc2_destroy();
  CHECK(blosc2_free_resources() < 0);
  blosc2_init();
  blosc2_init();
  CHECK_EQ(blosc1_decompress(chunk, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  free(src);
  free(chunk);
  free(back);
}

int main(void) {
  blosc2_init();
  RUN(round_trip_at_every_level);
  RUN(compressor_is_chosen_by_name);
  RUN(block_size_is_remembered);
  RUN(split_modes_decode_alike);
  RUN(items_come_out_by_index);
  RUN(small_destinations);
  RUN(resources_are_freed_and_come_back);
  blosc2_destroy();
  return finish();
}
