/* Arrays, in every storage. */
#include "harness.h"
#include "oxiblosc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t SHAPE[] = {ROWS, COLUMNS};
static const int32_t CHUNKSHAPE[] = {17, 13}, BLOCKSHAPE[] = {5, 4};
#define BYTES (ROWS * COLUMNS * 4)

b2nd_context_t *array_context(const char *path, int16_t nthreads) {
  blosc2_cparams cparams = parameters(nthreads);
  cparams.blocksize = 0;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = nthreads;
  blosc2_storage storage = new_storage(&cparams, &dparams);
  if (storage.urlpath != NULL) {
    storage.urlpath = (char *)path;
  }
  return b2nd_create_ctx(&storage, 2, SHAPE, CHUNKSHAPE, BLOCKSHAPE, "<i4", 0, NULL, 0);
}

void make_array(int16_t nthreads, bool other) {
  b2nd_context_t *ctx = array_context(t.path, nthreads);
  need(ctx != NULL && b2nd_from_cbuffer(ctx, &t.array, data, BYTES) == 0, "an array");
  b2nd_free_ctx(ctx);
  if (other) {
    enum storage storage = t.storage;
    t.storage = FRAME;
    ctx = array_context(NULL, 1);
    need(b2nd_from_cbuffer(ctx, &t.other, data + 1000, BYTES) == 0, "another array");
    b2nd_free_ctx(ctx);
    t.storage = storage;
  }
  if (t.storage == MAPPED) {
    t.has_path = false;
  }
}

static int16_t threads(void) { return (int16_t)(t.param % 2 + 1); }

static void room(void) {
  t.out_len = NBYTES;
  t.out = calloc(NBYTES, 1);
}

static void create_ctx(void) {
  blosc2_metalayer layer = {.name = (char *)"mine", .content = (uint8_t *)data, .content_len = 20};
  blosc2_cparams cparams = parameters(1);
  blosc2_storage storage = new_storage(&cparams, NULL);
  CALL_POINTER(t.array_ctx = b2nd_create_ctx(&storage, 2, SHAPE, CHUNKSHAPE, BLOCKSHAPE, "<i4", 0, &layer, 1));
}

static void build(void) {
  t.array_ctx = array_context(t.new_path, threads());
  need(t.array_ctx != NULL, "a context");
  t.has_path = t.storage != MAPPED;
  int32_t value = 9;
  switch (t.param / 2) {
    case 0:
      CALL_NEW(b2nd_from_cbuffer(t.array_ctx, &t.made_array, data, BYTES));
      break;
    case 1:
      CALL_NEW(b2nd_uninit(t.array_ctx, &t.made_array));
      break;
    case 2:
      CALL_NEW(b2nd_empty(t.array_ctx, &t.made_array));
      break;
    case 3:
      CALL_NEW(b2nd_zeros(t.array_ctx, &t.made_array));
      break;
    case 4:
      CALL_NEW(b2nd_nans(t.array_ctx, &t.made_array));
      break;
    default:
      CALL_NEW(b2nd_full(t.array_ctx, &t.made_array, &value));
  }
}

static void free_(void) {
  b2nd_context_t *ctx;
  b2nd_array_t *array;
  if (t.param == 0) {
    ctx = array_context(t.path, 1);
    CALL_ONCE(b2nd_free_ctx(ctx));
  } else {
    make_array(1, false);
    array = t.array;
    t.array = NULL;
    CALL_ONCE(b2nd_free(array));
  }
}

static void to_cframe(void) {
  make_array(1, false);
  uint8_t *frame = NULL;
  int64_t len = 0;
  bool needs_free = false;
  int64_t rc;
  CALL(rc = b2nd_to_cframe(t.array, &frame, &len, &needs_free));
  if (rc >= 0 && needs_free) {
    free(frame);
  }
}

static void from_cframe(void) {
  make_array(1, false);
  uint8_t *frame = NULL;
  int64_t len = 0;
  bool needs_free = false;
  need(b2nd_to_cframe(t.array, &frame, &len, &needs_free) == 0, "a frame");
  CALL(b2nd_from_cframe(frame, len, true, &t.made_array));
  if (needs_free) {
    free(frame);
  }
}

static void open_(void) {
  make_array(1, false);
  b2nd_free(t.array);
  t.array = NULL;
  if (t.param) {
    CALL(b2nd_open_offset(t.path, &t.made_array, 0));
  } else {
    CALL(b2nd_open(t.path, &t.made_array));
  }
}

static void save(void) {
  make_array(1, false);
  if (t.param) {
    need(b2nd_save(t.array, t.new_path) == 0, "a file");
    CALL(b2nd_save_append(t.array, t.new_path));
  } else {
    CALL(b2nd_save(t.array, t.new_path));
  }
}

static void to_cbuffer(void) {
  make_array(threads(), false);
  room();
  CALL(b2nd_to_cbuffer(t.array, t.out, BYTES));
}

static void copy_buffer(void) {
  room();
  int64_t start[] = {3, 4}, stop[] = {20, 19}, at[] = {1, 2};
  if (t.param) {
    CALL(b2nd_copy_buffer2(2, 4, data, SHAPE, start, stop, t.out, SHAPE, at));
  } else {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    CALL(b2nd_copy_buffer(2, 4, data, SHAPE, start, stop, t.out, SHAPE, at));
#pragma GCC diagnostic pop
  }
}

static void from_schunk(void) {
  make_array(1, false);
  blosc2_schunk *schunk = blosc2_schunk_copy(t.array->sc, &(blosc2_storage){.contiguous = true});
  need(schunk != NULL, "a copy");
  CALL(b2nd_from_schunk(schunk, &t.made_array));
}

static void slice(void) {
  make_array(1, true);
  t.array_ctx = array_context(t.new_path, threads());
  int64_t start[] = {3, 4}, stop[] = {33, 29};
  switch (t.param / 2) {
    case 0:
      CALL(b2nd_get_slice(t.array_ctx, &t.made_array, t.array, start, stop));
      break;
    case 1:
      CALL(b2nd_copy(t.array_ctx, t.array, &t.made_array));
      break;
    default:
      CALL(b2nd_concatenate(t.array_ctx, t.array, t.other, (int8_t)(t.param % 2), true, &t.made_array));
  }
}

static void concatenate_in_place(void) {
  make_array(1, true);
  t.array_ctx = array_context(t.new_path, 1);
  CALL(b2nd_concatenate(t.array_ctx, t.array, t.other, (int8_t)(t.param % 2), false, &t.array));
}

static void change(void) {
  make_array(threads(), false);
  int64_t larger[] = {50, 35}, smaller[] = {20, 10};
  int64_t start[] = {3, 4}, stop[] = {33, 29}, shape[] = {30, 25};
  switch (t.param / 2) {
    case 0:
      CALL(b2nd_resize(t.array, larger, NULL));
      break;
    case 1:
      CALL(b2nd_resize(t.array, smaller, NULL));
      break;
    case 2:
      CALL(b2nd_insert(t.array, data, 17 * COLUMNS * 4, 0, 17));
      break;
    case 3:
      CALL(b2nd_append(t.array, data, 3 * COLUMNS * 4, 0));
      break;
    case 4:
      CALL(b2nd_delete(t.array, 0, 17, 17));
      break;
    case 5:
      CALL(b2nd_set_slice_cbuffer(data, shape, 30 * 25 * 4, start, stop, t.array));
      break;
    case 6:
      CALL(b2nd_set_slice_cbuffer(data + 77, (int64_t[]){1, 1}, 4, start, (int64_t[]){4, 5}, t.array));
      break;
    default: {
      int64_t rows[] = {1, 30, 5}, columns[] = {2, 29};
      int64_t *selection[] = {rows, columns}, sizes[] = {3, 2};
      CALL(b2nd_set_orthogonal_selection(t.array, selection, sizes, data, sizes, 24));
    }
  }
}

/* Changes in a transaction, and its end. */
static void transaction(void) {
  make_array(1, false);
  int64_t larger[] = {50, 35}, start[] = {30, 20}, stop[] = {45, 32}, shape[] = {15, 12};
  need(oxiblosc_schunk_begin(t.array->sc) == 0, "a transaction");
  if (t.param == 0) {
    CALL(b2nd_resize(t.array, larger, NULL));
    return;
  }
  need(b2nd_resize(t.array, larger, NULL) == 0, "a larger array");
  switch (t.param) {
    case 1:
      CALL(b2nd_set_slice_cbuffer(data, shape, 15 * 12 * 4, start, stop, t.array));
      break;
    case 2:
      CALL(oxiblosc_schunk_commit(t.array->sc));
      break;
    default:
      CALL_ONCE(oxiblosc_schunk_abandon(t.array->sc));
      need(b2nd_refresh(t.array) >= 0 && t.array->shape[0] == ROWS, "the old shape");
  }
}

static void look(void) {
  make_array(threads(), false);
  room();
  int64_t start[] = {3, 4}, stop[] = {33, 29}, shape[] = {30, 25};
  int64_t rows[] = {1, 30, 5}, columns[] = {2, 29};
  int64_t *selection[] = {rows, columns}, sizes[] = {3, 2};
  int64_t coords[] = {0, 0, 39, 29, 17, 3};
  switch (t.param / 2) {
    case 0:
      CALL(b2nd_get_slice_cbuffer(t.array, start, stop, t.out, shape, 30 * 25 * 4));
      break;
    case 1:
      CALL(b2nd_get_orthogonal_selection(t.array, selection, sizes, t.out, sizes, 24));
      break;
    case 2:
      CALL(b2nd_get_sparse_cbuffer(t.array, 3, coords, t.out, 12));
      break;
    case 3:
      CALL(b2nd_refresh(t.array));
      break;
    default:
      CALL(b2nd_print_meta(t.array));
  }
}

/* Another handle changes the frame of the array, and this one reads it again within its next call. Before that call a handle that was only
   just opened stands for it, as to look at this one would read the frame already. */
static void changed_by_another(void) {
  if (t.param % 2) {
    setenv("BLOSC_LOCKING", "1", 1);
  }
  make_array(1, true);
  room();
  b2nd_array_t *array = t.array, *another = NULL, *fresh = NULL;
  t.array = NULL;
  int64_t larger[] = {60, 35}, start[] = {30, 20}, stop[] = {60, 35}, shape[] = {30, 15};
  need(b2nd_open(t.path, &another) == 0, "another handle");
  need(b2nd_resize(another, larger, NULL) == 0, "a larger array");
  need(b2nd_set_slice_cbuffer(data + 500, shape, 30 * 15 * 4, start, stop, another) == 0, "other items");
  char name[16];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "more%d", i);
    need(blosc2_vlmeta_add(another->sc, name, (uint8_t *)data, 100, NULL) >= 0, "another metalayer");
  }
  b2nd_free(another);
  need(b2nd_open(t.path, &fresh) == 0, "one more handle");
  t.array = fresh;
  t.follows = true;
  int64_t even[] = {64, 40}, smaller[] = {20, 10}, row[] = {59, 34}, behind[] = {60, 35};
  int64_t rows[] = {1, 59, 5}, columns[] = {2, 34};
  int64_t *selection[] = {rows, columns}, sizes[] = {3, 2};
  int64_t coords[] = {0, 60 * 35 - 1, 50 * 35 + 33};
  bool axis[] = {false, true, false};
#define CALL_HERE(expr) CALL((rc = (expr), t.array = array, rc))
  int64_t rc;
  switch (t.param / 2) {
    case 0:
      CALL_HERE(b2nd_get_slice_cbuffer(array, start, stop, t.out, shape, 30 * 15 * 4));
      break;
    case 1:
      CALL_HERE(b2nd_set_slice_cbuffer(data + 9, shape, 30 * 15 * 4, start, stop, array));
      break;
    case 2:
      CALL_HERE(b2nd_set_slice_cbuffer(data + 77, (int64_t[]){1, 1}, 4, row, behind, array));
      break;
    case 3:
      CALL_HERE(b2nd_append(array, data, 3 * 35 * 4, 0));
      break;
    case 4:
      CALL_HERE(b2nd_resize(array, even, NULL));
      break;
    case 5:
      CALL_HERE(b2nd_resize(array, smaller, NULL));
      break;
    case 6:
      CALL_HERE(b2nd_insert(array, data, 17 * 35 * 4, 0, 34));
      break;
    case 7:
      CALL_HERE(b2nd_delete(array, 0, 51, 9));
      break;
    case 8:
      CALL_HERE(b2nd_get_orthogonal_selection(array, selection, sizes, t.out, sizes, 24));
      break;
    case 9:
      CALL_HERE(b2nd_get_sparse_cbuffer(array, 3, coords, t.out, 12));
      break;
    case 10:
      CALL_HERE((rc = b2nd_refresh(array)) < 0 ? rc : 0);
      break;
    case 11:
      CALL_HERE(blosc2_vlmeta_add(array->sc, "another", (uint8_t *)data, 400, NULL));
      break;
    case 12: {
      b2nd_array_t *view = NULL;
      CALL_HERE(b2nd_expand_dims(array, &view, axis, 3));
      if (view != NULL) {
        b2nd_free(view);
      }
      break;
    }
    default:
      CALL_HERE(oxiblosc_schunk_begin(array->sc));
      need(oxiblosc_schunk_abandon(array->sc) == 0, "no transaction");
  }
  b2nd_free(fresh);
  /* A new handle shows what this one does. */
  static int32_t own[64 * 52], other[64 * 52];
  need(b2nd_refresh(array) >= 0, "the array, after the call");
  need(b2nd_open(t.path, &fresh) == 0, "the frame, after the call");
  need(memcmp(array->shape, fresh->shape, sizeof array->shape) == 0, "the shape, after the call");
  int64_t nbytes = array->nitems * 4;
  need(nbytes <= (int64_t)sizeof own && b2nd_to_cbuffer(array, own, nbytes) == 0, "its items, after the call");
  need(b2nd_to_cbuffer(fresh, other, nbytes) == 0 && memcmp(own, other, (size_t)nbytes) == 0, "the items, after the call");
  b2nd_free(fresh);
}

static void meta(void) {
  uint8_t *meta = NULL;
  int8_t ndim, format;
  int64_t shape[B2ND_MAX_DIM], rc;
  int32_t chunkshape[B2ND_MAX_DIM], blockshape[B2ND_MAX_DIM], len;
  char *dtype = NULL;
  if (t.param) {
    len = b2nd_serialize_meta(2, SHAPE, CHUNKSHAPE, BLOCKSHAPE, "<i4", 0, &meta);
    need(len > 0, "a metalayer");
    CALL(rc = b2nd_deserialize_meta(meta, len, &ndim, shape, chunkshape, blockshape, &dtype, &format));
    free(meta);
    if (rc >= 0) {
      free(dtype);
    }
  } else {
    CALL(rc = b2nd_serialize_meta(2, SHAPE, CHUNKSHAPE, BLOCKSHAPE, "<i4", 0, &meta));
    if (rc >= 0) {
      free(meta);
    }
  }
}

static void view(void) {
  make_array(1, false);
  bool axis[] = {false, true, false};
  if (t.param == 0) {
    CALL(b2nd_expand_dims(t.array, &t.made_array, axis, 3));
    return;
  }
  b2nd_array_t *wide = NULL;
  need(b2nd_expand_dims(t.array, &wide, axis, 3) == 0, "a view");
  if (t.param == 1) {
    CALL(b2nd_squeeze(wide, &t.made_array));
  } else {
    CALL(b2nd_squeeze_index(wide, &t.made_array, axis));
  }
  /* The views go before what they show. */
  if (t.made_array != NULL) {
    b2nd_free(t.made_array);
    t.made_array = NULL;
  }
  b2nd_free(wide);
}

#define MOST (ALL_STORAGES & ~(1 << MAPPED))

const struct test_case array_cases[] = {
    {"b2nd_create_ctx", create_ctx, 1, ALL_STORAGES, CODE},
    {"b2nd_build", build, 12, ALL_STORAGES, CODE},
    {"b2nd_free", free_, 2, ALL_STORAGES, CODE},
    {"b2nd_to_cframe", to_cframe, 1, ALL_STORAGES, CODE},
    {"b2nd_from_cframe", from_cframe, 1, ALL_STORAGES, CODE},
    {"b2nd_open", open_, 2, ON_DISK, CODE},
    {"b2nd_save", save, 2, ALL_STORAGES, CODE},
    {"b2nd_to_cbuffer", to_cbuffer, 2, ALL_STORAGES, CODE},
    {"b2nd_copy_buffer", copy_buffer, 2, NO_STORAGE, CODE},
    {"b2nd_from_schunk", from_schunk, 1, ALL_STORAGES, CODE},
    {"b2nd_slice", slice, 6, MOST, CODE},
    {"b2nd_concatenate_in_place", concatenate_in_place, 2, MOST, CODE},
    {"b2nd_change", change, 16, ALL_STORAGES, CODE},
    {"b2nd_transaction", transaction, 4, ALL_STORAGES, CODE},
    {"b2nd_look", look, 10, ALL_STORAGES, CODE},
    {"b2nd_changed_by_another", changed_by_another, 28, ON_DISK, CODE},
    {"b2nd_meta", meta, 2, NO_STORAGE, CODE},
    {"b2nd_view", view, 3, MOST, CODE},
    {0},
};
