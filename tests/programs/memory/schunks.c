/* Super-chunks, in every storage. */
#include "harness.h"
#include "oxiblosc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Items of a chunk. */
#define PER_CHUNK 1000

blosc2_cparams parameters(int16_t nthreads) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.compcode = BLOSC_LZ4;
  cparams.blocksize = 1024;
  cparams.nthreads = nthreads;
  return cparams;
}

static blosc2_stdio_mmap map_of_frame, map_of_new;
static blosc2_io io_of_frame, io_of_new;

static blosc2_io *mapped(blosc2_io *io, blosc2_stdio_mmap *map, const char *mode) {
  *map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map->mode = mode;
  io->id = BLOSC2_IO_FILESYSTEM_MMAP;
  io->name = "filesystem_mmap";
  io->params = map;
  return io;
}

static blosc2_storage storage_at(char *path, blosc2_io *io, blosc2_stdio_mmap *map, blosc2_cparams *cparams,
                                 blosc2_dparams *dparams) {
  blosc2_storage storage = {0};
  storage.contiguous = t.storage != CHUNKS && t.storage != DIRECTORY;
  storage.urlpath = t.storage >= FILE_ ? path : NULL;
  storage.cparams = cparams;
  storage.dparams = dparams;
  if (t.storage == MAPPED) {
    storage.io = mapped(io, map, "w+");
  }
  return storage;
}

blosc2_storage new_storage(blosc2_cparams *cparams, blosc2_dparams *dparams) {
  return storage_at(t.new_path, &io_of_new, &map_of_new, cparams, dparams);
}

void make_schunk(int16_t nthreads) {
  blosc2_cparams cparams = parameters(nthreads);
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.nthreads = nthreads;
  blosc2_storage storage = storage_at(t.path, &io_of_frame, &map_of_frame, &cparams, &dparams);
  t.schunk = blosc2_schunk_new(&storage);
  need(t.schunk != NULL, "a super-chunk");
  need(blosc2_meta_add(t.schunk, "fixed", (uint8_t *)data, 20) >= 0, "a metalayer");
  for (int i = 0; i < 3; i++) {
    need(blosc2_schunk_append_buffer(t.schunk, data + i * PER_CHUNK, PER_CHUNK * 4) == i + 1, "a chunk");
  }
  need(blosc2_vlmeta_add(t.schunk, "variable", (uint8_t *)data, 400, NULL) >= 0, "a vlmetalayer");
  if (t.storage == MAPPED) {
    /* A map that may be written belongs to one handle: what it has is looked at through that one. */
    t.has_path = false;
  }
}

static int16_t threads(void) { return (int16_t)(t.param % 2 + 1); }

static uint8_t *a_chunk(int first) {
  static uint8_t chunk[PER_CHUNK * 4 + BLOSC2_MAX_OVERHEAD];
  blosc2_context *ctx = blosc2_create_cctx(parameters(1));
  need(blosc2_compress_ctx(ctx, data + first, PER_CHUNK * 4, chunk, sizeof chunk) > 0, "a chunk");
  blosc2_free_ctx(ctx);
  return chunk;
}

static void room(void) {
  t.out_len = NBYTES;
  t.out = calloc(NBYTES, 1);
}

static void new_(void) {
  blosc2_cparams cparams = parameters(threads());
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_storage storage = new_storage(&cparams, &dparams);
  if (t.storage == MAPPED) {
    t.has_path = false;
  }
  CALL_NEW((t.made_schunk = blosc2_schunk_new(&storage)) != NULL ? 0 : BLOSC2_ERROR_MEMORY_ALLOC);
}

static void free_(void) {
  make_schunk(threads());
  blosc2_schunk *schunk = t.schunk;
  need(blosc2_schunk_delete_chunk(schunk, 1) >= 0, "fewer chunks");
  t.schunk = NULL;
  CALL_ONCE(blosc2_schunk_free(schunk));
}

static void append_buffer(void) {
  make_schunk(threads());
  CALL(blosc2_schunk_append_buffer(t.schunk, data, PER_CHUNK * 4));
}

/* The thirty-third chunk leaves the order in which short files are kept. */
static void append_many(void) {
  make_schunk(1);
  for (int i = 3; i < 40; i++) {
    need(blosc2_schunk_append_buffer(t.schunk, data + i, PER_CHUNK * 4) > 0, "chunks");
  }
  CALL(blosc2_schunk_append_buffer(t.schunk, data, PER_CHUNK * 4));
}

static void append_special(void) {
  make_schunk(1);
  uint8_t zeros[BLOSC_EXTENDED_HEADER_LENGTH];
  need(blosc2_chunk_zeros(parameters(1), PER_CHUNK * 4, zeros, sizeof zeros) > 0, "a chunk");
  CALL(blosc2_schunk_append_chunk(t.schunk, zeros, true));
}

/* A chunk that the super-chunk is to own, where the call succeeds. */
static uint8_t *given(bool copy) {
  uint8_t *chunk = a_chunk(7);
  if (copy) {
    return chunk;
  }
  int32_t n, cbytes, b;
  blosc2_cbuffer_sizes(chunk, &n, &cbytes, &b);
  uint8_t *own = malloc((size_t)cbytes);
  memcpy(own, chunk, (size_t)cbytes);
  return own;
}

static void append_chunk(void) {
  make_schunk(1);
  uint8_t *chunk = given(t.param % 2);
  CALL(blosc2_schunk_append_chunk(t.schunk, chunk, t.param % 2));
}

static void insert_chunk(void) {
  make_schunk(1);
  uint8_t *chunk = given(t.param % 2);
  CALL(blosc2_schunk_insert_chunk(t.schunk, 1, chunk, t.param % 2));
}

static void update_chunk(void) {
  make_schunk(1);
  uint8_t *chunk = given(t.param % 2);
  CALL(blosc2_schunk_update_chunk(t.schunk, 1, chunk, t.param % 2));
}

static void delete_chunk(void) {
  make_schunk(1);
  CALL(blosc2_schunk_delete_chunk(t.schunk, t.param));
}

static void decompress_chunk(void) {
  make_schunk(threads());
  room();
  CALL(blosc2_schunk_decompress_chunk(t.schunk, 1, t.out, PER_CHUNK * 4));
}

static int64_t keep(uint8_t *chunk, int64_t len, bool needs_free) {
  if (len > 0 && chunk != NULL) {
    t.made = malloc((size_t)len);
    memcpy(t.made, chunk, (size_t)len);
    t.made_len = len;
  }
  if (needs_free) {
    free(chunk);
  }
  return len;
}

static void get_chunk(void) {
  make_schunk(1);
  uint8_t *chunk = NULL;
  bool needs_free = false;
  int64_t len;
  if (t.param) {
    CALL(len = blosc2_schunk_get_lazychunk(t.schunk, 1, &chunk, &needs_free));
  } else {
    CALL(len = blosc2_schunk_get_chunk(t.schunk, 1, &chunk, &needs_free));
  }
  keep(chunk, len, needs_free);
}

static void lazy_decompress(void) {
  make_schunk(1);
  uint8_t *chunk = NULL;
  bool needs_free = false;
  int len = blosc2_schunk_get_lazychunk(t.schunk, 1, &chunk, &needs_free);
  need(len > 0, "a lazy chunk");
  room();
  if (t.param) {
    CALL(blosc2_decompress_ctx(t.schunk->dctx, chunk, len, t.out, NBYTES));
  } else {
    CALL(blosc2_getitem_ctx(t.schunk->dctx, chunk, len, 5, 300, t.out, NBYTES));
  }
  if (needs_free) {
    free(chunk);
  }
}

static void get_vlblock(void) {
  make_schunk(1);
  static uint8_t chunk[NBYTES + 4096];
  const void *blocks[] = {data, data + 500};
  int32_t lens[] = {2000, 1000};
  blosc2_schunk_free(t.schunk);
  blosc2_remove_urlpath(t.path);
  blosc2_cparams cparams = parameters(1);
  blosc2_storage storage = storage_at(t.path, &io_of_frame, &map_of_frame, &cparams, NULL);
  t.schunk = blosc2_schunk_new(&storage);
  need(blosc2_vlcompress_ctx(t.schunk->cctx, blocks, lens, 2, chunk, sizeof chunk) > 0, "a chunk");
  need(blosc2_schunk_append_chunk(t.schunk, chunk, true) == 1, "a chunk in it");
  uint8_t *dest = NULL;
  int32_t len = 0;
  int64_t rc;
  CALL(rc = blosc2_schunk_get_vlblock(t.schunk, 0, 1, &dest, &len));
  if (rc >= 0) {
    free(dest);
  }
}

static void to_buffer(void) {
  make_schunk(1);
  uint8_t *frame = NULL;
  bool needs_free = false;
  int64_t len;
  CALL(len = blosc2_schunk_to_buffer(t.schunk, &frame, &needs_free));
  if (needs_free && len > 0) {
    free(frame);
  }
}

static void from_buffer(void) {
  make_schunk(1);
  uint8_t *frame = NULL;
  bool needs_free = false;
  int64_t len = blosc2_schunk_to_buffer(t.schunk, &frame, &needs_free);
  need(len > 0, "a buffer");
  uint8_t *own = malloc((size_t)len);
  memcpy(own, frame, (size_t)len);
  if (needs_free) {
    free(frame);
  }
  CALL_POINTER(t.made_schunk = blosc2_schunk_from_buffer(own, len, t.param));
  blosc2_schunk_avoid_cframe_free(t.made_schunk, !t.param);
  blosc2_schunk_free(t.made_schunk);
  t.made_schunk = NULL;
  free(own);
}

static void to_file(void) {
  make_schunk(1);
  CALL(blosc2_schunk_to_file(t.schunk, t.new_path));
}

static void append_file(void) {
  make_schunk(1);
  need(blosc2_schunk_to_file(t.schunk, t.new_path) > 0, "a file");
  CALL(blosc2_schunk_append_file(t.schunk, t.new_path));
}

static void copy(void) {
  make_schunk(1);
  blosc2_cparams cparams = parameters(threads());
  if (t.param > 1) {
    cparams.compcode = BLOSC_ZSTD;
  }
  blosc2_storage storage = new_storage(&cparams, NULL);
  CALL_POINTER(t.made_schunk = blosc2_schunk_copy(t.schunk, &storage));
}

/* Only the index knows how many chunks without data there are. */
static void open_empty_chunks(void) {
  blosc2_cparams cparams = parameters(1);
  blosc2_storage storage = storage_at(t.path, &io_of_frame, &map_of_frame, &cparams, NULL);
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  need(schunk != NULL, "a super-chunk");
  for (int i = 1; i < 4; i++) {
    need(blosc2_schunk_append_buffer(schunk, data, 0) == i, "a chunk without data");
  }
  if (t.storage != FRAME) {
    blosc2_schunk_free(schunk);
    CALL_POINTER(t.made_schunk = blosc2_schunk_open(t.path));
    return;
  }
  uint8_t *frame;
  bool needs_free;
  int64_t len = blosc2_schunk_to_buffer(schunk, &frame, &needs_free);
  need(len > 0, "a frame");
  CALL_POINTER(t.made_schunk = blosc2_schunk_from_buffer(frame, len, true));
  if (needs_free) {
    free(frame);
  }
  blosc2_schunk_free(schunk);
}

/* A frame on disk that is not open. */
static void closed(void) {
  make_schunk(1);
  blosc2_schunk_free(t.schunk);
  t.schunk = NULL;
}

static void open_(void) {
  closed();
  blosc2_io io = BLOSC2_IO_DEFAULTS;
  switch (t.param) {
    case 0:
      CALL_POINTER(t.made_schunk = blosc2_schunk_open(t.path));
      break;
    case 1:
      CALL_POINTER(t.made_schunk = blosc2_schunk_open_offset(t.path, 0));
      break;
    case 2:
      CALL_POINTER(t.made_schunk = blosc2_schunk_open_udio(t.path, &io));
      break;
    default:
      CALL_POINTER(t.made_schunk = blosc2_schunk_open_offset_udio(t.path, 0, &io));
  }
}

static void open_mapped(void) {
  closed();
  static const char *const modes[] = {"r", "r+", "c"};
  CALL_POINTER(t.made_schunk = blosc2_schunk_open_udio(t.path, mapped(&io_of_new, &map_of_new, modes[t.param])));
  blosc2_schunk_free(t.made_schunk);
  t.made_schunk = NULL;
}

static void open_nothing(void) { CALL_POINTER(t.made_schunk = blosc2_schunk_open("nothing.b2frame")); }

/* A handle that has only just been opened reads more. */
static void first_use(void) {
  closed();
  t.schunk = blosc2_schunk_open(t.path);
  need(t.schunk != NULL, "the frame");
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_schunk_decompress_chunk(t.schunk, 2, t.out, NBYTES));
      break;
    case 1:
      CALL(blosc2_schunk_append_buffer(t.schunk, data, PER_CHUNK * 4));
      break;
    case 2:
      CALL(blosc2_vlmeta_add(t.schunk, "other", (uint8_t *)data, 100, NULL));
      break;
    default:
      CALL(blosc2_schunk_get_slice_buffer(t.schunk, 900, 2100, t.out));
  }
}

static void meta(void) {
  make_schunk(1);
  if (t.param) {
    CALL(blosc2_meta_update(t.schunk, "fixed", (uint8_t *)data + 40, 20));
  } else {
    CALL(blosc2_meta_add(t.schunk, "another", (uint8_t *)data + 40, 30));
  }
}

static void vlmeta(void) {
  make_schunk(1);
  blosc2_cparams cparams = parameters(1);
  uint8_t *content = NULL;
  int32_t len;
  int64_t rc;
  char *names[4];
  switch (t.param) {
    case 0:
      CALL(blosc2_vlmeta_add(t.schunk, "another", (uint8_t *)data + 40, 800, NULL));
      break;
    case 1:
      CALL(blosc2_vlmeta_update(t.schunk, "variable", (uint8_t *)data + 40, 900, &cparams));
      break;
    case 2:
      CALL(blosc2_vlmeta_delete(t.schunk, "variable"));
      break;
    case 3:
      CALL(rc = blosc2_vlmeta_get(t.schunk, "variable", &content, &len));
      if (rc >= 0) {
        free(content);
      }
      break;
    case 4:
      CALL(blosc2_vlmeta_exists(t.schunk, "variable"));
      break;
    case 5:
      CALL(blosc2_vlmeta_get_names(t.schunk, names));
      break;
    default:
      CALL(blosc2_vlmeta_delete(t.schunk, "there is none"));
  }
}

static void get_params(void) {
  make_schunk(1);
  blosc2_cparams *cparams = NULL;
  blosc2_dparams *dparams = NULL;
  int64_t rc;
  if (t.param) {
    CALL(rc = blosc2_schunk_get_dparams(t.schunk, &dparams));
  } else {
    CALL(rc = blosc2_schunk_get_cparams(t.schunk, &cparams));
  }
  free(rc >= 0 ? (t.param ? (void *)dparams : (void *)cparams) : NULL);
}

static void reorder(void) {
  make_schunk(1);
  int64_t order[] = {2, 0, 1};
  CALL(blosc2_schunk_reorder_offsets(t.schunk, order));
}

static void frame_len(void) {
  make_schunk(1);
  CALL(blosc2_schunk_frame_len(t.schunk));
}

/* In a frame that gets them, and in one that has them. */
static void checksums(void) {
  make_schunk(1);
  if (t.param == 0) {
    CALL(oxiblosc_schunk_add_checksums(t.schunk));
    return;
  }
  need(oxiblosc_schunk_add_checksums(t.schunk) == 0, "checksums");
  room();
  switch (t.param) {
    case 1:
      CALL(oxiblosc_schunk_has_checksums(t.schunk));
      break;
    case 2:
      CALL(oxiblosc_schunk_check_chunk(t.schunk, 1));
      break;
    case 5:
      CALL(oxiblosc_schunk_check_places(t.schunk));
      break;
    case 3:
      CALL(blosc2_schunk_append_buffer(t.schunk, data, PER_CHUNK * 4));
      break;
    case 4:
      CALL(blosc2_schunk_set_slice_buffer(t.schunk, 900, 2100, data));
      break;
    default:
      CALL(blosc2_schunk_get_slice_buffer(t.schunk, 900, 2100, t.out));
  }
}

/* Changes in a transaction, of each kind, and its end. */
static void transaction(void) {
  make_schunk(1);
  if (t.param == 0) {
    CALL(oxiblosc_schunk_begin(t.schunk));
    return;
  }
  uint8_t *chunk = a_chunk(300);
  need(oxiblosc_schunk_begin(t.schunk) == 0, "a transaction");
  if (t.param > 1) {
    need(blosc2_schunk_append_buffer(t.schunk, data + 7, PER_CHUNK * 4) == 4, "an append");
    need(blosc2_schunk_delete_chunk(t.schunk, 1) == 3, "a chunk that is deleted");
    need(blosc2_meta_update(t.schunk, "fixed", (uint8_t *)data + 1, 20) >= 0, "a metalayer");
    need(blosc2_vlmeta_delete(t.schunk, "variable") >= 0, "a vlmetalayer");
  }
  switch (t.param) {
    case 1:
      CALL(blosc2_schunk_append_buffer(t.schunk, data + 7, PER_CHUNK * 4));
      break;
    case 2:
      CALL(blosc2_schunk_update_chunk(t.schunk, 1, chunk, true));
      break;
    case 3:
      CALL(blosc2_schunk_insert_chunk(t.schunk, 0, chunk, true));
      break;
    case 4:
      CALL(blosc2_schunk_set_slice_buffer(t.schunk, 900, 2100, data));
      break;
    case 5:
      CALL(blosc2_vlmeta_add(t.schunk, "another", (uint8_t *)data, 400, NULL));
      break;
    case 6:
      CALL(blosc2_meta_update(t.schunk, "fixed", (uint8_t *)data + 2, 20));
      break;
    case 7: {
      int64_t order[] = {2, 0, 1};
      CALL(blosc2_schunk_reorder_offsets(t.schunk, order));
      break;
    }
    case 8:
      CALL(oxiblosc_schunk_commit(t.schunk));
      break;
    default:
      CALL_ONCE(oxiblosc_schunk_abandon(t.schunk));
  }
}

static void fill_special(void) {
  blosc2_cparams cparams = parameters(1);
  blosc2_storage storage = storage_at(t.path, &io_of_frame, &map_of_frame, &cparams, NULL);
  t.schunk = blosc2_schunk_new(&storage);
  need(t.schunk != NULL, "a super-chunk");
  t.has_path = t.storage != MAPPED;
  CALL(blosc2_schunk_fill_special(t.schunk, 3500, BLOSC2_SPECIAL_ZERO + t.param, PER_CHUNK * 4));
}

static void locks(void) {
  make_schunk(1);
  need(unsetenv("BLOSC_LOCKING") == 0, "the environment");
  switch (t.param) {
    case 0:
      CALL(blosc2_schunk_refresh(t.schunk));
      break;
    case 1:
      CALL_ONCE(blosc2_schunk_lock(t.schunk));
      blosc2_schunk_unlock(t.schunk);
      break;
    default:
      need(blosc2_schunk_lock(t.schunk) >= 0, "a lock");
      CALL_ONCE(blosc2_schunk_unlock(t.schunk));
  }
}

/* With locking, every change takes the lock beside the frame. */
static void locked(void) {
  setenv("BLOSC_LOCKING", "1", 1);
  make_schunk(1);
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_schunk_append_buffer(t.schunk, data, PER_CHUNK * 4));
      break;
    case 1:
      CALL(blosc2_schunk_decompress_chunk(t.schunk, 1, t.out, NBYTES));
      break;
    default:
      /* Whoever has the lock is the only one who can look. */
      t.has_path = false;
      CALL_ONCE(blosc2_schunk_lock(t.schunk));
  }
}

/* Somebody else changed the frame. */
static void refresh_changed(void) {
  setenv("BLOSC_LOCKING", "1", 1);
  make_schunk(1);
  blosc2_schunk *other = blosc2_schunk_open(t.path);
  need(other != NULL, "another handle");
  need(blosc2_schunk_append_buffer(other, data, PER_CHUNK * 4) > 0, "another chunk");
  blosc2_schunk_free(other);
  CALL(blosc2_schunk_refresh(t.schunk));
}

/* Another handle changes the frame, and this one reads it again within its next call. Only that call is looked at, and then the file: to look at
   the handle before would read the frame already. */
static void changed_by_another(void) {
  make_schunk(1);
  room();
  blosc2_schunk *schunk = t.schunk;
  t.schunk = NULL;
  t.has_path = false;
  blosc2_schunk *other = blosc2_schunk_open(t.path);
  need(other != NULL, "another handle");
  int64_t nchunks = blosc2_schunk_append_buffer(other, data, PER_CHUNK * 4);
  need(nchunks > 0, "another chunk");
  char name[16];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "more%d", i);
    need(blosc2_vlmeta_add(other, name, (uint8_t *)data, 100, NULL) > 0, "another metalayer");
  }
  blosc2_schunk_free(other);
  uint8_t *content = NULL;
  int32_t len;
  switch (t.param) {
    case 0:
      CALL(blosc2_schunk_append_buffer(schunk, data + 7, PER_CHUNK * 4));
      nchunks++;
      break;
    case 1:
      CALL(blosc2_schunk_decompress_chunk(schunk, nchunks - 1, t.out, NBYTES));
      break;
    case 2:
      CALL(blosc2_vlmeta_get(schunk, "more9", &content, &len));
      free(content);
      break;
    case 3:
      CALL(blosc2_schunk_get_slice_buffer(schunk, (nchunks - 1) * PER_CHUNK, nchunks * PER_CHUNK, t.out));
      break;
    case 4:
      CALL(blosc2_schunk_delete_chunk(schunk, 0));
      nchunks--;
      break;
    default:
      CALL(blosc2_vlmeta_add(schunk, "another", (uint8_t *)data, 400, NULL));
  }
  blosc2_schunk_free(schunk);
  schunk = blosc2_schunk_open(t.path);
  need(schunk != NULL, "the frame, after the call");
  need(schunk->nchunks == nchunks, "the chunks, after the call");
  for (int64_t i = 0; i < nchunks; i++) {
    need(blosc2_schunk_decompress_chunk(schunk, i, t.out, NBYTES) > 0, "each chunk, after the call");
  }
  blosc2_schunk_free(schunk);
}

static void offsets(void) {
  make_schunk(1);
  int64_t *list = NULL;
  CALL_POINTER(list = blosc2_frame_get_offsets(t.schunk));
  free(list);
}

static void slices(void) {
  make_schunk(threads());
  room();
  int64_t coords[] = {5, 2990, 1500, 1501, 20};
  int64_t start = 900, stop = 2100, *chunks = NULL;
  int64_t rc;
  switch (t.param / 2) {
    case 0:
      CALL(blosc2_schunk_get_slice_buffer(t.schunk, 900, 2100, t.out));
      break;
    case 1:
      CALL(blosc2_schunk_set_slice_buffer(t.schunk, 900, 2100, data + 1300));
      break;
    case 2:
      CALL(blosc2_schunk_get_sparse_buffer(t.schunk, 5, coords, t.out));
      break;
    case 3:
      CALL(blosc2_schunk_set_slice_buffer(t.schunk, 1300, 1301, data + 1300));
      break;
    default:
      CALL(rc = blosc2_get_slice_nchunks(t.schunk, &start, &stop, &chunks));
      if (rc > 0) {
        free(chunks);
      }
  }
}

static void beyond(void) {
  make_schunk(1);
  room();
  switch (t.param) {
    case 0:
      CALL(blosc2_schunk_decompress_chunk(t.schunk, 10, t.out, NBYTES));
      break;
    case 1:
      CALL(blosc2_schunk_delete_chunk(t.schunk, 10));
      break;
    case 2:
      CALL(blosc2_meta_add(t.schunk, "fixed", (uint8_t *)data, 20));
      break;
    default:
      CALL(blosc2_schunk_set_slice_buffer(t.schunk, 0, 50000, data));
  }
}

static void paths(void) {
  closed();
  blosc2_schunk *s;
  switch (t.param) {
    case 0:
      CALL(blosc2_rename_urlpath(t.path, t.new_path));
      break;
    case 1:
      CALL(blosc2_remove_urlpath(t.path));
      break;
    case 2:
      CALL(blosc2_remove_urlpath("nothing"));
      break;
    default:
      s = NULL;
      CALL(blosc2_remove_dir(t.path));
      (void)s;
  }
}

const struct test_case schunk_cases[] = {
    {"schunk_new", new_, 2, ALL_STORAGES, CODE},
    {"schunk_free", free_, 2, ALL_STORAGES, CODE},
    {"schunk_append_buffer", append_buffer, 2, ALL_STORAGES, CODE},
    {"schunk_append_many", append_many, 1, ALL_STORAGES, CODE},
    {"schunk_append_special", append_special, 1, ALL_STORAGES, CODE},
    {"schunk_append_chunk", append_chunk, 2, ALL_STORAGES, CODE},
    {"schunk_insert_chunk", insert_chunk, 2, ALL_STORAGES, CODE},
    {"schunk_update_chunk", update_chunk, 2, ALL_STORAGES, CODE},
    {"schunk_delete_chunk", delete_chunk, 3, ALL_STORAGES, CODE},
    {"schunk_decompress_chunk", decompress_chunk, 2, ALL_STORAGES, CODE},
    {"schunk_get_chunk", get_chunk, 2, ALL_STORAGES, CODE},
    {"schunk_lazy_decompress", lazy_decompress, 2, ALL_STORAGES, CODE},
    {"schunk_get_vlblock", get_vlblock, 1, 1 << FRAME | 1 << CHUNKS | ON_DISK, CODE},
    {"schunk_to_buffer", to_buffer, 1, ALL_STORAGES, CODE},
    {"schunk_from_buffer", from_buffer, 2, ALL_STORAGES, CODE},
    {"schunk_to_file", to_file, 1, ALL_STORAGES, CODE},
    {"schunk_append_file", append_file, 1, ALL_STORAGES, CODE},
    {"schunk_copy", copy, 4, 1 << FRAME | 1 << CHUNKS | ON_DISK, CODE},
    {"schunk_open", open_, 4, ON_DISK, CODE},
    {"schunk_open_mapped", open_mapped, 3, IN_FILE, CODE},
    {"schunk_open_nothing", open_nothing, 1, ON_DISK, CODE},
    {"schunk_first_use", first_use, 4, ON_DISK, CODE},
    {"meta", meta, 2, ALL_STORAGES, CODE},
    {"vlmeta", vlmeta, 7, ALL_STORAGES, CODE},
    {"schunk_get_params", get_params, 2, ALL_STORAGES, CODE},
    {"schunk_reorder_offsets", reorder, 1, ALL_STORAGES, CODE},
    {"schunk_frame_len", frame_len, 1, ALL_STORAGES, CODE},
    {"schunk_checksums", checksums, 7, ALL_STORAGES & ~(1 << CHUNKS), CODE},
    {"schunk_transaction", transaction, 10, ALL_STORAGES, CODE},
    {"schunk_fill_special", fill_special, 2, ALL_STORAGES, CODE},
    {"schunk_lock", locks, 3, ALL_STORAGES, CODE},
    {"schunk_locked", locked, 3, ON_DISK, CODE},
    {"schunk_refresh_changed", refresh_changed, 1, ON_DISK, CODE},
    {"schunk_open_empty_chunks", open_empty_chunks, 1, 1 << FRAME | ON_DISK, CODE},
    {"schunk_changed_by_another", changed_by_another, 6, ON_DISK, CODE},
    {"frame_get_offsets", offsets, 1, 1 << FRAME | 1 << FILE_ | 1 << DIRECTORY, CODE},
    {"schunk_slices", slices, 10, ALL_STORAGES, CODE},
    {"schunk_beyond", beyond, 4, ALL_STORAGES, CODE},
    {"urlpath", paths, 3, ON_DISK, CODE},
    {"remove_dir", paths, 4, 1 << DIRECTORY, CODE},
    {0},
};
