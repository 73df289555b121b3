/* Programs of calls on super-chunks whose chunks differ in size, or have blocks of variable length. */
#include "storages.h"

#define MOST_CHUNKS 24
#define MOST_BLOCKS 10
#define MOST_LEN 4000

/* What a chunk should hold. */
struct held {
  uint8_t *bytes;
  int32_t len;
  /* Its blocks of variable length; none in other chunks. */
  int32_t nblocks, sizes[MOST_BLOCKS];
};

struct program {
  blosc2_schunk *schunk;
  struct place_of *place;
  int32_t typesize;
  /* Whether chunks have blocks of variable length. */
  bool has_vlblocks;
  struct held chunks[MOST_CHUNKS];
  int64_t count;
};

static int files;

/* A place where chunks come back as they were. At level 0 the reference compresses blocks of variable length. */
static struct place_of *exact_place(const struct program *p) {
  struct place_of *place = random_place(p->typesize);
  place->cparams.use_dict = 0;
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
    place->cparams.filters[i] = place->cparams.filters[i] == BLOSC_TRUNC_PREC ? BLOSC_SHUFFLE : place->cparams.filters[i];
  }
  place->cparams.clevel = p->has_vlblocks && place->cparams.clevel == 0 ? 1 : place->cparams.clevel;
  return place;
}

static int64_t bytes_of(const struct program *p) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < p->count; i++) {
    bytes += p->chunks[i].len;
  }
  return bytes;
}

static void state(const struct program *p, const blosc2_schunk *schunk) {
  bool wrong = schunk->nchunks != p->count || schunk->nbytes != bytes_of(p);
  say("  nchunks %lld nbytes %lld chunksize %d layers %d%s", (long long)schunk->nchunks, (long long)schunk->nbytes, schunk->chunksize,
      schunk->nvlmetalayers, wrong ? " WRONG" : "");
}

/* Whether a call gave what a chunk holds. */
static const char *verdict(const uint8_t *bytes, int64_t rc, const uint8_t *expected, int64_t len) {
  return rc != len || memcmp(bytes, expected, (size_t)len) != 0 ? " WRONG" : "";
}

static void read_all(const struct program *p, blosc2_schunk *schunk) {
  state(p, schunk);
  uint8_t *to = buffer_of(MOST_LEN);
  for (int64_t i = 0; i < p->count; i++) {
    int rc = blosc2_schunk_decompress_chunk(schunk, i, to, MOST_LEN);
    say("  chunk %lld: %d %08x%s", (long long)i, rc, rc > 0 ? hash(to, rc) : 0, verdict(to, rc, p->chunks[i].bytes, p->chunks[i].len));
  }
  free(to);
}

/* Whether the super-chunk has special chunks. Those of a frame are sized by their place in the reference. */
static bool has_special(const struct program *p) { return p->place->place == IN_MEMORY; }

/* Data of several items, which are alike only where there may be special chunks. */
static uint8_t *any_data(const struct program *p, int32_t len) {
  uint8_t *data = data_of(len, p->typesize);
  data[0] = has_special(p) ? data[0] : (uint8_t)(data[len - p->typesize] + 1);
  return data;
}

/* Whether a call that is valid failed. */
static const char *failed(int64_t rc) { return rc < 0 ? " WRONG" : ""; }

/* A length of whole items. Few lengths occur often, so that chunks may also be alike. */
static int32_t any_len(const struct program *p) {
  int32_t most = MOST_LEN / p->typesize;
  int32_t items = once_in(2) ? ONE_OF(10, 20, 100) : (int32_t)between(2, once_in(4) ? most : 200);
  return (items > most ? most : items) * p->typesize;
}

static uint8_t *vlchunk(const struct program *p, struct held *held) {
  const void *sources[MOST_BLOCKS];
  held->nblocks = (int32_t)between(1, MOST_BLOCKS);
  held->len = 0;
  for (int32_t i = 0; i < held->nblocks; i++) {
    /* The last one is compressible: where a chunk is not, the reference copies from a source that is not there. */
    held->sizes[i] = i == held->nblocks - 1 ? (int32_t)between(1000, 2000) : (int32_t)between(1, once_in(3) ? 200 : 20);
    held->len += held->sizes[i];
  }
  held->bytes = buffer_of(held->len);
  int32_t at = 0;
  for (int32_t i = 0; i < held->nblocks; i++) {
    sources[i] = held->bytes + at;
    uint8_t *data = data_of(held->sizes[i], p->typesize);
    memcpy(held->bytes + at, data, (size_t)held->sizes[i]);
    free(data);
    at += held->sizes[i];
  }
  memset(held->bytes + at - held->sizes[held->nblocks - 1], 7, (size_t)held->sizes[held->nblocks - 1]);
  blosc2_cparams params = p->place->cparams;
  params.nthreads = 1;
  int32_t room = held->len + 64 + 40 * held->nblocks;
  uint8_t *chunk = buffer_of(room);
  blosc2_context *ctx = blosc2_create_cctx(params);
  int rc = blosc2_vlcompress_ctx(ctx, sources, held->sizes, held->nblocks, chunk, room);
  blosc2_free_ctx(ctx);
  say("  vlcompress_ctx of %d blocks, %d bytes: %lld", held->nblocks, held->len, (long long)shown(rc, same_bytes(&params)));
  if (rc <= 0) {
    free(chunk);
    return NULL;
  }
  return chunk;
}

/* A chunk of any size, and what it holds. */
static uint8_t *any_chunk(const struct program *p, struct held *held) {
  *held = (struct held){0};
  /* Chunks of both kinds do not come together. */
  if (p->has_vlblocks != once_in(20)) {
    return vlchunk(p, held);
  }
  held->len = any_len(p);
  int32_t room = held->len + BLOSC2_MAX_OVERHEAD;
  held->bytes = any_data(p, held->len);
  uint8_t *chunk = buffer_of(room);
  blosc2_cparams params = p->place->cparams;
  params.nthreads = 1;
  int rc;
  switch (has_special(p) ? below(8) : 2) {
    case 0:
      memset(held->bytes, 0, (size_t)held->len);
      rc = blosc2_chunk_zeros(params, held->len, chunk, room);
      break;
    case 1:
      for (int32_t i = p->typesize; i < held->len; i++) {
        held->bytes[i] = held->bytes[i - p->typesize];
      }
      rc = blosc2_chunk_repeatval(params, held->len, chunk, room, held->bytes);
      break;
    default: {
      blosc2_context *ctx = blosc2_create_cctx(params);
      rc = blosc2_compress_ctx(ctx, held->bytes, held->len, chunk, room);
      blosc2_free_ctx(ctx);
    }
  }
  say("  a chunk of %d: %lld", held->len, (long long)shown(rc, false));
  if (rc <= 0) {
    free(chunk);
    return NULL;
  }
  return chunk;
}

/* Makes room for a chunk at `at`, or takes away the one there. */
static void shift(struct program *p, int64_t at, int by) {
  int64_t from = by < 0 ? at + 1 : at;
  memmove(p->chunks + from + by, p->chunks + from, (size_t)(p->count - from) * sizeof *p->chunks);
  p->count += by;
}

static void change(struct program *p) {
  int64_t at = once_in(3) ? p->count - 1 : below(p->count), rc;
  at = at < 0 ? 0 : at;
  int choice = (int)below(9);
  if (p->count == MOST_CHUNKS || (choice >= 6 && p->count > 3)) {
    rc = blosc2_schunk_delete_chunk(p->schunk, at);
    say("delete_chunk %lld: %lld%s", (long long)at, (long long)rc, p->count > 0 ? failed(rc) : "");
    if (rc >= 0) {
      shift(p, at, -1);
    }
    return state(p, p->schunk);
  }
  struct held held = {0};
  if (choice < 2 && !p->has_vlblocks) {
    held.len = any_len(p);
    held.bytes = any_data(p, held.len);
    rc = blosc2_schunk_append_buffer(p->schunk, held.bytes, held.len);
    say("append_buffer %d: %lld%s", held.len, (long long)rc, p->count > 0 && p->chunks[0].nblocks == 0 ? failed(rc) : "");
    at = p->count;
  } else {
    uint8_t *chunk = any_chunk(p, &held);
    if (chunk == NULL) {
      return;
    }
    /* Chunks of both kinds are not together in a super-chunk. */
    bool fits = p->count > 0 && (held.nblocks > 0) == (p->chunks[0].nblocks > 0);
    if (choice < 3) {
      rc = blosc2_schunk_append_chunk(p->schunk, chunk, true);
      say("append_chunk: %lld%s", (long long)rc, fits ? failed(rc) : "");
      at = p->count;
    } else if (choice < 5 || p->count == 0) {
      at = once_in(4) ? p->count : at;
      rc = blosc2_schunk_insert_chunk(p->schunk, at, chunk, true);
      say("insert_chunk %lld: %lld%s", (long long)at, (long long)rc, fits ? failed(rc) : "");
    } else {
      rc = blosc2_schunk_update_chunk(p->schunk, at, chunk, true);
      say("update_chunk %lld: %lld%s", (long long)at, (long long)rc, fits ? failed(rc) : "");
      if (rc >= 0) {
        shift(p, at, -1);
      }
    }
    free(chunk);
  }
  if (rc >= 0) {
    shift(p, at, 1);
    p->chunks[at] = held;
  }
  state(p, p->schunk);
}

static void read_blocks(const struct held *held, blosc2_context *ctx, const uint8_t *chunk, int32_t len) {
  int32_t nblocks = -1;
  int rc = blosc2_vlchunk_get_nblocks(chunk, len, &nblocks);
  say("  vlchunk_get_nblocks: %d %d", rc, rc >= 0 ? nblocks : 0);
  void *blocks[MOST_BLOCKS];
  int32_t sizes[MOST_BLOCKS], most = once_in(6) ? (int32_t)below(MOST_BLOCKS) : MOST_BLOCKS;
  rc = blosc2_vldecompress_ctx(ctx, chunk, len, blocks, sizes, most);
  say("  vldecompress_ctx of at most %d: %d%s", most, rc, held->nblocks > 0 && held->nblocks <= most && rc != held->nblocks ? " WRONG" : "");
  for (int32_t i = 0, at = 0; i < rc; i++) {
    say("    %d %08x%s", sizes[i], hash(blocks[i], sizes[i]), verdict(blocks[i], sizes[i], held->bytes + at, held->sizes[i]));
    at += held->sizes[i];
    free(blocks[i]);
  }
}

static void reads(struct program *p) {
  int64_t at = once_in(20) ? p->count : below(p->count);
  if (p->count == 0) {
    return;
  }
  const struct held *held = &p->chunks[at < p->count ? at : 0];
  uint8_t *chunk = NULL, *to = buffer_of(MOST_LEN);
  bool needs_free = false;
  switch (below(6)) {
    case 0: {
      int32_t room = once_in(4) ? held->len - 1 : MOST_LEN;
      int rc = blosc2_schunk_decompress_chunk(p->schunk, at, to, room);
      say("decompress_chunk %lld into %d: %d", (long long)at, room, rc);
      break;
    }
    case 1: {
      int rc = blosc2_schunk_get_chunk(p->schunk, at, &chunk, &needs_free);
      say("get_chunk %lld: %lld", (long long)at, (long long)shown(rc, false));
      if (rc > 0) {
        blosc2_context *ctx = blosc2_create_dctx(random_dparams());
        if (!needs_schunk(&p->place->cparams)) {
          int got = blosc2_decompress_ctx(ctx, chunk, rc, to, MOST_LEN);
          say("  decompress_ctx: %d%s", got, verdict(to, got, held->bytes, held->len));
          read_blocks(held, ctx, chunk, rc);
        }
        blosc2_free_ctx(ctx);
      }
      break;
    }
    case 2: {
      int rc = blosc2_schunk_get_lazychunk(p->schunk, at, &chunk, &needs_free);
      say("get_lazychunk %lld: %lld", (long long)at, (long long)shown(rc, false));
      /* Of those with blocks of variable length, the reference does not decompress one. */
      if (rc > 0 && held->nblocks == 0) {
        int32_t items = held->len / p->typesize, from = (int32_t)below(items + 1), count = (int32_t)below(items - from + 1);
        int got = blosc2_getitem_ctx(p->schunk->dctx, chunk, rc, from, count, to, MOST_LEN);
        say("  getitem_ctx %d %d: %d%s", from, count, got, verdict(to, got, held->bytes + from * p->typesize, count * p->typesize));
      }
      break;
    }
    case 3:
    case 4: {
      int32_t block = once_in(6) ? ONE_OF(-1, held->nblocks, 100) : (int32_t)below(held->nblocks), len = -1;
      uint8_t *bytes = NULL;
      int rc = blosc2_schunk_get_vlblock(p->schunk, at, block, &bytes, &len);
      int32_t begin = 0;
      for (int32_t i = 0; i < block && i < held->nblocks; i++) {
        begin += held->sizes[i];
      }
      bool known = at < p->count && block >= 0 && block < held->nblocks;
      say("get_vlblock %lld %d: %d%s", (long long)at, block, rc, known ? verdict(bytes, rc, held->bytes + begin, held->sizes[block]) : "");
      if (rc >= 0) {
        free(bytes);
      }
      break;
    }
    default: {
      /* Where sizes differ, the reference divides by the size of chunks; where blocks have variable lengths, items are none. */
      if (p->has_vlblocks || p->schunk->chunksize <= 0) {
        break;
      }
      int64_t items = bytes_of(p) / p->typesize, from = below(items + 1), to_item = from + below(items - from + 1);
      uint8_t *all = buffer_of((to_item - from + 1) * p->typesize);
      int rc = blosc2_schunk_get_slice_buffer(p->schunk, from, to_item, all);
      say("get_slice_buffer %lld %lld: %d", (long long)from, (long long)to_item, rc);
      free(all);
    }
  }
  if (needs_free) {
    free(chunk);
  }
  free(to);
}

static void take(struct program *p, blosc2_schunk *other) {
  if (other != NULL) {
    blosc2_schunk_free(p->schunk);
    p->schunk = other;
    read_all(p, other);
  }
}

static void moves(struct program *p) {
  char path[40];
  switch (below(5)) {
    case 0: {
      struct place_of *place = exact_place(p);
      if (once_in(2)) {
        place->cparams = p->place->cparams;
      }
      blosc2_schunk *copy = blosc2_schunk_copy(p->schunk, &place->storage);
      /* The reference takes every chunk for a full one when it compresses them again. */
      say("copy: %d%s", copy != NULL, copy == NULL ? " WRONG" : "");
      p->place = copy != NULL ? place : p->place;
      take(p, copy);
      break;
    }
    case 1: {
      uint8_t *frame = NULL;
      bool needs_free = false, copies = once_in(2);
      int64_t len = blosc2_schunk_to_buffer(p->schunk, &frame, &needs_free);
      say("to_buffer: %d, free %d%s", len > 0, needs_free, failed(len));
      if (len > 0) {
        uint8_t *mine = memcpy(buffer_of(len), frame, (size_t)len);
        blosc2_schunk *other = blosc2_schunk_from_buffer(mine, len, copies);
        say("from_buffer, copy %d: %d%s", copies, other != NULL, other == NULL ? " WRONG" : "");
        if (other != NULL && !copies) {
          blosc2_schunk_avoid_cframe_free(other, true);
        }
        if (needs_free) {
          free(frame);
        }
        /* A change of a buffer that is not copied passes it to `realloc` in the reference. */
        if (other != NULL && !copies) {
          read_all(p, other);
          blosc2_schunk_free(other);
          other = NULL;
        }
        if (other != NULL) {
          p->place = memcpy(buffer_of(sizeof *p->place), p->place, sizeof *p->place);
          p->place->place = IN_FRAME;
        }
        take(p, other);
        free(mine);
      }
      break;
    }
    case 2: {
      snprintf(path, sizeof path, "even%d.b2frame", files++);
      int64_t len = blosc2_schunk_to_file(p->schunk, path);
      blosc2_schunk *other = blosc2_schunk_open(path);
      say("to_file: %d, open: %d%s", len > 0, other != NULL, other == NULL ? " WRONG" : "");
      if (other != NULL) {
        read_all(p, other);
        blosc2_schunk_free(other);
      }
      break;
    }
    default:
      if (p->place->place >= IN_FILE) {
        blosc2_schunk_free(p->schunk);
        p->schunk = blosc2_schunk_open(p->place->path);
        say("open: %d%s", p->schunk != NULL, p->schunk == NULL ? " WRONG" : "");
        if (p->schunk != NULL) {
          read_all(p, p->schunk);
        }
      }
  }
}

static void others(struct program *p) {
  switch (below(3)) {
    case 0: {
      int64_t order[MOST_CHUNKS];
      /* A short chunk between others makes a super-chunk whose chunks differ in size; the reference does not see that. */
      if (p->schunk->chunksize > 0 && p->schunk->nbytes % p->schunk->chunksize != 0) {
        return;
      }
      for (int64_t i = 0; i < p->count; i++) {
        order[i] = i;
      }
      for (int64_t i = p->count - 1; i > 0; i--) {
        int64_t other = below(i + 1), number = order[i];
        order[i] = order[other];
        order[other] = number;
      }
      int rc = p->count > 0 ? blosc2_schunk_reorder_offsets(p->schunk, order) : 0;
      say("reorder_offsets: %d", rc);
      if (rc >= 0) {
        struct held before[MOST_CHUNKS];
        memcpy(before, p->chunks, sizeof before);
        for (int64_t i = 0; i < p->count; i++) {
          p->chunks[i] = before[order[i]];
        }
      }
      read_all(p, p->schunk);
      break;
    }
    case 1: {
      char name[] = {'v', (char)('0' + below(3)), 0};
      uint8_t *content = data_of(100, 1), *got = NULL;
      int32_t len = 0;
      int rc = blosc2_vlmeta_add(p->schunk, name, content, (int32_t)between(1, 100), NULL);
      say("vlmeta_add %s: %d", name, rc);
      rc = blosc2_vlmeta_get(p->schunk, name, &got, &len);
      say("vlmeta_get: %d %d", rc, len);
      free(rc >= 0 ? got : NULL);
      free(content);
      break;
    }
    default: {
      blosc2_cparams *params = NULL;
      int rc = blosc2_schunk_get_cparams(p->schunk, &params);
      say("get_cparams: %d", rc);
      free(rc >= 0 ? params : NULL);
    }
  }
}

void uneven_program(void) {
  struct program p = {0};
  p.typesize = ONE_OF(1, 1, 2, 4, 4, 8, 12);
  p.has_vlblocks = once_in(2);
  say("super-chunk of chunks of any size, blocks of variable length %d", p.has_vlblocks);
  p.place = exact_place(&p);
  p.schunk = blosc2_schunk_new(&p.place->storage);
  say("new: %d", p.schunk != NULL);
  int steps = (int)between(3, 25);
  for (int step = 0; step < steps && p.schunk != NULL; step++) {
    switch (below(9)) {
      case 0: case 1: case 2: case 3: case 4: change(&p); break;
      case 5: case 6: reads(&p); break;
      case 7: moves(&p); break;
      default: others(&p);
    }
  }
  if (p.schunk != NULL) {
    read_all(&p, p.schunk);
    blosc2_schunk_free(p.schunk);
  }
}
