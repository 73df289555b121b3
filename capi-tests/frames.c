/* Frames on disk: opened again, one behind the other in a file, through a memory map, followed while they grow. */
#include <blosc2.h>
#include <unistd.h>

#include "check.h"

enum { CHUNK_ITEMS = 1000, CHUNK_NBYTES = CHUNK_ITEMS * 8, NCHUNKS = 20, PATH_LENGTH = 300 };

static char path[PATH_LENGTH];

static char *path_of(const char *name) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, PATH_LENGTH, "%s/oxiblosc-frames-%d-%s", folder == NULL ? "/tmp" : folder, (int)getpid(), name);
  return path;
}

static void append(blosc2_schunk *schunk, int64_t nchunk) {
  int64_t items[CHUNK_ITEMS];
  for (int i = 0; i < CHUNK_ITEMS; i++) {
    items[i] = nchunk * CHUNK_ITEMS + i;
  }
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, items, CHUNK_NBYTES), nchunk + 1);
}

static void holds(blosc2_schunk *schunk, int64_t nchunks) {
  static int64_t items[NCHUNKS * CHUNK_ITEMS];
  CHECK_EQ(schunk->nchunks, nchunks);
  CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, 0, nchunks * CHUNK_ITEMS, items), 0);
  for (int64_t i = 0; i < nchunks * CHUNK_ITEMS; i++) {
    CHECK_EQ(items[i], i);
  }
}

static blosc2_schunk *create(bool contiguous, char *urlpath, blosc2_io *io) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 8;
  cparams.nthreads = 2;
  blosc2_storage storage = {.contiguous = contiguous, .urlpath = urlpath, .cparams = &cparams, .io = io};
  return blosc2_schunk_new(&storage);
}

static void opened_again(void) {
  for (int contiguous = 0; contiguous < 2; contiguous++) {
    char *urlpath = path_of("again");
    blosc2_schunk *schunk = create(contiguous, urlpath, NULL);
    CHECK(schunk != NULL);
    CHECK(create(contiguous, urlpath, NULL) == NULL);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
    for (int64_t nchunk = 0; nchunk < NCHUNKS; nchunk++) {
      schunk = blosc2_schunk_open(urlpath);
      CHECK(schunk != NULL);
      CHECK_EQ(schunk->storage->contiguous, contiguous);
      append(schunk, nchunk);
      CHECK_EQ(blosc2_schunk_free(schunk), 0);
    }
    schunk = blosc2_schunk_open(urlpath);
    CHECK(schunk != NULL);
    holds(schunk, NCHUNKS);
    int64_t *offsets = blosc2_frame_get_offsets(schunk);
    CHECK(offsets != NULL && offsets[0] == 0 && offsets[1] > 0);
    free(offsets);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
    CHECK_EQ(blosc2_remove_urlpath(urlpath), 0);
    CHECK(blosc2_schunk_open(urlpath) == NULL);
  }
}

static void one_behind_the_other(void) {
  char *urlpath = path_of("several");
  blosc2_schunk *schunk = create(true, NULL, NULL);
  CHECK(schunk != NULL);
  int64_t offsets[3] = {0};
  append(schunk, 0);
  CHECK(blosc2_schunk_to_file(schunk, urlpath) > 0);
  for (int i = 1; i < 3; i++) {
    append(schunk, i);
    offsets[i] = blosc2_schunk_append_file(schunk, urlpath);
    CHECK(offsets[i] > offsets[i - 1]);
  }
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
  for (int i = 0; i < 3; i++) {
    schunk = blosc2_schunk_open_offset(urlpath, offsets[i]);
    CHECK(schunk != NULL);
    holds(schunk, i + 1);
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
  }
  CHECK(blosc2_schunk_open_offset(urlpath, 3) == NULL);
  CHECK_EQ(blosc2_remove_urlpath(urlpath), 0);
}

static void through_a_memory_map(void) {
  char *urlpath = path_of("mapped");
  blosc2_stdio_mmap map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map.mode = "w+";
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM_MMAP, .params = &map};
  blosc2_schunk *schunk = create(true, urlpath, &io);
  CHECK(schunk != NULL);
  for (int64_t nchunk = 0; nchunk < NCHUNKS; nchunk++) {
    append(schunk, nchunk);
  }
  holds(schunk, NCHUNKS);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
  blosc2_stdio_mmap reading = BLOSC2_STDIO_MMAP_DEFAULTS;
  blosc2_io from = {.id = BLOSC2_IO_FILESYSTEM_MMAP, .params = &reading};
  schunk = blosc2_schunk_open_udio(urlpath, &from);
  CHECK(schunk != NULL);
  holds(schunk, NCHUNKS);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
  CHECK_EQ(blosc2_remove_urlpath(urlpath), 0);
}

static void followed(void) {
  blosc2_stdio_params params = {.locking = true};
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM, .name = "filesystem", .params = &params};
  for (int contiguous = 0; contiguous < 2; contiguous++) {
    char *urlpath = path_of("followed");
    blosc2_schunk *writer = create(contiguous, urlpath, &io);
    CHECK(writer != NULL);
    append(writer, 0);
    blosc2_schunk *reader = blosc2_schunk_open_udio(urlpath, &io);
    CHECK(reader != NULL);
    for (int64_t nchunk = 1; nchunk < NCHUNKS; nchunk++) {
      append(writer, nchunk);
      CHECK_EQ(blosc2_schunk_refresh(reader), 1);
      CHECK_EQ(blosc2_schunk_refresh(reader), 0);
      holds(reader, nchunk + 1);
    }
    uint8_t note[] = "news";
    CHECK_EQ(blosc2_schunk_lock(writer), 0);
    CHECK_EQ(blosc2_vlmeta_add(writer, "note", note, sizeof note, NULL), 0);
    CHECK_EQ(blosc2_schunk_unlock(writer), 0);
    CHECK_EQ(blosc2_vlmeta_exists(reader, "note"), 0);
    CHECK_EQ(blosc2_schunk_free(reader), 0);
    CHECK_EQ(blosc2_schunk_free(writer), 0);
    CHECK_EQ(blosc2_remove_urlpath(urlpath), 0);
  }
}

/* A place that only another handle made is one where a chunk can be inserted. */
static void inserted_behind_what_another_handle_wrote(void) {
  char *urlpath = path_of("inserted");
  blosc2_schunk *writer = create(true, urlpath, NULL);
  CHECK(writer != NULL);
  append(writer, 0);
  blosc2_schunk *other = blosc2_schunk_open(urlpath);
  CHECK(other != NULL);
  for (int64_t nchunk = 1; nchunk < NCHUNKS; nchunk++) append(writer, nchunk);
  uint8_t *chunk;
  bool needs_free;
  CHECK(blosc2_schunk_get_chunk(writer, NCHUNKS - 1, &chunk, &needs_free) > 0);
  CHECK_EQ(other->nchunks, 1);
  CHECK_EQ(blosc2_schunk_insert_chunk(other, NCHUNKS, chunk, true), NCHUNKS + 1);
  CHECK_EQ(blosc2_schunk_insert_chunk(other, NCHUNKS + 2, chunk, true), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_schunk_insert_chunk(other, -1, chunk, true), BLOSC2_ERROR_INVALID_PARAM);
  if (needs_free) free(chunk);
  CHECK_EQ(blosc2_schunk_free(writer), 0);
  CHECK_EQ(blosc2_schunk_free(other), 0);
  CHECK_EQ(blosc2_remove_urlpath(urlpath), 0);
}

int main(void) {
  blosc2_init();
  RUN(opened_again);
  RUN(one_behind_the_other);
  RUN(through_a_memory_map);
  RUN(followed);
  RUN(inserted_behind_what_another_handle_wrote);
  blosc2_destroy();
  return finish();
}
