/* Threads with small stacks: every kind of call runs in 32 KB. (The reference needs as much, and 77 KB with BloscLZ.)
 *
 * Each case runs in a thread of its own, on a stack with nothing mapped below it: a call that needs more ends the program,
 * which says which case it was. `small_stacks --measure` gives a larger stack and prints what each case uses of it. */
#include <b2nd.h>
#include <blosc2/codecs-registry.h>
#include <blosc2/filters-registry.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "data.h"

enum { SMALL = 32 << 10, LARGE = 512 << 10, GUARD = 1 << 20, PATH = 320, UNTOUCHED = 0xA5 };

enum { NBYTES = 480000, NITEMS = NBYTES / 4 };

static size_t stack_size = SMALL;
static bool measuring;

/* What the thread of a case is called, for the handler of signals. */
static char case_name[120];

static void overflow(int signal) {
  static const char before[] = "FAILED: the stack is too small for ";
  ssize_t written = write(STDERR_FILENO, before, sizeof before - 1);
  written += write(STDERR_FILENO, case_name, strlen(case_name));
  written += write(STDERR_FILENO, "\n", 1);
  _exit(written > 0 ? 128 + signal : 1);
}

/* Handlers run on a stack of the thread that they interrupt, so each thread needs another one: the cases set it. */
static void on_overflow(void) {
  static uint8_t other[64 << 10];
  stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
  sigaltstack(&stack, NULL);
}

typedef struct {
  void (*body)(const void *);
  const void *argument;
} job;

static void *start(void *given) {
  const job *job = given;
  on_overflow();
  job->body(job->argument);
  return NULL;
}

/* Runs a case on a stack of its own. */
static void on_small_stack(void (*body)(const void *), const void *argument) {
  uint8_t *memory = mmap(NULL, GUARD + stack_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  uint8_t *stack = memory + GUARD;
  CHECK_EQ(mprotect(stack, stack_size, PROT_READ | PROT_WRITE), 0);
  memset(stack, UNTOUCHED, stack_size);
  pthread_attr_t attributes;
  pthread_t thread;
  job job = {body, argument};
  const int before = failures();
  CHECK_EQ(pthread_attr_init(&attributes), 0);
  CHECK_EQ(pthread_attr_setstack(&attributes, stack, stack_size), 0);
  CHECK_EQ(pthread_create(&thread, &attributes, start, &job), 0);
  CHECK_EQ(pthread_join(thread, NULL), 0);
  CHECK_EQ(pthread_attr_destroy(&attributes), 0);
  if (failures() != before) {
    fprintf(stderr, "  in %s\n", case_name);
  }
  size_t untouched = 0;
  while (untouched < stack_size && stack[untouched] == UNTOUCHED) {
    untouched++;
  }
  if (measuring) {
    printf("%7zu  %s\n", stack_size - untouched, case_name);
  }
  CHECK_EQ(munmap(memory, GUARD + stack_size), 0);
}

#define ON_SMALL_STACK(body, argument, ...)                                                                            \
  do {                                                                                                                 \
    snprintf(case_name, sizeof case_name, __VA_ARGS__);                                                                \
    on_small_stack(body, argument);                                                                                    \
  } while (0)

static void nothing(const void *argument) {
  (void)argument;
}

/* What is compressed: one buffer for each kind. */
typedef enum { RAMP, WAVE, NOISE, TEXT, ZEROS, KINDS } kind;
static const char *const kind_names[] = {"ramp", "wave", "noise", "text", "zeros"};
static uint8_t *inputs[KINDS];

/* The parameters of a case. */
typedef struct {
  blosc2_cparams cparams;
  kind kind;
  int32_t nbytes;
} setting;

static void there_and_back(const void *argument) {
  const setting *setting = argument;
  const uint8_t *input = inputs[setting->kind];
  int cbytes = 0;
  uint8_t *chunk = compress_with(setting->cparams, input, setting->nbytes, &cbytes);
  uint8_t *output = reserve((size_t)setting->nbytes);
  CHECK(cbytes > 0);
  CHECK_EQ(decompress_with(1, chunk, cbytes, output, setting->nbytes), setting->nbytes);
  if (setting->cparams.filters[BLOSC2_MAX_FILTERS - 1] <= BLOSC_BITSHUFFLE) {
    CHECK_BYTES(output, input, setting->nbytes);
  }
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  const int typesize = setting->cparams.typesize;
  CHECK_EQ(blosc2_getitem_ctx(dctx, chunk, cbytes, 5, 1000, output, setting->nbytes), 1000 * typesize);
  bool mask[4096] = {true};
  int32_t blocksize = 0;
  CHECK_EQ(blosc2_cbuffer_sizes(chunk, NULL, NULL, &blocksize), 0);
  if (blocksize > 0) {
    const int nblocks = (setting->nbytes + blocksize - 1) / blocksize;
    CHECK_EQ(blosc2_set_maskout(dctx, mask, nblocks), 0);
    CHECK(blosc2_decompress_ctx(dctx, chunk, cbytes, output, setting->nbytes) > 0);
  }
  blosc2_free_ctx(dctx);
  free(output);
  free(chunk);
}

static const char *const filter_names[] = {"none", "shuffle", "bitshuffle", "delta", "trunc_prec"};

static void chunks(void) {
  static const int codecs[] = {BLOSC_BLOSCLZ, BLOSC_LZ4, BLOSC_LZ4HC, BLOSC_ZLIB, BLOSC_ZSTD};
  for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
    const char *name = NULL;
    blosc2_compcode_to_compname(codecs[c], &name);
    for (int level = 1; level <= 9; level += 2) {
      for (int kind = 0; kind < KINDS; kind++) {
        for (int filter = 0; filter <= BLOSC_TRUNC_PREC; filter++) {
          for (int dict = 0; dict <= (codecs[c] == BLOSC_BLOSCLZ || codecs[c] == BLOSC_ZLIB ? 0 : 1); dict++) {
            if ((filter != 1 || dict == 1) && level % 4 != 1) {
              continue;
            }
            setting setting = {BLOSC2_CPARAMS_DEFAULTS, kind, NBYTES};
            setting.cparams.compcode = (uint8_t)codecs[c];
            setting.cparams.clevel = (uint8_t)level;
            setting.cparams.typesize = 4;
            setting.cparams.use_dict = dict;
            setting.cparams.filters[BLOSC2_MAX_FILTERS - 1] = (uint8_t)filter;
            setting.cparams.filters_meta[BLOSC2_MAX_FILTERS - 1] = filter == BLOSC_TRUNC_PREC ? 10 : 0;
            ON_SMALL_STACK(there_and_back, &setting, "%s, level %d, %s, %s%s", name, level, filter_names[filter],
                           kind_names[kind], dict ? ", dictionary" : "");
          }
        }
      }
    }
  }
}

static void filters(void) {
  static const uint8_t inside[] = {BLOSC_SHUFFLE, BLOSC_BITSHUFFLE, BLOSC_DELTA, BLOSC_TRUNC_PREC};
  static const int typesizes[] = {1, 2, 4, 8, 12, 16, 32, 255};
  for (size_t f = 0; f < sizeof inside; f++) {
    for (size_t t = 0; t < sizeof typesizes / sizeof *typesizes; t++) {
      if (inside[f] == BLOSC_TRUNC_PREC && typesizes[t] != 4 && typesizes[t] != 8) {
        continue;
      }
      setting setting = {BLOSC2_CPARAMS_DEFAULTS, WAVE, NBYTES / typesizes[t] * typesizes[t]};
      setting.cparams.compcode = BLOSC_LZ4;
      setting.cparams.typesize = typesizes[t];
      setting.cparams.filters[BLOSC2_MAX_FILTERS - 1] = inside[f];
      setting.cparams.filters_meta[BLOSC2_MAX_FILTERS - 1] = inside[f] == BLOSC_TRUNC_PREC ? 5 : 0;
      ON_SMALL_STACK(there_and_back, &setting, "filter %d, items of %d bytes", inside[f], typesizes[t]);
    }
  }
}

/* Blocks of variable length. */
static void blocks_of_variable_length(const void *argument) {
  const setting *setting = argument;
  enum { NBLOCKS = 20 };
  const void *srcs[NBLOCKS];
  void *dests[NBLOCKS];
  int32_t sizes[NBLOCKS];
  for (int i = 0; i < NBLOCKS; i++) {
    srcs[i] = inputs[setting->kind] + 20000 * i;
    sizes[i] = 1000 * (i + 1);
  }
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD);
  blosc2_context *cctx = blosc2_create_cctx(setting->cparams);
  const int cbytes = blosc2_vlcompress_ctx(cctx, srcs, sizes, NBLOCKS, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0);
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  CHECK_EQ(blosc2_vldecompress_ctx(dctx, chunk, cbytes, dests, sizes, NBLOCKS), NBLOCKS);
  for (int i = 0; i < NBLOCKS; i++) {
    CHECK_BYTES(dests[i], srcs[i], sizes[i]);
    free(dests[i]);
  }
  blosc2_free_ctx(dctx);
  blosc2_free_ctx(cctx);
  free(chunk);
}

/* The functions without a context. */
static void without_a_context(const void *argument) {
  const char *codec = argument;
  uint8_t *chunk = reserve(NBYTES + BLOSC2_MAX_OVERHEAD), *output = reserve(NBYTES);
  CHECK(blosc1_set_compressor(codec) >= 0);
  const int cbytes = blosc2_compress(5, BLOSC_SHUFFLE, 4, inputs[WAVE], NBYTES, chunk, NBYTES + BLOSC2_MAX_OVERHEAD);
  CHECK(cbytes > 0);
  CHECK_EQ(blosc2_decompress(chunk, cbytes, output, NBYTES), NBYTES);
  CHECK_BYTES(output, inputs[WAVE], NBYTES);
  CHECK_EQ(blosc2_getitem(chunk, cbytes, 7, 100, output, NBYTES), 400);
  CHECK(blosc1_compress(5, BLOSC_BITSHUFFLE, 8, NBYTES, inputs[WAVE], chunk, NBYTES + BLOSC2_MAX_OVERHEAD) > 0);
  CHECK_EQ(blosc1_decompress(chunk, output, NBYTES), NBYTES);
  CHECK_BYTES(output, inputs[WAVE], NBYTES);
  CHECK_EQ(blosc1_getitem(chunk, 3, 50, output), 400);
  free(output);
  free(chunk);
}

static int halve(blosc2_prefilter_params *params) {
  memcpy(params->output, params->input, (size_t)params->output_size);
  return 0;
}

static int copy_back(blosc2_postfilter_params *params) {
  memcpy(params->output, params->input, (size_t)params->size);
  return 0;
}

static void pre_and_postfilter(const void *argument) {
  (void)argument;
  int cbytes = 0;
  blosc2_prefilter_params preparams = {0};
  blosc2_postfilter_params postparams = {0};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.prefilter = halve;
  cparams.preparams = &preparams;
  uint8_t *chunk = compress_with(cparams, inputs[WAVE], NBYTES, &cbytes), *output = reserve(NBYTES);
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  dparams.postfilter = copy_back;
  dparams.postparams = &postparams;
  blosc2_context *dctx = blosc2_create_dctx(dparams);
  CHECK_EQ(blosc2_decompress_ctx(dctx, chunk, cbytes, output, NBYTES), NBYTES);
  CHECK_BYTES(output, inputs[WAVE], NBYTES);
  blosc2_free_ctx(dctx);
  free(output);
  free(chunk);
}

static void threads(const void *argument) {
  (void)argument;
  int cbytes = 0;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.nthreads = 3;
  uint8_t *chunk = compress_with(cparams, inputs[WAVE], NBYTES, &cbytes), *output = reserve(NBYTES);
  CHECK_EQ(decompress_with(3, chunk, cbytes, output, NBYTES), NBYTES);
  free(output);
  free(chunk);
}

static void information(const void *argument) {
  (void)argument;
  char *name = NULL, *version = NULL;
  CHECK(blosc2_list_compressors() != NULL);
  for (int codec = 0; codec <= BLOSC_ZSTD; codec++) {
    const char *code = NULL;
    if (blosc2_compcode_to_compname(codec, &code) >= 0) {
      CHECK(blosc2_get_complib_info(code, &name, &version) >= 0);
      free(name);
      free(version);
    }
  }
  CHECK(blosc2_error_string(BLOSC2_ERROR_DATA) != NULL);
}

static void other_calls(void) {
  static const char *const codecs[] = {"blosclz", "lz4", "lz4hc", "zlib", "zstd"};
  for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
    ON_SMALL_STACK(without_a_context, codecs[c], "%s, without a context", codecs[c]);
    setting setting = {BLOSC2_CPARAMS_DEFAULTS, TEXT, NBYTES};
    setting.cparams.compcode = (uint8_t)blosc2_compname_to_compcode(codecs[c]);
    setting.cparams.typesize = 1;
    ON_SMALL_STACK(blocks_of_variable_length, &setting, "%s, blocks of variable length", codecs[c]);
  }
  ON_SMALL_STACK(pre_and_postfilter, NULL, "prefilter and postfilter");
  ON_SMALL_STACK(threads, NULL, "three threads");
  ON_SMALL_STACK(information, NULL, "information");
}

/* Where a super-chunk or an array is. */
typedef struct {
  const char *name;
  bool contiguous;
  char *path;
  bool mapped;
} place;

static char path[PATH], other_path[PATH];
static const place places[] = {{"chunks in memory", false, NULL, false}, {"a frame in memory", true, NULL, false},
                               {"a file", true, path, false},            {"a directory", false, path, false},
                               {"a mapped file", true, path, true}};
enum { PLACES = sizeof places / sizeof *places };

enum { CHUNK = 40000, CHUNK_ITEMS = CHUNK / 4, NCHUNKS = 40 };

static void writes(const void *argument) {
  const place *place = argument;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  cparams.typesize = 4;
  blosc2_stdio_mmap map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map.mode = "w+";
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "filesystem_mmap", .params = &map};
  blosc2_storage storage = {.contiguous = place->contiguous, .urlpath = place->path, .cparams = &cparams,
                            .dparams = &dparams, .io = place->mapped ? &io : NULL};
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL);
  CHECK_EQ(blosc2_meta_add(schunk, "meta", (uint8_t *)"first", 5), 0);
  for (int i = 0; i < NCHUNKS; i++) {
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, inputs[i % KINDS], CHUNK), i + 1);
  }
  CHECK_EQ(blosc2_meta_update(schunk, "meta", (uint8_t *)"other", 5), 0);
  CHECK(blosc2_vlmeta_add(schunk, "note", inputs[TEXT], 5000, NULL) >= 0);
  CHECK(blosc2_vlmeta_update(schunk, "note", inputs[NOISE], 7000, NULL) >= 0);
  int cbytes = 0;
  uint8_t *chunk = compress_with(cparams, inputs[NOISE], CHUNK, &cbytes);
  CHECK_EQ(blosc2_schunk_update_chunk(schunk, 3, chunk, true), NCHUNKS);
  CHECK_EQ(blosc2_schunk_insert_chunk(schunk, 1, chunk, true), NCHUNKS + 1);
  CHECK_EQ(blosc2_schunk_append_chunk(schunk, chunk, true), NCHUNKS + 2);
  free(chunk);
  CHECK_EQ(blosc2_schunk_delete_chunk(schunk, 5), NCHUNKS + 1);
  CHECK_EQ(blosc2_schunk_set_slice_buffer(schunk, 100, 5 * CHUNK_ITEMS, inputs[RAMP]), 0);
  int64_t order[NCHUNKS + 1];
  for (int i = 0; i <= NCHUNKS; i++) {
    order[i] = NCHUNKS - i;
  }
  CHECK_EQ(blosc2_schunk_reorder_offsets(schunk, order), 0);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
}

static void reads(blosc2_schunk *schunk) {
  uint8_t *buffer = reserve(NBYTES), *content = NULL, *chunk = NULL, *frame = NULL;
  int32_t size = 0;
  bool needs_free = false;
  int64_t coords[] = {5, 100000, 7, 300000};
  CHECK(blosc2_meta_get(schunk, "meta", &content, &size) >= 0);
  free(content);
  CHECK(blosc2_vlmeta_get(schunk, "note", &content, &size) >= 0);
  free(content);
  CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, 2, buffer, CHUNK), CHUNK);
  CHECK(blosc2_schunk_get_chunk(schunk, 2, &chunk, &needs_free) > 0);
  if (needs_free) {
    free(chunk);
  }
  CHECK(blosc2_schunk_get_lazychunk(schunk, 2, &chunk, &needs_free) > 0);
  CHECK_EQ(blosc2_getitem_ctx(schunk->dctx, chunk, (int32_t)schunk->cbytes, 3, 10, buffer, NBYTES), 40);
  if (needs_free) {
    free(chunk);
  }
  CHECK_EQ(blosc2_schunk_get_slice_buffer(schunk, 100, 10 * CHUNK_ITEMS, buffer), 0);
  CHECK_EQ(blosc2_schunk_get_sparse_buffer(schunk, 4, coords, buffer), 0);
  CHECK(blosc2_schunk_to_buffer(schunk, &frame, &needs_free) > 0);
  if (needs_free) {
    free(frame);
  }
  free(buffer);
}

static void opened(const void *argument) {
  const place *place = argument;
  blosc2_stdio_mmap map = BLOSC2_STDIO_MMAP_DEFAULTS;
  blosc2_io io = {.id = BLOSC2_IO_FILESYSTEM_MMAP, .name = "filesystem_mmap", .params = &map};
  blosc2_schunk *schunk = place->mapped ? blosc2_schunk_open_udio(path, &io) : blosc2_schunk_open(path);
  CHECK(schunk != NULL);
  reads(schunk);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 4;
  cparams.compcode = BLOSC_ZSTD;
  blosc2_storage storage = {.contiguous = true, .cparams = &cparams};
  blosc2_schunk *copy = blosc2_schunk_copy(schunk, &storage);
  CHECK(copy != NULL);
  reads(copy);
  blosc2_remove_urlpath(other_path);
  CHECK(blosc2_schunk_to_file(copy, other_path) > 0);
  const int64_t offset = blosc2_schunk_append_file(copy, other_path);
  CHECK(offset > 0);
  blosc2_schunk *appended = blosc2_schunk_open_offset(other_path, offset);
  CHECK(appended != NULL);
  reads(appended);
  CHECK_EQ(blosc2_schunk_free(appended), 0);
  uint8_t *frame = NULL;
  bool needs_free = false;
  const int64_t len = blosc2_schunk_to_buffer(copy, &frame, &needs_free);
  blosc2_schunk *from = blosc2_schunk_from_buffer(frame, len, true);
  CHECK(from != NULL);
  CHECK_EQ(blosc2_schunk_append_buffer(from, inputs[TEXT], CHUNK), NCHUNKS + 2);
  CHECK_EQ(blosc2_schunk_free(from), 0);
  CHECK_EQ(blosc2_schunk_free(copy), 0);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
  blosc2_remove_urlpath(other_path);
}

static void super_chunks(void) {
  for (int p = 0; p < PLACES; p++) {
    blosc2_remove_urlpath(path);
    ON_SMALL_STACK(writes, &places[p], "super-chunk: writing, %s", places[p].name);
    if (places[p].path != NULL) {
      ON_SMALL_STACK(opened, &places[p], "super-chunk: reading, %s", places[p].name);
    }
  }
  blosc2_remove_urlpath(path);
}

/* An array: where it is, its codec and its filter. */
typedef struct {
  place place;
  uint8_t compcode, compcode_meta, filter, filter_meta;
  const char *dtype;
  int32_t typesize;
  int8_t ndim;
} array_setting;

static b2nd_context_t *array_context(const array_setting *setting, const int64_t *shape) {
  static const int32_t chunkshape[] = {20, 20, 10, 4}, blockshape[] = {10, 10, 5, 4};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = setting->typesize;
  cparams.compcode = setting->compcode;
  cparams.compcode_meta = setting->compcode_meta;
  cparams.filters[BLOSC2_MAX_FILTERS - 1] = setting->filter;
  cparams.filters_meta[BLOSC2_MAX_FILTERS - 1] = setting->filter_meta;
  blosc2_storage storage = {.contiguous = setting->place.contiguous, .urlpath = setting->place.path, .cparams = &cparams};
  return b2nd_create_ctx(&storage, setting->ndim, shape, chunkshape, blockshape, setting->dtype, DTYPE_NUMPY_FORMAT, NULL, 0);
}

static void array(const void *argument) {
  const array_setting *setting = argument;
  const int64_t shape[] = {50, 40, 10, 4}, start[] = {5, 5, 3, 0}, stop[] = {45, 40, 10, 4}, part[] = {40, 35, 7, 4};
  const int64_t grown[] = {90, 40, 10, 4};
  int64_t items = setting->typesize, row = setting->typesize;
  for (int d = 0; d < setting->ndim; d++) {
    items *= shape[d];
    row *= d == 0 ? 1 : shape[d];
  }
  uint8_t *buffer = reserve(NBYTES), *frame = NULL;
  b2nd_context_t *ctx = array_context(setting, shape);
  CHECK(ctx != NULL);
  b2nd_array_t *array = NULL, *slice = NULL, *copy = NULL;
  CHECK_EQ(b2nd_from_cbuffer(ctx, &array, inputs[WAVE], items), 0);
  CHECK_EQ(b2nd_to_cbuffer(array, buffer, items), 0);
  CHECK_EQ(b2nd_get_slice_cbuffer(array, start, stop, buffer, part, NBYTES), 0);
  CHECK_EQ(b2nd_set_slice_cbuffer(inputs[RAMP], part, NBYTES, start, stop, array), 0);
  const int64_t coords[] = {3, 20, 49};
  CHECK_EQ(b2nd_get_sparse_cbuffer(array, 3, coords, buffer, 3 * setting->typesize), 0);
  int64_t picked[] = {1, 0}, sizes[] = {2, 2, 2, 2}, *selection[] = {picked, picked, picked, picked};
  const int64_t selected = (int64_t)setting->typesize << setting->ndim;
  CHECK_EQ(b2nd_get_orthogonal_selection(array, selection, sizes, buffer, sizes, selected), 0);
  CHECK_EQ(b2nd_set_orthogonal_selection(array, selection, sizes, buffer, sizes, selected), 0);
  CHECK_EQ(b2nd_append(array, inputs[TEXT], row * 20, 0), 0);
  CHECK_EQ(b2nd_insert(array, inputs[TEXT], row * 20, 0, 20), 0);
  CHECK_EQ(b2nd_delete(array, 0, 20, 20), 0);
  CHECK_EQ(b2nd_resize(array, grown, NULL), 0);
  b2nd_context_t *in_memory = array_context(&(array_setting){.place = places[1], .ndim = setting->ndim, .dtype = setting->dtype, .typesize = setting->typesize}, part);
  CHECK_EQ(b2nd_get_slice(in_memory, &slice, array, start, stop), 0);
  CHECK_EQ(b2nd_copy(in_memory, array, &copy), 0);
  int64_t len = 0;
  bool needs_free = false;
  CHECK_EQ(b2nd_to_cframe(copy, &frame, &len, &needs_free), 0);
  if (needs_free) {
    free(frame);
  }
  blosc2_remove_urlpath(other_path);
  CHECK_EQ(b2nd_save(copy, other_path), 0);
  CHECK(b2nd_save_append(copy, other_path) > 0);
  CHECK_EQ(b2nd_free(copy), 0);
  CHECK_EQ(b2nd_open(other_path, &copy), 0);
  CHECK_EQ(b2nd_free(copy), 0);
  blosc2_remove_urlpath(other_path);
  CHECK_EQ(b2nd_free(slice), 0);
  CHECK_EQ(b2nd_free(array), 0);
  CHECK_EQ(b2nd_free_ctx(in_memory), 0);
  CHECK_EQ(b2nd_free_ctx(ctx), 0);
  free(buffer);
}

static void arrays(void) {
  for (int p = 0; p < PLACES - 1; p++) {
    for (int8_t ndim = 1; ndim <= 4; ndim++) {
      const array_setting setting = {places[p], BLOSC_LZ4, 0, BLOSC_SHUFFLE, 0, "<i4", 4, ndim};
      blosc2_remove_urlpath(path);
      ON_SMALL_STACK(array, &setting, "array in %d dimensions, %s", ndim, places[p].name);
    }
  }
  static const struct {
    const char *name;
    uint8_t compcode, compcode_meta, filter, filter_meta;
    int8_t dims;
  } registered[] = {{"ndlz, 4", BLOSC_CODEC_NDLZ, 4, 0, 0, 2},
                    {"ndlz, 8", BLOSC_CODEC_NDLZ, 8, 0, 0, 2},
                    {"zfp, accuracy", BLOSC_CODEC_ZFP_FIXED_ACCURACY, 1, 0, 0, 4},
                    {"zfp, precision", BLOSC_CODEC_ZFP_FIXED_PRECISION, 10, 0, 0, 4},
                    {"zfp, rate", BLOSC_CODEC_ZFP_FIXED_RATE, 50, 0, 0, 4},
                    {"ndcell", BLOSC_ZSTD, 0, BLOSC_FILTER_NDCELL, 4, 3},
                    {"ndmean", BLOSC_ZSTD, 0, BLOSC_FILTER_NDMEAN, 4, 3},
                    {"bytedelta", BLOSC_ZSTD, 0, BLOSC_FILTER_BYTEDELTA, 0, 2},
                    {"int_trunc", BLOSC_ZSTD, 0, BLOSC_FILTER_INT_TRUNC, 5, 2}};
  for (size_t r = 0; r < sizeof registered / sizeof *registered; r++) {
    for (int8_t ndim = registered[r].dims == 2 ? 2 : 1; ndim <= registered[r].dims; ndim++) {
      const int32_t typesize = registered[r].compcode == BLOSC_CODEC_NDLZ ? 1 : 4;
      const array_setting setting = {places[1],         registered[r].compcode,    registered[r].compcode_meta,
                                     registered[r].filter, registered[r].filter_meta,
                                     typesize == 1 ? "|u1" : "<f4", typesize, ndim};
      ON_SMALL_STACK(array, &setting, "%s, %d dimensions", registered[r].name, ndim);
    }
  }
  blosc2_remove_urlpath(path);
}

int main(int argc, char **argv) {
  measuring = argc > 1 && strcmp(argv[1], "--measure") == 0;
  if (measuring) {
    stack_size = LARGE;
  }
  struct sigaction action = {.sa_handler = overflow, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  blosc2_init();
  inputs[RAMP] = (uint8_t *)ramp(NITEMS);
  inputs[WAVE] = wave(NBYTES);
  inputs[NOISE] = noise(NBYTES, 1);
  inputs[TEXT] = (uint8_t *)text(NBYTES);
  inputs[ZEROS] = calloc(1, NBYTES);
  ON_SMALL_STACK(nothing, NULL, "nothing");
  const char *folder = getenv("TMPDIR");
  snprintf(path, PATH, "%s/oxiblosc-stack-%d", folder == NULL ? "/tmp" : folder, (int)getpid());
  snprintf(other_path, PATH, "%.300s-other", path);
  RUN(chunks);
  RUN(filters);
  RUN(other_calls);
  RUN(super_chunks);
  RUN(arrays);
  for (int kind = 0; kind < KINDS; kind++) {
    free(inputs[kind]);
  }
  blosc2_destroy();
  return finish();
}
