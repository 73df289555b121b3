/* Programs of calls on super-chunks. */
#include "storages.h"

static int files;

struct place_of *random_place(int32_t typesize) {
  struct place_of *made = calloc(1, sizeof *made);
  if (made == NULL) {
    abort();
  }
  made->place = (enum place)below(5);
  made->cparams = random_cparams(typesize);
  made->cparams.use_dict = lossless(&made->cparams) && made->cparams.use_dict;
  made->dparams = random_dparams();
  made->storage = BLOSC2_STORAGE_DEFAULTS;
  made->storage.cparams = &made->cparams;
  made->storage.dparams = &made->dparams;
  made->storage.contiguous = made->place != IN_MEMORY && made->place != IN_DIRECTORY;
  if (made->place >= IN_FILE) {
    snprintf(made->path, sizeof made->path, "%s%d.b2frame", made->place == IN_DIRECTORY ? "directory" : "file", files++);
    made->storage.urlpath = made->path;
  }
  if (made->place == IN_MAP) {
    made->map = BLOSC2_STDIO_MMAP_DEFAULTS;
    made->map.mode = "w+";
    made->io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "mmap", .params = &made->map};
    made->storage.io = &made->io;
  }
  const char *names[] = {"memory", "frame", "file", "directory", "map"};
  say("place %s", names[made->place]);
  say_params(&made->cparams);
  return made;
}

/* Whether a chunk is one value, or what it has is not told. */
static int special_of(const uint8_t *chunk) { return (chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] >> 4) & 7; }

static void say_schunk(const blosc2_schunk *schunk, bool exact, int64_t nbytes) {
  say("  nchunks %lld nbytes %lld chunksize %d typesize %d layers %d %d%s", (long long)schunk->nchunks, (long long)schunk->nbytes,
      schunk->chunksize, schunk->typesize, schunk->nmetalayers, schunk->nvlmetalayers, nbytes >= 0 && nbytes != schunk->nbytes ? " WRONG" : "");
  /* Where there is hardly any gain, a codec of the reference may give up early. */
  if (exact && schunk->cbytes * 2 < schunk->nbytes) {
    say("  cbytes %lld", (long long)schunk->cbytes);
  }
}

struct program {
  blosc2_schunk *schunk;
  struct place_of *place;
  int32_t typesize, chunksize;
  /* Whether compressed bytes are the same in both libraries. */
  bool exact;
  /* The bytes that it should have. */
  int64_t nbytes;
  /* What it should hold, if `known`: no filter changes items, and nothing was left as it was in memory. */
  uint8_t *items;
  bool known;
  /* Whether it began with special values. */
  bool filled;
  /* Whether chunks came or went. */
  bool has_changed;
  /* Whether a shorter chunk came, of whose block size the reference tells in frames. */
  bool was_short;
  /* Whether the reference may have come to another state. */
  bool is_over;
};

/* Whether a call that read bytes from `from` on, and should give `len`, gave other ones than the super-chunk should hold. */
static const char *verdict(const struct program *p, int64_t from, const uint8_t *bytes, int64_t rc, int64_t len) {
  bool wrong = p->known && len >= 0 && from >= 0 && from + len <= p->nbytes && (rc != len || memcmp(p->items + from, bytes, (size_t)len) != 0);
  return wrong ? " WRONG" : "";
}

/* The bytes of a chunk, or -1 if there is none or they do not fit. */
static int64_t chunk_len(const struct program *p, int64_t at, int64_t room) {
  int64_t left = p->nbytes - at * p->chunksize, len = left < p->chunksize ? left : p->chunksize;
  return at < 0 || len <= 0 || len > room ? -1 : len;
}

/* Makes room for `len` bytes at `at`, or takes them away if it is negative. */
static void shift_items(struct program *p, int64_t nbytes, int64_t at, int64_t len) {
  int64_t from = len < 0 ? at - len : at;
  p->nbytes += len;
  if (nbytes - from > 0) {
    memmove(p->items + from + len, p->items + from, (size_t)(nbytes - from));
  }
}

static void set_items(struct program *p, int64_t at, const uint8_t *data, int64_t len) {
  if (len > 0) {
    memcpy(p->items + at, data, (size_t)len);
    p->nbytes = at + len > p->nbytes ? at + len : p->nbytes;
  }
}

/* Everything that can be read of a super-chunk. */
static void read_schunk(const struct program *p, blosc2_schunk *schunk) {
  say_schunk(schunk, false, p != NULL ? p->nbytes : -1);
  uint8_t *to = buffer_of(MOST);
  for (int64_t i = 0; i < schunk->nchunks; i++) {
    int rc = blosc2_schunk_decompress_chunk(schunk, i, to, MOST);
    say("  chunk %lld: %d %08x%s", (long long)i, rc, rc > 0 ? hash(to, rc) : 0,
        p != NULL ? verdict(p, i * p->chunksize, to, rc, chunk_len(p, i, MOST)) : "");
  }
  free(to);
  for (int i = 0; i < schunk->nmetalayers; i++) {
    uint8_t *content = NULL;
    int32_t len = 0;
    int rc = blosc2_meta_get(schunk, schunk->metalayers[i]->name, &content, &len);
    say("  metalayer %s: %d %d %08x", schunk->metalayers[i]->name, rc, len, rc >= 0 ? hash(content, len) : 0);
    if (rc >= 0) {
      free(content);
    }
  }
  for (int i = 0; i < schunk->nvlmetalayers; i++) {
    uint8_t *content = NULL;
    int32_t len = 0;
    int rc = blosc2_vlmeta_get(schunk, schunk->vlmetalayers[i]->name, &content, &len);
    say("  vlmetalayer %s: %d %d %08x", schunk->vlmetalayers[i]->name, rc, len, rc >= 0 ? hash(content, len) : 0);
    if (rc >= 0) {
      free(content);
    }
  }
}

void read_frame(const char *path) {
  blosc2_schunk *schunk = blosc2_schunk_open(path);
  say("  opens: %d", schunk != NULL);
  if (schunk == NULL) {
    return;
  }
  read_schunk(NULL, schunk);
  b2nd_array_t *array = NULL;
  if (blosc2_meta_exists(schunk, "b2nd") >= 0 && b2nd_from_schunk(schunk, &array) == 0) {
    say_array(array);
    b2nd_free(array);
  } else {
    blosc2_schunk_free(schunk);
  }
}

static int64_t any_chunk(const struct program *p) {
  return once_in(20) ? ONE_OF(-1, (int)p->schunk->nchunks, (int)p->schunk->nchunks + 1) : below(p->schunk->nchunks);
}

/* A chunk that fits the super-chunk, of these data. */
static uint8_t *new_chunk(struct program *p, uint8_t *data) {
  uint8_t *chunk = buffer_of(p->chunksize + BLOSC2_MAX_OVERHEAD);
  blosc2_cparams params = p->place->cparams;
  params.use_dict = 0;
  params.nthreads = 1;
  int32_t room = p->chunksize + BLOSC2_MAX_OVERHEAD;
  int rc;
  switch (below(5)) {
    case 0:
      memset(data, 0, (size_t)p->chunksize);
      rc = blosc2_chunk_zeros(params, p->chunksize, chunk, room);
      break;
    case 1: {
      uint8_t value[256];
      for (int i = 0; i < 256; i++) {
        value[i] = (uint8_t)next_number();
      }
      for (int32_t i = 0; i < p->chunksize; i++) {
        data[i] = value[i % p->typesize];
      }
      rc = blosc2_chunk_repeatval(params, p->chunksize, chunk, room, value);
      break;
    }
    default: {
      blosc2_context *ctx = blosc2_create_cctx(params);
      rc = blosc2_compress_ctx(ctx, data, p->chunksize, chunk, room);
      blosc2_free_ctx(ctx);
    }
  }
  say("  a chunk of %d: %lld", p->chunksize, (long long)shown(rc, p->exact));
  if (rc <= 0) {
    free(chunk);
    return NULL;
  }
  return chunk;
}

static void change_chunks(struct program *p) {
  p->has_changed = true;
  blosc2_schunk *schunk = p->schunk;
  int64_t nbytes = schunk->nbytes, at = any_chunk(p), rc;
  bool short_last = nbytes % p->chunksize != 0;
  if (nbytes > MOST) {
    return;
  }
  uint8_t *data = data_of(p->chunksize, p->typesize);
  /* Chunks behind and in front of a short one make a super-chunk whose chunks differ in size, which the reference cannot handle. */
  switch (short_last ? 5 + below(2) : below(7)) {
    case 0:
    case 1:
    case 2: {
      int32_t len = once_in(12) ? (int32_t)between(1, p->chunksize / p->typesize) * p->typesize : p->chunksize;
      rc = blosc2_schunk_append_buffer(schunk, data, len);
      say("append_buffer %d: %lld", len, (long long)rc);
      if (rc > 0) {
        set_items(p, nbytes, data, len);
        p->was_short = p->was_short || len < p->chunksize;
      }
      break;
    }
    case 3: {
      uint8_t *chunk = new_chunk(p, data);
      if (chunk != NULL) {
        rc = blosc2_schunk_append_chunk(schunk, chunk, true);
        say("append_chunk: %lld", (long long)rc);
        if (rc > 0) {
          set_items(p, nbytes, data, p->chunksize);
        }
      }
      free(chunk);
      break;
    }
    case 4: {
      uint8_t *chunk = new_chunk(p, data);
      if (chunk != NULL) {
        rc = blosc2_schunk_insert_chunk(schunk, at, chunk, true);
        say("insert_chunk %lld: %lld", (long long)at, (long long)rc);
        if (rc > 0) {
          shift_items(p, nbytes, at * p->chunksize, p->chunksize);
          set_items(p, at * p->chunksize, data, p->chunksize);
        }
      }
      free(chunk);
      break;
    }
    case 5: {
      uint8_t *chunk = short_last && at == schunk->nchunks - 1 ? NULL : new_chunk(p, data);
      if (chunk != NULL) {
        rc = blosc2_schunk_update_chunk(schunk, at, chunk, true);
        say("update_chunk %lld: %lld", (long long)at, (long long)rc);
        if (rc > 0) {
          set_items(p, at * p->chunksize, data, p->chunksize);
        }
      }
      free(chunk);
      break;
    }
    default:
      rc = blosc2_schunk_delete_chunk(schunk, at);
      say("delete_chunk %lld: %lld", (long long)at, (long long)rc);
      if (rc >= 0) {
        int64_t from = at * p->chunksize, len = nbytes - from < p->chunksize ? nbytes - from : p->chunksize;
        shift_items(p, nbytes, from, -len);
      }
  }
  free(data);
  say_schunk(p->schunk, p->exact && p->place->place < IN_FILE, p->nbytes);
}

static void read_chunks(struct program *p) {
  blosc2_schunk *schunk = p->schunk;
  int64_t at = any_chunk(p);
  int32_t room = p->chunksize - (once_in(12) ? 1 : 0);
  uint8_t *to = buffer_of(p->chunksize);
  switch (below(5)) {
    case 0: {
      int rc = blosc2_schunk_decompress_chunk(schunk, at, to, room);
      say("decompress_chunk %lld into %d: %d %08x%s", (long long)at, room, rc, rc > 0 ? hash(to, rc) : 0,
          verdict(p, at * p->chunksize, to, rc, chunk_len(p, at, room)));
      break;
    }
    case 1: {
      uint8_t *chunk = NULL;
      bool needs_free = false;
      int rc = blosc2_schunk_get_chunk(schunk, at, &chunk, &needs_free);
      say("get_chunk %lld: %lld %08x", (long long)at, (long long)shown(rc, p->exact), rc > 0 && p->exact && p->place->cparams.nthreads == 1 ? hash(chunk, rc) : 0);
      if (rc > 0 && !needs_schunk(&p->place->cparams)) {
        blosc2_context *ctx = blosc2_create_dctx(random_dparams());
        int got = blosc2_decompress_ctx(ctx, chunk, rc, to, p->chunksize);
        say("  special %d, decompress_ctx: %d %08x%s", special_of(chunk), got, got > 0 ? hash(to, got) : 0,
            verdict(p, at * p->chunksize, to, got, chunk_len(p, at, p->chunksize)));
        blosc2_free_ctx(ctx);
      }
      if (needs_free) {
        free(chunk);
      }
      break;
    }
    case 2:
    case 3: {
      uint8_t *chunk = NULL;
      bool needs_free = false;
      int rc = blosc2_schunk_get_lazychunk(schunk, at, &chunk, &needs_free);
      say("get_lazychunk %lld: %lld", (long long)at, (long long)shown(rc, p->exact));
      if (rc > 0) {
        int32_t nbytes = -1, cbytes = -1, blocksize = -1;
        blosc2_cbuffer_sizes(chunk, &nbytes, &cbytes, &blocksize);
        say("  nbytes %d", nbytes);
        int32_t items = nbytes / p->typesize;
        if (once_in(3)) {
          int got = blosc2_decompress_ctx(schunk->dctx, chunk, rc, to, room);
          say("  decompress_ctx into %d: %d %08x%s", room, got, got > 0 ? hash(to, got) : 0, verdict(p, at * p->chunksize, to, got, chunk_len(p, at, room)));
        }
        for (int i = 0; i < 2; i++) {
          int32_t from = (int32_t)below(items + 1), count = (int32_t)below(items - from + (once_in(12) ? 2 : 1));
          int got = blosc2_getitem_ctx(schunk->dctx, chunk, rc, from, count, to, p->chunksize);
          say("  getitem_ctx %d %d: %d %08x%s", from, count, got, got > 0 ? hash(to, got) : 0,
              verdict(p, at * p->chunksize + from * p->typesize, to, got, from + count > items ? -1 : count * p->typesize));
        }
      }
      if (needs_free) {
        free(chunk);
      }
      break;
    }
    default: {
      int64_t items = schunk->nbytes / p->typesize;
      int64_t from = below(items + 1), to_item = from + below(items - from + (once_in(12) ? 2 : 1));
      uint8_t *all = buffer_of((to_item - from + 1) * p->typesize);
      int rc = blosc2_schunk_get_slice_buffer(schunk, from, to_item, all);
      say("get_slice_buffer %lld %lld: %d %08x%s", (long long)from, (long long)to_item, rc,
          rc >= 0 ? hash(all, (to_item - from) * p->typesize) : 0,
          verdict(p, from * p->typesize, all, rc < 0 ? rc : (to_item - from) * p->typesize, (to_item - from) * p->typesize));
      free(all);
      if (from == to_item || to_item > items) {
        break;
      }
      int64_t *chunks = NULL;
      int64_t count = blosc2_get_slice_nchunks(schunk, &from, &to_item, &chunks);
      say("  of %lld chunks %08x", (long long)count, count > 0 ? hash(chunks, count * 8) : 0);
      if (count >= 0) {
        free(chunks);
      }
    }
  }
  free(to);
}

static void write_slice(struct program *p) {
  /* A write of some items may round the others again. */
  if (!lossless(&p->place->cparams)) {
    return;
  }
  int64_t items = p->schunk->nbytes / p->typesize;
  int64_t from = below(items + 1), to = from + below(items - from + 1);
  uint8_t *data = data_of((to - from) * p->typesize, p->typesize);
  int rc = blosc2_schunk_set_slice_buffer(p->schunk, from, to, data);
  /* The reference does not read all chunks with a dictionary again. */
  say("set_slice_buffer %lld %lld: %d%s", (long long)from, (long long)to, rc, rc < 0 && p->known && p->place->cparams.use_dict ? " WRONG" : "");
  if (rc >= 0) {
    set_items(p, from * p->typesize, data, (to - from) * p->typesize);
  }
  p->is_over = rc < 0;
  free(data);
  /* The reference compresses the whole chunk anew. */
  p->exact = false;
  say_schunk(p->schunk, false, p->nbytes);
}

static void metalayers(struct program *p) {
  char name[] = {'m', (char)('0' + below(4)), 0};
  uint8_t content[300];
  int32_t len = (int32_t)between(1, sizeof content);
  for (int32_t i = 0; i < len; i++) {
    content[i] = (uint8_t)(i / 7 + name[1]);
  }
  blosc2_schunk *schunk = p->schunk;
  int rc;
  switch (below(8)) {
    case 0:
      /* Metalayers of fixed length come before the chunks: the reference adds those that come too late, and cannot write them. */
      if (!p->has_changed) {
        rc = blosc2_meta_add(schunk, name, content, len);
        say("meta_add %s %d: %d", name, len, rc);
      }
      break;
    case 1: rc = blosc2_meta_update(schunk, name, content, len); say("meta_update %s %d: %d", name, len, rc); break;
    case 2:
    case 3: {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.compcode = BLOSC_ZSTD;
      cparams.typesize = 1;
      rc = blosc2_vlmeta_add(schunk, name, content, len, once_in(2) ? &cparams : NULL);
      say("vlmeta_add %s %d: %d", name, len, rc);
      break;
    }
    case 4:
      rc = blosc2_vlmeta_update(schunk, name, content, len, NULL);
      say("vlmeta_update %s %d: %d", name, len, rc);
      break;
    case 5: rc = blosc2_vlmeta_delete(schunk, name); say("vlmeta_delete %s: %d", name, rc); break;
    case 6: {
      char *names[BLOSC2_MAX_VLMETALAYERS] = {0};
      rc = blosc2_vlmeta_get_names(schunk, names);
      say("vlmeta_get_names: %d", rc);
      for (int i = 0; i < rc; i++) {
        say("  %s", names[i]);
      }
      break;
    }
    default: {
      uint8_t *got = NULL;
      len = -1;
      rc = blosc2_vlmeta_get(schunk, name, &got, &len);
      say("vlmeta_get %s: %d %08x, exists: %d %d", name, rc, rc >= 0 ? hash(got, len) : 0, blosc2_vlmeta_exists(schunk, name),
          blosc2_meta_exists(schunk, name));
      if (rc >= 0) {
        free(got);
      }
    }
  }
}

/* The program goes on with another super-chunk. */
static void take(struct program *p, blosc2_schunk *other) {
  if (other != NULL) {
    blosc2_schunk_free(p->schunk);
    p->schunk = other;
  }
}

static void moves(struct program *p) {
  switch (below(6)) {
    case 0: {
      struct place_of *place = random_place(p->typesize);
      blosc2_schunk *copy = blosc2_schunk_copy(p->schunk, &place->storage);
      /* The reference does not read all chunks with a dictionary again. */
      say("copy: %d%s", copy != NULL, copy == NULL && p->place->cparams.use_dict ? " WRONG" : "");
      if (copy != NULL) {
        p->exact = p->exact && same_bytes(&place->cparams);
        p->known = p->known && lossless(&place->cparams);
        p->place = place;
      }
      take(p, copy);
      break;
    }
    case 1: {
      uint8_t *frame = NULL;
      bool needs_free = false;
      int64_t len = blosc2_schunk_to_buffer(p->schunk, &frame, &needs_free);
      say("to_buffer: %d, free %d", len > 0, needs_free);
      if (len > 0) {
        blosc2_schunk *other = blosc2_schunk_from_buffer(frame, len, true);
        say("from_buffer: %d", other != NULL);
        if (needs_free) {
          free(frame);
        }
        if (other != NULL) {
          p->place = memcpy(buffer_of(sizeof *p->place), p->place, sizeof *p->place);
          p->place->place = IN_MEMORY;
        }
        take(p, other);
      }
      break;
    }
    case 2: {
      char path[40];
      snprintf(path, sizeof path, "saved%d.b2frame", files++);
      int64_t len = blosc2_schunk_to_file(p->schunk, path);
      say("to_file: %d", len > 0);
      blosc2_schunk *other = blosc2_schunk_open(path);
      say("open: %d", other != NULL);
      if (other != NULL) {
        read_schunk(p, other);
        blosc2_schunk_free(other);
      }
      break;
    }
    case 3: {
      char path[40];
      snprintf(path, sizeof path, "joined%d.b2frame", files++);
      int64_t first = blosc2_schunk_append_file(p->schunk, path), second = blosc2_schunk_append_file(p->schunk, path);
      say("append_file: %lld %d", (long long)first, second > 0);
      blosc2_schunk *other = second > 0 ? blosc2_schunk_open_offset(path, second) : NULL;
      say("open_offset: %d", other != NULL);
      if (other != NULL) {
        read_schunk(p, other);
        blosc2_schunk_free(other);
      }
      break;
    }
    default:
      if (p->place->place >= IN_FILE) {
        blosc2_schunk_free(p->schunk);
        if (p->place->place != IN_DIRECTORY && once_in(2)) {
          struct place_of *place = memcpy(buffer_of(sizeof *place), p->place, sizeof *place);
          place->map = BLOSC2_STDIO_MMAP_DEFAULTS;
          const char *mode = "r+";
          place->map.mode = mode;
          place->io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "mmap", .params = &place->map};
          p->place = place;
          p->schunk = blosc2_schunk_open_udio(place->path, &place->io);
          say("open through a map, %s: %d", mode, p->schunk != NULL);
        } else {
          p->schunk = blosc2_schunk_open(p->place->path);
          say("open: %d", p->schunk != NULL);
        }
      }
  }
  if (p->schunk != NULL) {
    say_schunk(p->schunk, false, p->nbytes);
  }
}

static void others(struct program *p) {
  blosc2_schunk *schunk = p->schunk;
  switch (below(6)) {
    case 0: {
      blosc2_cparams *params = NULL;
      int rc = blosc2_schunk_get_cparams(schunk, &params);
      say("get_cparams: %d", rc);
      if (rc >= 0) {
        params->blocksize = p->was_short ? 0 : params->blocksize;
        say_params(params);
        free(params);
      }
      break;
    }
    case 1: {
      blosc2_dparams *params = NULL;
      int rc = blosc2_schunk_get_dparams(schunk, &params);
      say("get_dparams: %d threads %d", rc, rc >= 0 ? params->nthreads : 0);
      free(params);
      break;
    }
    case 2: {
      int64_t order[64], count = schunk->nchunks;
      if (count > 64 || (count > 0 && schunk->nbytes % p->chunksize != 0)) {
        return;
      }
      for (int64_t i = 0; i < count; i++) {
        order[i] = i;
      }
      for (int64_t i = count - 1; i > 0; i--) {
        int64_t other = below(i + 1), number = order[i];
        order[i] = order[other];
        order[other] = number;
      }
      int rc = count > 0 ? blosc2_schunk_reorder_offsets(schunk, order) : 0;
      say("reorder_offsets: %d", rc);
      uint8_t *before = buffer_of(schunk->nbytes);
      memcpy(before, p->items, (size_t)schunk->nbytes);
      for (int64_t i = 0; i < count && rc >= 0; i++) {
        set_items(p, i * p->chunksize, before + order[i] * p->chunksize, p->chunksize);
      }
      free(before);
      /* The reference then takes the offsets of some special chunks for others. */
      read_schunk(p, schunk);
      p->is_over = true;
      break;
    }
    case 3: {
      int64_t items = schunk->nbytes / p->typesize, coords[20], count = below(21);
      /* The reference needs the block size of the super-chunk, and takes it from a chunk of special values. */
      if (items == 0 || p->place->cparams.blocksize == 0 || p->filled) {
        return;
      }
      for (int64_t i = 0; i < count; i++) {
        coords[i] = below(items);
      }
      uint8_t *to = buffer_of(count * p->typesize);
      int rc = blosc2_schunk_get_sparse_buffer(schunk, count, coords, to);
      say("get_sparse_buffer %lld: %d %08x%s", (long long)count, rc, rc >= 0 ? hash(to, count * p->typesize) : 0,
          p->known && rc < 0 ? " WRONG" : "");
      free(to);
      break;
    }
    case 4: {
      int locked = blosc2_schunk_lock(schunk), unlocked = blosc2_schunk_unlock(schunk);
      say("lock: %d %d", locked, unlocked);
      break;
    }
    default:
      /* Of a copy of a frame without chunks the reference has counted those that were there. */
      if (schunk->nchunks > 0) {
        say("frame_len: %d", blosc2_schunk_frame_len(schunk) > 0);
      }
  }
}

void schunk_program(void) {
  struct program p = {0};
  p.typesize = ONE_OF(1, 2, 3, 4, 4, 8, 8, 12, 16);
  say("super-chunk");
  p.place = random_place(p.typesize);
  p.chunksize = (int32_t)between(1, once_in(3) ? 3000 : 400) * p.typesize;
  p.exact = same_bytes(&p.place->cparams);
  p.known = lossless(&p.place->cparams);
  p.items = buffer_of(8 * MOST);
  p.schunk = blosc2_schunk_new(&p.place->storage);
  say("new: %d", p.schunk != NULL);
  if (p.schunk == NULL) {
    return;
  }
  if (once_in(6)) {
    int64_t items = between(1, 5 * p.chunksize / p.typesize);
    int kind = ONE_OF(BLOSC2_SPECIAL_ZERO, BLOSC2_SPECIAL_NAN);
    int64_t rc = blosc2_schunk_fill_special(p.schunk, items, kind, p.chunksize);
    say("fill_special %lld %d: %lld", (long long)items, kind, (long long)rc);
    memset(p.items, 0, (size_t)(items * p.typesize));
    p.nbytes = items * p.typesize;
    p.filled = p.has_changed = true;
    p.known = p.known && kind == BLOSC2_SPECIAL_ZERO;
  }
  int steps = (int)between(3, 25);
  for (int step = 0; step < steps && p.schunk != NULL && !p.is_over; step++) {
    switch (below(10)) {
      case 0: case 1: case 2: case 3: change_chunks(&p); break;
      case 4: case 5: read_chunks(&p); break;
      case 6: write_slice(&p); break;
      case 7: metalayers(&p); break;
      case 8: moves(&p); break;
      default: others(&p);
    }
  }
  if (p.schunk != NULL && !p.is_over) {
    read_schunk(&p, p.schunk);
    blosc2_schunk_free(p.schunk);
  }
}
