/* What can be asked of a chunk without decompressing it. */
#include "check.h"
#include "data.h"

enum { NITEMS = 25000, NBYTES = NITEMS * 4 };

static void sizes_of_a_chunk(void) {
  int32_t *src = ramp(NITEMS);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = 8192;
  int csize;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &csize);
  CHECK(csize > 0);
  int32_t nbytes32, cbytes32, blocksize32;
  CHECK(blosc2_cbuffer_sizes(chunk, &nbytes32, &cbytes32, &blocksize32) >= 0);
  CHECK_EQ(nbytes32, NBYTES);
  CHECK_EQ(cbytes32, csize);
  CHECK_EQ(blocksize32, 8192);
  CHECK(blosc2_cbuffer_sizes(chunk, NULL, NULL, NULL) >= 0);
  size_t nbytes, cbytes, blocksize;
  blosc1_cbuffer_sizes(chunk, &nbytes, &cbytes, &blocksize);
  CHECK_EQ(nbytes, NBYTES);
  CHECK_EQ(cbytes, csize);
  CHECK_EQ(blocksize, 8192);
  free(src);
  free(chunk);
}

static void validation(void) {
  int32_t *src = ramp(NITEMS);
  int csize;
  uint8_t *chunk = compress_with(BLOSC2_CPARAMS_DEFAULTS, src, NBYTES, &csize);
  size_t nbytes = 1;
  CHECK_EQ(blosc1_cbuffer_validate(chunk, (size_t)csize, &nbytes), 0);
  CHECK_EQ(nbytes, NBYTES);
  CHECK_EQ(blosc1_cbuffer_validate(chunk, (size_t)csize - 1, &nbytes), BLOSC2_ERROR_INVALID_HEADER);
  CHECK_EQ(nbytes, 0);
  CHECK_EQ(blosc1_cbuffer_validate(chunk, (size_t)csize + 1, &nbytes), BLOSC2_ERROR_INVALID_HEADER);
  CHECK_EQ(blosc1_cbuffer_validate(chunk, BLOSC_MIN_HEADER_LENGTH - 1, &nbytes), BLOSC2_ERROR_WRITE_BUFFER);
  free(src);
  free(chunk);
}

static void flags_and_versions(void) {
  static const struct {
    uint8_t code;
    const char *library;
    int version;
  } codecs[] = {{BLOSC_BLOSCLZ, BLOSC_BLOSCLZ_LIBNAME, BLOSC_BLOSCLZ_VERSION_FORMAT},
                {BLOSC_LZ4, BLOSC_LZ4_LIBNAME, BLOSC_LZ4_VERSION_FORMAT},
                {BLOSC_LZ4HC, BLOSC_LZ4_LIBNAME, BLOSC_LZ4HC_VERSION_FORMAT},
                {BLOSC_ZLIB, BLOSC_ZLIB_LIBNAME, BLOSC_ZLIB_VERSION_FORMAT},
                {BLOSC_ZSTD, BLOSC_ZSTD_LIBNAME, BLOSC_ZSTD_VERSION_FORMAT}};
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    /* A chunk of the functions of Blosc 1 tells its shuffle in the flags; the extended header in the filters. */
    const char *name;
    CHECK_EQ(blosc2_compcode_to_compname(codecs[i].code, &name), codecs[i].code);
    CHECK_EQ(blosc1_set_compressor(name), codecs[i].code);
    const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
    CHECK(cbytes > 0);
    size_t typesize;
    int flags, version, versionlz;
    blosc1_cbuffer_metainfo(chunk, &typesize, &flags);
    CHECK_EQ(typesize, 4);
    CHECK(flags & BLOSC_DOSHUFFLE);
    CHECK_EQ(flags & BLOSC_MEMCPYED, 0);
    blosc2_cbuffer_versions(chunk, &version, &versionlz);
    CHECK_EQ(version, BLOSC2_VERSION_FORMAT_STABLE);
    CHECK_EQ(versionlz, codecs[i].version);
    CHECK_STR(blosc2_cbuffer_complib(chunk), codecs[i].library);
    CHECK_EQ(chunk[BLOSC2_CHUNK_FILTER_CODES + BLOSC2_MAX_FILTERS - 1], BLOSC_SHUFFLE);
  }
  /* What is not compressed is marked as a plain copy. */
  int cbytes = blosc2_compress(0, BLOSC_SHUFFLE, 4, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK_EQ(cbytes, NBYTES + BLOSC2_MAX_OVERHEAD);
  size_t typesize;
  int flags;
  blosc1_cbuffer_metainfo(chunk, &typesize, &flags);
  CHECK(flags & BLOSC_MEMCPYED);
  CHECK_EQ(blosc1_set_compressor("blosclz"), BLOSC_BLOSCLZ);
  free(src);
  free(chunk);
}

static void headers_that_lie(void) {
  int32_t *src = ramp(NITEMS);
  int csize;
  uint8_t *chunk = compress_with(BLOSC2_CPARAMS_DEFAULTS, src, NBYTES, &csize);
  uint8_t bad[BLOSC_EXTENDED_HEADER_LENGTH];
  int32_t nbytes = 1, cbytes = 1, blocksize = 1;

  memcpy(bad, chunk, sizeof bad);
  memset(bad + BLOSC2_CHUNK_BLOCKSIZE, 0, 4);
  CHECK(blosc2_cbuffer_sizes(bad, &nbytes, &cbytes, &blocksize) < 0);
  CHECK_EQ(nbytes, 0);
  CHECK_EQ(cbytes, 0);
  CHECK_EQ(blocksize, 0);
  int version = 1, versionlz = 1, flags = 1;
  size_t typesize = 1;
  blosc2_cbuffer_versions(bad, &version, &versionlz);
  CHECK_EQ(version, 0);
  CHECK_EQ(versionlz, 0);
  blosc1_cbuffer_metainfo(bad, &typesize, &flags);
  CHECK_EQ(typesize, 0);
  CHECK_EQ(flags, 0);
  CHECK(blosc2_cbuffer_complib(bad) == NULL);

  memcpy(bad, chunk, sizeof bad);
  memset(bad + BLOSC2_CHUNK_BLOCKSIZE, 0x7F, 4);
  CHECK(blosc2_cbuffer_sizes(bad, NULL, NULL, NULL) < 0);
  memcpy(bad, chunk, sizeof bad);
  memset(bad + BLOSC2_CHUNK_CBYTES, 0, 4);
  CHECK(blosc2_cbuffer_sizes(bad, NULL, NULL, NULL) < 0);
  memcpy(bad, chunk, sizeof bad);
  bad[BLOSC2_CHUNK_TYPESIZE] = 0;
  CHECK(blosc2_cbuffer_sizes(bad, NULL, NULL, NULL) < 0);
  free(src);
  free(chunk);
}

int main(void) {
  blosc2_init();
  RUN(sizes_of_a_chunk);
  RUN(validation);
  RUN(flags_and_versions);
  RUN(headers_that_lie);
  blosc2_destroy();
  return finish();
}
