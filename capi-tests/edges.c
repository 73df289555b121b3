/* Empty and tiny buffers, destinations of every size, chunks cut short, and what is answered to nonsense. */
#include "check.h"
#include "data.h"

static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};

static void tiny_buffers(void) {
  enum { MOST = 300 };
  uint8_t *src = wave(MOST);
  uint8_t back[MOST];
  for (size_t c = 0; c < sizeof codecs; c++) {
    for (int32_t nbytes = 0; nbytes <= MOST; nbytes++) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.compcode = codecs[c];
      int cbytes;
      uint8_t *chunk = compress_with(cparams, src, nbytes, &cbytes);
      CHECK(cbytes > 0 && cbytes <= nbytes + BLOSC2_MAX_OVERHEAD);
      memset(back, 0xFF, sizeof back);
      CHECK_EQ(decompress_with(1, chunk, cbytes, back, nbytes), nbytes);
      CHECK_BYTES(back, src, nbytes);
      free(chunk);
    }
  }
  free(src);
}

static void nothing_at_all(void) {
  uint8_t chunk[BLOSC2_MAX_OVERHEAD], back[1];
  const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, "", 0, chunk, sizeof chunk);
  CHECK_EQ(cbytes, BLOSC2_MAX_OVERHEAD);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, 0), 0);
  /* Where there is nothing to read or write, there need not be a buffer. */
  CHECK_EQ(blosc2_compress(5, BLOSC_SHUFFLE, 4, NULL, 0, chunk, sizeof chunk), BLOSC2_MAX_OVERHEAD);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, NULL, 0), 0);
}

static void destinations_of_every_size(void) {
  enum { NBYTES = 4000 };
  uint8_t *inputs[] = {wave(NBYTES), noise(NBYTES, 2), (uint8_t *)text(NBYTES)};
  uint8_t *chunk = reserve(NBYTES + 64);
  uint8_t back[NBYTES];
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    for (int32_t room = 0; room < NBYTES + 64; room += room < 128 ? 1 : 61) {
      blosc2_context *cctx = blosc2_create_cctx(BLOSC2_CPARAMS_DEFAULTS);
      memset(chunk, 0xA5, NBYTES + 64);
      const int cbytes = blosc2_compress_ctx(cctx, inputs[i], NBYTES, chunk, room);
      blosc2_free_ctx(cctx);
      for (int32_t at = room; at < NBYTES + 64; at++) {
        CHECK_EQ(chunk[at], 0xA5);
      }
      CHECK(cbytes <= room);
      CHECK(room < NBYTES + BLOSC2_MAX_OVERHEAD || cbytes > 0);
      if (cbytes > 0) {
        CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES), NBYTES);
        CHECK_BYTES(back, inputs[i], NBYTES);
      }
    }
    free(inputs[i]);
  }
  free(chunk);
}

static void destinations_too_small_to_decompress(void) {
  enum { NBYTES = 5000 };
  uint8_t *src = wave(NBYTES);
  uint8_t back[NBYTES];
  int cbytes;
  uint8_t *chunk = compress_with(BLOSC2_CPARAMS_DEFAULTS, src, NBYTES, &cbytes);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES - 1), BLOSC2_ERROR_WRITE_BUFFER);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, 0), BLOSC2_ERROR_WRITE_BUFFER);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, back, NBYTES), NBYTES);
  free(src);
  free(chunk);
}

static void chunks_cut_short(void) {
  enum { NBYTES = 20000 };
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (size_t c = 0; c < sizeof codecs; c++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.compcode = codecs[c];
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    for (int32_t length = 0; length < cbytes; length += length < 64 ? 1 : 97) {
      /* A buffer of just that length: what is read past it is seen by valgrind and by sanitizers. */
      uint8_t *cut = reserve((size_t)length);
      memcpy(cut, chunk, (size_t)length);
      CHECK(blosc2_decompress(cut, length, back, NBYTES) < 0);
      CHECK(blosc2_getitem(cut, length, 0, 1, back, NBYTES) < 0 || length > BLOSC_EXTENDED_HEADER_LENGTH);
      free(cut);
    }
    free(chunk);
  }
  free(src);
  free(back);
}

static void levels_and_codecs_that_do_not_exist(void) {
  uint8_t src[1000] = {1}, chunk[1000 + BLOSC2_MAX_OVERHEAD];
  CHECK(blosc2_compress(10, BLOSC_SHUFFLE, 4, src, sizeof src, chunk, sizeof chunk) < 0);
  CHECK(blosc2_compress(-1, BLOSC_SHUFFLE, 4, src, sizeof src, chunk, sizeof chunk) < 0);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.clevel = 10;
  int cbytes;
  free(compress_with(cparams, src, sizeof src, &cbytes));
  CHECK_EQ(cbytes, BLOSC2_ERROR_CODEC_PARAM);
  cparams.clevel = 5;
  cparams.typesize = BLOSC2_MAXTYPESIZE + 1;
  free(compress_with(cparams, src, sizeof src, &cbytes));
  CHECK_EQ(cbytes, BLOSC2_ERROR_INVALID_PARAM);
}

static void wide_types(void) {
  /* A type may be wider than the header's byte, and wider than the buffer. */
  enum { NBYTES = 100000 };
  static const int32_t typesizes[] = {256, 1000, 65536, 99999, 100000, 100001, 1 << 24, BLOSC2_MAXTYPESIZE};
  uint8_t *src = wave(NBYTES);
  uint8_t *back = reserve(NBYTES);
  for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = typesizes[t];
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    free(chunk);
  }
  free(src);
  free(back);
}

static void sizes_above_the_limit(void) {
  uint8_t src[64] = {0}, chunk[128];
  /* Refused by its size alone: none of it is read. */
  CHECK_EQ(blosc2_compress(5, BLOSC_SHUFFLE, 4, src, INT32_MAX, chunk, sizeof chunk),
           BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED);
  CHECK_EQ(blosc2_compress(5, BLOSC_SHUFFLE, 4, src, sizeof src, chunk, BLOSC2_MAX_OVERHEAD - 1),
           BLOSC2_ERROR_MAX_BUFSIZE_EXCEEDED);
}

int main(void) {
  blosc2_init();
  RUN(tiny_buffers);
  RUN(nothing_at_all);
  RUN(destinations_of_every_size);
  RUN(destinations_too_small_to_decompress);
  RUN(chunks_cut_short);
  RUN(levels_and_codecs_that_do_not_exist);
  RUN(wide_types);
  RUN(sizes_above_the_limit);
  blosc2_destroy();
  return finish();
}
