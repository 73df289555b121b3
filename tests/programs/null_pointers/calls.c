/* Calls every public function with each of its pointers null in turn, and with none, in a forked child each.

   calls FOLDER SCENE: prints a line for each call: function, number of the null pointer (-1: none), and what came of it. The scene says
   where the super-chunk and the array of the calls are, and how their contexts are set up.

   calls FOLDER SCENE cancelled|closed: only the calls with none, on a thread that is to be cancelled, or in a process that has closed its standard
   streams before. */
#define _GNU_SOURCE
#include <b2nd.h>
#include <blosc2.h>
#include <blosc2/blosc2-stdio.h>
#include <oxiblosc.h>
#include <signal.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The number of the pointer that is null. */
static int nil;
static enum { IN_MEMORY, IN_A_FRAME, IN_A_FILE, IN_A_DIRECTORY, IN_A_MAP, WITH_DICTIONARY, WITH_FILTERS } scene;
/* The `n`th pointer of a call. */
#define P(n, pointer) (nil == (n) ? NULL : (pointer))

#define ITEMS 1000
#define NBYTES (ITEMS * 4)
#define ROOM (NBYTES + 4096)
#define SHAPE {20, 50}

static int32_t data[ITEMS];
static uint8_t room[ROOM], chunk[ROOM], vlchunk[ROOM];
static int32_t chunk_len, vlchunk_len;
static blosc2_context *cctx, *dctx;
static blosc2_cparams cparams;
static blosc2_dparams dparams;
static blosc2_storage in_memory, in_frame, in_file, in_directory;
static blosc2_schunk *schunk, *frame, *file;
static b2nd_context_t *array_ctx;
static b2nd_array_t *array, *made_array;
static int64_t shape[] = SHAPE, start[] = {1, 2}, stop[] = {5, 7}, part[] = {4, 5};
static int32_t chunkshape[] = {10, 10}, blockshape[] = {5, 5};
static int64_t numbers[8], number;
static int32_t int32;
static size_t sizes[3];
static uint8_t *bytes;
static bool flag, no_axes[B2ND_MAX_DIM], mask[8] = {true};
static char *text;
static int8_t ndim, format;
static int32_t int32s[16];

static void need(bool ok, const char *what) {
  if (!ok) {
    fprintf(stderr, "cannot prepare: %s\n", what);
    _exit(3);
  }
}

static blosc2_schunk *new_schunk(blosc2_storage *storage) {
  blosc2_schunk *made = blosc2_schunk_new(storage);
  need(made != NULL, "a super-chunk");
  need(blosc2_meta_add(made, "fixed", room, 8) >= 0, "a metalayer");
  for (int i = 0; i < 3; i++) {
    need(blosc2_schunk_append_buffer(made, data, NBYTES) == i + 1, "a chunk of a super-chunk");
  }
  need(blosc2_vlmeta_add(made, "variable", room, 8, NULL) >= 0, "a vlmetalayer");
  return made;
}

static int prefilter(blosc2_prefilter_params *params) {
  memset(params->output, 1, (size_t)params->output_size);
  return 0;
}

static int postfilter(blosc2_postfilter_params *params) {
  memcpy(params->output, params->input, (size_t)params->size);
  return 0;
}

/* The back end for maps, for one file that is opened. */
static const blosc2_io *mapping(void) {
  blosc2_stdio_mmap *params = malloc(sizeof *params);
  blosc2_io *io = malloc(sizeof *io);
  need(params != NULL && io != NULL, "memory");
  *params = BLOSC2_STDIO_MMAP_DEFAULTS;
  params->mode = "r+";
  *io = (blosc2_io){.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "mmap", .params = params};
  return io;
}

/* The storage of the scene, at this path if it is one on disk. */
static blosc2_storage at(const char *path) {
  blosc2_storage storage = in_memory;
  storage.contiguous = scene != IN_MEMORY && scene != IN_A_DIRECTORY && scene < WITH_DICTIONARY;
  storage.urlpath = scene >= IN_A_FILE && scene <= IN_A_MAP ? (char *)path : NULL;
  return storage;
}

/* The super-chunk of the scene. One on disk is opened again. */
static blosc2_schunk *opened(blosc2_schunk *made, const char *path) {
  if (scene < IN_A_FILE || scene > IN_A_MAP) {
    return made;
  }
  blosc2_schunk_free(made);
  blosc2_schunk *again = scene == IN_A_MAP ? blosc2_schunk_open_udio(path, mapping()) : blosc2_schunk_open(path);
  need(again != NULL, "opens a super-chunk");
  return again;
}

/* Makes what the calls need. Every child makes its own, and ends with it. */
static void prepare(void) {
  for (int i = 0; i < ITEMS; i++) {
    data[i] = i / 3;
  }
  blosc2_init();
  cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  dparams = BLOSC2_DPARAMS_DEFAULTS;
  static blosc2_prefilter_params preparams;
  static blosc2_postfilter_params postparams;
  if (scene == WITH_DICTIONARY) {
    cparams.use_dict = 1;
    cparams.compcode = BLOSC_ZSTD;
    cparams.blocksize = 400;
  } else if (scene == WITH_FILTERS) {
    cparams.prefilter = prefilter;
    cparams.preparams = &preparams;
    dparams.postfilter = postfilter;
    dparams.postparams = &postparams;
  }
  cctx = blosc2_create_cctx(cparams);
  dctx = blosc2_create_dctx(dparams);
  chunk_len = blosc2_compress_ctx(cctx, data, NBYTES, chunk, ROOM);
  need(chunk_len > 0, "a chunk");
  const void *blocks[] = {data, data + 500};
  int32_t lengths[] = {2000, 2000};
  blosc2_cparams plain = cparams;
  plain.use_dict = 0;
  plain.prefilter = NULL;
  blosc2_context *ctx = blosc2_create_cctx(plain);
  vlchunk_len = blosc2_vlcompress_ctx(ctx, blocks, lengths, 2, vlchunk, ROOM);
  need(vlchunk_len > 0, "a chunk of blocks of variable length");
  in_memory = BLOSC2_STORAGE_DEFAULTS;
  in_memory.cparams = &cparams;
  in_memory.dparams = &dparams;
  in_frame = in_memory;
  in_frame.contiguous = true;
  in_file = in_frame;
  in_file.urlpath = "file.b2frame";
  in_directory = in_memory;
  in_directory.urlpath = "directory.b2frame";
  blosc2_storage storage = at("scene.b2frame");
  schunk = opened(new_schunk(&storage), "scene.b2frame");
  frame = new_schunk(&in_frame);
  file = new_schunk(&in_file);
  new_schunk(&in_directory);
  storage = at("scene.b2nd");
  b2nd_context_t *scene_ctx = b2nd_create_ctx(&storage, 2, shape, chunkshape, blockshape, "<i4", 0, NULL, 0);
  array_ctx = b2nd_create_ctx(&in_memory, 2, shape, chunkshape, blockshape, "<i4", 0, NULL, 0);
  need(scene_ctx != NULL && array_ctx != NULL, "a context of arrays");
  need(b2nd_from_cbuffer(scene_ctx, &array, data, NBYTES) >= 0, "an array");
  if (storage.urlpath != NULL) {
    need(b2nd_from_schunk(opened(array->sc, "scene.b2nd"), &array) >= 0, "opens an array");
  }
}

static b2nd_array_t *sized_like(int64_t rows) {
  int64_t its[] = {rows, 50};
  b2nd_context_t *ctx = b2nd_create_ctx(&in_memory, 2, its, chunkshape, blockshape, "<i4", 0, NULL, 0);
  b2nd_array_t *made = NULL;
  need(b2nd_zeros(ctx, &made) >= 0, "an array");
  return made;
}

/* What a pointer that is returned says. */
static int64_t is(const void *pointer) { return pointer != NULL; }

#define VOID(call) ((call), 0)

/* Every function with pointers, its pointers numbered from 0. */
#define CALLS(X)                                                                                                                  \
  X(blosc2_compress_ctx, 3, blosc2_compress_ctx(P(0, cctx), P(1, data), NBYTES, P(2, room), ROOM))                                \
  X(blosc2_vlcompress_ctx, 4,                                                                                                     \
    blosc2_vlcompress_ctx(P(0, cctx), P(1, ((const void *const[]){data, data + 9})), P(2, ((int32_t[]){900, 700})), 2, P(3, room), ROOM)) \
  X(blosc2_free_ctx, 1, VOID(blosc2_free_ctx(P(0, cctx))))                                                                        \
  X(blosc2_ctx_get_cparams, 2, blosc2_ctx_get_cparams(P(0, cctx), P(1, &cparams)))                                                \
  X(blosc2_ctx_get_dparams, 2, blosc2_ctx_get_dparams(P(0, dctx), P(1, &dparams)))                                                \
  X(blosc2_set_maskout, 2, blosc2_set_maskout(P(0, dctx), P(1, mask), 8))                                                         \
  X(blosc2_decompress_ctx, 3, blosc2_decompress_ctx(P(0, dctx), P(1, chunk), chunk_len, P(2, room), ROOM))                        \
  X(blosc2_getitem, 2, blosc2_getitem(P(0, chunk), chunk_len, 3, 9, P(1, room), ROOM))                                            \
  X(blosc2_getitem_ctx, 3, blosc2_getitem_ctx(P(0, dctx), P(1, chunk), chunk_len, 3, 9, P(2, room), ROOM))                        \
  X(blosc2_getitem_bytes_ctx, 3, blosc2_getitem_bytes_ctx(P(0, dctx), P(1, chunk), chunk_len, 4, 8, P(2, room), ROOM))            \
  X(blosc2_vlchunk_get_nblocks, 2, blosc2_vlchunk_get_nblocks(P(0, vlchunk), vlchunk_len, P(1, &int32)))                          \
  X(blosc2_vldecompress_ctx, 4,                                                                                                   \
    blosc2_vldecompress_ctx(P(0, dctx), P(1, vlchunk), vlchunk_len, P(2, ((void *[2]){0})), P(3, ((int32_t[2]){0})), 2))          \
  X(blosc2_vldecompress_block_ctx, 4,                                                                                             \
    blosc2_vldecompress_block_ctx(P(0, dctx), P(1, vlchunk), vlchunk_len, 1, P(2, &bytes), P(3, &int32)))                         \
  X(blosc2_set_threads_callback, 2, VOID(blosc2_set_threads_callback(P(0, own_threads), P(1, room))))                                     \
  X(blosc2_remove_dir, 1, blosc2_remove_dir(P(0, in_directory.urlpath)))                                                                     \
  X(blosc2_remove_urlpath, 1, blosc2_remove_urlpath(P(0, "file.b2frame")))                                                        \
  X(blosc2_rename_urlpath, 2, blosc2_rename_urlpath(P(0, "file.b2frame"), P(1, "renamed.b2frame")))                               \
  X(blosc2_shuffle, 2, blosc2_shuffle(4, NBYTES, P(0, data), P(1, room)))                                                         \
  X(blosc2_unshuffle, 2, blosc2_unshuffle(4, NBYTES, P(0, data), P(1, room)))                                                     \
  X(blosc2_bitshuffle, 2, blosc2_bitshuffle(4, NBYTES, P(0, data), P(1, room)))                                                   \
  X(blosc2_bitunshuffle, 2, blosc2_bitunshuffle(4, NBYTES, P(0, data), P(1, room)))                                               \
  X(blosc1_set_compressor, 1, blosc1_set_compressor(P(0, "lz4")))                                                                 \
  X(blosc2_compress, 2, blosc2_compress(5, 1, 4, P(0, data), NBYTES, P(1, room), ROOM))                                           \
  X(blosc1_compress, 2, blosc1_compress(5, 1, 4, NBYTES, P(0, data), P(1, room), ROOM))                                           \
  X(blosc2_decompress, 2, blosc2_decompress(P(0, chunk), chunk_len, P(1, room), ROOM))                                            \
  X(blosc1_decompress, 2, blosc1_decompress(P(0, chunk), P(1, room), ROOM))                                                       \
  X(blosc1_getitem, 2, blosc1_getitem(P(0, chunk), 3, 9, P(1, room)))                                                             \
  X(blosc2_unidim_to_multidim, 2, VOID(blosc2_unidim_to_multidim(2, P(0, shape), 70, P(1, numbers))))                             \
  X(blosc2_multidim_to_unidim, 3, VOID(blosc2_multidim_to_unidim(P(0, start), 2, P(1, shape), P(2, &number))))                    \
  X(blosc2_cbuffer_sizes, 4, blosc2_cbuffer_sizes(P(0, chunk), P(1, &int32), P(2, &int32), P(3, &int32)))                         \
  X(blosc1_cbuffer_sizes, 4, VOID(blosc1_cbuffer_sizes(P(0, chunk), P(1, sizes), P(2, sizes + 1), P(3, sizes + 2))))              \
  X(blosc1_cbuffer_validate, 2, blosc1_cbuffer_validate(P(0, chunk), (size_t)chunk_len, P(1, sizes)))                             \
  X(blosc1_cbuffer_metainfo, 3, VOID(blosc1_cbuffer_metainfo(P(0, chunk), P(1, sizes), P(2, &int32))))                            \
  X(blosc2_cbuffer_versions, 3, VOID(blosc2_cbuffer_versions(P(0, chunk), P(1, &int32), P(2, &int32))))                           \
  X(blosc2_cbuffer_complib, 1, is(blosc2_cbuffer_complib(P(0, chunk))))                                                           \
  X(blosc2_get_complib_info, 3, blosc2_get_complib_info(P(0, "lz4"), P(1, (char **)numbers), P(2, (char **)numbers + 1)))         \
  X(blosc_set_timestamp, 1, VOID(blosc_set_timestamp(P(0, (blosc_timestamp_t *)room))))                                           \
  X(blosc2_register_io_cb, 1, blosc2_register_io_cb(P(0, &io_cb)))                                                                \
  X(blosc2_register_codec, 1, blosc2_register_codec(P(0, &codec)))                                                                \
  X(blosc2_register_filter, 1, blosc2_register_filter(P(0, &filter)))                                                             \
  X(blosc2_register_tuner, 1, blosc2_register_tuner(P(0, &tuner)))                                                                \
  X(blosc2_compcode_to_compname, 1, blosc2_compcode_to_compname(1, P(0, (const char **)numbers)))                                 \
  X(blosc2_compname_to_compcode, 1, blosc2_compname_to_compcode(P(0, "lz4")))                                                     \
  X(blosc2_schunk_append_chunk, 2, blosc2_schunk_append_chunk(P(0, schunk), P(1, chunk), true))                                   \
  X(blosc2_schunk_insert_chunk, 2, blosc2_schunk_insert_chunk(P(0, schunk), 1, P(1, chunk), true))                                \
  X(blosc2_schunk_update_chunk, 2, blosc2_schunk_update_chunk(P(0, schunk), 1, P(1, chunk), true))                                \
  X(blosc2_schunk_delete_chunk, 1, blosc2_schunk_delete_chunk(P(0, schunk), 1))                                                   \
  X(blosc2_schunk_append_buffer, 2, blosc2_schunk_append_buffer(P(0, schunk), P(1, data), NBYTES))                                \
  X(blosc2_schunk_decompress_chunk, 2, blosc2_schunk_decompress_chunk(P(0, schunk), 1, P(1, room), NBYTES))                       \
  X(blosc2_schunk_get_chunk, 3, blosc2_schunk_get_chunk(P(0, schunk), 1, P(1, &bytes), P(2, &flag)))                              \
  X(blosc2_schunk_get_lazychunk, 3, blosc2_schunk_get_lazychunk(P(0, schunk), 1, P(1, &bytes), P(2, &flag)))                      \
  X(blosc2_schunk_get_vlblock, 3, blosc2_schunk_get_vlblock(P(0, with_vlblocks()), 0, 1, P(1, &bytes), P(2, &int32)))             \
  X(blosc2_schunk_from_buffer, 1, is((as_frame(), blosc2_schunk_from_buffer(P(0, bytes), number, true))))                               \
  X(blosc2_schunk_to_buffer, 3, blosc2_schunk_to_buffer(P(0, schunk), P(1, &bytes), P(2, &flag)))                                 \
  X(blosc2_schunk_to_file, 2, blosc2_schunk_to_file(P(0, schunk), P(1, "saved.b2frame")))                                         \
  X(blosc2_schunk_append_file, 2, blosc2_schunk_append_file(P(0, schunk), P(1, "file.b2frame")))                                  \
  X(blosc2_schunk_copy, 2, is(blosc2_schunk_copy(P(0, schunk), P(1, &in_frame))))                                                 \
  X(blosc2_schunk_new, 1, is(blosc2_schunk_new(P(0, &in_frame))))                                                                 \
  X(blosc2_schunk_open, 1, is(blosc2_schunk_open(P(0, "file.b2frame"))))                                                          \
  X(blosc2_schunk_open_offset, 1, is(blosc2_schunk_open_offset(P(0, "file.b2frame"), 0)))                                         \
  X(blosc2_schunk_open_udio, 2, is(blosc2_schunk_open_udio(P(0, "file.b2frame"), P(1, &io))))                                     \
  X(blosc2_schunk_open_offset_udio, 2, is(blosc2_schunk_open_offset_udio(P(0, "file.b2frame"), 0, P(1, &io))))                    \
  X(blosc2_schunk_free, 1, blosc2_schunk_free(P(0, schunk)))                                                                      \
  X(blosc2_meta_add, 3, blosc2_meta_add(P(0, schunk), P(1, "another"), P(2, room), 8))                                            \
  X(blosc2_meta_update, 3, blosc2_meta_update(P(0, schunk), P(1, "fixed"), P(2, room), 8))                                        \
  X(blosc2_vlmeta_exists, 2, blosc2_vlmeta_exists(P(0, schunk), P(1, "variable")))                                                \
  X(blosc2_vlmeta_add, 4, blosc2_vlmeta_add(P(0, schunk), P(1, "another"), P(2, room), 8, P(3, &cparams)))                        \
  X(blosc2_vlmeta_get, 4, blosc2_vlmeta_get(P(0, schunk), P(1, "variable"), P(2, &bytes), P(3, &int32)))                          \
  X(blosc2_vlmeta_update, 4, blosc2_vlmeta_update(P(0, schunk), P(1, "variable"), P(2, room), 8, P(3, &cparams)))                 \
  X(blosc2_vlmeta_delete, 2, blosc2_vlmeta_delete(P(0, schunk), P(1, "variable")))                                                \
  X(blosc2_vlmeta_get_names, 2, blosc2_vlmeta_get_names(P(0, schunk), P(1, (char **)numbers)))                                    \
  X(blosc2_schunk_get_cparams, 2, blosc2_schunk_get_cparams(P(0, schunk), P(1, (blosc2_cparams **)numbers)))                      \
  X(blosc2_schunk_get_dparams, 2, blosc2_schunk_get_dparams(P(0, schunk), P(1, (blosc2_dparams **)numbers)))                      \
  X(blosc2_schunk_reorder_offsets, 2, blosc2_schunk_reorder_offsets(P(0, schunk), P(1, ((int64_t[]){2, 0, 1}))))                  \
  X(blosc2_schunk_frame_len, 1, blosc2_schunk_frame_len(P(0, schunk)) > 0)                                                        \
  X(blosc2_schunk_fill_special, 1, blosc2_schunk_fill_special(P(0, blosc2_schunk_new(&in_memory)), 100, BLOSC2_SPECIAL_ZERO, 80)) \
  X(blosc2_schunk_lock, 1, blosc2_schunk_lock(P(0, file)))                                                                        \
  X(blosc2_schunk_unlock, 1, blosc2_schunk_unlock(P(0, file)))                                                                    \
  X(blosc2_schunk_refresh, 1, blosc2_schunk_refresh(P(0, file)))                                                                  \
  X(blosc2_frame_get_offsets, 1, is(blosc2_frame_get_offsets(P(0, frame))))                                                       \
  X(blosc2_schunk_avoid_cframe_free, 1, VOID(blosc2_schunk_avoid_cframe_free(P(0, frame), true)))                                 \
  X(blosc2_schunk_get_slice_buffer, 2, blosc2_schunk_get_slice_buffer(P(0, schunk), 3, 99, P(1, room)))                           \
  X(blosc2_schunk_set_slice_buffer, 2, blosc2_schunk_set_slice_buffer(P(0, schunk), 3, 99, P(1, room)))                           \
  X(blosc2_schunk_get_sparse_buffer, 3, blosc2_schunk_get_sparse_buffer(P(0, schunk), 2, P(1, start), P(2, room)))                \
  X(blosc2_get_slice_nchunks, 4, blosc2_get_slice_nchunks(P(0, schunk), P(1, start), P(2, stop), P(3, (int64_t **)numbers)))      \
  X(blosc2_chunk_zeros, 1, blosc2_chunk_zeros(cparams, NBYTES, P(0, room), ROOM))                                                 \
  X(blosc2_chunk_nans, 1, blosc2_chunk_nans(cparams, NBYTES, P(0, room), ROOM))                                                   \
  X(blosc2_chunk_uninit, 1, blosc2_chunk_uninit(cparams, NBYTES, P(0, room), ROOM))                                               \
  X(blosc2_chunk_repeatval, 2, blosc2_chunk_repeatval(cparams, NBYTES, P(0, room), ROOM, P(1, data)))                             \
  X(b2nd_create_ctx, 6,                                                                                                           \
    is(b2nd_create_ctx(P(0, &in_memory), 2, P(1, shape), P(2, chunkshape), P(3, blockshape), P(4, "<i4"), 0, P(5, &layer), 1)))   \
  X(b2nd_free_ctx, 1, b2nd_free_ctx(P(0, array_ctx)))                                                                             \
  X(b2nd_to_cframe, 4, b2nd_to_cframe(P(0, array), P(1, &bytes), P(2, &number), P(3, &flag)))                                     \
  X(b2nd_from_cframe, 2, (array_as_frame(), b2nd_from_cframe(P(0, bytes), number, true, P(1, &made_array))))                               \
  X(b2nd_open, 2, b2nd_open(P(0, array_in_file()), P(1, &made_array)))                                                            \
  X(b2nd_open_offset, 2, b2nd_open_offset(P(0, array_in_file()), P(1, &made_array), 0))                                           \
  X(b2nd_save, 2, b2nd_save(P(0, array), P(1, "saved.b2nd")))                                                                     \
  X(b2nd_save_append, 2, b2nd_save_append(P(0, array), P(1, "file.b2frame")))                                                     \
  X(b2nd_from_cbuffer, 3, b2nd_from_cbuffer(P(0, array_ctx), P(1, &made_array), P(2, data), NBYTES))                              \
  X(b2nd_to_cbuffer, 2, b2nd_to_cbuffer(P(0, array), P(1, room), NBYTES))                                                         \
  X(b2nd_copy_buffer2, 7,                                                                                                         \
    b2nd_copy_buffer2(2, 4, P(0, data), P(1, shape), P(2, start), P(3, stop), P(4, room), P(5, shape), P(6, start)))              \
  X(b2nd_copy_buffer, 7,                                                                                                          \
    b2nd_copy_buffer(2, 4, P(0, data), P(1, shape), P(2, start), P(3, stop), P(4, room), P(5, shape), P(6, start)))               \
  X(b2nd_uninit, 2, b2nd_uninit(P(0, array_ctx), P(1, &made_array)))                                                              \
  X(b2nd_empty, 2, b2nd_empty(P(0, array_ctx), P(1, &made_array)))                                                                \
  X(b2nd_zeros, 2, b2nd_zeros(P(0, array_ctx), P(1, &made_array)))                                                                \
  X(b2nd_nans, 2, b2nd_nans(P(0, array_ctx), P(1, &made_array)))                                                                  \
  X(b2nd_full, 3, b2nd_full(P(0, array_ctx), P(1, &made_array), P(2, data)))                                                      \
  X(b2nd_free, 1, b2nd_free(P(0, array)))                                                                                         \
  X(b2nd_from_schunk, 2, b2nd_from_schunk(P(0, array->sc), P(1, &made_array)))                                                    \
  X(b2nd_get_slice, 5, b2nd_get_slice(P(0, array_ctx), P(1, &made_array), P(2, array), P(3, start), P(4, stop)))                  \
  X(b2nd_copy, 3, b2nd_copy(P(0, array_ctx), P(1, array), P(2, &made_array)))                                                     \
  X(b2nd_concatenate, 4, b2nd_concatenate(P(0, array_ctx), P(1, array), P(2, sized_like(20)), 0, true, P(3, &made_array)))        \
  X(b2nd_serialize_meta, 5, b2nd_serialize_meta(2, P(0, shape), P(1, chunkshape), P(2, blockshape), P(3, "<i4"), 0, P(4, &bytes))) \
  X(b2nd_deserialize_meta, 7,                                                                                                     \
    (array_meta(), b2nd_deserialize_meta(P(0, bytes), int32, P(1, &ndim), P(2, numbers), P(3, int32s), P(4, int32s + 8),           \
                                         P(5, &text), P(6, &format))))                                                       \
  X(b2nd_print_meta, 1, b2nd_print_meta(P(0, array)))                                                                             \
  X(b2nd_resize, 3, b2nd_resize(P(0, array), P(1, ((int64_t[]){30, 60})), P(2, ((int64_t[]){20, 50}))))                           \
  X(b2nd_insert, 2, b2nd_insert(P(0, array), P(1, data), 10 * 50 * 4, 0, 10))                                                     \
  X(b2nd_append, 2, b2nd_append(P(0, array), P(1, data), 10 * 50 * 4, 0))                                                         \
  X(b2nd_delete, 1, b2nd_delete(P(0, array), 0, 0, 10))                                                                           \
  X(b2nd_refresh, 1, b2nd_refresh(P(0, array)))                                                                                   \
  X(b2nd_get_orthogonal_selection, 5,                                                                                             \
    b2nd_get_orthogonal_selection(P(0, array), P(1, ((int64_t *[]){start, stop})), P(2, ((int64_t[]){2, 2})), P(3, room),         \
                                  P(4, ((int64_t[]){2, 2})), 16))                                                                 \
  X(b2nd_set_orthogonal_selection, 5,                                                                                             \
    b2nd_set_orthogonal_selection(P(0, array), P(1, ((int64_t *[]){start, stop})), P(2, ((int64_t[]){2, 2})), P(3, room),         \
                                  P(4, ((int64_t[]){2, 2})), 16))                                                                 \
  X(b2nd_get_sparse_cbuffer, 3, b2nd_get_sparse_cbuffer(P(0, array), 2, P(1, start), P(2, room), 8))                              \
  X(b2nd_get_slice_cbuffer, 5, b2nd_get_slice_cbuffer(P(0, array), P(1, start), P(2, stop), P(3, room), P(4, part), 80))          \
  X(b2nd_set_slice_cbuffer, 5, b2nd_set_slice_cbuffer(P(0, data), P(1, part), 80, P(2, start), P(3, stop), P(4, array)))          \
  X(b2nd_expand_dims, 3, b2nd_expand_dims(P(0, array), P(1, &made_array), P(2, ((bool[]){true, false, false})), 3))               \
  X(b2nd_squeeze, 2, b2nd_squeeze(P(0, array), P(1, &made_array)))                                                                \
  X(b2nd_squeeze_index, 3, b2nd_squeeze_index(P(0, array), P(1, &made_array), P(2, no_axes)))                                     \
  X(blosc2_stdio_open, 3, is(blosc2_stdio_open(P(0, "file.b2frame"), P(1, "rb"), P(2, room))))                                    \
  X(blosc2_stdio_close, 1, blosc2_stdio_close(P(0, stream())))                                                                    \
  X(blosc2_stdio_size, 1, blosc2_stdio_size(P(0, stream())) > 0)                                                                  \
  X(blosc2_stdio_write, 2, blosc2_stdio_write(P(0, data), 1, 8, 0, P(1, stream())))                                               \
  X(blosc2_stdio_read, 2, blosc2_stdio_read(P(0, (void **)place()), 1, 8, 0, P(1, stream())))                                     \
  X(blosc2_stdio_truncate, 1, blosc2_stdio_truncate(P(0, stream()), 10))                                                          \
  X(blosc2_stdio_destroy, 1, blosc2_stdio_destroy(P(0, room)))                                                                    \
  X(blosc2_stdio_mmap_open, 3, is(blosc2_stdio_mmap_open(P(0, "file.b2frame"), P(1, "rb"), P(2, &map))))                          \
  X(blosc2_stdio_mmap_close, 1, blosc2_stdio_mmap_close(P(0, mapped())))                                                          \
  X(blosc2_stdio_mmap_size, 1, blosc2_stdio_mmap_size(P(0, mapped())) > 0)                                                        \
  X(blosc2_stdio_mmap_write, 2, blosc2_stdio_mmap_write(P(0, data), 1, 8, 0, P(1, mapped())))                                     \
  X(blosc2_stdio_mmap_read, 2, blosc2_stdio_mmap_read(P(0, (void **)&bytes), 1, 8, 0, P(1, mapped())))                            \
  X(blosc2_stdio_mmap_truncate, 1, blosc2_stdio_mmap_truncate(P(0, mapped()), 10))                                                \
  X(blosc2_stdio_mmap_destroy, 1, blosc2_stdio_mmap_destroy(P(0, mapped())))                                                      \
  X(oxiblosc_schunk_add_checksums, 1, oxiblosc_schunk_add_checksums(P(0, file)))                                                  \
  X(oxiblosc_schunk_has_checksums, 1, oxiblosc_schunk_has_checksums(P(0, file)))                                                  \
  X(oxiblosc_schunk_check_chunk, 1, oxiblosc_schunk_check_chunk(P(0, file), 1))                                                   \
  X(oxiblosc_schunk_check_places, 1, oxiblosc_schunk_check_places(P(0, file)))                                                    \
  X(oxiblosc_schunk_begin, 1, oxiblosc_schunk_begin(P(0, file)))                                                                  \
  X(oxiblosc_schunk_commit, 1, oxiblosc_schunk_commit(P(0, begun())))                                                             \
  X(oxiblosc_schunk_abandon, 1, oxiblosc_schunk_abandon(P(0, begun())))

static int encode(const uint8_t *from, int32_t len, uint8_t *to, int32_t to_len, uint8_t meta, blosc2_cparams *params, const void *c) {
  return (void)from, (void)len, (void)to, (void)to_len, (void)meta, (void)params, (void)c, 0;
}
static int decode(const uint8_t *from, int32_t len, uint8_t *to, int32_t to_len, uint8_t meta, blosc2_dparams *params, const void *c) {
  return (void)from, (void)len, (void)to, (void)to_len, (void)meta, (void)params, (void)c, 0;
}
static int forward(const uint8_t *from, uint8_t *to, int32_t len, uint8_t meta, blosc2_cparams *params, uint8_t id) {
  return (void)from, (void)to, (void)len, (void)meta, (void)params, (void)id, 0;
}
static int backward(const uint8_t *from, uint8_t *to, int32_t len, uint8_t meta, blosc2_dparams *params, uint8_t id) {
  return (void)from, (void)to, (void)len, (void)meta, (void)params, (void)id, 0;
}

static blosc2_codec codec = {.compcode = 200, .compname = "own", .complib = 200, .version = 1, .encoder = encode, .decoder = decode};
static blosc2_filter filter = {.id = 200, .name = "own", .version = 1, .forward = forward, .backward = backward};
static blosc2_tuner tuner = {.id = 200, .name = "own"};
static blosc2_io_cb io_cb = {.id = 200, .name = "own"};
static blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM};
static blosc2_metalayer layer = {.name = "own", .content = room, .content_len = 8};
static blosc2_stdio_mmap map;

static blosc2_schunk *with_vlblocks(void) {
  blosc2_schunk *made = blosc2_schunk_new(&in_memory);
  need(blosc2_schunk_append_chunk(made, vlchunk, true) == 1, "a chunk of blocks of variable length");
  return made;
}

static void as_frame(void) {
  number = blosc2_schunk_to_buffer(schunk, &bytes, &flag);
  need(number > 0, "a frame");
}

static void array_as_frame(void) {
  need(b2nd_to_cframe(array, &bytes, &number, &flag) >= 0, "a frame of an array");
}

static const char *array_in_file(void) {
  need(b2nd_save(array, "array.b2nd") >= 0, "a file of an array");
  return "array.b2nd";
}

static void array_meta(void) {
  int32 = b2nd_serialize_meta(2, shape, chunkshape, blockshape, "<i4", 0, &bytes);
  need(int32 > 0, "the metalayer of an array");
}

static void *stream(void) { return blosc2_stdio_open("file.b2frame", "rb+", NULL); }

static void *mapped(void) {
  map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map.mode = "r+";
  return blosc2_stdio_mmap_open("file.b2frame", "rb+", &map);
}

static void **place(void) {
  static void *room_of_read;
  room_of_read = room;
  return &room_of_read;
}

static void own_threads(void *data_, void (*job)(void *), int jobs, size_t size, void *all) {
  (void)data_;
  for (int i = 0; i < jobs; i++) {
    job((char *)all + (size_t)i * size);
  }
}

/* Begins a transaction. */
static blosc2_schunk *begun(void) {
  need(oxiblosc_schunk_begin(file) >= 0, "a transaction");
  return file;
}

#define FUNCTION(name, pointers, call) \
  static int64_t call_##name(void) { return (int64_t)(call); }
/* One of them is deprecated. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CALLS(FUNCTION)

#define ROW(name, pointers, call) {#name, pointers, call_##name, #call},
static const struct {
  const char *name;
  int pointers;
  int64_t (*call)(void);
  const char *text;
} TABLE[] = {CALLS(ROW)};

/* Makes the call in a child; what came of it goes to standard output. */
static void run(const char *name, int64_t (*call)(void), const char *how) {
  const bool cancelled = strcmp(how, "cancelled") == 0, closed = strcmp(how, "closed") == 0;
  fflush(stdout);
  int ends[2];
  pid_t child = pipe(ends) == 0 ? fork() : -1;
  if (child == 0) {
    alarm(20);
    need(closed || freopen("/dev/null", "w", stdout) != NULL, "no output");
    for (int stream = 0; closed && stream < 3; stream++) {
      close(stream);
    }
    prepare();
    need(!cancelled || pthread_cancel(pthread_self()) == 0, "not to be cancelled");
    int64_t rc = call();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int stream = 0; closed && stream < 3; stream++) {
      need(fcntl(stream, F_GETFD) < 0, "a standard stream was opened");
    }
    _exit(write(ends[1], &rc, sizeof rc) == sizeof rc ? 0 : 4);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    exit(2);
  }
  close(ends[1]);
  int64_t rc;
  if (read(ends[0], &rc, sizeof rc) == sizeof rc) {
    printf("%s %d %lld\n", name, nil, (long long)rc);
  } else if (WIFSIGNALED(status)) {
    printf("%s %d signal %d\n", name, nil, WTERMSIG(status));
  } else {
    printf("%s %d exit %d\n", name, nil, WEXITSTATUS(status));
  }
  close(ends[0]);
  if (system("rm -rf ./*") != 0) {
    exit(2);
  }
}

/* Whether a call depends on the scene. */
static bool depends(const char *text) {
  const char *objects[] = {", schunk)", ", array)", ", cctx)", ", dctx)"};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
    if (strstr(text, objects[i]) != NULL) {
      return true;
    }
  }
  return false;
}

int main(int argc, char **argv) {
  if (argc < 3 || chdir(argv[1]) != 0) {
    return 2;
  }
  scene = (unsigned)atoi(argv[2]);
  for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
    if (scene != IN_MEMORY && !depends(TABLE[i].text)) {
      continue;
    }
    for (nil = -1; nil < (argc == 3 ? TABLE[i].pointers : 0); nil++) {
      run(TABLE[i].name, TABLE[i].call, argc == 3 ? "" : argv[3]);
    }
  }
  return 0;
}
