/* Programs of calls on several handles of one frame. */
#include "storages.h"
#include <unistd.h>

#define MOST_HANDLES 3
#define MOST_ITEMS 60000
#define MOST_LAYERS 3
#define MOST_CONTENT 100
#define FIXED_LEN 20

/* What a variable-length metalayer should hold; it is not there if that is nothing. */
struct layer {
  uint8_t content[MOST_CONTENT];
  int32_t len;
};

struct handle {
  blosc2_schunk *schunk;
  /* Of an array: its super-chunk is the one above. */
  b2nd_array_t *array;
  blosc2_stdio_params params;
  blosc2_stdio_mmap map;
  blosc2_io io;
  bool only_reads;
};

struct program {
  char path[40];
  struct handle handles[MOST_HANDLES];
  blosc2_cparams cparams;
  int32_t typesize, chunksize;
  /* Whether handles keep each other out. */
  bool locks;
  bool is_array;
  /* What the frame should hold. */
  uint8_t *items;
  int64_t nbytes;
  /* The fixed-length metalayer, if it has one, and the handle that changed it: others may not know it yet. */
  bool has_fixed;
  uint8_t fixed[FIXED_LEN];
  const struct handle *fixed_by;
  struct layer layers[MOST_LAYERS];
};

static const char *verdict(const struct program *p, int64_t from, const uint8_t *bytes, int64_t rc, int64_t len) {
  return rc != len || memcmp(p->items + from, bytes, (size_t)len) != 0 ? " WRONG" : "";
}

/* Whether a call failed that should not, or the reverse. */
static const char *should(const struct handle *handle, int64_t rc, bool be_right) {
  return !handle->only_reads && (rc >= 0) != be_right ? " WRONG" : "";
}

/* Whether a call that is valid failed. Some do in the reference, through handles that do not know yet what others changed. */
static const char *failed(const struct handle *handle, int64_t rc) { return should(handle, rc, true); }

/* The same of a call that tells how many chunks there are. */
static const char *counted(const struct handle *handle, int64_t rc, int64_t chunks) { return should(handle, rc == chunks ? 0 : -1, true); }

static int number_of(const struct program *p, const struct handle *handle) { return (int)(handle - p->handles); }

/* What a handle says of itself. Those that do not lock may not know it yet. */
static void state(const struct program *p, const struct handle *handle) {
  blosc2_schunk *schunk = handle->schunk;
  if (handle->only_reads || !p->locks) {
    return;
  }
  say("  %d: nchunks %lld nbytes %lld layers %d %d%s", number_of(p, handle), (long long)schunk->nchunks, (long long)schunk->nbytes,
      schunk->nmetalayers, schunk->nvlmetalayers, schunk->nbytes != p->nbytes ? " WRONG" : "");
}

static void set_io(const struct program *p, struct handle *handle) {
  handle->params = (blosc2_stdio_params){.locking = p->locks};
  handle->io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM, .name = "filesystem", .params = &handle->params};
}

static void opened(struct program *p, struct handle *handle) {
  bool maps = !p->locks && strncmp(p->path, "file", 4) == 0 && once_in(6);
  const char *mode = "";
  set_io(p, handle);
  if (maps) {
    handle->map = BLOSC2_STDIO_MMAP_DEFAULTS;
    handle->only_reads = once_in(2);
    mode = handle->only_reads ? "r" : "r+";
    handle->map.mode = mode;
    handle->io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "mmap", .params = &handle->map};
  }
  handle->schunk = blosc2_schunk_open_udio(p->path, &handle->io);
  say("open %d, map '%s': %d%s", number_of(p, handle), mode, handle->schunk != NULL,
      handle->schunk == NULL ? " WRONG" : "");
  if (handle->schunk != NULL && p->is_array) {
    int rc = b2nd_from_schunk(handle->schunk, &handle->array);
    say("from_schunk: %d", rc);
    if (rc < 0) {
      blosc2_schunk_free(handle->schunk);
      handle->schunk = NULL;
    }
  }
}

static void closed(struct program *p, struct handle *handle) {
  say("close %d", number_of(p, handle));
  if (handle->array != NULL) {
    b2nd_free(handle->array);
  } else {
    blosc2_schunk_free(handle->schunk);
  }
  *handle = (struct handle){0};
}

static void change_chunks(struct program *p, struct handle *handle) {
  blosc2_schunk *schunk = handle->schunk;
  int64_t chunks = p->nbytes / p->chunksize, at = below(chunks), rc;
  uint8_t *data = data_of(p->chunksize, p->typesize), *chunk = buffer_of(p->chunksize + BLOSC2_MAX_OVERHEAD);
  uint8_t *room = buffer_of(p->chunksize);
  int which = number_of(p, handle), choice = (int)below(chunks > 0 ? 6 : 2);
  choice = p->nbytes > MOST_ITEMS ? 5 : choice;
  blosc2_context *ctx = blosc2_create_cctx(p->cparams);
  blosc2_compress_ctx(ctx, data, p->chunksize, chunk, p->chunksize + BLOSC2_MAX_OVERHEAD);
  blosc2_free_ctx(ctx);
  int64_t from = at * p->chunksize;
  switch (choice) {
    case 0:
    case 1:
      rc = choice == 0 ? blosc2_schunk_append_buffer(schunk, data, p->chunksize) : blosc2_schunk_append_chunk(schunk, chunk, true);
      say("%d: append_%s: %lld%s", which, choice == 0 ? "buffer" : "chunk", (long long)rc, counted(handle, rc, chunks + 1));
      if (rc > 0) {
        memcpy(p->items + p->nbytes, data, (size_t)p->chunksize);
        p->nbytes += p->chunksize;
      }
      break;
    case 2:
      rc = blosc2_schunk_insert_chunk(schunk, at, chunk, true);
      say("%d: insert_chunk %lld: %lld%s", which, (long long)at, (long long)rc, counted(handle, rc, chunks + 1));
      if (rc > 0) {
        memmove(p->items + from + p->chunksize, p->items + from, (size_t)(p->nbytes - from));
        memcpy(p->items + from, data, (size_t)p->chunksize);
        p->nbytes += p->chunksize;
      }
      break;
    case 3:
      /* The number is compared with what the handle knows, before it looks: so it has to look first. */
      rc = blosc2_schunk_decompress_chunk(schunk, at, room, p->chunksize);
      rc = rc < 0 ? rc : blosc2_schunk_update_chunk(schunk, at, chunk, true);
      say("%d: update_chunk %lld: %lld%s", which, (long long)at, (long long)rc, counted(handle, rc, chunks));
      if (rc > 0) {
        memcpy(p->items + from, data, (size_t)p->chunksize);
      }
      break;
    case 4: {
      int64_t items = p->nbytes / p->typesize, start = below(items), stop = between(start + 1, items);
      uint8_t *more = data_of((stop - start) * p->typesize, p->typesize);
      rc = blosc2_schunk_set_slice_buffer(schunk, start, stop, more);
      say("%d: set_slice_buffer %lld %lld: %lld%s", which, (long long)start, (long long)stop, (long long)rc, failed(handle, rc));
      if (rc >= 0) {
        memcpy(p->items + start * p->typesize, more, (size_t)((stop - start) * p->typesize));
      }
      free(more);
      break;
    }
    default:
      rc = blosc2_schunk_delete_chunk(schunk, at);
      say("%d: delete_chunk %lld: %lld%s", which, (long long)at, (long long)rc, counted(handle, rc, chunks - 1));
      if (rc >= 0) {
        p->nbytes -= p->chunksize;
        memmove(p->items + from, p->items + from + p->chunksize, (size_t)(p->nbytes - from));
      }
  }
  free(data);
  free(chunk);
  free(room);
  if (rc >= 0) {
    state(p, handle);
  }
}

static void read_chunks(struct program *p, struct handle *handle) {
  blosc2_schunk *schunk = handle->schunk;
  int64_t chunks = p->nbytes / p->chunksize, at = below(chunks);
  int which = number_of(p, handle), rc;
  if (chunks == 0) {
    return;
  }
  uint8_t *to = buffer_of(p->nbytes), *chunk = NULL;
  bool needs_free = false;
  switch (below(5)) {
    case 0:
      rc = blosc2_schunk_decompress_chunk(schunk, at, to, p->chunksize);
      say("%d: decompress_chunk %lld: %d%s", which, (long long)at, rc, verdict(p, at * p->chunksize, to, rc, p->chunksize));
      break;
    case 1: {
      int64_t items = p->nbytes / p->typesize, start = below(items), stop = between(start + 1, items);
      rc = blosc2_schunk_get_slice_buffer(schunk, start, stop, to);
      int64_t len = (stop - start) * p->typesize;
      say("%d: get_slice_buffer %lld %lld: %d%s", which, (long long)start, (long long)stop, rc, verdict(p, start * p->typesize, to, rc < 0 ? rc : len, len));
      break;
    }
    case 2: {
      bool lazy = once_in(2);
      rc = lazy ? blosc2_schunk_get_lazychunk(schunk, at, &chunk, &needs_free) : blosc2_schunk_get_chunk(schunk, at, &chunk, &needs_free);
      int got = rc > 0 ? blosc2_decompress_ctx(schunk->dctx, chunk, rc, to, p->chunksize) : rc;
      say("%d: get_%schunk %lld: %d, decompress_ctx: %d%s", which, lazy ? "lazy" : "", (long long)at, rc > 0, got,
          verdict(p, at * p->chunksize, to, got, p->chunksize));
      break;
    }
    case 3: {
      uint8_t *frame = NULL;
      int64_t len = blosc2_schunk_to_buffer(schunk, &frame, &needs_free);
      blosc2_schunk *other = len > 0 ? blosc2_schunk_from_buffer(frame, len, true) : NULL;
      rc = other != NULL && other->nbytes == p->nbytes ? blosc2_schunk_decompress_chunk(other, at, to, p->chunksize) : -1;
      say("%d: to_buffer: %d, from_buffer: %d, decompress_chunk %lld: %d%s", which, len > 0, other != NULL, (long long)at, rc,
          verdict(p, at * p->chunksize, to, rc, p->chunksize));
      if (other != NULL) {
        blosc2_schunk_free(other);
      }
      free(needs_free ? frame : NULL);
      needs_free = false;
      break;
    }
    default: {
      blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
      storage.contiguous = once_in(2);
      blosc2_schunk *copy = blosc2_schunk_copy(schunk, &storage);
      rc = copy != NULL && copy->nbytes == p->nbytes ? blosc2_schunk_decompress_chunk(copy, at, to, p->chunksize) : -1;
      say("%d: copy: %d, decompress_chunk %lld: %d%s", which, copy != NULL, (long long)at, rc, verdict(p, at * p->chunksize, to, rc, p->chunksize));
      if (copy != NULL) {
        blosc2_schunk_free(copy);
      }
    }
  }
  if (needs_free) {
    free(chunk);
  }
  free(to);
  state(p, handle);
}

static void metalayers(struct program *p, struct handle *handle) {
  blosc2_schunk *schunk = handle->schunk;
  int which = number_of(p, handle), rc;
  const char *names[MOST_LAYERS] = {"fixed", "v", "w"};
  int64_t at = below(MOST_LAYERS);
  const char *name = names[at];
  struct layer *layer = &p->layers[at], new = {.len = (int32_t)between(1, MOST_CONTENT)};
  memset(new.content, (int)(next_number() % 250), sizeof new.content);
  switch (below(6)) {
    case 0:
      rc = blosc2_meta_update(schunk, "fixed", new.content, FIXED_LEN);
      say("%d: meta_update: %d%s", which, rc, should(handle, rc, p->has_fixed));
      if (rc >= 0) {
        p->fixed_by = handle;
        memcpy(p->fixed, new.content, FIXED_LEN);
      }
      break;
    case 1:
      rc = blosc2_vlmeta_add(schunk, name, new.content, new.len, NULL);
      say("%d: vlmeta_add %s %d: %d%s", which, name, new.len, rc, should(handle, rc, layer->len == 0));
      *layer = rc >= 0 ? new : *layer;
      break;
    case 2:
      rc = blosc2_vlmeta_update(schunk, name, new.content, new.len, NULL);
      say("%d: vlmeta_update %s %d: %d%s", which, name, new.len, rc, should(handle, rc, layer->len > 0));
      *layer = rc >= 0 ? new : *layer;
      break;
    case 3:
      rc = blosc2_vlmeta_delete(schunk, name);
      say("%d: vlmeta_delete %s: %d%s", which, name, rc >= 0 ? 0 : rc, should(handle, rc, layer->len > 0));
      layer->len = rc >= 0 ? 0 : layer->len;
      break;
    default: {
      uint8_t *got = NULL;
      int32_t len = -1;
      bool fixed = once_in(2), wrong;
      rc = fixed ? blosc2_meta_get(schunk, "fixed", &got, &len) : blosc2_vlmeta_get(schunk, name, &got, &len);
      int32_t expected = !fixed ? layer->len : p->has_fixed ? FIXED_LEN : 0;
      wrong = rc < 0 ? expected > 0 : len != expected || memcmp(got, fixed ? p->fixed : layer->content, (size_t)len) != 0;
      say("%d: %smeta_get %s: %d%s", which, fixed ? "" : "vl", fixed ? "fixed" : name, rc, wrong && (!fixed || p->fixed_by == handle) ? " WRONG" : "");
      free(rc >= 0 ? got : NULL);
    }
  }
}

/* Several changes that the others see at once. */
static void locked(struct program *p, struct handle *handle) {
  int rc = blosc2_schunk_lock(handle->schunk);
  say("%d: lock: %d", number_of(p, handle), rc);
  for (int64_t i = between(0, 3); i > 0; i--) {
    if (once_in(3)) {
      read_chunks(p, handle);
    } else {
      change_chunks(p, handle);
    }
  }
  rc = blosc2_schunk_unlock(handle->schunk);
  say("%d: unlock: %d", number_of(p, handle), rc);
}

static void shapes(struct program *p, struct handle *handle) {
  b2nd_array_t *array = handle->array;
  int64_t items = p->nbytes / p->typesize, chunk = p->chunksize / p->typesize, rc;
  int64_t start = below(items + 1), stop = between(start, items), len = (stop - start) * p->typesize, room = stop - start;
  int which = number_of(p, handle), choice = (int)below(8);
  choice = p->nbytes > MOST_ITEMS && (choice == 1 || choice == 2) ? 3 : choice;
  uint8_t *data = data_of(p->nbytes + 2 * p->chunksize, p->typesize);
  switch (choice) {
    case 0:
      rc = b2nd_set_slice_cbuffer(data, &room, len, &start, &stop, array);
      say("%d: set_slice_cbuffer %lld %lld: %lld%s", which, (long long)start, (long long)stop, (long long)rc, failed(handle, rc));
      if (rc >= 0) {
        memcpy(p->items + start * p->typesize, data, (size_t)len);
      }
      break;
    case 1:
      rc = b2nd_append(array, data, p->chunksize, 0);
      /* Where the reference does not die, it has two codes for what a map refuses. */
      rc = handle->only_reads && rc < 0 ? -1 : rc;
      say("%d: append: %lld%s", which, (long long)rc, failed(handle, rc));
      if (rc >= 0) {
        memcpy(p->items + p->nbytes, data, (size_t)p->chunksize);
        p->nbytes += p->chunksize;
      }
      break;
    case 2: {
      int64_t more = items + chunk * between(0, 2);
      rc = b2nd_resize(array, &more, NULL);
      say("%d: resize to %lld: %lld%s", which, (long long)more, (long long)rc, failed(handle, rc));
      if (rc >= 0) {
        memset(p->items + p->nbytes, 0, (size_t)((more - items) * p->typesize));
        p->nbytes = more * p->typesize;
      }
      break;
    }
    case 3: {
      int64_t less = items - chunk * below(items / chunk);
      rc = b2nd_resize(array, &less, NULL);
      say("%d: resize to %lld: %lld%s", which, (long long)less, (long long)rc, failed(handle, rc));
      p->nbytes = rc >= 0 ? less * p->typesize : p->nbytes;
      break;
    }
    case 4:
      rc = b2nd_refresh(array);
      /* That something was read again, this library also says of items that others changed. */
      say("%d: refresh: %d, shape %lld%s", which, rc >= 0, (long long)array->shape[0], array->shape[0] != items ? " WRONG" : "");
      break;
    case 5: {
      b2nd_array_t *view = NULL;
      bool axes[2] = {true, false};
      rc = b2nd_expand_dims(array, &view, axes, 2);
      say("%d: expand_dims: %lld, shape %lld%s", which, (long long)rc, rc >= 0 ? (long long)view->shape[1] : 0,
          rc >= 0 && view->shape[1] != items ? " WRONG" : "");
      if (rc >= 0) {
        int64_t bytes = view->nitems * p->typesize;
        uint8_t *to = buffer_of(bytes);
        rc = b2nd_to_cbuffer(view, to, bytes);
        say("  to_cbuffer: %lld %lld%s", (long long)rc, (long long)bytes, verdict(p, 0, to, rc < 0 ? rc : bytes, p->nbytes));
        free(to);
        b2nd_free(view);
      }
      break;
    }
    case 6: {
      blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
      storage.cparams = &p->cparams;
      int64_t shape = array->shape[0];
      int32_t part = p->chunksize / p->typesize;
      b2nd_array_t *copy = NULL;
      rc = b2nd_copy(b2nd_create_ctx(&storage, 1, &shape, &part, &part, NULL, 0, NULL, 0), array, &copy);
      say("%d: copy: %lld, shape %lld%s", which, (long long)rc, rc >= 0 ? (long long)copy->shape[0] : 0,
          rc < 0 || copy->shape[0] != items ? " WRONG" : "");
      if (rc >= 0) {
        b2nd_free(copy);
      }
      break;
    }
    default:
      rc = b2nd_get_slice_cbuffer(array, &start, &stop, data, &room, len);
      say("%d: get_slice_cbuffer %lld %lld: %lld%s", which, (long long)start, (long long)stop, (long long)rc,
          verdict(p, start * p->typesize, data, rc < 0 ? rc : len, len));
  }
  free(data);
  say("  shape %lld%s", (long long)array->shape[0], array->shape[0] * p->typesize != p->nbytes ? " WRONG" : "");
}

static bool made(struct program *p) {
  struct handle *first = &p->handles[0];
  set_io(p, first);
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = strncmp(p->path, "file", 4) == 0;
  storage.urlpath = p->path;
  storage.cparams = &p->cparams;
  storage.dparams = &dparams;
  storage.io = &first->io;
  if (p->is_array) {
    int64_t shape = 0;
    int32_t chunk = p->chunksize / p->typesize, block = (int32_t)between(1, chunk);
    blosc2_metalayer layer = {.name = "fixed", .content = p->fixed, .content_len = FIXED_LEN};
    shape = chunk * between(1, 4);
    p->nbytes = shape * p->typesize;
    uint8_t *data = data_of(p->nbytes, p->typesize);
    memcpy(p->items, data, (size_t)p->nbytes);
    int rc = b2nd_from_cbuffer(b2nd_create_ctx(&storage, 1, &shape, &chunk, &block, NULL, 0, &layer, p->has_fixed), &first->array, data, p->nbytes);
    say("array of %lld: %d", (long long)shape, rc);
    free(data);
    first->schunk = rc >= 0 ? first->array->sc : NULL;
  } else {
    first->schunk = blosc2_schunk_new(&storage);
    say("new: %d", first->schunk != NULL);
    if (first->schunk != NULL && p->has_fixed) {
      say("meta_add: %d", blosc2_meta_add(first->schunk, "fixed", p->fixed, FIXED_LEN));
    }
  }
  return first->schunk != NULL;
}

void handles_program(void) {
  struct program p = {0};
  p.typesize = ONE_OF(1, 2, 4, 8);
  p.locks = !once_in(4);
  p.is_array = once_in(2);
  /* An array with other metalayers has no views. */
  p.has_fixed = once_in(2);
  bool directory = once_in(2);
  snprintf(p.path, sizeof p.path, directory ? "directory.b2frame" : "file.b2frame");
  p.cparams = random_cparams(p.typesize);
  p.cparams.use_dict = 0;
  memset(p.cparams.filters, 0, sizeof p.cparams.filters);
  p.cparams.filters[5] = BLOSC_SHUFFLE;
  p.chunksize = (int32_t)between(1, 500) * p.typesize;
  p.items = buffer_of(MOST_ITEMS * 3);
  say("handles of a %s, locks %d, array %d, chunks of %d items of %d", directory ? "directory" : "file", p.locks, p.is_array,
      p.chunksize / p.typesize, p.typesize);
  say_params(&p.cparams);
  if (!made(&p)) {
    return;
  }
  int steps = (int)between(5, 30);
  for (int step = 0; step < steps; step++) {
    struct handle *handle = &p.handles[below(MOST_HANDLES)];
    if (handle->schunk == NULL) {
      opened(&p, handle);
      if (!handle->only_reads) {
        continue;
      }
    }
    /* The reference compares numbers with what a handle knows before it looks. By this it looks, if it locks. */
    if (!once_in(25)) {
      blosc2_vlmeta_exists(handle->schunk, "v");
    }
    int choice = (int)below(10);
    if (choice == 0) {
      closed(&p, handle);
    } else if (handle->only_reads) {
      /* Changes are refused; in the reference the handle then counts what it refused. */
      if (p.is_array) {
        shapes(&p, handle);
      } else {
        once_in(2) ? change_chunks(&p, handle) : read_chunks(&p, handle);
      }
      closed(&p, handle);
    } else if (choice == 1) {
      metalayers(&p, handle);
    } else if (p.is_array) {
      shapes(&p, handle);
    } else if (choice == 2 && p.locks) {
      locked(&p, handle);
    } else if (choice < 6) {
      change_chunks(&p, handle);
    } else {
      read_chunks(&p, handle);
    }
  }
  for (int i = 0; i < MOST_HANDLES; i++) {
    if (p.handles[i].schunk != NULL) {
      closed(&p, &p.handles[i]);
    }
  }
  /* The reference does not open all directories of which chunks were deleted, and counts less than no bytes in some. */
  blosc2_schunk *schunk = blosc2_schunk_open(p.path);
  say("open: %d%s", schunk != NULL, schunk == NULL || schunk->cbytes < 0 ? " WRONG" : "");
  if (schunk != NULL) {
    blosc2_schunk_free(schunk);
  }
}
