/* Codecs that the program brings: what they are called with, and what becomes of their errors. */
#include "check.h"
#include "data.h"

enum { NITEMS = 50000, NBYTES = NITEMS * 4, BLOCK = 16384, MY_CODEC = 200, SPOILT_CODEC = 201, META = 77 };

static int token; /* its address goes through the parameters to the codec */
static int encoded, decoded;
static int encoder_answer, decoder_answer;

/* A codec for numbers that rise by one: the first says it all. */
static int encode(const uint8_t *input, int32_t input_len, uint8_t *output, int32_t output_len, uint8_t meta,
                  blosc2_cparams *cparams, const void *chunk) {
  CHECK_EQ(meta, META, -1);
  CHECK_EQ(cparams->typesize, 4, -1);
  CHECK_EQ(cparams->compcode, MY_CODEC, -1);
  CHECK(cparams->codec_params == &token, -1);
  CHECK(chunk != NULL, -1);
  CHECK(input_len > 0 && input_len <= BLOCK, -1);
  __atomic_fetch_add(&encoded, 1, __ATOMIC_RELAXED);
  if (encoder_answer != 1) {
    return encoder_answer;
  }
  if (output_len < 4) {
    return 0;
  }
  memcpy(output, input, 4);
  return 4;
}

static int decode(const uint8_t *input, int32_t input_len, uint8_t *output, int32_t output_len, uint8_t meta,
                  blosc2_dparams *dparams, const void *chunk) {
  CHECK_EQ(meta, META, -1);
  CHECK(dparams != NULL, -1);
  CHECK(chunk != NULL, -1);
  CHECK_EQ(input_len, 4, -1);
  __atomic_fetch_add(&decoded, 1, __ATOMIC_RELAXED);
  if (decoder_answer != 1) {
    return decoder_answer;
  }
  int32_t value;
  memcpy(&value, input, 4);
  for (int32_t i = 0; i < output_len / 4; i++, value++) {
    memcpy(output + i * 4, &value, 4);
  }
  return output_len;
}

static blosc2_cparams parameters(int16_t nthreads) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.compcode = MY_CODEC;
  cparams.compcode_meta = META;
  cparams.typesize = 4;
  cparams.nthreads = nthreads;
  cparams.blocksize = BLOCK;
  cparams.splitmode = BLOSC_NEVER_SPLIT;
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_NOFILTER;
  cparams.codec_params = &token;
  return cparams;
}

static void registration(void) {
  blosc2_codec codec = {
      .compcode = MY_CODEC, .compname = "rising", .complib = 1, .version = 3, .encoder = encode, .decoder = decode};
  CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_SUCCESS);
  /* The same again is no harm; another name under the same number is. */
  CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_SUCCESS);
  codec.compname = "another";
  CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_CODEC_PARAM);
  codec.compcode = BLOSC2_USER_REGISTERED_CODECS_START - 1;
  CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_CODEC_PARAM);
  codec.compcode = BLOSC_ZSTD;
  CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_CODEC_PARAM);

  const char *name = NULL;
  CHECK_EQ(blosc2_compcode_to_compname(MY_CODEC, &name), MY_CODEC);
  CHECK_STR(name, "rising");
  CHECK_EQ(blosc2_compname_to_compcode("rising"), MY_CODEC);
}

static void round_trip(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
    encoder_answer = decoder_answer = 1;
    encoded = decoded = 0;
    int cbytes;
    uint8_t *chunk = compress_with(parameters(nthreads), src, NBYTES, &cbytes);
    const int nblocks = (NBYTES + BLOCK - 1) / BLOCK;
    CHECK(cbytes > 0 && cbytes < 400);
    CHECK_EQ(encoded, nblocks);
    CHECK_EQ(chunk[BLOSC2_CHUNK_VERSIONLZ], 3);
    CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_EQ(decoded, nblocks);
    CHECK_BYTES(back, src, NBYTES);
    CHECK_EQ(blosc2_getitem(chunk, cbytes, 20000, 3, back, 12), 12);
    CHECK_BYTES(back, src + 20000, 12);
    free(chunk);
  }
  free(src);
  free(back);
}

static void answers_of_the_encoder(void) {
  uint8_t *src = noise(NBYTES, 4);
  uint8_t *back = reserve(NBYTES);
  /* "Does not fit" leaves the block as it is; an error is passed on. */
  for (int16_t nthreads = 1; nthreads <= 2; nthreads++) {
    encoder_answer = 0;
    int cbytes;
    uint8_t *chunk = compress_with(parameters(nthreads), src, NBYTES, &cbytes);
    CHECK(cbytes > NBYTES);
    CHECK_EQ(decompress_with(nthreads, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    free(chunk);
    encoder_answer = -1;
    free(compress_with(parameters(nthreads), src, NBYTES, &cbytes));
    CHECK(cbytes < 0);
  }
  encoder_answer = 1;
  free(src);
  free(back);
}

static void answers_of_the_decoder(void) {
  int32_t *src = ramp(NITEMS);
  int32_t *back = reserve(NBYTES);
  int cbytes;
  uint8_t *chunk = compress_with(parameters(1), src, NBYTES, &cbytes);
  static const int answers[] = {-1, 0, 100, BLOCK + 1};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    decoder_answer = answers[i];
    CHECK(decompress_with(1, chunk, cbytes, back, NBYTES) < 0);
    CHECK(decompress_with(2, chunk, cbytes, back, NBYTES) < 0);
  }
  decoder_answer = 1;
  free(src);
  free(back);
  free(chunk);
}

static void unregistered_codecs(void) {
  int32_t *src = ramp(NITEMS);
  blosc2_cparams cparams = parameters(1);
  cparams.compcode = SPOILT_CODEC;
  int cbytes;
  free(compress_with(cparams, src, NBYTES, &cbytes));
  CHECK(cbytes < 0);
  free(src);
}

int main(void) {
  blosc2_init();
  RUN(registration);
  RUN(round_trip);
  RUN(answers_of_the_encoder);
  RUN(answers_of_the_decoder);
  RUN(unregistered_codecs);
  blosc2_destroy();
  return finish();
}
