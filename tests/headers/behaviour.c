/* Prints what the headers say and do: the test compiles it against ours and against the reference's, each with the
   library that belongs to them. */
#include "blosc2.h"
#include "b2nd.h"
#include "blosc2/codecs-registry.h"
#include "blosc2/filters-registry.h"
#include "blosc2/tuners-registry.h"

#include <stdio.h>
#include <string.h>

static void bytes(const char *label, const void *data, size_t len) {
  size_t i;
  printf("%s:", label);
  for (i = 0; i < len; i++) {
    printf(" %02x", ((const uint8_t *)data)[i]);
  }
  printf("\n");
}

static void constants(void) {
#define CONSTANT(name) printf(#name " %lld %d\n", (long long)(name), (int)sizeof(name));
#include "constants.inc"
#undef CONSTANT
  printf("%s %s %s\n", BLOSC2_VERSION_STRING, BLOSC2_VERSION_DATE, B2ND_DEFAULT_DTYPE);
  printf("%s %s %s %s %s\n", BLOSC_BLOSCLZ_COMPNAME, BLOSC_LZ4_COMPNAME, BLOSC_LZ4HC_COMPNAME, BLOSC_ZLIB_COMPNAME,
         BLOSC_ZSTD_COMPNAME);
  printf("%s %s %s %s\n", BLOSC_BLOSCLZ_LIBNAME, BLOSC_LZ4_LIBNAME, BLOSC_ZLIB_LIBNAME, BLOSC_ZSTD_LIBNAME);
#ifdef BLOSC_STRICT_ALIGN
  printf("strict alignment\n");
#endif
  printf("%d\n", BLOSC_GCC_VERSION);
}

static void defaults(void) {
  /* Field by field: the bytes of a whole struct would show its padding too. */
  blosc2_cparams c = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams d = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_storage s = BLOSC2_STORAGE_DEFAULTS;
  blosc2_io io = BLOSC2_IO_DEFAULTS;
  blosc2_stdio_mmap m = BLOSC2_STDIO_MMAP_DEFAULTS;
  printf("cparams %d %d %d %d %d %d %d %d %d %d\n", c.compcode, c.compcode_meta, c.clevel, c.use_dict, c.typesize,
         c.nthreads, c.blocksize, c.splitmode, c.tuner_id, c.instr_codec);
  bytes("filters", c.filters, sizeof(c.filters));
  bytes("filters_meta", c.filters_meta, sizeof(c.filters_meta));
  bytes("filter_params", c.filter_params, sizeof(c.filter_params));
  printf("pointers %d\n", c.schunk == NULL && c.prefilter == NULL && c.preparams == NULL && c.tuner_params == NULL &&
         c.codec_params == NULL);
  printf("dparams %d %d %d\n", d.nthreads, d.typesize, d.schunk == NULL && d.postfilter == NULL && d.postparams == NULL);
  printf("storage %d %d\n", s.contiguous,
         s.urlpath == NULL && s.cparams == NULL && s.dparams == NULL && s.io == NULL);
  printf("io %d %s %d\n", io.id, io.name, io.params == NULL);
  printf("locking %d\n", BLOSC2_STDIO_PARAMS_DEFAULTS.locking);
  printf("mmap %s %zu %d %zu %zu %d %d %lld %lld %d\n", m.mode, m.initial_mapping_size, m.needs_free, m.file_size,
         m.mapping_size, m.is_memory_only, m.fd, (long long)m.access_flags, (long long)m.map_flags,
         m.addr == NULL && m.urlpath == NULL && m.file == NULL);
}

/* The library's word on the defaults: that of the headers. Names and modes are compared as texts. */
static void defaults_of_the_library(void) {
  blosc2_cparams c = blosc2_get_blosc2_cparams_defaults();
  blosc2_dparams d = blosc2_get_blosc2_dparams_defaults();
  blosc2_storage s = blosc2_get_blosc2_storage_defaults();
  blosc2_io io = blosc2_get_blosc2_io_defaults();
  blosc2_stdio_mmap m = blosc2_get_blosc2_stdio_mmap_defaults();
  printf("same cparams %d\n",
         c.compcode == BLOSC2_CPARAMS_DEFAULTS.compcode && c.compcode_meta == BLOSC2_CPARAMS_DEFAULTS.compcode_meta &&
             c.clevel == BLOSC2_CPARAMS_DEFAULTS.clevel && c.use_dict == BLOSC2_CPARAMS_DEFAULTS.use_dict &&
             c.typesize == BLOSC2_CPARAMS_DEFAULTS.typesize && c.nthreads == BLOSC2_CPARAMS_DEFAULTS.nthreads &&
             c.blocksize == BLOSC2_CPARAMS_DEFAULTS.blocksize && c.splitmode == BLOSC2_CPARAMS_DEFAULTS.splitmode &&
             memcmp(c.filters, BLOSC2_CPARAMS_DEFAULTS.filters, sizeof(c.filters)) == 0 &&
             memcmp(c.filters_meta, BLOSC2_CPARAMS_DEFAULTS.filters_meta, sizeof(c.filters_meta)) == 0 &&
             memcmp(c.filter_params, BLOSC2_CPARAMS_DEFAULTS.filter_params, sizeof(c.filter_params)) == 0 &&
             c.schunk == NULL && c.prefilter == NULL && c.preparams == NULL && c.tuner_params == NULL &&
             c.tuner_id == BLOSC2_CPARAMS_DEFAULTS.tuner_id && !c.instr_codec && c.codec_params == NULL);
  printf("same dparams %d\n", d.nthreads == BLOSC2_DPARAMS_DEFAULTS.nthreads &&
         d.typesize == BLOSC2_DPARAMS_DEFAULTS.typesize && d.schunk == NULL && d.postfilter == NULL &&
         d.postparams == NULL);
  printf("same storage %d\n", s.contiguous == BLOSC2_STORAGE_DEFAULTS.contiguous && s.urlpath == NULL &&
         s.cparams == NULL && s.dparams == NULL && s.io == NULL);
  printf("same io %d\n", io.id == BLOSC2_IO_DEFAULTS.id && strcmp(io.name, BLOSC2_IO_DEFAULTS.name) == 0 &&
         io.params == NULL);
  printf("same mmap %d\n", strcmp(m.mode, BLOSC2_STDIO_MMAP_DEFAULTS.mode) == 0 &&
         m.initial_mapping_size == BLOSC2_STDIO_MMAP_DEFAULTS.initial_mapping_size &&
         m.needs_free == BLOSC2_STDIO_MMAP_DEFAULTS.needs_free && m.addr == NULL && m.urlpath == NULL &&
         m.file_size == 0 && m.mapping_size == 0 && !m.is_memory_only && m.file == NULL &&
         m.fd == BLOSC2_STDIO_MMAP_DEFAULTS.fd && m.access_flags == BLOSC2_STDIO_MMAP_DEFAULTS.access_flags &&
         m.map_flags == BLOSC2_STDIO_MMAP_DEFAULTS.map_flags);
}

static int returned_by_error_null(const void *pointer) {
  BLOSC_ERROR_NULL(pointer, BLOSC2_ERROR_NULL_POINTER);
  return 7;
}

static int returned_by_error(int rc) {
  BLOSC_ERROR(rc);
  return 7;
}

/* What a message says before its place in the source: the places differ. */
static void messages(void) {
  char line[200];
  char *place;
  FILE *log = tmpfile();
  FILE *kept = stderr;
  if (log == NULL) {
    printf("no temporary file\n");
    return;
  }
  stderr = log;
  BLOSC_TRACE_ERROR("one %d and %s", 1, "two");
  BLOSC_TRACE_WARNING("plain");
  BLOSC_TRACE_INFO("%c", 'x');
  BLOSC_INFO("told %d", 3);
  printf("%d %d\n", returned_by_error_null(NULL), returned_by_error_null(""));
  printf("%d %d %d\n", returned_by_error(BLOSC2_ERROR_DATA), returned_by_error(0), returned_by_error(5));
  stderr = kept;
  rewind(log);
  while (fgets(line, sizeof(line), log) != NULL) {
    place = strrchr(line, '(');
    if (place != NULL) {
      *place = '\0';
    }
    printf("%s\n", line);
  }
  fclose(log);
}

static void metalayers(void) {
  static blosc2_schunk schunk;
  uint8_t words[] = "words";
  char first[] = "first", second[] = "second", broken[] = "broken", lost[] = "lost";
  blosc2_metalayer layers[4];
  const char *names[] = {"first", "second", "broken", "lost", "third", "",
                         "abcdefghijklmnopqrstuvwxyz01234", "abcdefghijklmnopqrstuvwxyz012345"};
  size_t i;
  memset(layers, 0, sizeof(layers));
  layers[0].name = first;
  layers[0].content = words;
  layers[0].content_len = 5;
  layers[1].name = second;
  layers[2].name = broken;
  layers[2].content_len = -1;
  layers[3].name = lost;
  layers[3].content_len = 4;
  for (i = 0; i < 4; i++) {
    schunk.metalayers[i] = &layers[i];
  }
  schunk.nmetalayers = 4;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    uint8_t *content = words;
    int32_t len = 77;
    int rc = blosc2_meta_get(&schunk, names[i], &content, &len);
    printf("%s: %d %d\n", names[i], blosc2_meta_exists(&schunk, names[i]), rc);
    if (rc >= 0) {
      bytes("content", content, (size_t)len);
      free(content);
    }
  }
  printf("%d %d\n", blosc2_meta_exists(NULL, "first"), blosc2_meta_get(&schunk, NULL, NULL, NULL));
}

static void numbers(void) {
  const uint8_t in[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const int sizes[] = {1, 2, 4, 8};
  size_t i;
  for (i = 0; i < 4; i++) {
    uint8_t out[8] = {0};
    swap_store(out, in, sizes[i]);
    bytes("swapped", out, sizeof(out));
    memcpy(out, in, sizeof(out));
    swap_store(out, out, sizes[i]);
    bytes("in place", out, sizeof(out));
  }
}

/* Reads a b2nd metalayer, whole and cut off at every length, with and without a place for the dtype. */
static void arrays(void) {
  const uint8_t whole[] = {
      0x97, 0, 2,                                                                     /* version, two dimensions */
      0x92, 0xd3, 0, 0, 0, 0, 0, 0, 1, 2, 0xd3, 0, 0, 0, 1, 0, 0, 0, 9,               /* shape */
      0x92, 0xd2, 0, 0, 0, 100, 0xd2, 0, 0, 1, 0,                                     /* chunkshape */
      0x92, 0xd2, 0, 0, 0, 10, 0xd2, 0, 0, 0, 3,                                      /* blockshape */
      0, 0xdb, 0, 0, 0, 3, '<', 'f', '8'};                                            /* dtype */
  uint8_t smeta[sizeof(whole)];
  int32_t len;
  int change;
  /* -1: as it is; otherwise one byte of it changed: ndim 17, ndim 0, the dtype's mark, its length. */
  for (change = -1; change < 5; change++) {
    memcpy(smeta, whole, sizeof(whole));
    if (change == 0) smeta[2] = 17;
    if (change == 1) smeta[2] = 0;
    if (change == 2) smeta[2] = 0xff;
    if (change == 3) smeta[45] = 0xda;
    if (change == 4) smeta[46] = 0x80;
    for (len = -1; len <= (int32_t)sizeof(smeta); len++) {
      int8_t ndim = 0, format = 9;
      int64_t shape[B2ND_MAX_DIM];
      int32_t chunkshape[B2ND_MAX_DIM], blockshape[B2ND_MAX_DIM];
      char *dtype = NULL;
      int rc = b2nd_deserialize_meta_inline(smeta, len, &ndim, shape, chunkshape, blockshape, &dtype, &format);
      int without = b2nd_deserialize_meta_inline(smeta, len, &ndim, shape, chunkshape, blockshape, NULL, NULL);
      printf("array %d %d: %d %d %d %d %s\n", change, len, rc, without, ndim, format, dtype != NULL ? dtype : "-");
      if (rc >= 0) {
        bytes("shape", shape, (size_t)ndim * sizeof(shape[0]));
        bytes("chunkshape", chunkshape, (size_t)ndim * sizeof(chunkshape[0]));
        bytes("blockshape", blockshape, (size_t)ndim * sizeof(blockshape[0]));
      }
      free(dtype);
    }
  }
  printf("%d\n", b2nd_deserialize_meta_inline(NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL));
}

int main(void) {
  int code;
  constants();
  defaults();
  defaults_of_the_library();
  messages();
  metalayers();
  numbers();
  arrays();
  for (code = -40; code <= 1; code++) {
    printf("%d %s\n", code, print_error(code));
  }
  return 0;
}
