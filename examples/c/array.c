/* An array of two dimensions in memory: a part is written, another is read, and a row is appended. */
#include <b2nd.h>
#include <stdio.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

int main(void) {
  blosc2_init();
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(float);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.cparams = &cparams;

  /* 1,000 x 2,000 floats. What is read together should be in one chunk, and what is small in one block. */
  const int64_t shape[] = {1000, 2000};
  const int32_t chunkshape[] = {250, 500}, blockshape[] = {50, 100};
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunkshape, blockshape, "<f4", 0, NULL, 0);
  CHECK(ctx != NULL);
  b2nd_array_t *array;
  CHECK(b2nd_zeros(ctx, &array) == BLOSC2_ERROR_SUCCESS);

  /* A square of 4 x 4 at row 248, column 498: it lies in four chunks. */
  float square[4][4];
  for (int i = 0; i < 16; i++) square[i / 4][i % 4] = (float)(i + 1);
  const int64_t four[] = {4, 4}, start[] = {248, 498}, stop[] = {252, 502};
  CHECK(b2nd_set_slice_cbuffer(square, four, sizeof square, start, stop, array) == BLOSC2_ERROR_SUCCESS);

  /* Row 250 of it, with two columns more on each side. */
  float row[1][8];
  const int64_t row_shape[] = {1, 8}, row_start[] = {250, 496}, row_stop[] = {251, 504};
  CHECK(b2nd_get_slice_cbuffer(array, row_start, row_stop, row, row_shape, sizeof row) == BLOSC2_ERROR_SUCCESS);
  CHECK(row[0][1] == 0 && row[0][2] == 9 && row[0][5] == 12 && row[0][6] == 0);

  static float new_row[2000];
  new_row[1999] = 7;
  CHECK(b2nd_append(array, new_row, sizeof new_row, 0) == BLOSC2_ERROR_SUCCESS);
  CHECK(array->shape[0] == 1001);
  const int64_t one[] = {1, 1}, last[] = {1000, 1999}, end[] = {1001, 2000};
  float item;
  CHECK(b2nd_get_slice_cbuffer(array, last, end, &item, one, sizeof item) == BLOSC2_ERROR_SUCCESS);
  CHECK(item == 7);

  printf("%lld bytes became %lld\n", (long long)array->sc->nbytes, (long long)array->sc->cbytes);
  b2nd_free(array);
  b2nd_free_ctx(ctx);
  blosc2_destroy();
  return 0;
}
