/* Programs of calls on chunks, with arguments that are not valid: one of a call, as the order in which arguments are looked at is not
   told.

   Left out: numbers of bytes below zero, of which the reference makes chunks that have as many; typesizes of zero, by which it divides;
   typesizes below zero; block sizes below zero, for which it returns what was in memory; bytes that are no whole item, whose blocks have
   other sizes (docs/compatibility.md). */
#include "tool.h"

/* A number at a limit, or about `likely`. */
static int32_t odd_number(int32_t likely) {
  switch (below(6)) {
    case 0: return ONE_OF(-1, 0, 1, INT32_MIN, INT32_MAX, -2, 15, 16, 17, 31, 32, 33);
    case 1: return likely - 1;
    case 2: return likely + 1;
    default: return likely <= 0 ? likely : (int32_t)below(likely + 1);
  }
}

static void odd_params(blosc2_cparams *params) {
  switch (below(9)) {
    case 0: params->compcode = (uint8_t)ONE_OF(3, 6, 7, 31, 41, 159, 160, 255); break;
    case 1: params->clevel = (uint8_t)ONE_OF(10, 11, 100, 255); break;
    case 2:
      params->typesize = ONE_OF(255, 256, 257, 300, 1000, INT32_MAX);
      params->blocksize = 0;
      break;
    case 3: params->nthreads = (int16_t)ONE_OF(0, -1, 1, 300); break;
    case 4: params->blocksize = params->typesize * ONE_OF(1, 2, 3, 7, 31, 33, 10000); break;
    case 5: params->splitmode = ONE_OF(0, 5, -1, 100); break;
    case 6: params->filters[below(6)] = (uint8_t)ONE_OF(5, 6, 7, 31, 37, 100, 159, 160, 255); break;
    case 7: params->filters[5] = (uint8_t)ONE_OF(0, 1, 2, 4); break;
    default: break;
  }
}

static void say_ctx(blosc2_context *ctx) {
  say("create_cctx: %d", ctx != NULL);
  if (ctx != NULL) {
    blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
    int rc = blosc2_ctx_get_cparams(ctx, &params);
    say("  get_cparams: %d", rc);
    say_params(&params);
  }
}

/* Reads a chunk with one argument wrong. */
static void odd_reads(const uint8_t *chunk, int32_t len, int32_t nbytes, int32_t typesize, const uint8_t *data) {
  blosc2_context *ctx = blosc2_create_dctx(random_dparams());
  /* As much room as any argument says that may be taken for true. */
  uint8_t *to = buffer_of(nbytes + 64);
  for (int i = 0; i < 8; i++) {
    int32_t items = nbytes / (typesize > 0 && typesize < 256 ? typesize : 1);
    int choice = (int)below(7);
    switch (choice) {
      case 0: {
        int32_t size = odd_number(len);
        size = size > len ? len : size;
        int rc = blosc2_decompress_ctx(ctx, chunk, size, to, nbytes);
        say("  decompress_ctx of %d: %d %08x", size, rc, rc > 0 ? hash(to, rc) : 0);
        break;
      }
      case 1: {
        int32_t room = odd_number(nbytes);
        room = room > nbytes ? nbytes : room;
        int rc = blosc2_decompress_ctx(ctx, chunk, len, to, room);
        say("  decompress_ctx into %d: %d %08x", room, rc, rc > 0 ? hash(to, rc) : 0);
        break;
      }
      case 2: {
        int32_t size = odd_number(len);
        size = size > len ? len : size;
        int rc = blosc2_getitem_ctx(ctx, chunk, size, 0, items > 0, to, nbytes);
        say("  getitem_ctx of %d: %d", size, rc);
        break;
      }
      case 3: {
        int32_t start = odd_number(items), count = odd_number(items);
        int rc = blosc2_getitem_ctx(ctx, chunk, len, start, count, to, nbytes);
        bool is_wrong = data != NULL && typesize < 256 && start >= 0 && count >= 0 && count <= items - start && (rc < 0 || memcmp(to, data + start * typesize, (size_t)rc) != 0);
        say("  getitem_ctx %d %d: %d %08x%s", start, count, rc, rc > 0 ? hash(to, rc) : 0, is_wrong ? " WRONG" : "");
        break;
      }
      case 4: {
        int32_t start = odd_number(nbytes), count = odd_number(nbytes);
        int rc = blosc2_getitem_bytes_ctx(ctx, chunk, len, start, count, to, nbytes);
        bool is_wrong = data != NULL && rc != -12 && start >= 0 && count >= 0 && count <= nbytes - start && (rc < 0 || memcmp(to, data + start, (size_t)rc) != 0);
        say("  getitem_bytes_ctx %d %d: %d %08x%s", start, count, rc, rc > 0 ? hash(to, rc) : 0, is_wrong ? " WRONG" : "");
        break;
      }
      case 5: {
        int32_t start = items > 0 ? (int32_t)below(items) : 0, count = (int32_t)below(items - start + 1);
        int32_t room = odd_number(count * typesize);
        room = room > nbytes ? nbytes : room;
        int rc = blosc2_getitem(chunk, len, start, count, to, room);
        say("  getitem %d %d into %d: %d %08x", start, count, room, rc, rc > 0 ? hash(to, rc) : 0);
        break;
      }
      default: {
        int32_t sizes[3] = {-1, -1, -1}, nblocks = -1;
        size_t validated = 99;
        int32_t size = odd_number(len);
        size = size > len ? len : size;
        int rc = blosc2_vlchunk_get_nblocks(chunk, size, &nblocks);
        say("  vlchunk_get_nblocks of %d: %d %d", size, rc, nblocks);
        rc = blosc2_cbuffer_sizes(chunk, &sizes[0], &sizes[1], &sizes[2]);
        int valid = blosc1_cbuffer_validate(chunk, (size_t)(size < 0 ? 0 : size), &validated);
        say("  sizes: %d %d %d, validate %d: %d %zu", rc, sizes[0], sizes[2], size, valid, validated);
      }
    }
  }
  bool mask[64];
  for (int i = 0; i < COUNT(mask); i++) {
    mask[i] = i > 0 && once_in(2);
  }
  int32_t blocks = ONE_OF(-1, 0, 1, 2, 64);
  int rc = blosc2_set_maskout(ctx, mask, blocks), got = blosc2_decompress_ctx(ctx, chunk, len, to, nbytes);
  say("  set_maskout %d: %d, then %d", blocks, rc, got);
  free(to);
  blosc2_free_ctx(ctx);
}

static void shuffles(void) {
  int32_t typesize = ONE_OF(1, 2, 3, 4, 8, 16, 255, 256, 300), nbytes = (int32_t)below(3000);
  int32_t said = once_in(8) ? ONE_OF(0, 1, 7, 8) : nbytes;
  uint8_t *data = data_of(nbytes, 4), *to = buffer_of(nbytes), *back = buffer_of(nbytes);
  bool bits = once_in(2);
  int rc = bits ? blosc2_bitshuffle(typesize, said, data, to) : blosc2_shuffle(typesize, said, data, to);
  say("%s of %d, typesize %d: %d %08x", bits ? "bitshuffle" : "shuffle", said, typesize, rc, rc > 0 ? hash(to, nbytes) : 0);
  rc = bits ? blosc2_bitunshuffle(typesize, said, to, back) : blosc2_unshuffle(typesize, said, to, back);
  say("  back: %d %08x", rc, rc > 0 ? hash(back, nbytes) : 0);
  free(data);
  free(to);
  free(back);
}

static void specials(void) {
  blosc2_cparams params = random_cparams(ONE_OF(1, 3, 4, 8, 16));
  if (once_in(2)) {
    odd_params(&params);
  }
  say_params(&params);
  int32_t nbytes = once_in(3) ? ONE_OF(0, 1, 7, INT32_MAX, INT32_MAX - 32, INT32_MAX - 31) : (int32_t)below(5000);
  uint8_t chunk[BLOSC2_MAX_OVERHEAD + 1024], value[1024];
  memset(value, 5, sizeof value);
  int32_t room = params.typesize > 255 || nbytes % params.typesize != 0 || once_in(2) ? (int32_t)sizeof chunk : ONE_OF(-1, 0, 16, 31, 32, 33, 36, 40);
  int kind = (int)below(4), rc;
  switch (kind) {
    case 0: rc = blosc2_chunk_zeros(params, nbytes, chunk, room); break;
    case 1: rc = blosc2_chunk_nans(params, nbytes, chunk, room); break;
    case 2: rc = blosc2_chunk_uninit(params, nbytes, chunk, room); break;
    default: rc = blosc2_chunk_repeatval(params, nbytes, chunk, room, value);
  }
  say("special %d of %d into %d: %d %08x", kind, nbytes, room, rc, rc > 0 ? hash(chunk, rc) : 0);
}

static void without_context(void) {
  int32_t typesize = ONE_OF(1, 4, 8), nbytes = (int32_t)below(500) * 8;
  int level = 5, filter = 1, which = (int)below(4);
  int32_t room = nbytes + BLOSC2_MAX_OVERHEAD;
  switch (which) {
    case 0: typesize = ONE_OF(255, 256, 300); nbytes = nbytes / typesize * typesize; break;
    case 1: level = ONE_OF(-1, 0, 9, 10, 100); break;
    case 2: filter = ONE_OF(-1, 0, 2, 3, 4, 100); break;
    default: room = odd_number(nbytes);
  }
  room = room > nbytes + BLOSC2_MAX_OVERHEAD ? nbytes + BLOSC2_MAX_OVERHEAD : room;
  uint8_t *data = data_of(nbytes, 4), *chunk = buffer_of(nbytes + BLOSC2_MAX_OVERHEAD), *to = buffer_of(nbytes);
  int rc = blosc2_compress(level, filter, typesize, data, nbytes, chunk, room);
  bool is_short = room < nbytes + BLOSC2_MAX_OVERHEAD;
  rc = is_short && rc > 0 ? 0 : rc;
  say("compress of %d into %d, typesize %d, level %d, filter %d: %d", nbytes, room, typesize, level, filter, rc);
  if (rc > 0) {
    int32_t size = once_in(2) ? rc : (int32_t)below(rc);
    int got = blosc2_decompress(chunk, size, to, nbytes);
    say("  decompress of %d: %d %08x", size, got, got > 0 ? hash(to, got) : 0);
  }
  free(data);
  free(chunk);
  free(to);
}

void invalid_chunk_program(void) {
  say("chunks, not valid");
  int steps = (int)between(1, 4);
  for (int step = 0; step < steps; step++) {
    int choice = (int)below(8);
    if (choice < 3) {
      choice == 0 ? shuffles() : choice == 1 ? specials() : without_context();
      continue;
    }
    int32_t typesize = ONE_OF(1, 2, 3, 4, 4, 7, 8, 8, 16, 255);
    blosc2_cparams params = random_cparams(typesize);
    params.use_dict = 0;
    bool is_odd = once_in(2);
    if (is_odd) {
      odd_params(&params);
    }
    say_params(&params);
    blosc2_context *ctx = blosc2_create_cctx(params);
    say_ctx(ctx);
    if (ctx == NULL) {
      continue;
    }
    int32_t whole = params.typesize <= 1000 ? params.typesize : 1;
    int32_t nbytes = (once_in(8) ? ONE_OF(0, 1, 2, 3, 7, 15, 31, 32, 33) : (int32_t)below(4000)) / whole * whole;
    uint8_t *data = data_of(nbytes, 4), *chunk = buffer_of(nbytes + 2 * BLOSC2_MAX_OVERHEAD);
    int32_t room = !is_odd && once_in(2) ? odd_number(nbytes + BLOSC2_MAX_OVERHEAD) : nbytes + BLOSC2_MAX_OVERHEAD;
    room = room > nbytes + 2 * BLOSC2_MAX_OVERHEAD ? nbytes + BLOSC2_MAX_OVERHEAD : room;
    int rc = blosc2_compress_ctx(ctx, data, nbytes, chunk, room);
    /* Whether a chunk fits into less room may depend on a byte. */
    bool is_short = room < nbytes + BLOSC2_MAX_OVERHEAD;
    say("compress_ctx of %d into %d: %lld", nbytes, room, is_short && rc > 0 ? 0ll : (long long)shown(rc, same_bytes(&params)));
    rc = is_short ? 0 : rc;
    /* What the reads try depends on the size of the chunk. */
    if (rc > 0 && same_bytes(&params)) {
      odd_reads(chunk, rc, nbytes, params.typesize, lossless(&params) ? data : NULL);
    }
    blosc2_free_ctx(ctx);
    free(data);
    free(chunk);
  }
}
