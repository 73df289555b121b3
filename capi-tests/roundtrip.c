/* A plain program that uses libblosc2: it compresses a file chunk by chunk in memory, decompresses it, compares, and
 * prints how small and how fast, for each codec and filter.
 *
 *   roundtrip [--threads N] [--typesize N] [--quick] FILE
 *   roundtrip --make FILE MEGABYTES
 *
 * --quick takes three combinations in place of fifteen. --make writes a file with something of everything in it: waves
 * and noisy waves of float64, counters of int64, lines of log text; the same bytes every time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <blosc2.h>

enum { CHUNK = 4 << 20, MEGABYTE = 1000 * 1000, CLEVEL = 5 };

static const char *const filter_names[] = {"nofilter", "shuffle", "bitshuffle"};

static void fail(const char *what, const char *about) {
  fprintf(stderr, "roundtrip: %s %s\n", what, about);
  exit(EXIT_FAILURE);
}

static void *reserve(size_t nbytes) {
  void *memory = malloc(nbytes);
  if (memory == NULL) {
    fail("no memory for", "a chunk");
  }
  return memory;
}

/* --- making a file --------------------------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint32_t random_bits(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(random_state >> 33);
}

/* Fills one megabyte with the kind of data that its number says. */
static void fill(unsigned number, uint8_t *out) {
  static const char *const words[] = {"GET", "PUT", "chunk", "frame", "cache", "miss", "hit", "retry"};
  const size_t nitems = MEGABYTE / 8;
  size_t used = 0;
  switch (number % 4) {
    case 0:
    case 1:
      for (size_t i = 0; i < nitems; i++) {
        const double noise = number % 4 == 1 ? (double)(random_bits() % 1024) / 65536 : 0;
        const double value = 20 + 5 * sin((double)(i + number * nitems) / 20000) + noise;
        memcpy(out + i * 8, &value, 8);
      }
      break;
    case 2:
      for (size_t i = 0; i < nitems; i++) {
        const int64_t value = INT64_C(1700000000000) + (int64_t)(i + number * nitems) * 20 + random_bits() % 4;
        memcpy(out + i * 8, &value, 8);
      }
      break;
    default:
      while (used < MEGABYTE) {
        char line[96];
        const int length = snprintf(line, sizeof line, "%s %s/%u %s in %u us\n", words[random_bits() % 2],
                                    words[2 + random_bits() % 2], random_bits() % 5000, words[5 + random_bits() % 3],
                                    random_bits() % 900);
        const size_t part = used + (size_t)length > MEGABYTE ? MEGABYTE - used : (size_t)length;
        memcpy(out + used, line, part);
        used += part;
      }
  }
}

static int make(const char *path, const char *megabytes) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) {
    fail(strerror(errno), path);
  }
  uint8_t *buffer = reserve(MEGABYTE);
  const unsigned count = (unsigned)strtoul(megabytes, NULL, 10);
  for (unsigned i = 0; i < count; i++) {
    fill(i, buffer);
    if (fwrite(buffer, 1, MEGABYTE, file) != MEGABYTE) {
      fail("cannot write", path);
    }
  }
  free(buffer);
  if (fclose(file) != 0) {
    fail("cannot write", path);
  }
  printf("%s: %u MB\n", path, count);
  return EXIT_SUCCESS;
}

/* --- the round trip -------------------------------------------------------------------------------------------- */

struct totals {
  double nbytes, cbytes, compress_seconds, decompress_seconds;
};

/* Takes one chunk there and back, and adds what it cost. */
static void chunk_there_and_back(blosc2_context *cctx, blosc2_context *dctx, const uint8_t *src, int32_t nbytes,
                                 uint8_t *chunk, uint8_t *back, struct totals *totals) {
  blosc_timestamp_t start, middle, end;
  blosc_set_timestamp(&start);
  const int cbytes = blosc2_compress_ctx(cctx, src, nbytes, chunk, nbytes + BLOSC2_MAX_OVERHEAD);
  blosc_set_timestamp(&middle);
  if (cbytes <= 0) {
    fail("cannot compress:", blosc2_error_string(cbytes));
  }
  const int dbytes = blosc2_decompress_ctx(dctx, chunk, cbytes, back, nbytes);
  blosc_set_timestamp(&end);
  if (dbytes != nbytes) {
    fail("cannot decompress:", dbytes < 0 ? blosc2_error_string(dbytes) : "wrong size");
  }
  if (memcmp(src, back, (size_t)nbytes) != 0) {
    fail("decompressed data differ from", "the file");
  }
  totals->nbytes += nbytes;
  totals->cbytes += cbytes;
  totals->compress_seconds += blosc_elapsed_secs(start, middle);
  totals->decompress_seconds += blosc_elapsed_secs(middle, end);
}

static void round_trip(const char *path, const char *codec, uint8_t filter, int32_t typesize, int16_t nthreads) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    fail(strerror(errno), path);
  }
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = (uint8_t)blosc2_compname_to_compcode(codec);
  cparams.clevel = CLEVEL;
  cparams.typesize = typesize;
  cparams.nthreads = nthreads;
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = filter;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = nthreads;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  if (cctx == NULL || dctx == NULL) {
    fail("cannot make a context for", codec);
  }
  uint8_t *src = reserve(CHUNK), *chunk = reserve(CHUNK + BLOSC2_MAX_OVERHEAD), *back = reserve(CHUNK);
  memset(back, 0, CHUNK);
  memset(chunk, 0, CHUNK + BLOSC2_MAX_OVERHEAD);

  struct totals totals = {0, 0, 0, 0};
  size_t nbytes;
  while ((nbytes = fread(src, 1, CHUNK, file)) > 0) {
    chunk_there_and_back(cctx, dctx, src, (int32_t)nbytes, chunk, back, &totals);
  }
  if (ferror(file)) {
    fail("cannot read", path);
  }
  fclose(file);
  printf("%-8s  %-10s  %7.2f  %10.2f  %12.2f\n", codec, filter_names[filter], totals.nbytes / totals.cbytes,
         totals.nbytes / totals.compress_seconds / 1e9, totals.nbytes / totals.decompress_seconds / 1e9);
  fflush(stdout);
  free(src);
  free(chunk);
  free(back);
  blosc2_free_ctx(cctx);
  blosc2_free_ctx(dctx);
}

/* Which library this is: what it says of itself, and the file that the loader took it from. */
static void print_library(void) {
  Dl_info info = {0};
  char path[4096] = "?";
  void *function = dlsym(RTLD_DEFAULT, "blosc2_compress_ctx");
  if (function != NULL && dladdr(function, &info) != 0 && info.dli_fname != NULL &&
      realpath(info.dli_fname, path) == NULL) {
    snprintf(path, sizeof path, "%s", info.dli_fname);
  }
  printf("libblosc2 %s from %s\n", blosc2_get_version_string(), path);
}

int main(int argc, char **argv) {
  static const char *const codecs[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};
  int32_t typesize = 8;
  int16_t nthreads = 1;
  bool quick = false;
  const char *path = NULL;
  if (argc == 4 && strcmp(argv[1], "--make") == 0) {
    return make(argv[2], argv[3]);
  }
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      nthreads = (int16_t)strtol(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--typesize") == 0 && i + 1 < argc) {
      typesize = (int32_t)strtol(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      path = argv[i];
    }
  }
  if (path == NULL || nthreads < 1 || typesize < 1) {
    fail("usage:", "roundtrip [--threads N] [--typesize N] [--quick] FILE | --make FILE MEGABYTES");
  }

  blosc2_init();
  print_library();
  printf("level %d, typesize %d, chunks of %d MiB, %d thread%s\n\n", CLEVEL, (int)typesize, CHUNK >> 20, nthreads,
         nthreads == 1 ? "" : "s");
  printf("codec     filter        ratio  comp. GB/s  decomp. GB/s\n");
  if (quick) {
    round_trip(path, "blosclz", BLOSC_SHUFFLE, typesize, nthreads);
    round_trip(path, "lz4", BLOSC_BITSHUFFLE, typesize, nthreads);
    round_trip(path, "zstd", BLOSC_SHUFFLE, typesize, nthreads);
  } else {
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
      for (uint8_t filter = BLOSC_NOFILTER; filter <= BLOSC_BITSHUFFLE; filter++) {
        round_trip(path, codecs[c], filter, typesize, nthreads);
      }
    }
  }
  blosc2_destroy();
  return EXIT_SUCCESS;
}
