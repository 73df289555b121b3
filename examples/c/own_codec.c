/* A codec of the program's own, for blocks whose items are all the same number. */
#include <blosc2.h>
#include <stdio.h>
#include <string.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

enum { OWN_CODEC = 160, NITEMS = 100000 }; /* ids from 160 on are for programs */

/* Compresses a block, or a stream of it. Gives the length of what it made, or 0 if that does not fit: the block is then stored as it is. */
static int encode(const uint8_t *input, int32_t input_len, uint8_t *output, int32_t output_len, uint8_t meta,
                  blosc2_cparams *cparams, const void *chunk) {
  (void)meta, (void)cparams, (void)chunk;
  if (output_len < 4 || memcmp(input, input + 4, (size_t)input_len - 4) != 0) return 0;
  memcpy(output, input, 4);
  return 4;
}

/* Gives the length of the data, or a negative number for streams that it did not make. */
static int decode(const uint8_t *input, int32_t input_len, uint8_t *output, int32_t output_len, uint8_t meta,
                  blosc2_dparams *dparams, const void *chunk) {
  (void)meta, (void)dparams, (void)chunk;
  if (input_len != 4) return -1;
  for (int32_t i = 0; i < output_len; i++) output[i] = input[i % 4];
  return output_len;
}

static int32_t items[NITEMS], back[NITEMS];
static uint8_t chunk[sizeof items + BLOSC2_MAX_OVERHEAD];

int main(void) {
  blosc2_init();
  blosc2_codec codec = {0};
  codec.compcode = OWN_CODEC;
  codec.compname = "constant";
  codec.complib = OWN_CODEC;
  codec.version = 1;
  codec.encoder = encode;
  codec.decoder = decode;
  CHECK(blosc2_register_codec(&codec) == BLOSC2_ERROR_SUCCESS);

  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = OWN_CODEC;
  cparams.typesize = sizeof(int32_t);
  cparams.blocksize = 16384;
  cparams.splitmode = BLOSC_NEVER_SPLIT;
  memset(cparams.filters, 0, sizeof cparams.filters); /* the codec gets the items as they are */
  for (int i = 0; i < NITEMS; i++) items[i] = i < NITEMS / 2 ? 1234 : i;
  blosc2_context *compressor = blosc2_create_cctx(cparams);
  CHECK(compressor != NULL);
  int cbytes = blosc2_compress_ctx(compressor, items, sizeof items, chunk, sizeof chunk);
  CHECK(cbytes > 0 && cbytes < (int)sizeof items * 6 / 10); /* half of the blocks are four bytes now */

  blosc2_context *decompressor = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  CHECK(decompressor != NULL);
  CHECK(blosc2_decompress_ctx(decompressor, chunk, cbytes, back, sizeof back) == sizeof back);
  CHECK(memcmp(items, back, sizeof items) == 0);
  printf("%d bytes became %d\n", (int)sizeof items, cbytes);
  blosc2_free_ctx(compressor);
  blosc2_free_ctx(decompressor);
  blosc2_destroy();
  return 0;
}
