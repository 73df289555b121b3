/* The program in C of the README. */
#include <blosc2.h>
#include <stdio.h>

int main(void) {
  static int32_t numbers[1000000], some[1000];
  for (int i = 0; i < 1000000; i++) numbers[i] = i / 3;
  blosc2_init();
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  storage.urlpath = "numbers.b2frame";
  storage.cparams = &cparams;
  blosc2_remove_urlpath(storage.urlpath); /* a new frame takes the place of nothing */
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  if (schunk == NULL || blosc2_schunk_append_buffer(schunk, numbers, sizeof numbers) < 0) return 1;
  if (blosc2_schunk_get_slice_buffer(schunk, 500000, 501000, some) < 0) return 1;
  printf("%d bytes became %d; number 500000 is %d\n", (int)schunk->nbytes, (int)schunk->cbytes, some[0]);
  blosc2_schunk_free(schunk);
  blosc2_destroy();
  return 0;
}
