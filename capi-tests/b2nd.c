/* N-dimensional arrays: an array is built, grown, sliced and saved, as a program would. */
#include "check.h"

#include <b2nd.h>
#include <unistd.h>

enum { ROWS = 10, COLS = 13 };

static int32_t value(int64_t row, int64_t col) { return (int32_t)(1000 * row + col); }

/* A path in the folder for temporary files, where nothing is. */
static void fresh_path(char *path, size_t size, const char *name) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, size, "%s/oxiblosc-b2nd-%ld-%s", folder == NULL ? "/tmp" : folder, (long)getpid(), name);
  blosc2_remove_urlpath(path);
}

/* Rows of an array of COLS columns, from a row on. */
static void fill(int32_t *items, int64_t first, int64_t rows) {
  for (int64_t row = 0; row < rows; row++) {
    for (int64_t col = 0; col < COLS; col++) {
      items[row * COLS + col] = value(first + row, col);
    }
  }
}

static b2nd_context_t *context(char *urlpath, int64_t rows) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.cparams = &cparams;
  storage.contiguous = true;
  storage.urlpath = urlpath;
  const int64_t shape[] = {rows, COLS};
  const int32_t chunkshape[] = {4, 6};
  const int32_t blockshape[] = {2, 5};
  return b2nd_create_ctx(&storage, 2, shape, chunkshape, blockshape, "<i4", DTYPE_NUMPY_FORMAT, NULL, 0);
}

/* Whether the array holds `rows` rows of the numbers that `fill` makes. */
static bool holds(const b2nd_array_t *array, int64_t rows) {
  int32_t found[100 * COLS], expected[100 * COLS];
  const int64_t size = rows * COLS * (int64_t)sizeof(int32_t);
  CHECK_EQ(array->shape[0], rows, false);
  CHECK_EQ(b2nd_to_cbuffer(array, found, size), 0, false);
  fill(expected, 0, rows);
  CHECK_BYTES(found, expected, size, false);
  return true;
}

static void builds_grows_slices_and_saves(void) {
  char path[1024], copy[1024];
  fresh_path(path, sizeof(path), "array");
  fresh_path(copy, sizeof(copy), "copy");
  int32_t items[100 * COLS];
  fill(items, 0, ROWS);
  b2nd_context_t *ctx = context(path, ROWS);
  CHECK(ctx != NULL);
  b2nd_array_t *array = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, ROWS * COLS * sizeof(int32_t)), 0);
  CHECK_EQ(array->ndim, 2);
  CHECK_EQ(array->extshape[0], 12);
  CHECK_EQ(array->sc->nchunks, 9);
  CHECK_STR(array->dtype, "<i4");
  CHECK(holds(array, ROWS));

  fill(items, ROWS, 7);
  CHECK_EQ(b2nd_append(array, items, 7 * COLS * sizeof(int32_t), 0), 0);
  CHECK(holds(array, ROWS + 7));

  const int64_t start[] = {3, 5}, stop[] = {6, 9}, shape[] = {3, 4};
  int32_t part[12];
  CHECK_EQ(b2nd_get_slice_cbuffer(array, start, stop, part, shape, sizeof(part)), 0);
  CHECK_EQ(part[0], value(3, 5));
  CHECK_EQ(part[11], value(5, 8));
  for (int i = 0; i < 12; i++) {
    part[i] = -i;
  }
  CHECK_EQ(b2nd_set_slice_cbuffer(part, shape, sizeof(part), start, stop, array), 0);
  const int64_t coords[] = {4 * COLS + 6, 0, 3 * COLS + 5};
  int32_t picked[3];
  CHECK_EQ(b2nd_get_sparse_cbuffer(array, 3, coords, picked, sizeof(picked)), 0);
  CHECK_EQ(picked[0], -5);
  CHECK_EQ(picked[1], value(0, 0));
  CHECK_EQ(picked[2], 0);

  CHECK_EQ(b2nd_save(array, copy), 0);
  const int64_t smaller[] = {8, COLS};
  CHECK_EQ(b2nd_resize(array, smaller, NULL), 0);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_free_ctx(ctx), 0);

  CHECK_EQ(b2nd_open(path, &array), 0);
  CHECK_EQ(array->shape[0], 8);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_open(copy, &array), 0);
  CHECK_EQ(array->shape[0], ROWS + 7);
  CHECK_EQ(b2nd_free(array), 0);
  blosc2_remove_urlpath(path);
  blosc2_remove_urlpath(copy);
}

static void picks_along_each_dimension(void) {
  int32_t items[ROWS * COLS];
  fill(items, 0, ROWS);
  b2nd_context_t *ctx = context(NULL, ROWS);
  b2nd_array_t *array = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof(items)), 0);
  int64_t rows[] = {9, 0, 4}, cols[] = {12, 3};
  int64_t *selection[] = {rows, cols};
  int64_t sizes[] = {3, 2}, shape[] = {3, 2};
  int32_t picked[6];
  CHECK_EQ(b2nd_get_orthogonal_selection(array, selection, sizes, picked, shape, sizeof(picked)), 0);
  for (int row = 0; row < 3; row++) {
    for (int col = 0; col < 2; col++) {
      CHECK_EQ(picked[2 * row + col], value(rows[row], cols[col]));
    }
  }
  rows[0] = 11;
  CHECK_EQ(b2nd_get_orthogonal_selection(array, selection, sizes, picked, shape, sizeof(picked)),
           BLOSC2_ERROR_INVALID_INDEX);
  b2nd_free(array);
  b2nd_free_ctx(ctx);
}

static void views_show_the_same_items(void) {
  int32_t items[ROWS * COLS];
  fill(items, 0, ROWS);
  b2nd_context_t *ctx = context(NULL, ROWS);
  b2nd_array_t *array = NULL, *view = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof(items)), 0);
  const bool axis[] = {false, true, false};
  CHECK_EQ(b2nd_expand_dims(array, &view, axis, 3), 0);
  CHECK_EQ(view->ndim, 3);
  CHECK_EQ(view->shape[1], 1);
  int32_t found[ROWS * COLS];
  CHECK_EQ(b2nd_to_cbuffer(view, found, sizeof(found)), 0);
  CHECK_BYTES(found, items, sizeof(items));
  b2nd_free(view);
  b2nd_free(array);
  b2nd_free_ctx(ctx);
}

static void goes_through_a_buffer(void) {
  int32_t items[ROWS * COLS];
  fill(items, 0, ROWS);
  b2nd_context_t *ctx = context(NULL, ROWS);
  b2nd_array_t *array = NULL, *again = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof(items)), 0);
  uint8_t *frame = NULL, *meta = NULL;
  int64_t len = 0;
  int32_t meta_len = 0;
  bool needs_free = false;
  CHECK_EQ(b2nd_to_cframe(array, &frame, &len, &needs_free), 0);
  CHECK_EQ(b2nd_from_cframe(frame, len, true, &again), 0);
  CHECK(holds(again, ROWS));
  CHECK(blosc2_meta_get(again->sc, "b2nd", &meta, &meta_len) >= 0);
  int8_t ndim = 0, format = -1;
  int64_t shape[B2ND_MAX_DIM];
  int32_t chunkshape[B2ND_MAX_DIM], blockshape[B2ND_MAX_DIM];
  char *dtype = NULL;
  CHECK_EQ(b2nd_deserialize_meta(meta, meta_len, &ndim, shape, chunkshape, blockshape, &dtype, &format), meta_len);
  CHECK_EQ(shape[1], COLS);
  CHECK_EQ(blockshape[1], 5);
  CHECK_STR(dtype, "<i4");
  free(dtype);
  free(meta);
  if (needs_free) {
    free(frame);
  }
  b2nd_free(again);
  b2nd_free(array);
  b2nd_free_ctx(ctx);
}

/* Whether the chunks are the same or not. */
static void copies_have_the_dtype_that_was_asked_for(void) {
  int32_t items[ROWS * COLS];
  fill(items, 0, ROWS);
  b2nd_context_t *ctx = context(NULL, ROWS);
  b2nd_array_t *array = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, sizeof(items)), 0);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.cparams = &cparams;
  const int64_t shape[] = {ROWS, COLS};
  const int32_t blockshape[] = {2, 5};
  for (int32_t rows = 4; rows <= 6; rows += 2) {
    const int32_t chunkshape[] = {rows, 6};
    b2nd_context_t *other = b2nd_create_ctx(&storage, 2, shape, chunkshape, blockshape, "<u4", 3, NULL, 0);
    b2nd_array_t *copy = NULL;
    CHECK_EQ(b2nd_copy(other, array, &copy), 0);
    CHECK_STR(copy->dtype, "<u4");
    CHECK_EQ(copy->dtype_format, 3);
    CHECK(holds(copy, ROWS));
    b2nd_free(copy);
    b2nd_free_ctx(other);
  }
  b2nd_free(array);
  b2nd_free_ctx(ctx);
}

static void impossible_arguments_are_refused(void) {
  b2nd_context_t *ctx = context(NULL, ROWS);
  b2nd_array_t *array = NULL;
  CHECK_EQ(b2nd_zeros(ctx, &array), 0);
  CHECK_EQ(b2nd_to_cbuffer(array, NULL, 0), BLOSC2_ERROR_NULL_POINTER);
  int32_t item;
  CHECK_EQ(b2nd_to_cbuffer(array, &item, sizeof(item)), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(b2nd_append(array, &item, sizeof(item), 0), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(b2nd_append(array, &item, sizeof(item), 2), BLOSC2_ERROR_INVALID_PARAM);
  const int64_t negative[] = {-1, COLS};
  CHECK_EQ(b2nd_resize(array, negative, NULL), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(array->shape[0], ROWS);
  const int32_t none[] = {4, 0};
  const int64_t shape[] = {ROWS, COLS};
  CHECK(b2nd_create_ctx(NULL, 2, shape, (const int32_t[]){4, 6}, none, NULL, 0, NULL, 0) == NULL);
  b2nd_free(array);
  b2nd_free_ctx(ctx);
}

int main(void) {
  blosc2_init();
  RUN(builds_grows_slices_and_saves);
  RUN(picks_along_each_dimension);
  RUN(views_show_the_same_items);
  RUN(goes_through_a_buffer);
  RUN(copies_have_the_dtype_that_was_asked_for);
  RUN(impossible_arguments_are_refused);
  blosc2_destroy();
  return finish();
}
