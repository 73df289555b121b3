/* Programs with the codecs and filters that are built in as plugins. */
#include "storages.h"

void choose_plugin(blosc2_cparams *params) {
  memset(params->filters, 0, sizeof params->filters);
  memset(params->filters_meta, 0, sizeof params->filters_meta);
  params->use_dict = 0;
  if (once_in(2)) {
    /* What fits the typesize, most times. */
    int codec = params->typesize == 1 ? 32 : (int)between(33, 35);
    codec = once_in(12) ? (int)between(32, 35) : codec;
    params->compcode = (uint8_t)codec;
    switch (codec) {
      case 32: params->compcode_meta = (uint8_t)(once_in(12) ? below(10) : ONE_OF(4, 8)); break;
      case 33: params->compcode_meta = (uint8_t)between(-6, 3); break;
      case 34: params->compcode_meta = (uint8_t)between(once_in(12) ? 0 : 1, 40); break;
      default: params->compcode_meta = (uint8_t)between(once_in(12) ? 0 : 5, 100);
    }
    params->splitmode = once_in(12) ? params->splitmode : BLOSC_NEVER_SPLIT;
    if (once_in(6)) {
      params->filters[5] = BLOSC_SHUFFLE;
    }
    return;
  }
  /* Whether items are truncated depends on whether the block gets smaller, by a byte perhaps. */
  params->compcode = (uint8_t)ONE_OF(BLOSC_BLOSCLZ, BLOSC_LZ4);
  params->filters[4] = once_in(2) ? BLOSC_SHUFFLE : BLOSC_NOFILTER;
  switch (below(5)) {
    case 0:
      params->filters[5] = 32;
      params->filters_meta[5] = (uint8_t)between(once_in(12) ? 0 : 2, 9);
      break;
    case 1:
      params->filters[4] = BLOSC_NOFILTER;
      params->filters[5] = 33;
      params->filters_meta[5] = (uint8_t)between(once_in(12) ? 0 : 2, 9);
      break;
    case 2: params->filters[5] = once_in(3) ? 34 : 35; params->filters_meta[5] = (uint8_t)(once_in(2) ? 0 : params->typesize); break;
    default:
      params->filters[5] = params->filters[4];
      params->filters[4] = 36;
      params->filters_meta[4] = (uint8_t)between(-20, 20);
  }
}

/* Numbers without much noise, which the codecs of numbers are for. */
static uint8_t *numbers_of(int64_t count, int32_t typesize) {
  uint8_t *bytes = data_of(count * typesize, typesize);
  double step = (double)between(1, 1000) / 3000;
  for (int64_t i = 0; i < count && (typesize == 4 || typesize == 8); i++) {
    double number = (double)(i % 97) * step + (double)(i / 97);
    float single = (float)number;
    memcpy(bytes + i * typesize, typesize == 4 ? (void *)&single : (void *)&number, (size_t)typesize);
  }
  return bytes;
}

/* Chunks of a context know no super-chunk; so those that need a shape are refused. */
void plugin_chunk_program(void) {
  say("chunks with plugins");
  int steps = (int)between(1, 4);
  for (int step = 0; step < steps; step++) {
    int32_t typesize = ONE_OF(1, 2, 3, 4, 4, 5, 8, 8, 16, 32);
    blosc2_cparams params = random_cparams(typesize);
    choose_plugin(&params);
    say_params(&params);
    int32_t items = (int32_t)below(once_in(4) ? MOST / typesize : 3000), nbytes = items * typesize;
    uint8_t *data = once_in(2) ? data_of(nbytes, typesize) : numbers_of(items, typesize);
    uint8_t *chunk = buffer_of(nbytes + BLOSC2_MAX_OVERHEAD), *to = buffer_of(nbytes), *whole = buffer_of(nbytes);
    blosc2_context *ctx = blosc2_create_cctx(params);
    say("create_cctx: %d", ctx != NULL);
    if (ctx != NULL) {
      int rc = blosc2_compress_ctx(ctx, data, nbytes, chunk, nbytes + BLOSC2_MAX_OVERHEAD);
      bool exact = params.compcode < 2 || params.compcode >= 32;
      say("compress_ctx of %d: %lld %08x", nbytes, (long long)shown(rc, exact), rc > 0 && exact && params.nthreads == 1 ? hash(chunk, rc) : 0);
      blosc2_context *dctx = blosc2_create_dctx(random_dparams());
      if (rc > 0) {
        int all = blosc2_decompress_ctx(dctx, chunk, rc, whole, nbytes);
        say("  decompress_ctx: %d %08x", all, all > 0 ? hash(whole, all) : 0);
        for (int i = 0; i < 3; i++) {
          int32_t from = (int32_t)below(items + 1), count = (int32_t)below(items - from + 1);
          int got = blosc2_getitem_ctx(dctx, chunk, rc, from, count, to, nbytes);
          bool wrong = all == nbytes && (got != count * typesize || memcmp(to, whole + from * typesize, (size_t)got) != 0);
          say("  getitem_ctx %d %d: %d %08x%s", from, count, got, got > 0 ? hash(to, got) : 0, wrong ? " WRONG" : "");
        }
      }
      blosc2_free_ctx(dctx);
      blosc2_free_ctx(ctx);
    }
    free(data);
    free(chunk);
    free(to);
    free(whole);
  }
}
