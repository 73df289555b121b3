/* Programs of calls on arrays. */
#include "storages.h"

#define MOST_ITEMS 20000

struct shapes {
  int8_t ndim;
  int64_t shape[B2ND_MAX_DIM];
  int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
};

struct program {
  b2nd_array_t *array;
  struct place_of *place;
  int32_t typesize;
  bool is_view;
  /* Whether chunks may have something else than zeros behind the end, by which an array grows in another way than in the reference. */
  bool cut;
  /* Whether the reference may have come to another state. */
  bool is_over;
};

/* Whether all arrays of this program have a codec or a filter of the plugins. Such a pipeline may be lossy: only what is not written again
   has the same items in both libraries, as this one writes the blocks that change, and the reference all blocks of a chunk. */
static bool with_plugins;

/* The reference cannot read parts of chunks with a dictionary. */
static struct place_of *array_place(int32_t typesize) {
  struct place_of *place = random_place(typesize);
  place->cparams.use_dict = 0;
  /* A write of some items may round the others again. */
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
    place->cparams.filters[i] = place->cparams.filters[i] == BLOSC_TRUNC_PREC ? BLOSC_SHUFFLE : place->cparams.filters[i];
  }
  if (with_plugins) {
    choose_plugin(&place->cparams);
    say_params(&place->cparams);
  }
  return place;
}

static int64_t items_of(const int64_t *shape, int8_t ndim) {
  int64_t items = 1;
  for (int8_t d = 0; d < ndim; d++) {
    items *= shape[d];
  }
  return items;
}

static const char *text_of(const int64_t *numbers, int8_t count) {
  static char texts[4][400];
  static int which;
  char *text = texts[which++ % 4];
  int at = 0;
  text[0] = 0;
  for (int8_t i = 0; i < count; i++) {
    at += snprintf(text + at, 400 - (size_t)at, i > 0 ? " %lld" : "%lld", (long long)numbers[i]);
  }
  return text;
}

/* Chunks and blocks for a shape. */
static void cut_up(struct shapes *shapes) {
  int64_t items = 1;
  /* The codecs of the plugins take no block shorter than a cell. */
  int32_t least = with_plugins ? 4 : 1;
  for (int8_t d = 0; d < shapes->ndim; d++) {
    int64_t most = shapes->shape[d] + (once_in(8) ? 3 : 0);
    most = most > MOST_ITEMS / items ? MOST_ITEMS / items : most;
    shapes->chunks[d] = (int32_t)(most > 0 ? between(1, most) : 1);
    shapes->chunks[d] = shapes->chunks[d] < least ? least : shapes->chunks[d];
    shapes->blocks[d] = (int32_t)between(least, shapes->chunks[d]);
    /* Arrays of very many chunks take long. */
    while (shapes->shape[d] / shapes->chunks[d] > 8) {
      shapes->chunks[d] *= 2;
    }
    items *= shapes->chunks[d] + shapes->blocks[d];
  }
}

static struct shapes random_shapes(void) {
  struct shapes shapes = {.ndim = (int8_t)(once_in(12) ? 0 : once_in(3) ? between(1, 8) : between(1, 3))};
  shapes.ndim = with_plugins && !once_in(12) ? (int8_t)between(1, 4) : shapes.ndim;
  int64_t items = 1;
  for (int8_t d = 0; d < shapes.ndim; d++) {
    int64_t most = MOST_ITEMS / items;
    most = most > 40 ? 40 : most;
    shapes.shape[d] = once_in(15) ? 0 : between(1, most > 1 ? most : 1);
    items *= shapes.shape[d] > 0 ? shapes.shape[d] : 1;
  }
  cut_up(&shapes);
  return shapes;
}

static void say_shapes(const struct shapes *shapes) {
  int64_t numbers[2][B2ND_MAX_DIM];
  for (int8_t d = 0; d < shapes->ndim; d++) {
    numbers[0][d] = shapes->chunks[d];
    numbers[1][d] = shapes->blocks[d];
  }
  say("  shape (%s) chunks (%s) blocks (%s)", text_of(shapes->shape, shapes->ndim), text_of(numbers[0], shapes->ndim),
      text_of(numbers[1], shapes->ndim));
}

static b2nd_context_t *context(const struct place_of *place, const struct shapes *shapes) {
  /* Equally long ones: for a longer one there is no room in the metalayer of a copy, and the reference then does not write its shape. */
  const char *dtypes[] = {"<i4", "|S4", "<f4", "|V4"};
  return b2nd_create_ctx(&place->storage, shapes->ndim, shapes->shape, shapes->chunks, shapes->blocks,
                         dtypes[shapes->ndim % COUNT(dtypes)], 0, NULL, 0);
}

/* Whether an array could not be made that can be: the reference gives up where ZFP writes past the end of a buffer, and where the last
   blocks of a chunk do not get smaller by NDLZ. */
static const char *verdict(const struct place_of *place, const struct shapes *shapes, int rc) {
  int32_t typesize = place->cparams.typesize;
  bool zfp = place->cparams.compcode > 32 && shapes->ndim >= 1 && shapes->ndim <= 4 && (typesize == 4 || typesize == 8);
  int meta = place->cparams.compcode_meta;
  bool ndlz = place->cparams.compcode == 32 && (meta == 4 || meta == 8) && shapes->ndim == 2 && typesize == 1;
  bool fits = zfp || ndlz;
  for (int8_t d = 0; d < shapes->ndim; d++) {
    fits = fits && shapes->blocks[d] >= 4;
  }
  return fits && rc < 0 ? " WRONG" : "";
}

/* The reference does not read all parts of ZFP's streams of a fixed rate. */
static bool has_fixed_rate(const b2nd_array_t *array) { return array->sc->compcode == 35; }

/* Whether an array could not be read. */
static bool is_unreadable;

void say_array(b2nd_array_t *array) {
  struct shapes shapes = {.ndim = array->ndim};
  memcpy(shapes.shape, array->shape, sizeof array->shape[0] * (size_t)array->ndim);
  memcpy(shapes.chunks, array->chunkshape, sizeof array->chunkshape[0] * (size_t)array->ndim);
  memcpy(shapes.blocks, array->blockshape, sizeof array->blockshape[0] * (size_t)array->ndim);
  say_shapes(&shapes);
  say("  dtype %s %d, nitems %lld, chunknitems %d", array->dtype, array->dtype_format, (long long)array->nitems,
      array->chunknitems);
  int64_t nbytes = array->nitems * array->sc->typesize;
  if (nbytes > MOST * 16) {
    return;
  }
  uint8_t *to = buffer_of(nbytes);
  int rc = b2nd_to_cbuffer(array, to, nbytes);
  say("  to_cbuffer: %d %08x%s", rc, rc >= 0 ? hash(to, nbytes) : 0, rc < 0 && has_fixed_rate(array) && array->sc->nchunks > 0 ? " WRONG" : "");
  is_unreadable = rc < 0;
  free(to);
  uint8_t *meta = NULL;
  int32_t len = 0;
  rc = blosc2_meta_get(array->sc, "b2nd", &meta, &len);
  say("  metalayer: %d %d %08x", rc, len, rc >= 0 ? hash(meta, len) : 0);
  if (rc >= 0) {
    free(meta);
  }
}

b2nd_array_t *through_cframe(b2nd_array_t *array) {
  uint8_t *frame = NULL;
  int64_t len = 0;
  bool needs_free = false;
  int rc = b2nd_to_cframe(array, &frame, &len, &needs_free);
  say("to_cframe: %d, free %d", rc, needs_free);
  if (rc < 0) {
    return NULL;
  }
  b2nd_array_t *copy = NULL;
  rc = b2nd_from_cframe(frame, len, true, &copy);
  say("from_cframe: %d", rc);
  if (needs_free) {
    free(frame);
  }
  return rc >= 0 ? copy : NULL;
}

/* A box within a shape. */
static void box(const b2nd_array_t *array, int64_t *start, int64_t *stop, int64_t *shape) {
  for (int8_t d = 0; d < array->ndim; d++) {
    start[d] = below(array->shape[d] + 1);
    stop[d] = start[d] + below(array->shape[d] - start[d] + 1);
    shape[d] = stop[d] - start[d];
  }
}

static void slices(struct program *p) {
  b2nd_array_t *array = p->array;
  if (has_fixed_rate(array)) {
    return;
  }
  int64_t start[B2ND_MAX_DIM], stop[B2ND_MAX_DIM], shape[B2ND_MAX_DIM];
  box(array, start, stop, shape);
  int64_t nbytes = items_of(shape, array->ndim) * p->typesize;
  /* Nor does it write through all views. */
  if (p->is_view || with_plugins || once_in(2)) {
    uint8_t *to = buffer_of(nbytes);
    int64_t room = nbytes - (array->ndim > 0 && once_in(30) ? 1 : 0);
    int rc = b2nd_get_slice_cbuffer(array, start, stop, to, shape, room);
    say("get_slice_cbuffer (%s) (%s) into %lld: %d %08x", text_of(start, array->ndim), text_of(stop, array->ndim), (long long)room,
        rc, rc >= 0 ? hash(to, nbytes) : 0);
    free(to);
  } else {
    uint8_t *data = data_of(nbytes, p->typesize);
    int rc = b2nd_set_slice_cbuffer(data, shape, nbytes, start, stop, array);
    say("set_slice_cbuffer (%s) (%s): %d", text_of(start, array->ndim), text_of(stop, array->ndim), rc);
    free(data);
    say_array(array);
  }
}

static void selections(struct program *p) {
  b2nd_array_t *array = p->array;
  if (array->ndim == 0 || array->nitems == 0 || has_fixed_rate(array)) {
    return;
  }
  if (once_in(3)) {
    int64_t coords[20], count = below(21);
    for (int64_t i = 0; i < count; i++) {
      coords[i] = below(array->nitems) + (once_in(200) ? array->nitems : 0);
    }
    uint8_t *to = buffer_of(count * p->typesize);
    int rc = b2nd_get_sparse_cbuffer(array, count, coords, to, count * p->typesize);
    say("get_sparse_cbuffer %lld: %d %08x", (long long)count, rc, rc >= 0 ? hash(to, count * p->typesize) : 0);
    free(to);
    return;
  }
  int64_t *selection[B2ND_MAX_DIM], sizes[B2ND_MAX_DIM], lists[B2ND_MAX_DIM][8];
  bool writes = !p->is_view && !with_plugins && once_in(2);
  for (int8_t d = 0; d < array->ndim; d++) {
    sizes[d] = between(once_in(20) ? 0 : 1, array->ndim > 4 ? 2 : 8);
    sizes[d] = sizes[d] > array->shape[d] ? array->shape[d] : sizes[d];
    selection[d] = lists[d];
    for (int64_t i = 0; i < sizes[d]; i++) {
      /* Different ones, as the order in which items are written is not told. */
      lists[d][i] = (i * (array->shape[d] / (sizes[d] > 0 ? sizes[d] : 1)) + (int64_t)(p->typesize % 3)) % array->shape[d];
    }
  }
  int64_t nbytes = items_of(sizes, array->ndim) * p->typesize;
  uint8_t *buffer = data_of(nbytes, p->typesize);
  int rc = writes ? b2nd_set_orthogonal_selection(array, selection, sizes, buffer, sizes, nbytes)
                  : b2nd_get_orthogonal_selection(array, selection, sizes, buffer, sizes, nbytes);
  say("%s_orthogonal_selection (%s): %d %08x", writes ? "set" : "get", text_of(sizes, array->ndim), rc,
      rc >= 0 ? hash(buffer, nbytes) : 0);
  free(buffer);
  if (writes) {
    say_array(array);
  }
}

/* The same of an array that items are added to. */
static const char *verdict_of(const struct program *p, int rc) {
  struct shapes shapes = {.ndim = p->array->ndim};
  memcpy(shapes.blocks, p->array->blockshape, sizeof shapes.blocks[0] * (size_t)shapes.ndim);
  return rc == BLOSC2_ERROR_INVALID_PARAM ? "" : verdict(p->place, &shapes, rc);
}

static void sizes(struct program *p) {
  b2nd_array_t *array = p->array;
  /* A view cannot have another shape: the reference then changes the chunks alone. */
  if (array->ndim == 0 || p->is_view) {
    return;
  }
  int8_t axis = (int8_t)below(array->ndim + (once_in(40) ? 1 : 0));
  int8_t in = axis < array->ndim ? axis : 0;
  int64_t chunk = array->chunkshape[in], length = array->shape[in];
  int choice = (int)below(5), rc;
  /* The reference does not append exactly a chunk behind one that is not full. */
  choice = choice == 1 && length % chunk != 0 ? 0 : choice;
  if (array->nitems > MOST_ITEMS && choice < 3) {
    choice = 3;
  }
  if (with_plugins && (choice == 0 || length % chunk != 0)) {
    return;
  }
  /* The reference divides by the length of a dimension that is zero. */
  if (array->nitems == 0 && choice < 3 && choice > 0 && !once_in(30)) {
    return;
  }
  if (choice < 3) {
    if (p->cut) {
      return;
    }
    int64_t more = choice == 0 ? below(2 * chunk + 2) : chunk * between(1, 2);
    int64_t at = length == 0 ? 0 : chunk * below(length / chunk + 1);
    int64_t others = 1;
    for (int8_t d = 0; d < array->ndim; d++) {
      others *= d == in ? 1 : array->shape[d];
    }
    more = others * more > 4 * MOST_ITEMS ? chunk : more;
    int64_t nbytes = more * others * p->typesize;
    if (choice == 0) {
      int64_t shape[B2ND_MAX_DIM];
      memcpy(shape, array->shape, sizeof shape);
      shape[in] += more;
      rc = b2nd_resize(array, shape, NULL);
      say("resize to (%s): %d", text_of(shape, array->ndim), rc);
    } else if (choice == 1) {
      uint8_t *data = data_of(nbytes, p->typesize);
      rc = b2nd_append(array, data, nbytes, axis);
      /* Of a pipeline that does not fit the array, the code is another one where the reference appends a chunk. */
      rc = with_plugins && rc < 0 ? -1 : rc;
      say("append %lld along %d: %d%s", (long long)more, axis, rc, verdict_of(p, rc));
      free(data);
    } else {
      uint8_t *data = data_of(nbytes, p->typesize);
      rc = b2nd_insert(array, data, nbytes, axis, at);
      say("insert %lld along %d at %lld: %d%s", (long long)more, axis, (long long)at, rc, verdict_of(p, rc));
      free(data);
    }
  } else {
    int64_t less = !with_plugins && once_in(2) ? below(length + 1) : chunk * below(length / chunk + 1);
    int64_t at = less % chunk == 0 && once_in(2) ? chunk * below((length - less) / chunk + 1) : length - less;
    if (choice == 3) {
      rc = b2nd_delete(array, axis, at, less);
      say("delete %lld along %d at %lld: %d", (long long)less, axis, (long long)at, rc);
    } else {
      int64_t shape[B2ND_MAX_DIM], start[B2ND_MAX_DIM];
      memcpy(shape, array->shape, sizeof shape);
      memcpy(start, array->shape, sizeof start);
      shape[in] -= less;
      start[in] = at;
      rc = b2nd_resize(array, shape, once_in(2) && at % chunk == 0 && less % chunk == 0 ? start : NULL);
      say("resize to (%s) from %lld: %d", text_of(shape, array->ndim), (long long)at, rc);
    }
    p->cut = p->cut || array->shape[in] % chunk != 0;
  }
  /* The reference leaves an array that it could not change with another shape. */
  p->is_over = rc < 0;
  if (!p->is_over) {
    say_array(array);
  }
}

static void take(struct program *p, b2nd_array_t *other, struct place_of *place, bool is_view) {
  if (other == NULL) {
    return;
  }
  /* A view of the reference is one only as long as its array. */
  if (other != p->array && !is_view) {
    b2nd_free(p->array);
  }
  p->array = other;
  p->place = place != NULL ? place : p->place;
  p->is_view = is_view;
  say_array(other);
}

/* The reference leaves what it has of an array that it could not make. */
static void remove_failed(const struct place_of *place, int rc) {
  if (rc < 0 && place->storage.urlpath != NULL) {
    blosc2_remove_urlpath(place->storage.urlpath);
  }
}

static void derived(struct program *p) {
  b2nd_array_t *array = p->array, *other = NULL;
  struct shapes shapes = {.ndim = array->ndim};
  memcpy(shapes.shape, array->shape, sizeof array->shape[0] * (size_t)array->ndim);
  int rc, choice = (int)below(7);
  /* In a view, the reference decompresses blocks of the plugins by the shape of the view; joined arrays are written chunk by chunk. */
  if (with_plugins && (choice == 2 || choice == 3 || choice == 4)) {
    return;
  }
  switch (choice) {
    case 0: {
      struct place_of *place = array_place(p->typesize);
      if (once_in(2)) {
        cut_up(&shapes);
      } else {
        memcpy(shapes.chunks, array->chunkshape, sizeof array->chunkshape[0] * (size_t)array->ndim);
        memcpy(shapes.blocks, array->blockshape, sizeof array->blockshape[0] * (size_t)array->ndim);
      }
      say_shapes(&shapes);
      rc = b2nd_copy(context(place, &shapes), array, &other);
      say("copy: %d%s", rc, verdict(place, &shapes, rc));
      take(p, rc >= 0 ? other : NULL, place, false);
      remove_failed(place, rc);
      break;
    }
    case 1: {
      struct place_of *place = array_place(p->typesize);
      int64_t start[B2ND_MAX_DIM], stop[B2ND_MAX_DIM];
      box(array, start, stop, shapes.shape);
      cut_up(&shapes);
      say_shapes(&shapes);
      rc = b2nd_get_slice(context(place, &shapes), &other, array, start, stop);
      say("get_slice (%s) (%s): %d%s", text_of(start, array->ndim), text_of(stop, array->ndim), rc, verdict(place, &shapes, rc));
      remove_failed(place, rc);
      if (rc >= 0) {
        p->cut = false;
        take(p, other, place, false);
      }
      break;
    }
    case 2: {
      if (array->ndim == 0 || array->nitems > MOST_ITEMS || p->cut) {
        return;
      }
      int8_t axis = (int8_t)below(array->ndim);
      struct place_of *place = array_place(p->typesize), *second = array_place(p->typesize);
      if (once_in(2)) {
        memcpy(shapes.chunks, array->chunkshape, sizeof array->chunkshape[0] * (size_t)array->ndim);
        memcpy(shapes.blocks, array->blockshape, sizeof array->blockshape[0] * (size_t)array->ndim);
      } else {
        cut_up(&shapes);
      }
      int64_t length = shapes.shape[axis];
      shapes.shape[axis] = between(once_in(6) ? 0 : 1, 20);
      b2nd_array_t *more = NULL;
      uint8_t *data = data_of(items_of(shapes.shape, shapes.ndim) * p->typesize, p->typesize);
      rc = b2nd_from_cbuffer(context(second, &shapes), &more, data, items_of(shapes.shape, shapes.ndim) * p->typesize);
      free(data);
      say_shapes(&shapes);
      say("another array: %d", rc);
      if (rc < 0) {
        return;
      }
      shapes.shape[axis] = length;
      bool copy = p->is_view || once_in(2);
      rc = b2nd_concatenate(context(place, &shapes), array, more, axis, copy, &other);
      say("concatenate along %d, copy %d: %d", axis, copy, rc);
      b2nd_free(more);
      take(p, rc >= 0 ? other : NULL, copy ? place : NULL, rc >= 0 && !copy && p->is_view);
      break;
    }
    case 3: {
      bool axes[B2ND_MAX_DIM] = {false};
      int8_t more = (int8_t)between(1, 2);
      if (array->ndim + more > 8) {
        return;
      }
      for (int8_t i = 0; i < more; i++) {
        int8_t at = (int8_t)below(array->ndim + more);
        while (axes[at]) {
          at = (int8_t)((at + 1) % (array->ndim + more));
        }
        axes[at] = true;
      }
      rc = b2nd_expand_dims(array, &other, axes, (uint8_t)(array->ndim + more));
      say("expand_dims by %d: %d", more, rc);
      take(p, rc >= 0 ? other : NULL, NULL, true);
      break;
    }
    case 4: {
      /* What the reference makes of no dimensions cannot be read. */
      if (array->ndim == 0) {
        return;
      }
      bool axes[B2ND_MAX_DIM] = {false}, all = once_in(2);
      for (int8_t d = 0; d < array->ndim; d++) {
        axes[d] = array->shape[d] == 1 && once_in(2);
        if (array->shape[d] == 1 && array->extchunkshape[d] > 1) {
          return;
        }
      }
      rc = all ? b2nd_squeeze(array, &other) : b2nd_squeeze_index(array, &other, axes);
      say("squeeze, all %d: %d", all, rc);
      take(p, rc >= 0 ? other : NULL, NULL, true);
      break;
    }
    case 5:
      take(p, through_cframe(array), NULL, false);
      break;
    default: {
      static int saved;
      char path[40];
      snprintf(path, sizeof path, "saved%d.b2nd", saved++);
      rc = b2nd_save(array, path);
      say("save: %d", rc);
      int opened = b2nd_open(path, &other);
      say("open: %d", opened);
      take(p, opened >= 0 ? other : NULL, NULL, false);
    }
  }
}

static void reopen(struct program *p) {
  if (p->is_view || p->place->place < IN_FILE) {
    return;
  }
  const char *path = p->array->sc->storage->urlpath;
  if (path == NULL) {
    return;
  }
  char *copy = strdup(path);
  b2nd_free(p->array);
  p->array = NULL;
  int rc = b2nd_open(copy, &p->array);
  say("open: %d", rc);
  free(copy);
  if (rc < 0) {
    p->array = NULL;
  } else {
    say_array(p->array);
  }
}

static int made(struct program *p, b2nd_context_t *ctx, const struct shapes *shapes) {
  int64_t nbytes = items_of(shapes->shape, shapes->ndim) * p->typesize;
  int kind = (int)below(8), rc;
  if (kind == 0) {
    rc = b2nd_zeros(ctx, &p->array);
  } else if (kind == 1) {
    uint8_t value[256];
    for (int i = 0; i < 256; i++) {
      value[i] = (uint8_t)next_number();
    }
    rc = b2nd_full(ctx, &p->array, value);
    p->cut = true;
  } else if (kind == 2 && (p->typesize == 4 || p->typesize == 8)) {
    rc = b2nd_nans(ctx, &p->array);
    p->cut = true;
  } else if (kind == 3) {
    rc = b2nd_empty(ctx, &p->array);
  } else {
    uint8_t *data = data_of(nbytes, p->typesize);
    rc = b2nd_from_cbuffer(ctx, &p->array, data, nbytes);
    free(data);
  }
  say("made in way %d: %d%s", kind, rc, verdict(p->place, shapes, rc));
  remove_failed(p->place, rc);
  return rc;
}

void plugin_array_program(void) {
  with_plugins = true;
  array_program();
}

void array_program(void) {
  struct program p = {0};
  p.typesize = with_plugins ? ONE_OF(1, 1, 2, 4, 4, 4, 8, 8, 8, 3) : ONE_OF(1, 2, 3, 4, 4, 8, 8, 16);
  say("array");
  p.place = array_place(p.typesize);
  struct shapes shapes = random_shapes();
  say_shapes(&shapes);
  b2nd_context_t *ctx = context(p.place, &shapes);
  say("context: %d", ctx != NULL);
  if (ctx == NULL || made(&p, ctx, &shapes) < 0) {
    return;
  }
  say_array(p.array);
  int steps = (int)between(2, 15);
  for (int step = 0; step < steps && p.array != NULL && !p.is_over && !is_unreadable; step++) {
    switch (below(8)) {
      case 0: case 1: slices(&p); break;
      case 2: selections(&p); break;
      case 3: case 4: sizes(&p); break;
      case 5: case 6: derived(&p); break;
      default: reopen(&p);
    }
  }
  if (p.array != NULL) {
    b2nd_free(p.array);
  }
}
