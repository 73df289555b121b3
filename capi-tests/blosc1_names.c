/* A program written for Blosc 1: with BLOSC1_COMPAT its names reach the functions of today. */
#define BLOSC1_COMPAT
#include "check.h"
#include "data.h"

enum { NITEMS = 20000, NBYTES = NITEMS * 4 };

static void old_names_compress(void) {
  int32_t *src = ramp(NITEMS);
  uint8_t *chunk = reserve(NBYTES + BLOSC_MAX_OVERHEAD);
  int32_t *back = reserve(NBYTES);
  CHECK_EQ(blosc_set_compressor(BLOSC_LZ4_COMPNAME), BLOSC_LZ4);
  CHECK_STR(blosc_get_compressor(), BLOSC_LZ4_COMPNAME);
  blosc_set_blocksize(8192);
  CHECK_EQ(blosc_get_blocksize(), 8192);
  blosc_set_splitmode(BLOSC_FORWARD_COMPAT_SPLIT);
  CHECK_EQ(blosc_set_nthreads(2), 1);
  CHECK_EQ(blosc_get_nthreads(), 2);

  const int csize = blosc_compress(5, BLOSC_SHUFFLE, 4, NBYTES, src, chunk, NBYTES + BLOSC_MAX_OVERHEAD);
  CHECK(csize > 0 && csize < NBYTES);
  CHECK_EQ(blosc_decompress(chunk, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  CHECK_EQ(blosc_getitem(chunk, 100, 10, back), 40);
  CHECK_BYTES(back, src + 100, 40);

  size_t nbytes, cbytes, blocksize, typesize;
  int flags, version, versionlz;
  blosc_cbuffer_sizes(chunk, &nbytes, &cbytes, &blocksize);
  CHECK_EQ(nbytes, NBYTES);
  CHECK_EQ(cbytes, csize);
  CHECK_EQ(blocksize, 8192);
  CHECK_EQ(blosc_cbuffer_validate(chunk, (size_t)csize, &nbytes), 0);
  CHECK_EQ(nbytes, NBYTES);
  blosc_cbuffer_metainfo(chunk, &typesize, &flags);
  CHECK_EQ(typesize, 4);
  CHECK_EQ(flags & BLOSC_MEMCPYED, 0);
  blosc_cbuffer_versions(chunk, &version, &versionlz);
  CHECK_EQ(versionlz, BLOSC_LZ4_VERSION_FORMAT);
  CHECK_STR(blosc_cbuffer_complib(chunk), BLOSC_LZ4_LIBNAME);
  free(src);
  free(chunk);
  free(back);
}

static void old_names_ask(void) {
  const char *name = NULL;
  CHECK_EQ(blosc_compcode_to_compname(BLOSC_ZSTD, &name), BLOSC_ZSTD);
  CHECK_STR(name, BLOSC_ZSTD_COMPNAME);
  CHECK_EQ(blosc_compname_to_compcode(BLOSC_ZLIB_COMPNAME), BLOSC_ZLIB);
  CHECK(strstr(blosc_list_compressors(), BLOSC_LZ4HC_COMPNAME) != NULL);
  CHECK_STR(blosc_get_version_string(), BLOSC_VERSION_STRING);
  char *library = NULL, *version = NULL;
  CHECK_EQ(blosc_get_complib_info(BLOSC_LZ4_COMPNAME, &library, &version), BLOSC_LZ4_LIB);
  CHECK_STR(library, BLOSC_LZ4_LIBNAME);
  free(library);
  free(version);
  CHECK_EQ(BLOSC_VERSION_MAJOR, BLOSC2_VERSION_MAJOR);
  CHECK_EQ(BLOSC_VERSION_MINOR, BLOSC2_VERSION_MINOR);
  CHECK_EQ(BLOSC_VERSION_RELEASE, BLOSC2_VERSION_RELEASE);
  CHECK_EQ(BLOSC_MAX_BUFFERSIZE, BLOSC2_MAX_BUFFERSIZE);
}

int main(void) {
  blosc_init();
  RUN(old_names_compress);
  RUN(old_names_ask);
  CHECK_EQ(blosc_free_resources(), 0, finish());
  blosc_destroy();
  return finish();
}
