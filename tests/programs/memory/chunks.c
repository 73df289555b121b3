/* Chunks and contexts. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define ROOM (NBYTES + 4096)

/* Codecs and filters, one after the other; the same with two threads in blocks of 2 KB. */
static const struct {
  uint8_t codec, meta, filters[2], filters_meta[2];
  bool dict;
} PIPELINES[] = {
    {BLOSC_BLOSCLZ, 0, {0, BLOSC_SHUFFLE}, {0, 0}, false},
    {BLOSC_LZ4, 0, {BLOSC_DELTA, BLOSC_BITSHUFFLE}, {0, 0}, false},
    {BLOSC_LZ4HC, 0, {BLOSC_TRUNC_PREC, BLOSC_SHUFFLE}, {16, 0}, false},
    {BLOSC_ZLIB, 0, {0, BLOSC_NOFILTER}, {0, 0}, false},
    {BLOSC_ZSTD, 0, {36, BLOSC_SHUFFLE}, {20, 0}, false},
    {BLOSC_ZSTD, 0, {0, BLOSC_SHUFFLE}, {0, 0}, true},
    {BLOSC_ZSTD, 0, {0, 35}, {0, 4}, false},
    {BLOSC_LZ4, 0, {0, BLOSC_SHUFFLE}, {0, 0}, true},
    {BLOSC_LZ4HC, 0, {0, BLOSC_SHUFFLE}, {0, 0}, true},
};
#define NPIPELINES ((int)(sizeof PIPELINES / sizeof *PIPELINES))

/* The parameters number `param`: each pipeline at two levels, with one thread and with two. */
#define CHUNK_PARAMS (NPIPELINES * 4)
static blosc2_cparams chunk_parameters(int param) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  int which = param % NPIPELINES;
  cparams.compcode = PIPELINES[which].codec;
  cparams.compcode_meta = PIPELINES[which].meta;
  cparams.use_dict = PIPELINES[which].dict;
  cparams.typesize = 4;
  cparams.clevel = (uint8_t)(param / NPIPELINES % 2 ? 9 : 3);
  cparams.nthreads = (int16_t)(param / NPIPELINES / 2 + 1);
  cparams.blocksize = 2048;
  for (int i = 0; i < 2; i++) {
    cparams.filters[4 + i] = PIPELINES[which].filters[i];
    cparams.filters_meta[4 + i] = PIPELINES[which].filters_meta[i];
  }
  return cparams;
}

static void room(void) {
  t.out_len = ROOM;
  t.out = calloc(ROOM, 1);
}

/* A chunk of the parameters, in `t.made`. */
static void chunk(blosc2_cparams cparams) {
  blosc2_context *ctx = blosc2_create_cctx(cparams);
  t.made = calloc(ROOM, 1);
  t.made_len = blosc2_compress_ctx(ctx, data, NBYTES, t.made, ROOM);
  need(t.made_len > 0, "a chunk");
  blosc2_free_ctx(ctx);
}

static blosc2_dparams dparams_of(int param) {
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = chunk_parameters(param).nthreads;
  return dparams;
}

static void create_cctx(void) {
  blosc2_cparams cparams = chunk_parameters(t.param);
  CALL_POINTER(t.ctx = blosc2_create_cctx(cparams));
}

static void create_dctx(void) {
  blosc2_dparams dparams = dparams_of(t.param * 2);
  CALL_POINTER(t.ctx = blosc2_create_dctx(dparams));
}

static void free_ctx(void) {
  blosc2_context *ctx = blosc2_create_cctx(chunk_parameters(t.param));
  room();
  need(blosc2_compress_ctx(ctx, data, NBYTES, t.out, ROOM) > 0, "a chunk");
  CALL_ONCE((blosc2_free_ctx(ctx), 0));
}

static void compress_ctx(void) {
  t.ctx = blosc2_create_cctx(chunk_parameters(t.param));
  t.has_dictionary = chunk_parameters(t.param).use_dict;
  room();
  CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, ROOM));
}

/* A context that was used before has its states. */
static void compress_ctx_again(void) {
  t.ctx = blosc2_create_cctx(chunk_parameters(t.param));
  t.has_dictionary = chunk_parameters(t.param).use_dict;
  room();
  need(blosc2_compress_ctx(t.ctx, data, NBYTES / 4, t.out, ROOM) > 0, "a chunk");
  CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, ROOM));
}

static void decompress_ctx(void) {
  chunk(chunk_parameters(t.param));
  t.ctx = blosc2_create_dctx(dparams_of(t.param));
  room();
  CALL(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES));
}

static void getitem_ctx(void) {
  chunk(chunk_parameters(t.param));
  t.ctx = blosc2_create_dctx(dparams_of(t.param));
  room();
  CALL(blosc2_getitem_ctx(t.ctx, t.made, (int32_t)t.made_len, 300, 900, t.out, NBYTES));
}

static void getitem_bytes_ctx(void) {
  chunk(chunk_parameters(t.param));
  t.ctx = blosc2_create_dctx(dparams_of(t.param));
  room();
  CALL(blosc2_getitem_bytes_ctx(t.ctx, t.made, (int32_t)t.made_len, 300, 2901, t.out, NBYTES));
}

static void getitem(void) {
  chunk(chunk_parameters(t.param));
  room();
  CALL(blosc2_getitem(t.made, (int32_t)t.made_len, 300, 900, t.out, NBYTES));
}

static void getitem_blosc1(void) {
  chunk(chunk_parameters(t.param));
  room();
  CALL(blosc1_getitem(t.made, 300, 900, t.out));
}

/* Sets a mask. If that fails, the one before stays, which masks all blocks. */
static int set_mask(bool *mask) {
  int rc = blosc2_set_maskout(t.ctx, mask, 8);
  if (rc == BLOSC2_ERROR_MEMORY_ALLOC) {
    static uint8_t out[NBYTES];
    memset(out, 0x5a, NBYTES);
    blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, out, NBYTES);
    for (int i = 0; i < NBYTES; i++) {
      need(out[i] == 0x5a, "the mask before");
    }
  }
  return rc;
}

static void masked(void) {
  chunk(chunk_parameters(t.param * NPIPELINES * 2));
  t.ctx = blosc2_create_dctx(dparams_of(t.param * NPIPELINES * 2));
  static bool mask[8] = {true, false, true, true, false, false, true, false};
  room();
  if (t.param % 2) {
    static bool all[8] = {true, true, true, true, true, true, true, true};
    need(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES) > 0, "data");
    need(blosc2_set_maskout(t.ctx, all, 8) >= 0, "a mask");
    CALL(set_mask(mask));
  } else {
    need(blosc2_set_maskout(t.ctx, mask, 8) >= 0, "a mask");
    CALL(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES));
  }
}

static void get_params(void) {
  blosc2_cparams cparams;
  blosc2_dparams dparams;
  if (t.param == 0) {
    t.ctx = blosc2_create_cctx(chunk_parameters(0));
    CALL(blosc2_ctx_get_cparams(t.ctx, &cparams));
  } else {
    t.ctx = blosc2_create_dctx(dparams_of(0));
    CALL(blosc2_ctx_get_dparams(t.ctx, &dparams));
  }
}

/* Three blocks of lengths of their own. */
static const int32_t LENGTHS[] = {4000, 1000, 6000};
static const void *const *blocks(void) {
  static const void *blocks[3];
  for (int i = 0; i < 3; i++) {
    blocks[i] = data + i * 500;
  }
  return blocks;
}

static void vlcompress(void) {
  t.ctx = blosc2_create_cctx(chunk_parameters(t.param));
  room();
  CALL(blosc2_vlcompress_ctx(t.ctx, blocks(), LENGTHS, 3, t.out, ROOM));
}

static void vlchunk(void) {
  blosc2_context *ctx = blosc2_create_cctx(chunk_parameters(t.param));
  t.made = calloc(ROOM, 1);
  t.made_len = blosc2_vlcompress_ctx(ctx, blocks(), LENGTHS, 3, t.made, ROOM);
  need(t.made_len > 0, "a chunk");
  blosc2_free_ctx(ctx);
  t.ctx = blosc2_create_dctx(dparams_of(t.param));
}

static int64_t take(void **dests, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    free(dests[i]);
  }
  return n;
}

static void vldecompress(void) {
  vlchunk();
  void *dests[3] = {NULL, NULL, NULL};
  int32_t lens[3];
  CALL(take(dests, blosc2_vldecompress_ctx(t.ctx, t.made, (int32_t)t.made_len, dests, lens, 3)));
}

static void vldecompress_block(void) {
  vlchunk();
  void *dest = NULL;
  int32_t len;
  int64_t rc;
  CALL((rc = blosc2_vldecompress_block_ctx(t.ctx, t.made, (int32_t)t.made_len, 1, (uint8_t **)&dest, &len),
        take(&dest, rc >= 0), rc));
}

static void vlchunk_nblocks(void) {
  vlchunk();
  int32_t n;
  CALL(blosc2_vlchunk_get_nblocks(t.made, (int32_t)t.made_len, &n));
}

static const char *const NAMES[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};

static void compress_global(void) {
  need(blosc1_set_compressor(NAMES[t.param % 5]) >= 0, "a codec");
  blosc2_set_nthreads((int16_t)(t.param / 5 + 1));
  blosc1_set_blocksize(2048);
  room();
  if (t.param % 2) {
    CALL(blosc1_compress(5, 1, 4, NBYTES, data, t.out, ROOM));
  } else {
    CALL(blosc2_compress(5, 2, 4, data, NBYTES, t.out, ROOM));
  }
}

static void decompress_global(void) {
  chunk(chunk_parameters(t.param));
  blosc2_set_nthreads((int16_t)(t.param % 2 + 1));
  room();
  if (t.param % 3) {
    CALL(blosc1_decompress(t.made, t.out, NBYTES));
  } else {
    CALL(blosc2_decompress(t.made, (int32_t)t.made_len, t.out, NBYTES));
  }
}

static void special(void) {
  blosc2_cparams cparams = chunk_parameters(0);
  float value = 3;
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_chunk_zeros(cparams, NBYTES, t.out, ROOM));
      break;
    case 1:
      CALL(blosc2_chunk_nans(cparams, NBYTES, t.out, ROOM));
      break;
    case 2:
      CALL(blosc2_chunk_uninit(cparams, NBYTES, t.out, ROOM));
      break;
    default:
      CALL(blosc2_chunk_repeatval(cparams, NBYTES, t.out, ROOM, &value));
  }
}

static void decompress_special(void) {
  blosc2_cparams cparams = chunk_parameters(0);
  float value = 3;
  t.made = calloc(ROOM, 1);
  t.made_len = blosc2_chunk_repeatval(cparams, NBYTES, t.made, ROOM, &value);
  t.ctx = blosc2_create_dctx(dparams_of(t.param));
  room();
  CALL(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES));
}

/* Errors: what they are is said only where BLOSC_TRACE is set. */
static void wrong(void) {
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_decompress(data, NBYTES, t.out, NBYTES));
      break;
    case 1:
      t.ctx = blosc2_create_cctx(chunk_parameters(0));
      CALL(blosc2_compress_ctx(t.ctx, NULL, NBYTES, t.out, ROOM));
      break;
    case 2: {
      /* No plugin can be found. */
      blosc2_cparams cparams = chunk_parameters(0);
      cparams.compcode = 36;
      t.ctx = blosc2_create_cctx(cparams);
      CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, ROOM));
      break;
    }
    case 3: {
      blosc2_cparams cparams = chunk_parameters(0);
      cparams.tuner_id = 32;
      CALL_POINTER(t.ctx = blosc2_create_cctx(cparams));
      break;
    }
    case 4:
      chunk(chunk_parameters(0));
      t.made[BLOSC2_CHUNK_FLAGS] |= 7 << 5;
      CALL(blosc2_decompress(t.made, (int32_t)t.made_len, t.out, NBYTES));
      break;
    default:
      chunk(chunk_parameters(0));
      t.made_len -= 40;
      t.ctx = blosc2_create_dctx(dparams_of(NPIPELINES * 2));
      CALL(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES));
  }
}

static int prefilter(blosc2_prefilter_params *params) {
  memset(params->output, 7, (size_t)params->output_size);
  return 0;
}

static int postfilter(blosc2_postfilter_params *params) {
  memcpy(params->output, params->input, (size_t)params->size);
  return 0;
}

static void filtered(void) {
  blosc2_prefilter_params before = {0};
  blosc2_postfilter_params after = {0};
  blosc2_cparams cparams = chunk_parameters(t.param * NPIPELINES);
  blosc2_dparams dparams = dparams_of(t.param * NPIPELINES);
  if (t.param % 2) {
    cparams.prefilter = prefilter;
    cparams.preparams = &before;
    t.ctx = blosc2_create_cctx(cparams);
    room();
    CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, ROOM));
  } else {
    chunk(cparams);
    dparams.postfilter = postfilter;
    dparams.postparams = &after;
    t.ctx = blosc2_create_dctx(dparams);
    room();
    CALL(blosc2_decompress_ctx(t.ctx, t.made, (int32_t)t.made_len, t.out, NBYTES));
  }
}

static void each_at_once(void *context, void (*work)(void *), int jobs, size_t size, void *all) {
  (void)context;
  for (int i = 0; i < jobs; i++) {
    work((char *)all + (size_t)i * size);
  }
}

static void threads_callback(void) {
  blosc2_set_threads_callback(each_at_once, NULL);
  t.ctx = blosc2_create_cctx(chunk_parameters(NPIPELINES * 2));
  room();
  CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, ROOM));
}

static void cbuffer(void) {
  chunk(chunk_parameters(0));
  int32_t n, c, b;
  size_t size, cbytes, block;
  int v, w;
  switch (t.param) {
    case 0:
      CALL(blosc2_cbuffer_sizes(t.made, &n, &c, &b));
      break;
    case 1:
      CALL((blosc1_cbuffer_sizes(t.made, &size, &cbytes, &block), 0));
      break;
    case 2:
      CALL(blosc1_cbuffer_validate(t.made, (size_t)t.made_len, &size));
      break;
    case 3:
      CALL((blosc1_cbuffer_metainfo(t.made, &size, &v), 0));
      break;
    case 4:
      CALL((blosc2_cbuffer_versions(t.made, &v, &w), 0));
      break;
    default:
      CALL_POINTER(blosc2_cbuffer_complib(t.made));
  }
}

static void shuffles(void) {
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_shuffle(4, NBYTES, data, t.out));
      break;
    case 1:
      CALL(blosc2_unshuffle(4, NBYTES, data, t.out));
      break;
    case 2:
      CALL(blosc2_bitshuffle(4, NBYTES, data, t.out));
      break;
    default:
      CALL(blosc2_bitunshuffle(4, NBYTES, data, t.out));
  }
}

const struct test_case chunk_cases[] = {
    {"create_cctx", create_cctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"create_dctx", create_dctx, NPIPELINES * 2, NO_STORAGE, CODE},
    {"free_ctx", free_ctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"ctx_get_params", get_params, 2, NO_STORAGE, CODE},
    {"compress_ctx", compress_ctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"compress_ctx_again", compress_ctx_again, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"decompress_ctx", decompress_ctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"getitem_ctx", getitem_ctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"getitem_bytes_ctx", getitem_bytes_ctx, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"getitem", getitem, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"blosc1_getitem", getitem_blosc1, NPIPELINES, NO_STORAGE, CODE},
    {"maskout", masked, 2, NO_STORAGE, CODE},
    {"vlcompress", vlcompress, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"vldecompress", vldecompress, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"vldecompress_block", vldecompress_block, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"vlchunk_get_nblocks", vlchunk_nblocks, 1, NO_STORAGE, CODE},
    {"compress", compress_global, 10, NO_STORAGE, CODE},
    {"decompress", decompress_global, CHUNK_PARAMS, NO_STORAGE, CODE},
    {"special", special, 4, NO_STORAGE, CODE},
    {"decompress_special", decompress_special, 2, NO_STORAGE, CODE},
    {"wrong", wrong, 6, NO_STORAGE, CODE},
    {"prefilter", filtered, 4, NO_STORAGE, CODE},
    {"threads_callback", threads_callback, 1, NO_STORAGE, CODE},
    {"cbuffer", cbuffer, 6, NO_STORAGE, CODE},
    {"shuffle", shuffles, 4, NO_STORAGE, CODE},
    {0},
};
