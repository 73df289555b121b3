/* A buffer is compressed into a chunk, and the chunk back into a buffer. */
#include <blosc2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

enum { NITEMS = 1000000, NBYTES = NITEMS * sizeof(double) };

int main(void) {
  double *numbers = malloc(NBYTES), *back = malloc(NBYTES);
  /* A chunk is at most so much larger than its data, which is when they do not compress. */
  uint8_t *chunk = malloc(NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(numbers != NULL && back != NULL && chunk != NULL);
  for (int i = 0; i < NITEMS; i++) numbers[i] = i * 0.25;

  blosc2_init();
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(double); /* so that the shuffle can put equal bytes side by side */
  cparams.compcode = BLOSC_ZSTD;
  cparams.clevel = 5;
  cparams.nthreads = 2;
  blosc2_context *compressor = blosc2_create_cctx(cparams);
  CHECK(compressor != NULL);
  int cbytes = blosc2_compress_ctx(compressor, numbers, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0); /* a negative number is an error */

  blosc2_context *decompressor = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK(decompressor != NULL);
  CHECK(blosc2_decompress_ctx(decompressor, chunk, cbytes, back, NBYTES) == NBYTES);
  CHECK(memcmp(back, numbers, NBYTES) == 0);

  /* A few items can be had without the others. */
  double three[3];
  CHECK(blosc2_getitem_ctx(decompressor, chunk, cbytes, 500000, 3, three, sizeof three) == sizeof three);
  CHECK(three[0] == 125000.0 && three[2] == 125000.5);

  printf("%d bytes became %d\n", NBYTES, cbytes);
  blosc2_free_ctx(compressor);
  blosc2_free_ctx(decompressor);
  blosc2_destroy();
  free(numbers);
  free(back);
  free(chunk);
  return 0;
}
