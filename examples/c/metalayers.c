/* Metalayers: a program's own bytes beside the data, by name. Fixed ones stay as long as they were made; variable ones come, grow and go. */
#include <blosc2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);

  /* A fixed one, which has to be there before the first chunk. */
  double unit = 0.5;
  CHECK(blosc2_meta_add(schunk, "unit", (uint8_t *)&unit, sizeof unit) >= 0);
  char data[1000] = {0};
  CHECK(blosc2_schunk_append_buffer(schunk, data, sizeof data) == 1);
  unit = 0.25;
  CHECK(blosc2_meta_update(schunk, "unit", (uint8_t *)&unit, sizeof unit) >= 0);

  /* A variable one. It is compressed. */
  const char *note = "measured on a Monday", *longer = "measured on a Monday, and again on the Tuesday after";
  CHECK(blosc2_vlmeta_add(schunk, "note", (uint8_t *)note, (int32_t)strlen(note) + 1, NULL) >= 0);
  CHECK(blosc2_vlmeta_update(schunk, "note", (uint8_t *)longer, (int32_t)strlen(longer) + 1, NULL) >= 0);

  /* What is read is the program's to free. */
  uint8_t *content;
  int32_t len;
  CHECK(blosc2_meta_get(schunk, "unit", &content, &len) >= 0 && len == sizeof unit);
  CHECK(memcmp(content, &unit, sizeof unit) == 0);
  free(content);
  CHECK(blosc2_vlmeta_get(schunk, "note", &content, &len) >= 0);
  CHECK(strcmp((char *)content, longer) == 0);
  printf("%s\n", (char *)content);
  free(content);

  CHECK(blosc2_vlmeta_delete(schunk, "note") >= 0);
  CHECK(blosc2_vlmeta_exists(schunk, "note") < 0);
  blosc2_schunk_free(schunk);
  blosc2_destroy();
  return 0;
}
