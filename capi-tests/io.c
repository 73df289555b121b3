/* Files, memory maps, paths, back ends of one's own. */
#include <blosc2.h>
#include <unistd.h>

#include "check.h"

enum { PATH_LENGTH = 300 };

/* A path of this process. */
static void scratch(char path[PATH_LENGTH], const char *name) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, PATH_LENGTH, "%s/oxiblosc-io-%d-%s", folder == NULL ? "/tmp" : folder, (int)getpid(), name);
}

static void put(const char *path, size_t nbytes) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  for (size_t i = 0; i < nbytes; i++) {
    fputc((int)(i % 251), file);
  }
  CHECK_EQ(fclose(file), 0);
}

static int64_t length(const char *path) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL, -1);
  fseek(file, 0, SEEK_END);
  const int64_t size = ftell(file);
  fclose(file);
  return size;
}

static void files(void) {
  char path[PATH_LENGTH];
  scratch(path, "file");
  CHECK(blosc2_stdio_open(path, "rb", NULL) == NULL);
  blosc2_stdio_file *stream = blosc2_stdio_open(path, "wb+", NULL);
  CHECK(stream != NULL && stream->file != NULL);
  CHECK_EQ(blosc2_stdio_size(stream), 0);
  CHECK_EQ(blosc2_stdio_write("abcdef", 2, 3, 10, stream), 3);
  CHECK_EQ(blosc2_stdio_size(stream), 16);
  char back[100] = {0};
  void *to = back;
  CHECK_EQ(blosc2_stdio_read(&to, 1, 6, 10, stream), 6);
  CHECK(to == back);
  CHECK_BYTES(back, "abcdef", 6);
  CHECK_EQ(blosc2_stdio_read(&to, 4, 100, 9, stream), 1);
  CHECK_EQ(blosc2_stdio_read(&to, 1, 1, 16, stream), 0);
  CHECK_EQ(blosc2_stdio_truncate(stream, 12), 0);
  CHECK_EQ(blosc2_stdio_size(stream), 12);
  CHECK_EQ(blosc2_stdio_truncate(stream, -1), -1);
  CHECK_EQ(blosc2_stdio_read(NULL, 1, 1, 0, stream), 0);
  CHECK_EQ(blosc2_stdio_write(NULL, 1, 1, 0, stream), 0);
  CHECK_EQ(blosc2_stdio_write(back, INT64_MAX, 2, 0, stream), 0);
  CHECK_EQ(blosc2_stdio_close(stream), 0);
  CHECK_EQ(blosc2_stdio_close(NULL), -1);
  CHECK_EQ(blosc2_stdio_destroy(NULL), 0);
  CHECK_EQ(length(path), 12);
  CHECK_EQ(blosc2_remove_urlpath(path), 0);
}

static void maps(void) {
  char path[PATH_LENGTH], other[PATH_LENGTH];
  scratch(path, "map");
  scratch(other, "other");
  static const char *const modes[] = {"w+", "r+", "c", "r"};
  uint8_t bytes[5000];
  memset(bytes, 7, sizeof bytes);
  for (int i = 0; i < 4; i++) {
    blosc2_stdio_mmap map = BLOSC2_STDIO_MMAP_DEFAULTS;
    map.mode = modes[i];
    map.initial_mapping_size = 1;
    CHECK(blosc2_stdio_mmap_open(path, "rb", &map) == &map);
    CHECK(blosc2_stdio_mmap_open(path, "rb+", &map) == &map);
    CHECK(blosc2_stdio_mmap_open(other, "rb", &map) == NULL);
    const int64_t before = blosc2_stdio_mmap_size(&map);
    CHECK_EQ(before, i == 0 ? 0 : i == 1 ? 5000 : 5003);
    if (i == 0) {
      CHECK_EQ(blosc2_stdio_mmap_write(bytes, 50, 100, 0, &map), 100);
    } else if (i == 1) {
      CHECK_EQ(blosc2_stdio_mmap_write("xyz", 1, 3, 5000, &map), 3);
    } else if (i == 2) {
      CHECK_EQ(blosc2_stdio_mmap_write("uvw", 1, 3, 4997, &map), 3);
    }
    void *found = NULL;
    CHECK_EQ(blosc2_stdio_mmap_read(&found, 1, 3, 4997, &map), 3);
    CHECK_BYTES(found, i == 2 ? "uvw" : "\7\7\7", 3);
    CHECK_EQ(blosc2_stdio_mmap_read(&found, 1, 3, 5001, &map), 0);
    CHECK(found == NULL);
    CHECK_EQ(blosc2_stdio_mmap_close(&map), 0);
    CHECK_EQ(blosc2_stdio_mmap_destroy(&map), 0);
    CHECK_EQ(blosc2_stdio_mmap_destroy(&map), -1);
    CHECK_EQ(length(path), i == 0 ? 5000 : 5003);
  }
  blosc2_stdio_mmap *map = malloc(sizeof *map);
  *map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map->mode = "r+";
  map->needs_free = true;
  CHECK(blosc2_stdio_mmap_open(path, "rb", map) == map);
  CHECK_EQ(blosc2_stdio_mmap_truncate(map, 10), 0);
  CHECK_EQ(blosc2_stdio_mmap_destroy(map), 0);
  CHECK_EQ(length(path), 10);
  CHECK_EQ(blosc2_remove_urlpath(path), 0);
}

static void paths(void) {
  char from[PATH_LENGTH], to[PATH_LENGTH], lock[PATH_LENGTH];
  scratch(from, "from");
  scratch(to, "to");
  scratch(lock, "to.b2lock");
  put(from, 10);
  put(lock, 16);
  CHECK_EQ(blosc2_rename_urlpath(from, to), 0);
  CHECK_EQ(blosc2_rename_urlpath(from, to), BLOSC2_ERROR_FAILURE);
  CHECK_EQ(blosc2_rename_urlpath(NULL, to), 0);
  CHECK_EQ(blosc2_remove_dir(to), BLOSC2_ERROR_NOT_FOUND);
  CHECK_EQ(blosc2_remove_urlpath(to), 0);
  CHECK_EQ(access(to, F_OK), -1);
  CHECK_EQ(access(lock, F_OK), -1);
  CHECK_EQ(blosc2_remove_urlpath(to), 0);
  CHECK_EQ(blosc2_remove_urlpath(NULL), 0);
  CHECK_EQ(blosc2_remove_dir(NULL), BLOSC2_ERROR_INVALID_PARAM);
}

static void positions(void) {
  int64_t shape[] = {3, 4, 5}, strides[] = {20, 5, 1}, index[3], item;
  for (int64_t i = 0; i < 60; i++) {
    blosc2_unidim_to_multidim(3, shape, i, index);
    CHECK_EQ(index[0], i / 20);
    CHECK_EQ(index[1], i / 5 % 4);
    CHECK_EQ(index[2], i % 5);
    blosc2_multidim_to_unidim(index, 3, strides, &item);
    CHECK_EQ(item, i);
  }
}

static int destroyed;

static int forget(void *params) {
  destroyed += params != NULL;
  return 0;
}

static void back_ends(void) {
  blosc2_io_cb *builtin = blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM);
  CHECK(builtin != NULL);
  CHECK_STR(builtin->name, "filesystem");
  CHECK(builtin->is_allocation_necessary && builtin->open != NULL && builtin->destroy != NULL);
  builtin = blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM_MMAP);
  CHECK(builtin != NULL && !builtin->is_allocation_necessary);
  CHECK_STR(builtin->name, "filesystem_mmap");
  CHECK(blosc2_get_io_cb(200) == NULL);
  blosc2_io_cb mine = *blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM);
  mine.name = "mine";
  mine.destroy = forget;
  CHECK_EQ(blosc2_register_io_cb(NULL), BLOSC2_ERROR_INVALID_PARAM);
  mine.id = BLOSC2_IO_REGISTERED - 1;
  CHECK_EQ(blosc2_register_io_cb(&mine), BLOSC2_ERROR_PLUGIN_IO);
  mine.id = 200;
  CHECK_EQ(blosc2_register_io_cb(&mine), 0);
  CHECK_EQ(blosc2_register_io_cb(&mine), 0);
  blosc2_io_cb other = mine;
  other.name = "other";
  CHECK_EQ(blosc2_register_io_cb(&other), BLOSC2_ERROR_PLUGIN_IO);
  CHECK_STR(blosc2_get_io_cb(200)->name, "mine");
  CHECK(blosc2_get_io_cb(200)->read == mine.read);
  CHECK_EQ(blosc2_get_io_cb(200)->destroy(&mine), 0);
  CHECK_EQ(destroyed, 1);
  blosc2_destroy();
  CHECK(blosc2_get_io_cb(200) == NULL && blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM) == NULL);
  blosc2_init();
  CHECK_STR(blosc2_get_io_cb(200)->name, "mine");
}

/* Opens a frame through a memory map, or makes a new one. */
static blosc2_schunk *mapped(const char *path, const char *mode) {
  blosc2_stdio_mmap *map = malloc(sizeof *map);
  *map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map->mode = mode;
  map->needs_free = true;
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "mmap", .params = map};
  if (strcmp(mode, "w+") != 0) {
    return blosc2_schunk_open_udio(path, &io);
  }
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int);
  blosc2_storage storage = {.contiguous = true, .urlpath = (char *)path, .cparams = &cparams, .io = &io};
  return blosc2_schunk_new(&storage);
}

/* A writer that closes a frame may move things in it; who has it open for reading still finds them. */
static void a_reader_outlives_the_writer(void) {
  enum { ITEMS = 20000, CHUNKS = 5 };
  static int data[ITEMS], back[ITEMS];
  char path[PATH_LENGTH];
  scratch(path, "mapped.b2frame");
  blosc2_schunk *writer = mapped(path, "w+");
  CHECK(writer != NULL);
  for (int n = 0; n < CHUNKS; n++) {
    for (int i = 0; i < ITEMS; i++) {
      data[i] = n * i;
    }
    CHECK_EQ(blosc2_schunk_append_buffer(writer, data, sizeof data), n + 1);
  }
  blosc2_schunk *reader = mapped(path, "r");
  CHECK(reader != NULL);
  blosc2_schunk_free(writer);
  for (int n = 0; n < CHUNKS; n++) {
    CHECK_EQ(blosc2_schunk_decompress_chunk(reader, n, back, sizeof back), (int)sizeof back);
    CHECK_EQ(back[ITEMS - 1], n * (ITEMS - 1));
  }
  blosc2_schunk_free(reader);
  remove(path);
}

int main(void) {
  blosc2_init();
  RUN(files);
  RUN(maps);
  RUN(paths);
  RUN(positions);
  RUN(back_ends);
  RUN(a_reader_outlives_the_writer);
  blosc2_destroy();
  return finish();
}
