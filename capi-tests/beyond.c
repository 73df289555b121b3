/* What this library promises and the reference does not keep: each case here crashes 3.3.5, hangs it, or makes it lose
 * data. It is run against our library only. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "data.h"

#include <b2nd.h>
#include <blosc2/filters-registry.h>

enum { NITEMS = 60000, NBYTES = NITEMS * 4 };

/* The reference writes the output of the third filter into the buffer that it was given to read. */
static void source_is_only_read(void) {
  static const uint8_t filters[BLOSC2_MAX_FILTERS] = {BLOSC_DELTA, BLOSC_SHUFFLE, BLOSC_BITSHUFFLE,
                                                      BLOSC_SHUFFLE, BLOSC_BITSHUFFLE, BLOSC_SHUFFLE};
  uint8_t *src = wave(NBYTES), *pristine = wave(NBYTES), *back = reserve(NBYTES);
  for (int first = 0; first < BLOSC2_MAX_FILTERS; first++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    cparams.blocksize = 16384;
    memset(cparams.filters, 0, sizeof cparams.filters);
    memcpy(cparams.filters, filters, sizeof filters - (size_t)first);
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    CHECK_BYTES(src, pristine, NBYTES);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, pristine, NBYTES);
    free(chunk);
  }
  free(src);
  free(pristine);
  free(back);
}

/* The reference stores a block size that is no multiple of the typesize, but cuts the blocks by another. */
static void block_size_beside_the_typesize(void) {
  static const int32_t typesizes[] = {3, 7, 12, 255, 300};
  uint8_t *src = wave(NBYTES), *back = reserve(NBYTES);
  for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
    for (int32_t blocksize = 10000; blocksize <= NBYTES * 2; blocksize *= 3) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.typesize = typesizes[t];
      cparams.blocksize = blocksize;
      cparams.compcode = BLOSC_ZSTD;
      int cbytes;
      uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
      CHECK(cbytes > 0);
      memset(back, 0xFF, NBYTES);
      CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
      CHECK_BYTES(back, src, NBYTES);
      free(chunk);
    }
  }
  free(src);
  free(back);
}

/* The reference follows a null pointer when blocks of their own length do not fit. */
static void variable_blocks_that_do_not_fit(void) {
  uint8_t *src = noise(3000, 8);
  const void *srcs[3] = {src, src + 1000, src + 2000};
  const int32_t sizes[3] = {1000, 1000, 1000};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 1;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  for (int32_t room = 0; room < 3000; room += 7) {
    uint8_t *chunk = reserve((size_t)room);
    CHECK(blosc2_vlcompress_ctx(cctx, srcs, sizes, 3, chunk, room) <= 0);
    free(chunk);
  }
  blosc2_free_ctx(cctx);
  free(src);
}

/* The reference divides by the typesize before it looks at it. */
static void typesize_zero(void) {
  uint8_t src[64] = {0}, dest[64];
  CHECK(blosc2_bitshuffle(0, 64, src, dest) < 0);
  CHECK(blosc2_bitunshuffle(0, 64, src, dest) < 0);
}

/* Null pointers are answered, not followed. */
static void null_pointers(void) {
  uint8_t buffer[100] = {0};
  CHECK(blosc2_compress(5, BLOSC_SHUFFLE, 4, NULL, 100, buffer, sizeof buffer) < 0);
  CHECK(blosc2_compress(5, BLOSC_SHUFFLE, 4, buffer, 50, NULL, 100) < 0);
  CHECK(blosc2_decompress(NULL, 100, buffer, sizeof buffer) < 0);
  CHECK(blosc2_compress_ctx(NULL, buffer, 50, buffer, 50) < 0);
  CHECK(blosc2_decompress_ctx(NULL, buffer, 50, buffer, 50) < 0);
  CHECK(blosc2_getitem(NULL, 100, 0, 1, buffer, sizeof buffer) < 0);
  CHECK(blosc2_cbuffer_sizes(NULL, NULL, NULL, NULL) < 0);
  CHECK(blosc2_set_maskout(NULL, NULL, 0) < 0);
  CHECK(blosc2_register_codec(NULL) < 0);
  CHECK(blosc2_register_filter(NULL) < 0);
  CHECK(blosc2_register_tuner(NULL) < 0);
  blosc2_free_ctx(NULL);
}

/* The bytes depend on what is compressed and how, not on who helped. */
static void same_bytes_for_any_number_of_threads(void) {
  uint8_t *src = wave(NBYTES);
  for (uint8_t compcode = BLOSC_BLOSCLZ; compcode <= BLOSC_LZ4; compcode++) {
    uint8_t *first = NULL;
    int first_cbytes = 0;
    for (int i = 0; i < 60; i++) {
      blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
      cparams.compcode = compcode;
      cparams.typesize = 4;
      cparams.blocksize = 4096;
      cparams.nthreads = (int16_t)(1 << i % 4);
      int cbytes;
      uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
      CHECK(cbytes > 0);
      if (first == NULL) {
        first = chunk;
        first_cbytes = cbytes;
      } else {
        CHECK_EQ(cbytes, first_cbytes);
        CHECK_BYTES(chunk, first, cbytes);
        free(chunk);
      }
    }
    free(first);
  }
  free(src);
}

/* The child of a process whose threads were at work has none of them; in the reference a context that was made before
 * waits for them for ever. */
static void child_of_a_process_with_threads(void) {
  uint8_t *src = wave(NBYTES), *back = reserve(NBYTES), *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.blocksize = 16384;
  cparams.nthreads = 4;
  blosc2_context *cctx = blosc2_create_cctx(cparams);
  CHECK(blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD) > 0);
  fflush(stdout);
  /* The child answers through a pipe: its exit status is valgrind's, which counts the parent's threads as leaks. */
  int answer[2];
  CHECK_EQ(pipe(answer), 0);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    const int cbytes = blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
    const bool same = cbytes > 0 && decompress_with(4, chunk, cbytes, back, NBYTES) == NBYTES &&
                      memcmp(back, src, NBYTES) == 0;
    _exit(write(answer[1], same ? "y" : "n", 1) == 1 ? 0 : 1);
  }
  close(answer[1]);
  char word = '-';
  CHECK_EQ(read(answer[0], &word, 1), 1);
  CHECK_EQ(word, 'y');
  close(answer[0]);
  CHECK_EQ(waitpid(child, NULL, 0), child);
  const int cbytes = blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0);
  CHECK_EQ(decompress_with(4, chunk, cbytes, back, NBYTES), NBYTES);
  CHECK_BYTES(back, src, NBYTES);
  blosc2_free_ctx(cctx);
  free(src);
  free(back);
  free(chunk);
}

/* Single items of chunks whose blocks need more than themselves: a dictionary, or the first block. The reference
 * refuses the ones and gives wrong bytes of the others. */
static void items_of_blocks_that_need_others(void) {
  uint8_t *src = (uint8_t *)text(NBYTES), *back = reserve(NBYTES);
  for (int variant = 0; variant < 3; variant++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    cparams.blocksize = 8192;
    cparams.compcode = variant == 0 ? BLOSC_ZSTD : BLOSC_LZ4;
    cparams.use_dict = variant < 2;
    cparams.splitmode = BLOSC_NEVER_SPLIT;
    memset(cparams.filters, 0, sizeof cparams.filters);
    cparams.filters[5] = variant == 2 ? BLOSC_DELTA : BLOSC_NOFILTER;
    int cbytes;
    uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
    CHECK(cbytes > 0);
    CHECK_EQ(chunk[BLOSC2_CHUNK_BLOSC2_FLAGS] & BLOSC2_USEDICT, variant < 2 ? BLOSC2_USEDICT : 0);
    for (int start = 0; start < NITEMS - 100; start += 1999) {
      CHECK_EQ(blosc2_getitem(chunk, cbytes, start, 100, back, NBYTES), 400);
      CHECK_BYTES(back, src + start * 4, 400);
    }
    free(chunk);
  }
  free(src);
  free(back);
}

/* The other blocks are compared with the first one, also when that is not wanted. */
static void delta_without_its_first_block(void) {
  enum { BLOCK = 16000, NBLOCKS = NBYTES / BLOCK };
  uint8_t *src = wave(NBYTES), *back = reserve(NBYTES);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.blocksize = BLOCK;
  cparams.filters[4] = BLOSC_DELTA;
  int cbytes;
  uint8_t *chunk = compress_with(cparams, src, NBYTES, &cbytes);
  CHECK(cbytes > 0);
  for (int16_t nthreads = 1; nthreads <= 4; nthreads *= 2) {
    blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
    dparams.nthreads = nthreads;
    blosc2_context *dctx = blosc2_create_dctx(dparams);
    bool maskout[NBLOCKS] = {true};
    CHECK_EQ(blosc2_set_maskout(dctx, maskout, NBLOCKS), 0);
    memset(back, 0xAB, NBYTES);
    CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, back, NBYTES), NBYTES);
    for (int i = 0; i < BLOCK; i++) {
      CHECK_EQ(back[i], 0xAB);
    }
    CHECK_BYTES(back + BLOCK, src + BLOCK, NBYTES - BLOCK);
    blosc2_free_ctx(dctx);
  }
  free(chunk);
  free(src);
  free(back);
}

/* Data that do not compress are stored, whatever room there is; the reference fills it with what is larger. */
static void never_larger_than_stored(void) {
  uint8_t *src = noise(NBYTES, 3), *chunk = reserve(NBYTES * 2), *back = reserve(NBYTES);
  for (int compcode = BLOSC_BLOSCLZ; compcode <= BLOSC_ZSTD; compcode++) {
    const char *name;
    if (blosc2_compcode_to_compname(compcode, &name) < 0) {
      continue;
    }
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.compcode = (uint8_t)compcode;
    cparams.blocksize = 1024;
    blosc2_context *cctx = blosc2_create_cctx(cparams);
    const int cbytes = blosc2_compress_ctx(cctx, src, NBYTES, chunk, NBYTES * 2);
    CHECK_EQ(cbytes, NBYTES + BLOSC2_MAX_OVERHEAD);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    blosc2_free_ctx(cctx);
  }
  free(src);
  free(chunk);
  free(back);
}

/* A source and a destination that share bytes. */
static void overlapping_buffers(void) {
  uint8_t *bytes = wave(NBYTES);
  CHECK_EQ(blosc1_compress(5, BLOSC_SHUFFLE, 4, 1000, bytes, bytes + 999, 2000), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_shuffle(4, 1000, bytes, bytes + 500), BLOSC2_ERROR_INVALID_PARAM);
  const int cbytes = blosc1_compress(5, BLOSC_SHUFFLE, 4, 1000, bytes, bytes + 1000, 2000);
  CHECK(cbytes > 0);
  CHECK_EQ(blosc1_decompress(bytes + 1000, bytes + 900, 1000), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc1_getitem(bytes + 1000, 0, 10, bytes + 1010), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc1_decompress(bytes + 1000, bytes + 4000, 1000), 1000);
  CHECK_BYTES(bytes + 4000, bytes, 1000);
  free(bytes);
}

/* A directory of which little is left: its last file has a high number. */
static void little_left_of_a_directory(void) {
  char path[] = "beyond-directory";
  blosc2_remove_dir(path);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 1;
  blosc2_storage storage = {.contiguous = false, .urlpath = path, .cparams = &cparams};
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  for (uint8_t i = 0; i < 40; i++) {
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, &i, 1), i + 1);
  }
  for (int left = 39; left > 0; left--) {
    CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 0), left);
  }
  blosc2_schunk_free(schunk);
  schunk = blosc2_schunk_open(path);
  CHECK(schunk != NULL);
  uint8_t last = 0;
  CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, 0, &last, 1), 1);
  CHECK_EQ(last, 39);
  blosc2_schunk_free(schunk);
  CHECK_EQ(blosc2_remove_dir(path), 0);
}

/* Changed, the frame of a program is copied, and only the library knows the copy: valgrind would see that it is lost. What the
 * program has got the address of stays. */
static void borrowed_frame_that_was_changed(void) {
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  int32_t items[1000] = {1, 2, 3};
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, items, sizeof items), 1);
  uint8_t *frame, *changed;
  bool needs_free;
  int64_t len = blosc2_schunk_to_buffer(schunk, &frame, &needs_free);
  CHECK(len > 0 && !needs_free);
  for (int asked = 0; asked < 2; asked++) {
    blosc2_schunk *borrowing = blosc2_schunk_from_buffer(frame, len, false);
    CHECK(borrowing != NULL);
    blosc2_schunk_avoid_cframe_free(borrowing, true);
    CHECK_EQ(blosc2_schunk_append_buffer(borrowing, items, sizeof items), 2);
    int64_t changed_len = asked ? blosc2_schunk_to_buffer(borrowing, &changed, &needs_free) : 0;
    CHECK_EQ(blosc2_schunk_free(borrowing), 0);
    if (asked) {
      borrowing = blosc2_schunk_from_buffer(changed, changed_len, true);
      CHECK(borrowing != NULL && borrowing->nchunks == 2);
      CHECK_EQ(blosc2_schunk_free(borrowing), 0);
      free(changed);
    }
  }
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
}

/* The metalayer of a view is not that of the array: changed through it, the array would have other dimensions. */
static void metalayers_of_views(void) {
  int64_t shape[] = {1, 4};
  int32_t chunkshape[] = {1, 4};
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunkshape, chunkshape, NULL, 0, NULL, 0);
  b2nd_array_t *array, *view;
  CHECK_EQ(b2nd_zeros(ctx, &array), 0);
  CHECK_EQ(b2nd_squeeze(array, &view), 0);
  uint8_t *meta, *after;
  int32_t len, len_after;
  CHECK(blosc2_meta_get(array->sc, "b2nd", &meta, &len) >= 0);
  uint8_t other[4] = {0};
  CHECK_EQ(blosc2_meta_update(view->sc, "b2nd", other, sizeof other), BLOSC2_ERROR_INVALID_PARAM);
  CHECK_EQ(blosc2_meta_add(view->sc, "another", other, sizeof other), BLOSC2_ERROR_INVALID_PARAM);
  CHECK(blosc2_meta_get(array->sc, "b2nd", &after, &len_after) >= 0);
  CHECK_EQ(len_after, len);
  CHECK_BYTES(after, meta, len);
  CHECK_EQ(array->sc->nmetalayers, 1);
  free(meta);
  free(after);
  CHECK_EQ(b2nd_free(view), 0);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_free_ctx(ctx), 0);
}

/* What is joined, or appended, has another form than the chunks that it goes into. The reference takes it for such chunks where one number of
 * items is alike. */
static void items_in_chunks_of_other_forms(void) {
  int64_t shape[] = {2, 4};
  int32_t wide[] = {2, 3}, narrow[] = {2, 1}, block[] = {1, 1};
  int32_t items[24], got[16];
  for (int i = 0; i < 24; i++) items[i] = i + 1;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = sizeof(int32_t);
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.cparams = &cparams;
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, narrow, block, NULL, 0, NULL, 0);
  b2nd_context_t *other = b2nd_create_ctx(&storage, 2, shape, wide, block, NULL, 0, NULL, 0);
  b2nd_array_t *first, *second, *joined;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &first, items, 8 * sizeof(int32_t)), 0);
  CHECK_EQ(b2nd_from_cbuffer(other, &second, items + 8, 8 * sizeof(int32_t)), 0);
  CHECK_EQ(b2nd_concatenate(ctx, first, second, 0, true, &joined), 0);
  CHECK_EQ(b2nd_to_cbuffer(joined, got, sizeof got), 0);
  CHECK_BYTES(got, items, (int64_t)sizeof got);
  CHECK_EQ(b2nd_free(joined), 0);
  CHECK_EQ(b2nd_free(second), 0);
  CHECK_EQ(b2nd_free(first), 0);
  /* A row of two items, as many as one chunk of two rows has. */
  shape[1] = 2;
  CHECK_EQ(b2nd_free_ctx(ctx), 0);
  ctx = b2nd_create_ctx(&storage, 2, shape, narrow, block, NULL, 0, NULL, 0);
  CHECK_EQ(b2nd_from_cbuffer(ctx, &first, items, 4 * sizeof(int32_t)), 0);
  CHECK_EQ(b2nd_append(first, items + 4, 2 * sizeof(int32_t), 0), 0);
  CHECK_EQ(first->shape[0], 3);
  CHECK_EQ(b2nd_to_cbuffer(first, got, 6 * sizeof(int32_t)), 0);
  CHECK_BYTES(got, items, 6 * (int64_t)sizeof(int32_t));
  CHECK_EQ(b2nd_free(first), 0);
  CHECK_EQ(b2nd_free_ctx(ctx), 0);
  CHECK_EQ(b2nd_free_ctx(other), 0);
}

/* A handle that does not know yet what another one changed writes over none of it. In the reference, the fixed-length metalayer that it
 * writes brings the old shape of the array back. */
static void metalayer_of_a_handle_that_is_behind(void) {
  char path[] = "beyond-handles";
  blosc2_remove_urlpath(path);
  int64_t shape = 20, more = 30;
  int32_t chunk = 10;
  uint8_t content[] = {1, 2, 3}, changed[] = {4, 5, 6};
  blosc2_metalayer layer = {.name = "a", .content = content, .content_len = sizeof content};
  blosc2_stdio_params locking = {.locking = true};
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM, .name = "filesystem", .params = &locking};
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  storage.contiguous = true;
  storage.urlpath = path;
  storage.io = &io;
  b2nd_context_t *ctx = b2nd_create_ctx(&storage, 1, &shape, &chunk, &chunk, NULL, 0, &layer, 1);
  b2nd_array_t *array, *behind;
  CHECK_EQ(b2nd_zeros(ctx, &array), 0);
  blosc2_schunk *schunk = blosc2_schunk_open_udio(path, &io);
  CHECK(schunk != NULL);
  CHECK_EQ(b2nd_from_schunk(schunk, &behind), 0);
  CHECK_EQ(b2nd_resize(array, &more, NULL), 0);
  CHECK(blosc2_meta_update(schunk, "a", changed, sizeof changed) >= 0);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_free(behind), 0);
  CHECK_EQ(b2nd_open(path, &array), 0);
  CHECK_EQ(array->shape[0], more);
  uint8_t *got;
  int32_t len;
  CHECK(blosc2_meta_get(array->sc, "a", &got, &len) >= 0);
  CHECK_BYTES(got, changed, len);
  free(got);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_free_ctx(ctx), 0);
  CHECK_EQ(blosc2_remove_urlpath(path), 0);
}

/* The reference takes a size that is too small for a block that is stored, and looks at the sizes of those blocks only that it reads. */
static void sizes_in_lazy_chunks(void) {
  enum { BLOCK = 1000, STORED = 2 * BLOCK, SIZES = 8 };
  char path[] = "beyond-lazy";
  blosc2_remove_urlpath(path);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 1;
  cparams.clevel = 0;
  cparams.blocksize = BLOCK;
  blosc2_storage storage = {.contiguous = true, .urlpath = path, .cparams = &cparams};
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  uint8_t *src = wave(STORED);
  uint8_t item;
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, src, STORED), 1);
  uint8_t *chunk;
  bool needs_free;
  const int cbytes = blosc2_schunk_get_lazychunk(schunk, 0, &chunk, &needs_free);
  CHECK(cbytes > SIZES && needs_free);
  CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, cbytes, BLOCK, 1, &item, 1), 1);
  CHECK_EQ(item, src[BLOCK]);
  const int32_t size = 1;
  memcpy(chunk + cbytes - SIZES, &size, sizeof size);
  CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, cbytes, 0, 1, &item, 1), BLOSC2_ERROR_INVALID_HEADER);
  CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, cbytes, BLOCK, 1, &item, 1), BLOSC2_ERROR_INVALID_HEADER);
  free(chunk);
  free(src);
  blosc2_schunk_free(schunk);
  CHECK_EQ(blosc2_remove_urlpath(path), 0);
}

/* A chunk that is not there leaves no address behind, and nothing to be freed. */
static void outputs_of_chunks_that_are_not_there(void) {
  blosc2_storage storage = BLOSC2_STORAGE_DEFAULTS;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  int (*const calls[])(blosc2_schunk *, int64_t, uint8_t **, bool *) = {blosc2_schunk_get_chunk,
                                                                        blosc2_schunk_get_lazychunk};
  for (int call = 0; call < 2; call++) {
    uint8_t *chunk = (uint8_t *)schunk;
    bool needs_free = true;
    CHECK(calls[call](schunk, 0, &chunk, &needs_free) < 0);
    CHECK(chunk == NULL && !needs_free);
    chunk = (uint8_t *)schunk;
    needs_free = true;
    CHECK(calls[call](NULL, 0, &chunk, &needs_free) < 0);
    CHECK(chunk == NULL && !needs_free);
  }
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
}

/* Bytedelta without a parameter is of as many bytes as the items in the chunk's own header. */
static void bytedelta_without_its_super_chunk(void) {
  int32_t *src = ramp(NITEMS), *back = reserve(NBYTES);
  for (int id = BLOSC_FILTER_BYTEDELTA_BUGGY; id <= BLOSC_FILTER_BYTEDELTA; id++) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    cparams.filters[4] = BLOSC_SHUFFLE;
    cparams.filters[5] = (uint8_t)id;
    blosc2_storage storage = {.cparams = &cparams};
    blosc2_schunk *schunk = blosc2_schunk_new(&storage);
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, src, NBYTES), 1);
    uint8_t *chunk;
    bool needs_free;
    const int cbytes = blosc2_schunk_get_chunk(schunk, 0, &chunk, &needs_free);
    CHECK(cbytes > 0 && cbytes < NBYTES / 2);
    CHECK_EQ(decompress_with(1, chunk, cbytes, back, NBYTES), NBYTES);
    CHECK_BYTES(back, src, NBYTES);
    if (needs_free) {
      free(chunk);
    }
    CHECK_EQ(blosc2_schunk_free(schunk), 0);
  }
  free(src);
  free(back);
}

/* Whether an array can be made of a frame in each way that there is; -1 where the ways do not agree. */
static int is_array(const char *path) {
  int ways[6], all = 0;
  b2nd_array_t *array = NULL;
  ways[0] = b2nd_open(path, &array);
  if (array != NULL) b2nd_free(array);
  ways[1] = b2nd_open_offset(path, &array, 0);
  if (array != NULL) b2nd_free(array);
  for (int way = 2; way < 6; way++) {
    blosc2_schunk *schunk = blosc2_schunk_open(path);
    CHECK(schunk != NULL, -1);
    if (way == 2) {
      ways[way] = b2nd_from_schunk(schunk, &array);
      if (array != NULL) b2nd_free(array), schunk = NULL;
    } else if (way == 3) {
      blosc2_storage storage = {.contiguous = false};
      blosc2_schunk *copy = blosc2_schunk_copy(schunk, &storage);
      ways[way] = b2nd_from_schunk(copy, &array);
      if (array != NULL) b2nd_free(array); else blosc2_schunk_free(copy);
    } else {
      uint8_t *frame;
      bool needs_free;
      const int64_t len = blosc2_schunk_to_buffer(schunk, &frame, &needs_free);
      uint8_t *own = reserve((size_t)len);
      memcpy(own, frame, (size_t)len);
      if (needs_free) free(frame);
      ways[way] = b2nd_from_cframe(own, len, way == 4, &array);
      if (array != NULL) b2nd_free(array);
      free(own);
    }
    if (schunk != NULL) blosc2_schunk_free(schunk);
  }
  for (int way = 0; way < 6; way++) all += ways[way] == 0;
  return all == 6 ? 1 : all == 0 ? 0 : -1;
}

/* The metalayer of an array must go with the chunks and blocks that there are, whichever way the array is opened. */
static void metalayers_that_contradict_the_chunks(void) {
  static const struct {
    int64_t shape[2];
    int32_t chunk[2], block[2];
    int is_array;
  } told[] = {
      {{40, 40}, {20, 20}, {10, 10}, 1}, {{39, 25}, {20, 20}, {10, 10}, 1}, {{60, 40}, {20, 20}, {10, 10}, 0},
      {{20, 40}, {20, 20}, {10, 10}, 0}, {{40, 40}, {40, 20}, {10, 10}, 0}, {{40, 40}, {20, 10}, {10, 10}, 0},
      {{40, 40}, {20, 20}, {20, 10}, 0}, {{40, 40}, {20, 20}, {5, 10}, 0},  {{40, 40}, {20, 20}, {20, 20}, 0},
      {{40, 40}, {20, 20}, {1, 1}, 0},
  };
  const char *path = "contradicting.b2nd";
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    const int64_t shape[] = {40, 40};
    const int32_t chunk[] = {20, 20}, block[] = {10, 10};
    blosc2_remove_urlpath(path);
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.typesize = 4;
    blosc2_storage storage = {.contiguous = i % 2 == 0, .urlpath = (char *)path, .cparams = &cparams};
    b2nd_context_t *ctx = b2nd_create_ctx(&storage, 2, shape, chunk, block, NULL, 0, NULL, 0);
    b2nd_array_t *array = NULL;
    int32_t *items = ramp(1600);
    CHECK_EQ(b2nd_from_cbuffer(ctx, &array, items, 6400), 0);
    free(items);
    uint8_t *content;
    const int len = b2nd_serialize_meta(2, told[i].shape, told[i].chunk, told[i].block, "<i4", 0, &content);
    CHECK(len > 0);
    CHECK_EQ(blosc2_meta_update(array->sc, "b2nd", content, len), 0);
    free(content);
    b2nd_free(array);
    b2nd_free_ctx(ctx);
    CHECK_EQ(is_array(path), told[i].is_array);
    blosc2_remove_urlpath(path);
  }
}

int main(void) {
  blosc2_init();
  RUN(source_is_only_read);
  RUN(block_size_beside_the_typesize);
  RUN(variable_blocks_that_do_not_fit);
  RUN(typesize_zero);
  RUN(null_pointers);
  RUN(same_bytes_for_any_number_of_threads);
  RUN(items_of_blocks_that_need_others);
  RUN(delta_without_its_first_block);
  RUN(never_larger_than_stored);
  RUN(overlapping_buffers);
  RUN(borrowed_frame_that_was_changed);
  RUN(metalayers_of_views);
  RUN(items_in_chunks_of_other_forms);
  RUN(metalayer_of_a_handle_that_is_behind);
  RUN(little_left_of_a_directory);
  RUN(sizes_in_lazy_chunks);
  RUN(outputs_of_chunks_that_are_not_there);
  RUN(bytedelta_without_its_super_chunk);
  RUN(metalayers_that_contradict_the_chunks);
  /* qemu-user 7.2 ends such a child by an assertion of its own; toolchains.sh says when it is there. */
  if (getenv("OXIBLOSC_UNDER_QEMU") == NULL) RUN(child_of_a_process_with_threads);
  blosc2_destroy();
  return finish();
}
