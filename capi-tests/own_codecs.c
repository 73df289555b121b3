/* A program with functions of its own that are named as those inside the library: LZ4, Zstd, zlib, a Rust runtime.
 * It links, and the library goes on using its own: neither sees the other's. */
#include "check.h"
#include "data.h"

enum { NITEMS = 40000, NBYTES = NITEMS * 4 };

static int wrong_calls;

#define MINE(name)                                                                                                     \
  int name(void);                                                                                                      \
  int name(void) { return ++wrong_calls; }

MINE(LZ4_compress_default)
MINE(LZ4_compress_fast)
MINE(LZ4_compress_fast_extState)
MINE(LZ4_compress_fast_continue)
MINE(LZ4_decompress_safe)
MINE(LZ4_decompress_safe_usingDict)
MINE(LZ4_compress_HC)
MINE(LZ4_compress_HC_extStateHC)
MINE(LZ4_versionNumber)
MINE(LZ4_versionString)
MINE(ZSTD_compress)
MINE(ZSTD_compressCCtx)
MINE(ZSTD_compress2)
MINE(ZSTD_decompress)
MINE(ZSTD_decompressDCtx)
MINE(ZSTD_createCCtx)
MINE(ZSTD_createDCtx)
MINE(ZSTD_freeCCtx)
MINE(ZSTD_freeDCtx)
MINE(ZSTD_isError)
MINE(ZSTD_versionNumber)
MINE(ZDICT_trainFromBuffer)
MINE(compress2)
MINE(uncompress)
MINE(deflateInit2_)
MINE(deflate)
MINE(inflateInit2_)
MINE(inflate)
MINE(adler32)
MINE(crc32)
MINE(libdeflate_alloc_compressor)
MINE(libdeflate_zlib_compress)
MINE(rust_eh_personality)
MINE(blosclz_compress)
MINE(blosclz_decompress)

static void every_codec_uses_its_own(void) {
  static const uint8_t codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  for (size_t c = 0; c < sizeof codecs; c++) {
    for (int use_dict = 0; use_dict <= 1; use_dict++) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.compcode = codecs[c];
      cparams.typesize = 4;
      cparams.blocksize = 4096;
      cparams.use_dict = use_dict && codecs[c] != BLOSC_BLOSCLZ && codecs[c] != BLOSC_ZLIB;
      int cbytes;
      uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
      CHECK(cbytes > 0 && cbytes < NBYTES);
      CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
      free(chunk);
    }
  }
  CHECK_EQ(wrong_calls, 0);
  free(src);
  free(back);
}

static void the_program_reaches_its_own(void) {
  CHECK_EQ(LZ4_versionNumber(), 1);
  CHECK_EQ(ZSTD_versionNumber(), 2);
}

int main(void) {
  blosc2_init();
  RUN(every_codec_uses_its_own);
  RUN(the_program_reaches_its_own);
  blosc2_destroy();
  return finish();
}
