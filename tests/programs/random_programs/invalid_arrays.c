/* Programs of calls on arrays, with arguments that are not valid: one of a call, as the order in which arguments are looked at is not told.

   Left out is where the reference looks at nothing, and then reads and writes outside of what there is: negative axes, indices of orthogonal
   selections, buffers that are too small for these, shapes of buffers that are larger than the buffer, boxes that end before they
   begin, bytes that are no whole items, places for a change of shape that are negative or in a chunk, what would be deleted behind the end,
   and dimensions of a view that are not as many as were said. */
#include "storages.h"

static int64_t odd_number(int64_t likely) {
  switch (below(5)) {
    case 0: return ONE_OF(-1, -2, 0, 1);
    case 1: return likely + ONE_OF(-1, 0, 1);
    case 2: return ONE_OF(-1000, 1000);
    default: return below(likely + 1);
  }
}

static void shapes(const b2nd_array_t *array) {
  say("    nitems %lld, first of shape %lld, nchunks %lld", (long long)array->nitems, array->ndim > 0 ? (long long)array->shape[0] : -1,
      (long long)array->sc->nchunks);
}

/* Makes an array with at most one parameter that is not valid. */
static b2nd_array_t *odd_array(struct place_of *place, int32_t typesize) {
  int8_t ndim = (int8_t)between(1, 3);
  int64_t shape[B2ND_MAX_DIM];
  int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
  for (int d = 0; d < B2ND_MAX_DIM; d++) {
    shape[d] = d < ndim ? between(2, 12) : 1;
    chunks[d] = (int32_t)between(1, shape[d]);
    blocks[d] = (int32_t)between(1, chunks[d]);
  }
  const char *dtype = "<i4";
  int8_t format = 0;
  int d = (int)below(ndim);
  switch (below(16)) {
    case 0: shape[d] = ONE_OF(-1, 0, -1000); break;
    case 1: chunks[d] = ONE_OF(-1, 1, INT32_MIN); break;
    case 2: blocks[d] = ONE_OF(-1, INT32_MIN); break;
    case 3: blocks[d] = chunks[d] + 1; break;
    case 4: dtype = ""; break;
    case 5: format = (int8_t)ONE_OF(1, 2, 100); break;
    case 6: dtype = NULL; break;
    default: break;
  }
  say("  ndim %d, dimension %d: %lld %d %d, dtype '%s' %d", ndim, d, (long long)shape[d], chunks[d], blocks[d], dtype, format);
  b2nd_context_t *ctx = b2nd_create_ctx(&place->storage, ndim, shape, chunks, blocks, dtype, format, NULL, 0);
  say("create_ctx: %d", ctx != NULL);
  if (ctx == NULL) {
    return NULL;
  }
  int64_t items = 1;
  for (int i = 0; i < ndim; i++) {
    items *= shape[i] > 0 ? shape[i] : 0;
  }
  int64_t nbytes = items * typesize, said = once_in(6) ? nbytes + ONE_OF(-1, -4) : nbytes;
  uint8_t *data = data_of(nbytes, typesize), value[16] = {1, 2, 3};
  b2nd_array_t *array = NULL;
  int way = (int)below(4);
  int rc = way == 0 ? b2nd_full(ctx, &array, value) : way == 1 ? b2nd_zeros(ctx, &array) : b2nd_from_cbuffer(ctx, &array, data, said);
  say("made in way %d of %lld bytes: %d", way, (long long)said - nbytes, rc);
  free(data);
  b2nd_free_ctx(ctx);
  return rc < 0 ? NULL : array;
}

static void boxes(b2nd_array_t *array, int32_t typesize) {
  int64_t start[B2ND_MAX_DIM], stop[B2ND_MAX_DIM], shape[B2ND_MAX_DIM], items = 1;
  for (int8_t d = 0; d < array->ndim; d++) {
    start[d] = below(array->shape[d] + 1);
    stop[d] = start[d] + below(array->shape[d] - start[d] + 1);
    shape[d] = stop[d] - start[d];
    items *= shape[d];
  }
  int8_t d = (int8_t)below(array->ndim);
  int64_t room = items * typesize;
  switch (below(4)) {
    case 0: start[d] = odd_number(array->shape[d]); break;
    case 1: stop[d] = odd_number(array->shape[d]); break;
    case 2: shape[d] -= 1; break;
    default: room += ONE_OF(-1, 1, -4, -1000);
  }
  uint8_t *buffer = buffer_of(1 << 16);
  /* A buffer that is said to be larger than what is there would be read and written outside. */
  int64_t fits = 1;
  bool is_small = room <= 1 << 16;
  for (int8_t i = 0; i < array->ndim && is_small; i++) {
    int64_t length = shape[i] > 0 ? shape[i] : 1, other = stop[i] - start[i] > 0 ? stop[i] - start[i] : 1;
    length = other > length ? other : length;
    is_small = length < 3000 && fits * length * typesize < 1 << 16;
    fits *= length;
  }
  if (is_small && start[d] <= stop[d]) {
    bool writes = once_in(2);
    int rc = writes ? b2nd_set_slice_cbuffer(buffer, shape, room, start, stop, array)
                    : b2nd_get_slice_cbuffer(array, start, stop, buffer, shape, room);
    say("%s_slice_cbuffer, dimension %d: %lld to %lld of %lld into %lld, %lld bytes: %d", writes ? "set" : "get", d, (long long)start[d],
        (long long)stop[d], (long long)array->shape[d], (long long)shape[d], (long long)room, rc);
  }
  free(buffer);
  shapes(array);
}

/* What an array that was cut has where it grows again is not the same. */
static bool is_resized;

static void lengths(b2nd_array_t *array, int32_t typesize) {
  int which = (int)below(3);
  int8_t axis = which == 0 ? (int8_t)ONE_OF(array->ndim, array->ndim + 1, 127) : (int8_t)below(array->ndim);
  int8_t in = axis >= 0 && axis < array->ndim ? axis : 0;
  int64_t others = array->shape[in] > 0 ? array->nitems / array->shape[in] : 1;
  int64_t chunk = array->chunkshape[in], length = array->shape[in];
  int64_t nbytes = others * chunk * typesize + (which != 1 ? 0 : -typesize);
  uint8_t *data = buffer_of(nbytes > 0 ? nbytes : 0);
  int rc, choice = (int)below(4);
  /* The reference appends as many bytes as a chunk has as if they were one, and takes places between chunks for their beginnings. */
  bool is_even = length % chunk == 0;
  is_even = is_even && nbytes != (int64_t)array->chunknitems * typesize && nbytes != array->extchunknitems * typesize;
  switch (choice == 1 && !is_even ? 2 : choice) {
    case 0: {
      int64_t shape[B2ND_MAX_DIM], start[B2ND_MAX_DIM];
      memcpy(shape, array->shape, sizeof shape);
      memcpy(start, array->shape, sizeof start);
      bool has_start = once_in(2);
      int64_t chunks = array->shape[in] / array->chunkshape[in] * array->chunkshape[in];
      shape[in] = has_start ? array->shape[in] + ONE_OF(-1, 1, -chunks) * array->chunkshape[in] : odd_number(array->shape[in]);
      shape[in] = shape[in] > 100 ? 20 : shape[in];
      start[in] = odd_number(array->shape[in]);
      int64_t less = length - shape[in], last = less > 0 ? length - less : length;
      start[in] = start[in] < 0 ? 0 : start[in] > last ? last : start[in];
      start[in] = start[in] / chunk * chunk;
      rc = b2nd_resize(array, shape, has_start ? start : NULL);
      is_resized = rc >= 0;
      say("resize dimension %d to %lld from %lld: %d", in, (long long)shape[in], has_start ? (long long)start[in] : -99, rc);
      break;
    }
    case 1:
      rc = b2nd_append(array, data, nbytes, axis);
      say("append %lld bytes along %d: %d", (long long)nbytes, axis, rc);
      break;
    case 2: {
      int64_t at = which == 2 ? odd_number(array->shape[in]) : 0;
      at = at < 0 ? 0 : at;
      rc = b2nd_insert(array, data, nbytes, axis, at);
      say("insert %lld bytes along %d at %lld: %d", (long long)nbytes, axis, (long long)at, rc);
      break;
    }
    default: {
      int64_t at = which == 2 ? odd_number(array->shape[in]) : 0, less = which == 2 && once_in(2) ? array->chunkshape[in] : odd_number(array->shape[in]);
      at = at < 0 ? 0 : at > length ? length : at;
      less = less < 0 ? 0 : less > length - at ? length - at : less;
      rc = b2nd_delete(array, axis, at, less);
      is_resized = rc >= 0;
      say("delete %lld along %d at %lld: %d", (long long)less, axis, (long long)at, rc);
    }
  }
  free(data);
  shapes(array);
}

static void selections(b2nd_array_t *array, int32_t typesize) {
  int rc;
  bool is_short = once_in(3);
  int64_t coords[3] = {is_short ? 0 : odd_number(array->nitems), is_short ? 0 : odd_number(array->nitems), 0};
  int64_t count = is_short && once_in(2) ? ONE_OF(-1, 0) : 3, room = 3 * typesize - is_short;
  uint8_t *to = buffer_of(3 * typesize);
  rc = b2nd_get_sparse_cbuffer(array, count, coords, to, room);
  say("get_sparse_cbuffer %lld (%lld %lld) into %lld: %d", (long long)count, (long long)coords[0], (long long)coords[1], (long long)room, rc);
  free(to);
  shapes(array);
}

static void derived(b2nd_array_t *array, struct place_of *place, int32_t typesize) {
  b2nd_array_t *other = NULL;
  bool axes[B2ND_MAX_DIM] = {false};
  int rc;
  switch (below(6)) {
    case 0: {
      uint8_t dims = (uint8_t)ONE_OF(array->ndim, 17, 255);
      rc = b2nd_expand_dims(array, &other, axes, dims);
      say("expand_dims to %d: %d", dims, rc);
      break;
    }
    case 1: {
      for (int8_t d = 0; d < array->ndim; d++) {
        /* The reference squeezes dimensions that are padded. */
        axes[d] = array->shape[d] > 1 && once_in(2);
      }
      rc = b2nd_squeeze_index(array, &other, axes);
      say("squeeze_index: %d", rc);
      break;
    }
    case 2: {
      int64_t shape[B2ND_MAX_DIM];
      int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
      memcpy(shape, array->shape, sizeof shape);
      memcpy(chunks, array->chunkshape, sizeof chunks);
      memcpy(blocks, array->blockshape, sizeof blocks);
      int8_t axis = (int8_t)ONE_OF(0, array->ndim, array->ndim - 1, 127), d = (int8_t)below(array->ndim);
      int8_t ndim = array->ndim;
      switch (below(4)) {
        case 0: shape[d] += ONE_OF(-1, 1); break;
        case 1: ndim = (int8_t)(ndim - 1); break;
        default: break;
      }
      shape[d] = shape[d] < 1 ? 1 : shape[d];
      struct place_of *second = random_place(once_in(4) ? 2 * typesize : typesize), *third = random_place(typesize);
      second->cparams.use_dict = third->cparams.use_dict = 0;
      b2nd_context_t *ctx = b2nd_create_ctx(&second->storage, ndim, shape, chunks, blocks, array->dtype, 0, NULL, 0);
      b2nd_array_t *more = NULL;
      rc = ctx != NULL ? b2nd_zeros(ctx, &more) : -1;
      say("another: %d", rc);
      if (rc < 0) {
        break;
      }
      b2nd_context_t *result = b2nd_create_ctx(&third->storage, array->ndim, array->shape, array->chunkshape, array->blockshape, array->dtype, 0, NULL, 0);
      bool copy = once_in(2);
      rc = b2nd_concatenate(result, array, more, axis, copy, &other);
      say("concatenate along %d, copy %d: %d", axis, copy, rc);
      if (rc >= 0) {
        say_array(other);
      }
      return;
    }
    case 3: {
      if (place->storage.urlpath == NULL) {
        return;
      }
      rc = b2nd_save(array, place->storage.urlpath);
      say("save where it is: %d", rc);
      rc = b2nd_save(array, "no/folder/array");
      say("save into no folder: %d", rc);
      break;
    }
    case 4: {
      uint8_t *frame = NULL;
      int64_t len = 0;
      bool needs_free = false;
      rc = b2nd_to_cframe(array, &frame, &len, &needs_free);
      say("to_cframe: %d", rc);
      if (rc < 0) {
        return;
      }
      int64_t said = once_in(2) ? below(len) : ONE_OF(-1, 0, 1, 87);
      rc = b2nd_from_cframe(frame, said, true, &other);
      say("from_cframe of too few: %d", rc);
      break;
    }
    default: {
      rc = b2nd_open("nothing", &other);
      int offset = b2nd_open_offset("nothing", &other, ONE_OF(-1, 0, 5));
      say("open, nothing: %d %d", rc, offset);
      return;
    }
  }
  if (rc >= 0 && other != NULL) {
    shapes(other);
  }
}

static void metalayers(void) {
  int8_t ndim = (int8_t)between(1, 3), got_ndim = 0, format = 0;
  int64_t shape[B2ND_MAX_DIM];
  int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
  for (int8_t d = 0; d < ndim; d++) {
    shape[d] = between(0, 100);
    chunks[d] = (int32_t)between(0, 50);
    blocks[d] = (int32_t)between(0, 50);
  }
  uint8_t *meta = NULL;
  int len = b2nd_serialize_meta(ndim, shape, chunks, blocks, once_in(2) ? NULL : "|S7", (int8_t)below(3), &meta);
  say("serialize_meta: %d %08x", len, len > 0 ? hash(meta, len) : 0);
  if (len <= 0) {
    return;
  }
  char *dtype = NULL;
  int32_t size = once_in(3) ? (int32_t)len : (int32_t)below(len + 1);
  if (once_in(2)) {
    meta[below(len)] ^= (uint8_t)(1 << below(8));
  }
  /* From a block of its own length: the reference reads on behind it. */
  uint8_t *copy = buffer_of(4096);
  memset(copy, 0, 4096);
  memcpy(copy, meta, (size_t)size);
  int rc = b2nd_deserialize_meta(copy, size, &got_ndim, shape, chunks, blocks, &dtype, &format);
  say("deserialize_meta of %d: %d, ndim %d", size - len, rc >= 0, rc >= 0 ? got_ndim : 0);
  free(copy);
  free(meta);
}

void invalid_array_program(void) {
  say("array, not valid");
  if (once_in(10)) {
    metalayers();
    return;
  }
  int32_t typesize = ONE_OF(1, 2, 4, 8);
  struct place_of *place = random_place(typesize);
  place->cparams.use_dict = 0;
  memset(place->cparams.filters, 0, sizeof place->cparams.filters);
  b2nd_array_t *array = odd_array(place, typesize);
  if (array == NULL) {
    return;
  }
  say_array(array);
  int steps = (int)between(2, 10);
  for (int step = 0; step < steps && array->nitems > 0 && !is_resized; step++) {
    switch (below(5)) {
      case 0: boxes(array, typesize); break;
      case 1: case 2: lengths(array, typesize); break;
      case 3: selections(array, typesize); break;
      default: derived(array, place, typesize);
    }
  }
  say_array(array);
  b2nd_free(array);
}
