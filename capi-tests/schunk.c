/* Super-chunks in the four storages: chunks in and out, slices, single items, metalayers, copies. */
#include <blosc2.h>
#include <unistd.h>

#include "check.h"

enum { CHUNK_ITEMS = 500, CHUNK_NBYTES = CHUNK_ITEMS * 4, NCHUNKS = 12, PATH_LENGTH = 300 };

static const struct {
  bool contiguous;
  const char *name;
} storages[] = {{false, NULL}, {true, NULL}, {true, "file"}, {false, "directory"}};
enum { NSTORAGES = sizeof storages / sizeof *storages };

static char path[PATH_LENGTH];

static char *path_of(const char *name) {
  const char *folder = getenv("TMPDIR");
  if (name == NULL) {
    return NULL;
  }
  snprintf(path, PATH_LENGTH, "%s/oxiblosc-schunk-%d-%s", folder == NULL ? "/tmp" : folder, (int)getpid(), name);
  return path;
}

static blosc2_schunk *create(int storage) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.compcode = BLOSC_LZ4;
  blosc2_storage wanted = {.contiguous = storages[storage].contiguous,
                           .urlpath = path_of(storages[storage].name),
                           .cparams = &cparams};
  return blosc2_schunk_new(&wanted);
}

static void discard(blosc2_schunk *schunk, int storage) {
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
  if (storages[storage].name != NULL) {
    CHECK_EQ(blosc2_remove_urlpath(path_of(storages[storage].name)), 0);
  }
}

/* The first chunk holds 0, 1, 2, ..., and each begins where the one before ends. */
static void fill(blosc2_schunk *schunk, int nchunks) {
  int32_t items[CHUNK_ITEMS];
  for (int nchunk = 0; nchunk < nchunks; nchunk++) {
    for (int i = 0; i < CHUNK_ITEMS; i++) {
      items[i] = nchunk * CHUNK_ITEMS + i;
    }
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, items, CHUNK_NBYTES), nchunk + 1);
  }
}

/* The first item of a chunk, or -1. */
static int32_t first_of(blosc2_schunk *schunk, int64_t nchunk) {
  int32_t items[CHUNK_ITEMS];
  const int nbytes = blosc2_schunk_decompress_chunk(schunk, nchunk, items, sizeof items);
  return nbytes == CHUNK_NBYTES ? items[0] : -1;
}

static void chunks(void) {
  for (int storage = 0; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    CHECK_EQ(schunk->frame != NULL, storage > 0);
    fill(schunk, NCHUNKS);
    CHECK_EQ(schunk->nchunks, NCHUNKS);
    CHECK_EQ(schunk->nbytes, NCHUNKS * CHUNK_NBYTES);
    CHECK_EQ(schunk->chunksize, CHUNK_NBYTES);
    CHECK(schunk->cbytes > 0 && schunk->cbytes < schunk->nbytes);
    for (int nchunk = 0; nchunk < NCHUNKS; nchunk++) {
      CHECK_EQ(first_of(schunk, nchunk), nchunk * CHUNK_ITEMS);
    }
    uint8_t *chunk;
    bool needs_free;
    const int cbytes = blosc2_schunk_get_chunk(schunk, 7, &chunk, &needs_free);
    CHECK(cbytes > 0);
    CHECK_EQ(blosc2_schunk_insert_chunk(schunk, 2, chunk, true), NCHUNKS + 1);
    if (needs_free) {
      free(chunk);
    }
    CHECK_EQ(first_of(schunk, 2), 7 * CHUNK_ITEMS);
    CHECK_EQ(first_of(schunk, 3), 2 * CHUNK_ITEMS);
    CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 0), NCHUNKS);
    CHECK(blosc2_schunk_get_lazychunk(schunk, 0, &chunk, &needs_free) > 0);
    int32_t item;
    CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, INT32_MAX, 3, 1, &item, sizeof item), (int)sizeof item);
    CHECK_EQ(item, CHUNK_ITEMS + 3);
    if (needs_free) {
      free(chunk);
    }
    CHECK(blosc2_schunk_get_chunk(schunk, 5, &chunk, &needs_free) > 0);
    CHECK_EQ(blosc2_schunk_update_chunk(schunk, 0, chunk, true), NCHUNKS);
    if (needs_free) {
      free(chunk);
    }
    CHECK_EQ(first_of(schunk, 0), first_of(schunk, 5));
    CHECK_EQ(first_of(schunk, NCHUNKS), -1);
    CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, -1, &item, 4), BLOSC2_ERROR_INVALID_PARAM);
    int64_t order[NCHUNKS];
    for (int i = 0; i < NCHUNKS; i++) {
      order[i] = NCHUNKS - 1 - i;
    }
    CHECK_EQ(blosc2_schunk_reorder_offsets(schunk, order), 0);
    CHECK_EQ(first_of(schunk, 0), (NCHUNKS - 1) * CHUNK_ITEMS);
    order[0] = order[1];
    CHECK_EQ(blosc2_schunk_reorder_offsets(schunk, order), BLOSC2_ERROR_DATA);
    discard(schunk, storage);
  }
}

/* A lazy chunk ends with the size of each block. A size that no block can have is refused. */
static void sizes_in_lazy_chunks(void) {
  static const int32_t sizes[] = {0, -1, 100000, INT32_MAX};
  for (int storage = 2; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    fill(schunk, 1);
    uint8_t *chunk;
    bool needs_free;
    int32_t items[CHUNK_ITEMS];
    const int cbytes = blosc2_schunk_get_lazychunk(schunk, 0, &chunk, &needs_free);
    /* Header, start of the one block, index and offset of the chunk, and the size of the block. */
    CHECK_EQ(cbytes, BLOSC_EXTENDED_HEADER_LENGTH + 4 + 12 + 4);
    CHECK(needs_free);
    CHECK_EQ(blosc2_decompress_ctx(schunk->dctx, chunk, cbytes, items, CHUNK_NBYTES), CHUNK_NBYTES);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      memcpy(chunk + cbytes - 4, &sizes[i], 4);
      CHECK_EQ(blosc2_decompress_ctx(schunk->dctx, chunk, cbytes, items, CHUNK_NBYTES), BLOSC2_ERROR_INVALID_HEADER);
      CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, cbytes, 3, 1, items, 4), BLOSC2_ERROR_INVALID_HEADER);
    }
    free(chunk);
    discard(schunk, storage);
  }
}

static void slices(void) {
  for (int storage = 0; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    fill(schunk, NCHUNKS);
    static const int bounds[][2] = {{0, 1}, {499, 501}, {17, 5301}, {0, NCHUNKS * CHUNK_ITEMS}, {600, 600}};
    static int32_t items[NCHUNKS * CHUNK_ITEMS];
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
      const int start = bounds[b][0], stop = bounds[b][1];
      CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, start, stop, items), 0);
      for (int i = start; i < stop; i++) {
        CHECK_EQ(items[i - start], i);
      }
    }
    CHECK(blosc2_schunk_get_slice_buffer(schunk, 0, NCHUNKS * CHUNK_ITEMS + 1, items) < 0);
    for (int i = 0; i < 1000; i++) {
      items[i] = -i;
    }
    CHECK_EQ(blosc2_schunk_set_slice_buffer(schunk, 700, 1700, items), 0);
    CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, 699, 1701, items), 0);
    CHECK_EQ(items[0], 699);
    CHECK_EQ(items[1000], -999);
    CHECK_EQ(items[1001], 1700);
    int64_t start = 480, stop = 1001, *touched;
    CHECK_EQ(blosc2_get_slice_nchunks(schunk, &start, &stop, &touched), 3);
    CHECK_EQ(touched[2], 2);
    free(touched);
    discard(schunk, storage);
  }
}

static void metalayers(void) {
  for (int storage = 0; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    uint8_t fixed[] = "fixed content", other[] = "other";
    CHECK_EQ(blosc2_meta_add(schunk, "fixed", fixed, sizeof fixed), 0);
    CHECK_EQ(blosc2_meta_add(schunk, "fixed", fixed, sizeof fixed), BLOSC2_ERROR_INVALID_PARAM);
    fill(schunk, 3);
    CHECK_EQ(blosc2_meta_update(schunk, "fixed", other, 5), 0);
    uint8_t *content;
    int32_t length;
    CHECK_EQ(blosc2_meta_get(schunk, "fixed", &content, &length), 0);
    CHECK_EQ(length, (int)sizeof fixed);
    CHECK_BYTES(content, "other content", 13);
    free(content);
    CHECK_EQ(blosc2_vlmeta_add(schunk, "one", other, sizeof other, NULL), 0);
    CHECK_EQ(blosc2_vlmeta_add(schunk, "two", fixed, sizeof fixed, NULL), 1);
    CHECK_EQ(blosc2_vlmeta_update(schunk, "one", fixed, sizeof fixed, NULL), 0);
    CHECK_EQ(blosc2_vlmeta_get(schunk, "one", &content, &length), 0);
    CHECK_EQ(length, (int)sizeof fixed);
    CHECK_BYTES(content, fixed, sizeof fixed);
    free(content);
    char *names[2];
    CHECK_EQ(blosc2_vlmeta_get_names(schunk, names), 2);
    CHECK_STR(names[1], "two");
    CHECK_EQ(blosc2_vlmeta_delete(schunk, "one"), 1);
    CHECK_EQ(blosc2_vlmeta_exists(schunk, "one"), BLOSC2_ERROR_NOT_FOUND);
    CHECK_EQ(blosc2_vlmeta_exists(schunk, "two"), 0);
    discard(schunk, storage);
  }
}

static void copies(void) {
  for (int storage = 0; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    uint8_t note[] = "a note";
    CHECK_EQ(blosc2_vlmeta_add(schunk, "note", note, sizeof note, NULL), 0);
    fill(schunk, NCHUNKS);
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    cparams.compcode = BLOSC_ZSTD;
    blosc2_storage wanted = {.contiguous = true, .cparams = &cparams};
    blosc2_schunk *copy = blosc2_schunk_copy(schunk, &wanted);
    CHECK(copy != NULL);
    uint8_t *frame;
    bool needs_free;
    const int64_t length = blosc2_schunk_to_buffer(copy, &frame, &needs_free);
    CHECK(length > 0 && !needs_free);
    CHECK_EQ(blosc2_schunk_frame_len(copy), length);
    for (int copied = 0; copied < 2; copied++) {
      blosc2_schunk *again = blosc2_schunk_from_buffer(frame, length, copied);
      CHECK(again != NULL);
      CHECK_EQ(again->compcode, BLOSC_ZSTD);
      CHECK_EQ(first_of(again, NCHUNKS - 1), (NCHUNKS - 1) * CHUNK_ITEMS);
      CHECK_EQ(blosc2_vlmeta_exists(again, "note"), 0);
      CHECK_EQ(blosc2_schunk_free(again), 0);
    }
    CHECK(blosc2_schunk_from_buffer(frame, length - 1, true) == NULL);
    CHECK_EQ(blosc2_schunk_free(copy), 0);
    discard(schunk, storage);
  }
}

static void special_values(void) {
  for (int storage = 0; storage < NSTORAGES; storage++) {
    blosc2_schunk *schunk = create(storage);
    CHECK(schunk != NULL);
    CHECK_EQ(blosc2_schunk_fill_special(schunk, 1001, BLOSC2_SPECIAL_ZERO, CHUNK_NBYTES), 3);
    CHECK_EQ(schunk->nbytes, 1001 * 4);
    int32_t items[1001];
    memset(items, 1, sizeof items);
    CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, 0, 1001, items), 0);
    for (int i = 0; i < 1001; i++) {
      CHECK_EQ(items[i], 0);
    }
    CHECK_EQ(blosc2_schunk_fill_special(schunk, 1, BLOSC2_SPECIAL_ZERO, CHUNK_NBYTES), BLOSC2_ERROR_FRAME_SPECIAL);
    discard(schunk, storage);
  }
}

int main(void) {
  blosc2_init();
  RUN(chunks);
  RUN(sizes_in_lazy_chunks);
  RUN(slices);
  RUN(metalayers);
  RUN(copies);
  RUN(special_values);
  blosc2_destroy();
  return finish();
}
