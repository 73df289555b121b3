/* Programs of calls on chunks, with contexts and without. */
#include "tool.h"

/* What a call gave, which should be these bytes if they are known. */
static void say_bytes(const char *what, int rc, const uint8_t *bytes, int32_t len, const uint8_t *expected) {
  bool wrong = expected != NULL && (rc != len || memcmp(bytes, expected, (size_t)len) != 0);
  say("  %s: %d %08x%s", what, rc, rc > 0 ? hash(bytes, rc) : 0, wrong ? " WRONG" : "");
}

/* Decompresses a chunk in all ways. `data` is NULL if they are not known. */
static void read_chunk(const uint8_t *chunk, int32_t len, int32_t nbytes, int32_t typesize, bool only_whole, const uint8_t *data) {
  int32_t sizes[3] = {-1, -1, -1};
  int rc = blosc2_cbuffer_sizes(chunk, &sizes[0], &sizes[1], &sizes[2]);
  say("  sizes %d: %d, block %d", rc, sizes[0], sizes[2]);
  blosc2_dparams dparams = random_dparams();
  blosc2_context *ctx = blosc2_create_dctx(dparams);
  int32_t room = nbytes + (int32_t)ONE_OF(0, 0, 0, 100, -1);
  uint8_t *to = buffer_of(room);
  rc = blosc2_decompress_ctx(ctx, chunk, len, to, room);
  say_bytes("decompress_ctx", rc, to, nbytes, room < nbytes ? NULL : data);
  for (int i = 0; i < 3 && !only_whole; i++) {
    int32_t items = nbytes / typesize;
    int32_t from = (int32_t)below(items + 1), count = (int32_t)below(items - from + (once_in(10) ? 2 : 1));
    memset(to, 0xa5, (size_t)(room > 0 ? room : 1));
    rc = blosc2_getitem_ctx(ctx, chunk, len, from, count, to, room);
    const uint8_t *expected = data == NULL || from + count > items || count * typesize > room ? NULL : data + from * typesize;
    say_bytes("getitem_ctx", rc, to, count * typesize, expected);
    rc = blosc2_getitem(chunk, len, from, count, to, room);
    say_bytes("getitem", rc, to, count * typesize, expected);
  }
  if (sizes[2] > 0 && rc >= 0 && !only_whole) {
    int32_t nblocks = (nbytes + sizes[2] - 1) / sizes[2];
    bool *mask = (bool *)buffer_of(nblocks);
    for (int32_t i = 0; i < nblocks; i++) {
      /* The first block of a chunk with a delta filter is one that the others need. */
      mask[i] = i > 0 && once_in(2);
    }
    memset(to, 0, (size_t)(room > 0 ? room : 1));
    rc = blosc2_set_maskout(ctx, mask, nblocks);
    int got = blosc2_decompress_ctx(ctx, chunk, len, to, room);
    say("  masked %d: %d", rc, got);
    for (int32_t i = 0; i < nblocks && got > 0; i++) {
      int32_t from = i * sizes[2], size = i == nblocks - 1 ? nbytes - from : sizes[2];
      if (!mask[i]) {
        say_bytes("block", size, to + from, size, data == NULL ? NULL : data + from);
      }
    }
    free(mask);
  }
  free(to);
  blosc2_free_ctx(ctx);
}

static void special(const blosc2_cparams *params, int32_t nbytes) {
  uint8_t chunk[BLOSC2_MAX_OVERHEAD + 256], value[256];
  for (int i = 0; i < 256; i++) {
    value[i] = (uint8_t)next_number();
  }
  int kind = (int)below(3), rc;
  switch (kind) {
    case 0: rc = blosc2_chunk_zeros(*params, nbytes, chunk, sizeof chunk); break;
    case 1: rc = blosc2_chunk_nans(*params, nbytes, chunk, sizeof chunk); break;
    default: rc = blosc2_chunk_repeatval(*params, nbytes, chunk, sizeof chunk, value);
  }
  say("special %d of %d: %d %08x", kind, nbytes, rc, rc > 0 ? hash(chunk, rc) : 0);
  if (rc > 0) {
    read_chunk(chunk, rc, nbytes, params->typesize, false, NULL);
  }
}

static void variable_blocks(const blosc2_cparams *params) {
  int32_t nblocks = (int32_t)between(1, 6), sizes[6], total = 0;
  void *blocks[6];
  for (int32_t i = 0; i < nblocks; i++) {
    sizes[i] = (int32_t)between(1, 500) * params->typesize;
    blocks[i] = data_of(sizes[i], params->typesize);
    total += sizes[i];
  }
  int32_t room = total + 4096;
  uint8_t *chunk = buffer_of(room);
  blosc2_context *ctx = blosc2_create_cctx(*params);
  int rc = blosc2_vlcompress_ctx(ctx, (const void *const *)blocks, sizes, nblocks, chunk, room);
  say("vlcompress of %d blocks, %d bytes: %lld", nblocks, total, (long long)shown(rc, same_bytes(params)));
  blosc2_free_ctx(ctx);
  if (rc > 0) {
    int32_t count = -1;
    int got = blosc2_vlchunk_get_nblocks(chunk, rc, &count);
    say("  nblocks %d: %d", got, count);
    ctx = blosc2_create_dctx(random_dparams());
    void *all[6] = {0};
    int32_t lengths[6] = {0};
    int32_t most = (int32_t)(once_in(6) ? nblocks - 1 : 6);
    got = blosc2_vldecompress_ctx(ctx, chunk, rc, all, lengths, most);
    say("  vldecompress %d: %d", most, got);
    for (int i = 0; i < got; i++) {
      say_bytes("a block", lengths[i], all[i], sizes[i], lossless(params) ? blocks[i] : NULL);
      free(all[i]);
    }
    for (int i = 0; i < 2; i++) {
      uint8_t *block = NULL;
      int32_t len = -1, nblock = (int32_t)below(nblocks + (once_in(6) ? 2 : 0));
      got = blosc2_vldecompress_block_ctx(ctx, chunk, rc, nblock, &block, &len);
      say_bytes("a block", got, block, nblock < nblocks ? sizes[nblock] : 0, lossless(params) && nblock < nblocks ? blocks[nblock] : NULL);
      if (got > 0) {
        free(block);
      }
    }
    blosc2_free_ctx(ctx);
  }
  for (int32_t i = 0; i < nblocks; i++) {
    free(blocks[i]);
  }
  free(chunk);
}

void chunk_program(void) {
  int32_t typesize = ONE_OF(1, 2, 3, 4, 4, 7, 8, 8, 12, 16, 20, 255);
  blosc2_cparams params = random_cparams(typesize);
  /* The reference does not read all chunks with a dictionary again, which is seen where it is known what they hold. */
  params.use_dict = lossless(&params) && params.use_dict;
  if (once_in(6)) {
    params.filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_DELTA;
    params.filters[BLOSC2_MAX_FILTERS - 2] = BLOSC_SHUFFLE;
    params.use_dict = 0;
  }
  say("chunks");
  say_params(&params);
  blosc2_context *ctx = blosc2_create_cctx(params);
  int steps = (int)between(1, 5);
  for (int step = 0; step < steps; step++) {
    int32_t nbytes = (int32_t)below(once_in(4) ? MOST / typesize : 3000) * typesize;
    if (once_in(5)) {
      special(&params, nbytes);
      continue;
    }
    /* At level 0 the reference compresses blocks of variable length, against its documentation. */
    if (once_in(5) && params.use_dict == 0 && params.clevel > 0) {
      variable_blocks(&params);
      continue;
    }
    uint8_t *data = data_of(nbytes, typesize);
    int32_t room = nbytes + BLOSC2_MAX_OVERHEAD;
    uint8_t *chunk = buffer_of(room + 4096);
    int rc = blosc2_compress_ctx(ctx, data, nbytes, chunk, room);
    bool exact = same_bytes(&params);
    say("compress_ctx of %d: %lld %08x", nbytes, (long long)shown(rc, exact), rc > 0 && exact && params.nthreads == 1 ? hash(chunk, rc) : 0);
    if (rc > 0) {
      /* The reference cannot read items of a chunk with a dictionary or a delta filter. */
      read_chunk(chunk, rc, nbytes, typesize, params.use_dict != 0 || params.filters[BLOSC2_MAX_FILTERS - 1] == BLOSC_DELTA,
                 lossless(&params) ? data : NULL);
    }
    free(data);
    free(chunk);
  }
  blosc2_free_ctx(ctx);
}

void blosc1_program(void) {
  say("blosc1");
  int steps = (int)between(2, 10);
  bool exact = true;
  for (int step = 0; step < steps; step++) {
    int choice = (int)below(6);
    if (choice == 0) {
      const char *names[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd", "other"};
      int name = (int)below(COUNT(names));
      int rc = blosc1_set_compressor(names[name]);
      exact = rc >= 0 ? name < 2 : exact;
      say("set_compressor %s: %d, %s", names[name], rc, blosc1_get_compressor());
    } else if (choice == 1) {
      int16_t threads = (int16_t)between(once_in(6) ? -1 : 1, 4);
      int before = blosc2_set_nthreads(threads);
      say("set_nthreads %d: %d, then %d", threads, before, blosc2_get_nthreads());
    } else if (choice == 2) {
      int size = ONE_OF(0, 128, 4096, 65536);
      blosc1_set_blocksize((size_t)size);
      say("set_blocksize %d: %d", size, blosc1_get_blocksize());
    } else {
      /* The block size has to be a multiple of the typesize. */
      int32_t typesize = ONE_OF(1, 2, 4, 8, 16, 32), nbytes = (int32_t)below(4000) * typesize;
      int level = (int)between(once_in(10) ? -1 : 1, 9), filter = (int)between(0, 2);
      uint8_t *data = data_of(nbytes, typesize);
      int32_t room = nbytes + BLOSC2_MAX_OVERHEAD;
      uint8_t *chunk = buffer_of(room), *to = buffer_of(nbytes);
      int rc = once_in(2) ? blosc1_compress(level, filter, (size_t)typesize, (size_t)nbytes, data, chunk, (size_t)room)
                          : blosc2_compress(level, filter, typesize, data, nbytes, chunk, room);
      say("compress of %d, typesize %d, level %d, filter %d: %lld %08x", nbytes, typesize, level, filter,
          (long long)shown(rc, exact), rc > 0 && exact && blosc2_get_nthreads() == 1 ? hash(chunk, rc) : 0);
      if (rc > 0) {
        size_t sizes[3], its_typesize;
        int flags;
        blosc1_cbuffer_sizes(chunk, &sizes[0], &sizes[1], &sizes[2]);
        blosc1_cbuffer_metainfo(chunk, &its_typesize, &flags);
        say("  sizes %zu, block %zu; typesize %zu, flags %d; %s", sizes[0], sizes[2], its_typesize, exact ? flags : 0,
            blosc2_cbuffer_complib(chunk));
        int got = blosc1_cbuffer_validate(chunk, (size_t)rc, &sizes[0]);
        say("  validate %d %zu", got, sizes[0]);
        got = once_in(2) ? blosc1_decompress(chunk, to, (size_t)nbytes) : blosc2_decompress(chunk, rc, to, nbytes);
        say_bytes("decompress", got, to, nbytes, data);
        int from = (int)below(nbytes / typesize + 1), count = (int)below(nbytes / typesize - from + 1);
        got = blosc1_getitem(chunk, from, count, to);
        say_bytes("getitem", got, to, count * typesize, data + from * typesize);
      }
      free(data);
      free(chunk);
      free(to);
    }
  }
}
