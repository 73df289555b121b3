/* Programs of calls on arrays with metalayers of the program beside the array's own. */
#include "storages.h"

#define MOST_LAYERS 3

struct program {
  b2nd_array_t *array;
  struct place_of *place;
  int32_t typesize;
  bool is_view;
};

/* Everything that is beside the items. */
static void say_layers(blosc2_schunk *schunk) {
  for (int i = 0; i < schunk->nmetalayers; i++) {
    uint8_t *content = NULL;
    int32_t len = 0;
    int rc = blosc2_meta_get(schunk, schunk->metalayers[i]->name, &content, &len);
    say("  metalayer %s: %d %d %08x", schunk->metalayers[i]->name, rc, len, rc >= 0 ? hash(content, len) : 0);
    free(rc >= 0 ? content : NULL);
  }
  for (int i = 0; i < schunk->nvlmetalayers; i++) {
    uint8_t *content = NULL;
    int32_t len = 0;
    int rc = blosc2_vlmeta_get(schunk, schunk->vlmetalayers[i]->name, &content, &len);
    /* Those of some copies the reference cannot read. */
    say("  vlmetalayer %s: %d %d %08x%s", schunk->vlmetalayers[i]->name, rc, len, rc >= 0 ? hash(content, len) : 0, rc < 0 ? " WRONG" : "");
    free(rc >= 0 ? content : NULL);
  }
}

static void say_all(b2nd_array_t *array) {
  say_array(array);
  say_layers(array->sc);
}

static struct place_of *array_place(int32_t typesize) {
  struct place_of *place = random_place(typesize);
  place->cparams.use_dict = 0;
  for (int i = 0; i < BLOSC2_MAX_FILTERS; i++) {
    place->cparams.filters[i] = place->cparams.filters[i] == BLOSC_TRUNC_PREC ? BLOSC_SHUFFLE : place->cparams.filters[i];
  }
  return place;
}

/* A context with metalayers of its own, for an array of this shape in any chunks and blocks. */
static b2nd_context_t *context(const struct place_of *place, int8_t ndim, const int64_t *shape, const b2nd_array_t *like) {
  int32_t chunks[B2ND_MAX_DIM], blocks[B2ND_MAX_DIM];
  for (int8_t d = 0; d < ndim; d++) {
    chunks[d] = (int32_t)between(1, shape[d] > 1 ? shape[d] : 1);
    blocks[d] = (int32_t)between(1, chunks[d]);
    if (like != NULL) {
      chunks[d] = like->chunkshape[d];
      blocks[d] = like->blockshape[d];
    }
  }
  static char names[MOST_LAYERS][8] = {"a", "b", "a1"};
  static uint8_t content[MOST_LAYERS][200];
  blosc2_metalayer layers[MOST_LAYERS];
  int32_t count = (int32_t)below(MOST_LAYERS + 1);
  for (int32_t i = 0; i < count; i++) {
    int32_t len = (int32_t)between(once_in(10) ? 0 : 1, 200);
    memset(content[i], (int)(next_number() % 250), sizeof content[i]);
    layers[i] = (blosc2_metalayer){.name = names[i], .content = content[i], .content_len = len};
    say("  with metalayer %s of %d", names[i], len);
  }
  say("  chunks %d.. blocks %d..", ndim > 0 ? chunks[0] : 0, ndim > 0 ? blocks[0] : 0);
  return b2nd_create_ctx(&place->storage, ndim, shape, chunks, blocks, "<i4", 0, layers, count);
}

static void metalayers(struct program *p) {
  blosc2_schunk *schunk = p->array->sc;
  const char *names[] = {"a", "b", "a1", "v", "b2nd", "an array's own"};
  const char *name = names[below(COUNT(names))];
  uint8_t content[300];
  int32_t len = (int32_t)between(once_in(10) ? 0 : 1, sizeof content), rc;
  memset(content, (int)(next_number() % 250), sizeof content);
  switch (below(8)) {
    case 0:
      /* The array's own is not written over: the reference then has a damaged one. A view has that of its array in the reference. */
      if (strcmp(name, "b2nd") != 0 && !p->is_view) {
        rc = blosc2_meta_update(schunk, name, content, len);
        say("meta_update %s %d: %d", name, len, rc);
      }
      break;
    case 1: {
      uint8_t *got = NULL;
      rc = blosc2_meta_get(schunk, name, &got, &len);
      say("meta_get %s: %d, exists %d", name, rc, blosc2_meta_exists(schunk, name));
      free(rc >= 0 ? got : NULL);
      break;
    }
    case 2: case 3: case 4:
      if (!p->is_view) {
        blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
        cparams.compcode = BLOSC_LZ4;
        rc = blosc2_vlmeta_add(schunk, name, content, len, once_in(2) ? &cparams : NULL);
        say("vlmeta_add %s %d: %d", name, len, rc);
      }
      break;
    case 5:
      if (!p->is_view) {
        rc = blosc2_vlmeta_update(schunk, name, content, len, NULL);
        say("vlmeta_update %s %d: %d", name, len, rc);
      }
      break;
    case 6:
      if (!p->is_view) {
        rc = blosc2_vlmeta_delete(schunk, name);
        say("vlmeta_delete %s: %d", name, rc);
      }
      break;
    default: {
      char *all[BLOSC2_MAX_VLMETALAYERS] = {0};
      rc = blosc2_vlmeta_get_names(schunk, all);
      say("vlmeta_get_names: %d, exists %d", rc, blosc2_vlmeta_exists(schunk, name));
    }
  }
  say_layers(schunk);
}

static void take(struct program *p, b2nd_array_t *other, struct place_of *place, bool is_view) {
  if (other == NULL) {
    return;
  }
  if (other != p->array && !is_view) {
    b2nd_free(p->array);
  }
  p->array = other;
  p->place = place != NULL ? place : p->place;
  p->is_view = is_view;
  say_all(other);
}

static int64_t bytes_of(const int64_t *shape, int8_t ndim, int32_t typesize) {
  int64_t bytes = typesize;
  for (int8_t d = 0; d < ndim; d++) {
    bytes *= shape[d];
  }
  return bytes;
}

static bool has_chunks_of(const b2nd_array_t *array, const b2nd_array_t *other) {
  size_t bytes = (size_t)array->ndim * sizeof array->chunkshape[0];
  return memcmp(array->chunkshape, other->chunkshape, bytes) == 0 && memcmp(array->blockshape, other->blockshape, bytes) == 0;
}

/* Changes the shape or the items. */
static void changes(struct program *p) {
  b2nd_array_t *array = p->array;
  if (array->ndim == 0 || p->is_view || array->nitems == 0) {
    return;
  }
  int64_t shape[B2ND_MAX_DIM], start[B2ND_MAX_DIM] = {0}, bytes;
  memcpy(shape, array->shape, sizeof shape);
  int rc;
  switch (below(4)) {
    case 0: {
      uint8_t *data = data_of(bytes_of(shape, array->ndim, p->typesize), p->typesize);
      rc = b2nd_set_slice_cbuffer(data, shape, bytes_of(shape, array->ndim, p->typesize), start, shape, array);
      say("set_slice_cbuffer: %d", rc);
      free(data);
      break;
    }
    case 1:
      shape[0] += array->chunkshape[0] - shape[0] % array->chunkshape[0];
      rc = b2nd_resize(array, shape, NULL);
      say("resize to %lld..: %d", (long long)shape[0], rc);
      break;
    case 2:
      if (shape[0] % array->chunkshape[0] != 0) {
        return;
      }
      rc = b2nd_delete(array, 0, 0, array->chunkshape[0]);
      say("delete: %d", rc);
      break;
    default:
      if (shape[0] % array->chunkshape[0] != 0) {
        return;
      }
      shape[0] = array->chunkshape[0];
      bytes = bytes_of(shape, array->ndim, p->typesize);
      /* As many items as a chunk has, in another form, the reference takes for a chunk. */
      if (bytes == array->sc->chunksize && array->ndim > 1) {
        return;
      }
      uint8_t *data = data_of(bytes, p->typesize);
      rc = b2nd_append(array, data, bytes, 0);
      say("append: %d", rc);
      free(data);
  }
  say_all(array);
}

static void derived(struct program *p) {
  b2nd_array_t *array = p->array, *other = NULL;
  int64_t shape[B2ND_MAX_DIM], start[B2ND_MAX_DIM] = {0};
  memcpy(shape, array->shape, sizeof shape);
  int rc;
  switch (below(9)) {
    case 0:
    case 1: {
      struct place_of *place = array_place(p->typesize);
      rc = b2nd_copy(context(place, array->ndim, shape, once_in(2) ? array : NULL), array, &other);
      say("copy: %d", rc);
      take(p, rc >= 0 ? other : NULL, place, false);
      break;
    }
    case 2: {
      struct place_of *place = array_place(p->typesize);
      for (int8_t d = 0; d < array->ndim; d++) {
        start[d] = below(shape[d]);
      }
      rc = b2nd_get_slice(context(place, array->ndim, shape, once_in(2) ? array : NULL), &other, array, start, shape);
      say("get_slice: %d", rc);
      take(p, rc >= 0 ? other : NULL, place, false);
      break;
    }
    case 3: {
      if (array->ndim == 0 || array->nitems == 0 || array->nitems > 4000) {
        return;
      }
      struct place_of *place = array_place(p->typesize), *second = array_place(p->typesize);
      b2nd_array_t *more = NULL;
      rc = b2nd_zeros(context(second, array->ndim, shape, once_in(2) ? array : NULL), &more);
      say("zeros: %d", rc);
      if (rc < 0) {
        return;
      }
      rc = blosc2_vlmeta_add(more->sc, "of the second", (uint8_t *)"abc", 3, NULL);
      bool copy = p->is_view || once_in(2) || shape[0] % array->chunkshape[0] != 0 || !has_chunks_of(array, more);
      /* Of arrays whose chunks differ, the reference takes some for alike. */
      rc = b2nd_concatenate(context(place, array->ndim, shape, more), array, more, 0, copy, &other);
      say("concatenate, copy %d: %d", copy, rc);
      b2nd_free(more);
      take(p, rc >= 0 ? other : NULL, copy ? place : NULL, rc >= 0 && !copy && p->is_view);
      break;
    }
    case 4: {
      if (array->ndim == 0) {
        return;
      }
      for (int8_t d = 0; d < array->ndim; d++) {
        if (array->shape[d] == 1 && array->extchunkshape[d] > 1) {
          return;
        }
      }
      rc = b2nd_squeeze(array, &other);
      say("squeeze: %d", rc);
      take(p, rc >= 0 ? other : NULL, NULL, true);
      break;
    }
    case 5: {
      bool axes[B2ND_MAX_DIM] = {true};
      if (array->ndim > 6) {
        return;
      }
      rc = b2nd_expand_dims(array, &other, axes, (uint8_t)(array->ndim + 1));
      say("expand_dims: %d", rc);
      take(p, rc >= 0 ? other : NULL, NULL, true);
      break;
    }
    case 6:
      take(p, through_cframe(array), NULL, false);
      break;
    case 7: {
      static int saved;
      char path[40];
      snprintf(path, sizeof path, "layers%d.b2nd", saved++);
      bool appends = once_in(2);
      int64_t at = appends ? b2nd_save_append(array, path) : b2nd_save(array, path);
      say("save, append %d: %lld", appends, (long long)at);
      rc = appends ? b2nd_open_offset(path, &other, at) : b2nd_open(path, &other);
      say("open: %d", rc);
      take(p, rc >= 0 ? other : NULL, NULL, false);
      break;
    }
    default:
      if (!p->is_view && array->sc->storage->urlpath != NULL) {
        char *path = strdup(array->sc->storage->urlpath);
        b2nd_free(array);
        p->array = NULL;
        rc = b2nd_open(path, &p->array);
        say("open: %d", rc);
        free(path);
        if (rc >= 0) {
          say_all(p->array);
        }
      }
  }
}

void layers_program(void) {
  struct program p = {0};
  p.typesize = ONE_OF(1, 2, 4, 8);
  say("array with metalayers");
  p.place = array_place(p.typesize);
  int64_t shape[B2ND_MAX_DIM];
  int8_t ndim = (int8_t)between(once_in(8) ? 0 : 1, 3);
  for (int8_t d = 0; d < ndim; d++) {
    shape[d] = between(once_in(8) ? 0 : 1, once_in(4) ? 1 : 15);
  }
  b2nd_context_t *ctx = context(p.place, ndim, shape, NULL);
  say("context: %d", ctx != NULL);
  if (ctx == NULL) {
    return;
  }
  int64_t bytes = bytes_of(shape, ndim, p.typesize);
  uint8_t *data = data_of(bytes, p.typesize);
  int rc = once_in(2) ? b2nd_from_cbuffer(ctx, &p.array, data, bytes) : b2nd_zeros(ctx, &p.array);
  say("made: %d", rc);
  free(data);
  if (rc < 0) {
    return;
  }
  b2nd_free_ctx(ctx);
  say_all(p.array);
  int steps = (int)between(3, 15);
  for (int step = 0; step < steps && p.array != NULL; step++) {
    switch (below(7)) {
      case 0: case 1: case 2: metalayers(&p); break;
      case 3: case 4: changes(&p); break;
      default: derived(&p);
    }
  }
  if (p.array != NULL) {
    b2nd_free(p.array);
  }
}
