/* A frame with checksums: a bit that flips on the disk is an error, and no wrong number. This library alone has them (oxiblosc.h). */
#include <oxiblosc.h>
#include <stdio.h>

/* Ends the program where something is not as it should be. */
#define CHECK(is_right)                                                \
  do {                                                                 \
    if (!(is_right)) {                                                 \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #is_right); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

static int32_t items[10000], back[10000];

int main(void) {
  const char *path = "checksums.b2frame";
  blosc2_init();
  blosc2_remove_urlpath(path);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  storage.urlpath = (char *)path;
  storage.cparams = &cparams;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  CHECK(oxiblosc_schunk_add_checksums(schunk) == 0);
  for (int i = 0; i < 10000; i++) items[i] = i * i;
  CHECK(blosc2_schunk_append_buffer(schunk, items, sizeof items) == 1);
  CHECK(oxiblosc_schunk_check_chunk(schunk, 0) == 1);
  blosc2_schunk_free(schunk);

  /* One bit in the middle of the file. */
  FILE *file = fopen(path, "r+b");
  CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
  long middle = ftell(file) / 2;
  CHECK(fseek(file, middle, SEEK_SET) == 0);
  int byte = fgetc(file);
  CHECK(byte != EOF && fseek(file, middle, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);

  schunk = blosc2_schunk_open(path);
  CHECK(schunk != NULL);
  int rc = blosc2_schunk_decompress_chunk(schunk, 0, back, sizeof back);
  CHECK(rc == BLOSC2_ERROR_DATA);
  printf("the damage was found: %s\n", print_error(rc));
  blosc2_schunk_free(schunk);
  blosc2_remove_urlpath(path);
  blosc2_destroy();
  return 0;
}
