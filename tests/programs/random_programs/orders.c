/* Programs that call what is valid in orders that are rare: everything is deleted, and chunks of another size come; special chunks are
   written; arrays shrink to nothing and grow again. */
#include "storages.h"

#define MOST_BYTES 60000

struct program {
  blosc2_schunk *schunk;
  struct place_of *place;
  int32_t typesize, chunksize;
  uint8_t *items;
  int64_t nbytes;
  /* Whether chunks were deleted, whose bytes the reference counts. */
  bool had_chunks;
  bool is_over;
};

static void state(const struct program *p) {
  const blosc2_schunk *schunk = p->schunk;
  say("  nchunks %lld nbytes %lld chunksize %d%s", (long long)schunk->nchunks, (long long)schunk->nbytes, schunk->chunksize,
      schunk->nbytes != p->nbytes ? " WRONG" : "");
}

static const char *verdict(const uint8_t *expected, const uint8_t *bytes, int64_t rc, int64_t len) {
  return rc != len || memcmp(expected, bytes, (size_t)len) != 0 ? " WRONG" : "";
}

static void read_all(const struct program *p) {
  state(p);
  int64_t items = p->nbytes / p->typesize;
  uint8_t *to = buffer_of(p->nbytes);
  for (int64_t i = 0; i < p->schunk->nchunks; i++) {
    int64_t from = i * p->chunksize, left = p->nbytes - from, len = left < p->chunksize ? left : p->chunksize;
    if (len <= 0) {
      break;
    }
    int rc = blosc2_schunk_decompress_chunk(p->schunk, i, to, p->chunksize);
    say("  chunk %lld: %d %08x%s", (long long)i, rc, rc > 0 ? hash(to, rc) : 0, verdict(p->items + from, to, rc, len));
  }
  int rc = blosc2_schunk_get_slice_buffer(p->schunk, 0, items, to);
  say("  get_slice_buffer of all: %d%s", rc, p->nbytes > 0 ? verdict(p->items, to, rc < 0 ? rc : p->nbytes, p->nbytes) : "");
  free(to);
}

/* A chunk of the super-chunk's size, whose data are in `data` then. */
static uint8_t *chunk_of(const struct program *p, uint8_t *data) {
  int32_t room = p->chunksize + BLOSC2_MAX_OVERHEAD;
  uint8_t *chunk = buffer_of(room);
  blosc2_cparams params = p->place->cparams;
  params.nthreads = 1;
  int kind = (int)below(4), rc;
  if (kind == 0) {
    memset(data, 0, (size_t)p->chunksize);
    rc = blosc2_chunk_zeros(params, p->chunksize, chunk, room);
  } else if (kind == 1) {
    for (int32_t i = p->typesize; i < p->chunksize; i++) {
      data[i] = data[i - p->typesize];
    }
    rc = blosc2_chunk_repeatval(params, p->chunksize, chunk, room, data);
  } else {
    blosc2_context *ctx = blosc2_create_cctx(params);
    rc = blosc2_compress_ctx(ctx, data, p->chunksize, chunk, room);
    blosc2_free_ctx(ctx);
  }
  say("  a chunk of way %d: %d", kind, rc > 0);
  if (rc <= 0) {
    free(chunk);
    return NULL;
  }
  return chunk;
}

static void fill(struct program *p) {
  int64_t items = between(0, 5 * p->chunksize / p->typesize);
  items = once_in(2) ? items - items % (p->chunksize / p->typesize) : items;
  int kind = ONE_OF(BLOSC2_SPECIAL_ZERO, BLOSC2_SPECIAL_ZERO, BLOSC2_SPECIAL_UNINIT);
  bool is_empty = p->nbytes == 0;
  if (is_empty && p->had_chunks) {
    return;
  }
  int64_t rc = blosc2_schunk_fill_special(p->schunk, items, kind, p->chunksize);
  say("fill_special %lld %d of %d: %lld", (long long)items, kind, p->chunksize, (long long)rc);
  if (rc >= 0 && is_empty) {
    memset(p->items, 0, (size_t)(items * p->typesize));
    p->nbytes = items * p->typesize;
    /* What is not told gets told. */
    if (kind == BLOSC2_SPECIAL_UNINIT) {
      uint8_t *data = data_of(p->nbytes, p->typesize);
      int written = blosc2_schunk_set_slice_buffer(p->schunk, 0, items, data);
      say("set_slice_buffer of all: %d%s", written, written < 0 ? " WRONG" : "");
      memcpy(p->items, data, (size_t)p->nbytes);
      free(data);
    }
  }
}

static void delete_all(struct program *p) {
  int64_t rc = 0;
  bool from_behind = once_in(2);
  while (p->schunk->nchunks > 0 && rc >= 0) {
    rc = blosc2_schunk_delete_chunk(p->schunk, from_behind ? p->schunk->nchunks - 1 : 0);
  }
  say("delete all: %lld%s", (long long)rc, rc < 0 ? " WRONG" : "");
  p->had_chunks = p->had_chunks || p->nbytes > 0;
  p->nbytes = 0;
  state(p);
  /* What comes next may have another size: the super-chunk keeps that of its first chunk. */
  if (once_in(2)) {
    p->chunksize = (int32_t)between(1, 300) * p->typesize;
    p->is_over = p->schunk->chunksize > 0 && p->chunksize > p->schunk->chunksize;
  }
  if (once_in(2)) {
    fill(p);
  }
}

static void change(struct program *p) {
  int64_t chunks = p->nbytes / p->chunksize, at = once_in(2) ? chunks - 1 : below(chunks), rc;
  bool short_last = p->nbytes % p->chunksize != 0;
  uint8_t *data = data_of(p->chunksize, p->typesize);
  at = at < 0 ? 0 : at;
  if (chunks == 0 || p->nbytes > MOST_BYTES) {
    rc = short_last || p->nbytes > MOST_BYTES ? 0 : blosc2_schunk_append_buffer(p->schunk, data, p->chunksize);
    say("append_buffer %d: %lld", p->chunksize, (long long)rc);
    if (rc > 0) {
      memcpy(p->items + p->nbytes, data, (size_t)p->chunksize);
      p->nbytes += p->chunksize;
    }
    free(data);
    return state(p);
  }
  uint8_t *chunk = chunk_of(p, data);
  if (chunk == NULL) {
    free(data);
    return;
  }
  switch (short_last ? 3 : below(4)) {
    case 0:
      at = once_in(2) ? chunks : at;
      rc = blosc2_schunk_insert_chunk(p->schunk, at, chunk, true);
      say("insert_chunk %lld: %lld%s", (long long)at, (long long)rc, rc < 0 ? " WRONG" : "");
      if (rc > 0) {
        memmove(p->items + (at + 1) * p->chunksize, p->items + at * p->chunksize, (size_t)(p->nbytes - at * p->chunksize));
        memcpy(p->items + at * p->chunksize, data, (size_t)p->chunksize);
        p->nbytes += p->chunksize;
      }
      break;
    case 1:
      rc = blosc2_schunk_append_chunk(p->schunk, chunk, true);
      say("append_chunk: %lld%s", (long long)rc, rc < 0 ? " WRONG" : "");
      if (rc > 0) {
        memcpy(p->items + p->nbytes, data, (size_t)p->chunksize);
        p->nbytes += p->chunksize;
      }
      break;
    default:
      rc = blosc2_schunk_update_chunk(p->schunk, at, chunk, true);
      say("update_chunk %lld: %lld%s", (long long)at, (long long)rc, rc < 0 ? " WRONG" : "");
      if (rc > 0) {
        memcpy(p->items + at * p->chunksize, data, (size_t)p->chunksize);
      }
  }
  free(chunk);
  free(data);
  state(p);
}

static void write_slice(struct program *p) {
  int64_t items = p->nbytes / p->typesize, start = below(items + 1), stop = once_in(3) ? items : between(start, items);
  uint8_t *data = data_of((stop - start) * p->typesize, p->typesize);
  int rc = blosc2_schunk_set_slice_buffer(p->schunk, start, stop, data);
  say("set_slice_buffer %lld %lld: %d", (long long)start, (long long)stop, rc);
  if (rc >= 0) {
    memcpy(p->items + start * p->typesize, data, (size_t)((stop - start) * p->typesize));
  }
  free(data);
  state(p);
}

static void reorder(struct program *p) {
  int64_t order[300], count = p->schunk->nchunks;
  if (count > COUNT(order) || p->nbytes % p->chunksize != 0) {
    return;
  }
  bool reverses = once_in(2);
  for (int64_t i = 0; i < count; i++) {
    order[i] = reverses ? count - 1 - i : (i + 1) % count;
  }
  int rc = blosc2_schunk_reorder_offsets(p->schunk, order);
  say("reorder_offsets of %lld: %d", (long long)count, rc);
  if (rc >= 0) {
    uint8_t *before = memcpy(buffer_of(p->nbytes), p->items, (size_t)p->nbytes);
    for (int64_t i = 0; i < count; i++) {
      memcpy(p->items + i * p->chunksize, before + order[i] * p->chunksize, (size_t)p->chunksize);
    }
    free(before);
  }
  read_all(p);
}

static void moves(struct program *p) {
  blosc2_schunk *other = NULL;
  if (p->place->storage.urlpath != NULL && once_in(2)) {
    blosc2_schunk_free(p->schunk);
    p->schunk = blosc2_schunk_open(p->place->path);
    say("open: %d%s", p->schunk != NULL, p->schunk == NULL ? " WRONG" : "");
    p->is_over = p->schunk == NULL;
    return;
  }
  struct place_of *place = random_place(p->typesize);
  place->cparams = p->place->cparams;
  other = blosc2_schunk_copy(p->schunk, &place->storage);
  say("copy: %d%s", other != NULL, other == NULL ? " WRONG" : "");
  if (other != NULL) {
    blosc2_schunk_free(p->schunk);
    p->schunk = other;
    p->place = place;
    read_all(p);
  }
}

static void schunk_orders(void) {
  struct program p = {0};
  p.typesize = ONE_OF(1, 2, 4, 8);
  p.place = random_place(p.typesize);
  p.place->cparams.use_dict = 0;
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
    p.place->cparams.filters[i] = p.place->cparams.filters[i] == BLOSC_TRUNC_PREC ? BLOSC_SHUFFLE : p.place->cparams.filters[i];
  }
  p.chunksize = (int32_t)between(1, 300) * p.typesize;
  p.items = buffer_of(4 * MOST_BYTES);
  p.schunk = blosc2_schunk_new(&p.place->storage);
  say("new: %d", p.schunk != NULL);
  int steps = (int)between(4, 20);
  for (int step = 0; step < steps && p.schunk != NULL && !p.is_over; step++) {
    switch (below(10)) {
      case 0: delete_all(&p); break;
      case 1: fill(&p); state(&p); break;
      case 2: reorder(&p); break;
      case 3: moves(&p); break;
      case 4: case 5: write_slice(&p); break;
      case 6: read_all(&p); break;
      default: change(&p);
    }
  }
  if (p.schunk != NULL && !p.is_over) {
    read_all(&p);
    blosc2_schunk_free(p.schunk);
  }
}

/* An array of two dimensions, and what it should hold. */
struct plane {
  b2nd_array_t *array;
  int32_t typesize;
  int64_t shape[2];
  uint8_t *items;
};

static int64_t plane_bytes(const struct plane *plane) { return plane->shape[0] * plane->shape[1] * plane->typesize; }

/* Another shape: of what was there, `cut` items from `at` on are gone, or have become zeros, along an axis. */
static void reshape(struct plane *plane, int axis, int64_t at, int64_t more) {
  int64_t shape[2] = {plane->shape[0], plane->shape[1]};
  shape[axis] += more;
  uint8_t *items = calloc((size_t)(shape[0] * shape[1] + 1), (size_t)plane->typesize);
  for (int64_t i = 0; i < shape[0]; i++) {
    for (int64_t j = 0; j < shape[1]; j++) {
      int64_t from[2] = {i, j};
      if (from[axis] >= at) {
        from[axis] -= more;
        if (from[axis] < at && more > 0) {
          continue;
        }
      }
      memcpy(items + (i * shape[1] + j) * plane->typesize, plane->items + (from[0] * plane->shape[1] + from[1]) * plane->typesize,
             (size_t)plane->typesize);
    }
  }
  free(plane->items);
  plane->items = items;
  plane->shape[axis] = shape[axis];
}

static void read_plane(struct plane *plane) {
  b2nd_array_t *array = plane->array;
  say("  shape (%lld %lld) of %d %d, nchunks %lld", (long long)array->shape[0], (long long)array->shape[1], array->chunkshape[0],
      array->chunkshape[1], (long long)array->sc->nchunks);
  int64_t bytes = plane_bytes(plane);
  uint8_t *to = buffer_of(bytes);
  int rc = b2nd_to_cbuffer(array, to, bytes);
  say("  to_cbuffer: %d%s", rc, verdict(plane->items, to, rc < 0 ? rc : bytes, bytes));
  free(to);
}

static void slice_plane(struct plane *plane, bool writes) {
  int64_t start[2], stop[2], shape[2];
  for (int d = 0; d < 2; d++) {
    start[d] = below(plane->shape[d] + 1);
    stop[d] = between(start[d], plane->shape[d]);
    shape[d] = stop[d] - start[d];
  }
  int64_t bytes = shape[0] * shape[1] * plane->typesize;
  uint8_t *buffer = data_of(bytes, plane->typesize);
  int rc = writes ? b2nd_set_slice_cbuffer(buffer, shape, bytes, start, stop, plane->array)
                  : b2nd_get_slice_cbuffer(plane->array, start, stop, buffer, shape, bytes);
  bool wrong = false;
  for (int64_t i = 0; i < shape[0] && rc >= 0; i++) {
    uint8_t *row = plane->items + ((start[0] + i) * plane->shape[1] + start[1]) * plane->typesize;
    uint8_t *other = buffer + i * shape[1] * plane->typesize;
    if (writes) {
      memcpy(row, other, (size_t)(shape[1] * plane->typesize));
    } else {
      wrong = wrong || memcmp(row, other, (size_t)(shape[1] * plane->typesize)) != 0;
    }
  }
  say("%s_slice_cbuffer (%lld %lld) (%lld %lld): %d%s", writes ? "set" : "get", (long long)start[0], (long long)start[1],
      (long long)stop[0], (long long)stop[1], rc, wrong ? " WRONG" : "");
  free(buffer);
}

/* Gives a plane another length along an axis; often none. */
static void resize_plane(struct plane *plane) {
  int axis = (int)below(2);
  int64_t length = plane->shape[axis], to = once_in(3) ? 0 : between(0, 40), shape[2] = {plane->shape[0], plane->shape[1]};
  shape[axis] = to;
  int rc;
  if (to < length && once_in(2)) {
    rc = b2nd_delete(plane->array, (int8_t)axis, to, length - to);
    say("delete %lld along %d at %lld: %d", (long long)(length - to), axis, (long long)to, rc);
  } else {
    rc = b2nd_resize(plane->array, shape, NULL);
    say("resize to (%lld %lld): %d", (long long)shape[0], (long long)shape[1], rc);
  }
  if (rc >= 0) {
    reshape(plane, axis, to < length ? to : length, to - length);
  }
}

/* Items behind, or at a place. */
static void grow_plane(struct plane *plane) {
  int axis = (int)below(2);
  int64_t length = plane->shape[axis], chunk = plane->array->chunkshape[axis], at = chunk * below(length / chunk + 1);
  /* The reference divides by the length of a dimension that is zero. */
  if (plane->shape[0] * plane->shape[1] == 0 || length > 60) {
    return;
  }
  bool appends = length % chunk == 0 && once_in(2);
  at = appends ? length : at;
  int64_t bytes = chunk * plane->shape[1 - axis] * plane->typesize;
  uint8_t *data = data_of(bytes, plane->typesize);
  int rc = appends ? b2nd_append(plane->array, data, bytes, (int8_t)axis) : b2nd_insert(plane->array, data, bytes, (int8_t)axis, at);
  say("%s along %d at %lld: %d", appends ? "append" : "insert", axis, (long long)at, rc);
  if (rc >= 0) {
    reshape(plane, axis, at, chunk);
    int64_t rows = axis == 0 ? chunk : plane->shape[0], columns = axis == 0 ? plane->shape[1] : chunk;
    for (int64_t i = 0; i < rows; i++) {
      int64_t row = axis == 0 ? at + i : i, column = axis == 0 ? 0 : at;
      memcpy(plane->items + (row * plane->shape[1] + column) * plane->typesize, data + i * columns * plane->typesize,
             (size_t)(columns * plane->typesize));
    }
  }
  free(data);
}

static void copy_plane(struct plane *plane) {
  struct place_of *place = random_place(plane->typesize);
  place->cparams.use_dict = 0;
  memset(place->cparams.filters, 0, sizeof place->cparams.filters);
  bool slices = once_in(2);
  int64_t start[2] = {0, 0};
  b2nd_array_t *other = NULL;
  b2nd_context_t *ctx = b2nd_create_ctx(&place->storage, 2, plane->shape, plane->array->chunkshape, plane->array->blockshape, "|u1", 0, NULL, 0);
  int rc = slices ? b2nd_get_slice(ctx, &other, plane->array, start, plane->shape) : b2nd_copy(ctx, plane->array, &other);
  say("%s: %d", slices ? "get_slice" : "copy", rc);
  if (rc >= 0) {
    b2nd_free(plane->array);
    plane->array = other;
  }
}

static void plane_orders(void) {
  struct plane plane = {0};
  plane.typesize = ONE_OF(1, 2, 4, 8);
  struct place_of *place = random_place(plane.typesize);
  place->cparams.use_dict = 0;
  memset(place->cparams.filters, 0, sizeof place->cparams.filters);
  int32_t chunks[2], blocks[2];
  for (int d = 0; d < 2; d++) {
    plane.shape[d] = between(0, 20);
    chunks[d] = (int32_t)between(1, 10);
    blocks[d] = (int32_t)between(1, chunks[d]);
  }
  plane.items = calloc((size_t)(plane.shape[0] * plane.shape[1] + 1), (size_t)plane.typesize);
  b2nd_context_t *ctx = b2nd_create_ctx(&place->storage, 2, plane.shape, chunks, blocks, "|u1", 0, NULL, 0);
  int rc = b2nd_zeros(ctx, &plane.array);
  say("zeros (%lld %lld) of %d %d, %d %d: %d", (long long)plane.shape[0], (long long)plane.shape[1], chunks[0], chunks[1], blocks[0],
      blocks[1], rc);
  int steps = rc < 0 ? 0 : (int)between(4, 25);
  for (int step = 0; step < steps; step++) {
    switch (below(9)) {
      case 0: case 1: case 2: resize_plane(&plane); break;
      case 3: grow_plane(&plane); break;
      case 4: case 5: slice_plane(&plane, true); break;
      case 6: slice_plane(&plane, false); break;
      case 7: copy_plane(&plane); break;
      default: continue;
    }
    read_plane(&plane);
  }
  if (plane.array != NULL) {
    b2nd_free(plane.array);
  }
}

void orders_program(void) {
  say("rare orders");
  if (once_in(2)) {
    schunk_orders();
  } else {
    plane_orders();
  }
}
