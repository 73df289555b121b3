/* The process's own settings, registries, and back ends for files. */
#include "harness.h"

#include <blosc2/blosc2-stdio.h>
#include <stdlib.h>
#include <string.h>

static int encoder(const uint8_t *input, int32_t len, uint8_t *output, int32_t room, uint8_t meta,
                   blosc2_cparams *cparams, const void *chunk) {
  (void)meta, (void)cparams, (void)chunk;
  if (room < len) {
    return 0;
  }
  memcpy(output, input, (size_t)len);
  return len;
}

static int decoder(const uint8_t *input, int32_t len, uint8_t *output, int32_t room, uint8_t meta,
                   blosc2_dparams *dparams, const void *chunk) {
  (void)room, (void)meta, (void)dparams, (void)chunk;
  memcpy(output, input, (size_t)len);
  return len;
}

static int forward(const uint8_t *from, uint8_t *to, int32_t len, uint8_t meta, blosc2_cparams *cparams, uint8_t id) {
  (void)meta, (void)cparams, (void)id;
  memcpy(to, from, (size_t)len);
  return 0;
}

static int backward(const uint8_t *from, uint8_t *to, int32_t len, uint8_t meta, blosc2_dparams *dparams, uint8_t id) {
  (void)meta, (void)dparams, (void)id;
  memcpy(to, from, (size_t)len);
  return 0;
}

static int tune(blosc2_context *context) {
  (void)context;
  return 0;
}

static int tune_time(blosc2_context *context, double time) {
  (void)context, (void)time;
  return 0;
}

static int tune_init(void *config, blosc2_context *cctx, blosc2_context *dctx) {
  (void)config, (void)cctx, (void)dctx;
  return 0;
}

static void registered(void) {
  blosc2_codec codec = {200, (char *)"mine", 200, 1, encoder, decoder};
  blosc2_filter filter = {200, (char *)"mine", 1, forward, backward};
  blosc2_tuner tuner = {tune_init, tune, tune, tune_time, tune, 200, (char *)"mine"};
  blosc2_io_cb io = {200, (char *)"mine", true, blosc2_stdio_open, blosc2_stdio_close, blosc2_stdio_size,
                     blosc2_stdio_write, blosc2_stdio_read, blosc2_stdio_truncate, blosc2_stdio_destroy};
  switch (t.param) {
    case 0:
      CALL(blosc2_register_codec(&codec));
      break;
    case 1:
      CALL(blosc2_register_filter(&filter));
      break;
    case 2:
      CALL(blosc2_register_tuner(&tuner));
      break;
    case 3:
      CALL(blosc2_register_io_cb(&io));
      break;
    case 4:
      need(blosc2_register_io_cb(&io) == 0, "a back end");
      CALL_POINTER(blosc2_get_io_cb(200));
      break;
    case 5:
      CALL_POINTER(blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM_MMAP));
      break;
    case 6:
      CALL_POINTER(blosc2_get_io_cb(199));
      break;
    default: {
      need(blosc2_register_codec(&codec) == 0 && blosc2_register_filter(&filter) == 0 &&
               blosc2_register_tuner(&tuner) == 0,
           "a codec");
      blosc2_cparams cparams = parameters(1);
      cparams.compcode = 200;
      cparams.filters[5] = 200;
      cparams.tuner_id = 200;
      t.ctx = blosc2_create_cctx(cparams);
      t.out_len = NBYTES + 4096;
      t.out = calloc((size_t)t.out_len, 1);
      CALL(blosc2_compress_ctx(t.ctx, data, NBYTES, t.out, (int32_t)t.out_len));
    }
  }
}

static void names(void) {
  const char *name = NULL;
  char *library = NULL, *version = NULL;
  int64_t rc;
  switch (t.param) {
    case 0:
      CALL(blosc2_compcode_to_compname(BLOSC_ZSTD, &name));
      break;
    case 1:
      CALL(blosc2_compname_to_compcode("zstd"));
      break;
    case 2:
      CALL(blosc2_compname_to_compcode("none of them"));
      break;
    case 3:
      CALL_POINTER(blosc2_list_compressors());
      break;
    case 4:
      CALL_POINTER(blosc2_get_version_string());
      break;
    case 5:
      CALL_POINTER(blosc2_error_string(-4));
      break;
    case 6:
      CALL_POINTER(blosc1_get_compressor());
      break;
    default:
      CALL(rc = blosc2_get_complib_info("lz4", &library, &version));
      if (rc >= 0) {
        free(library);
        free(version);
      }
  }
}

static void settings(void) {
  int64_t shape[] = {4, 5}, index[] = {2, 3}, strides[] = {5, 1}, i = 0;
  blosc_timestamp_t start, end;
  switch (t.param) {
    case 0:
      CALL((blosc2_init(), 0));
      break;
    case 1:
      blosc2_init();
      CALL((blosc2_destroy(), 0));
      break;
    case 2:
      CALL(blosc2_free_resources());
      break;
    case 3:
      CALL(blosc2_get_nthreads());
      break;
    case 4:
      CALL(blosc2_set_nthreads(3));
      break;
    case 5:
      CALL(blosc1_set_compressor("lz4"));
      break;
    case 6:
      CALL((blosc2_set_delta(1), 0));
      break;
    case 7:
      CALL(blosc1_get_blocksize());
      break;
    case 8:
      CALL((blosc1_set_blocksize(4096), blosc1_set_splitmode(BLOSC_ALWAYS_SPLIT), 0));
      break;
    case 9:
      CALL((blosc2_unidim_to_multidim(2, shape, 7, index), 0));
      break;
    case 10:
      CALL((blosc2_multidim_to_unidim(index, 2, strides, &i), i));
      break;
    case 11:
      CALL((blosc_set_timestamp(&start), blosc_set_timestamp(&end), 0 * blosc_elapsed_nsecs(start, end) +
                                                                        0 * blosc_elapsed_secs(start, end)));
      break;
    case 12:
      CALL((blosc2_get_blosc2_cparams_defaults(), blosc2_get_blosc2_dparams_defaults(),
            blosc2_get_blosc2_storage_defaults(), blosc2_get_blosc2_io_defaults(),
            blosc2_get_blosc2_stdio_mmap_defaults(), 0));
      break;
    default:
      CALL((blosc2_set_threads_callback(NULL, NULL), 0));
  }
}

/* Threads that were started are ended. */
static void resources(void) {
  blosc2_cparams cparams = parameters(3);
  t.ctx = blosc2_create_cctx(cparams);
  uint8_t *out = malloc(NBYTES + 4096);
  need(blosc2_compress_ctx(t.ctx, data, NBYTES, out, NBYTES + 4096) > 0, "a chunk");
  free(out);
  CALL(blosc2_free_resources());
}

/* The functions of the back end for files. */
static void stdio(void) {
  t.has_path = false;
  void *stream = NULL, *buffer = malloc(NBYTES);
  if (t.param != 0) {
    stream = blosc2_stdio_open(t.path, "wb+", NULL);
    need(stream != NULL && blosc2_stdio_write(data, 1, NBYTES, 0, stream) == NBYTES, "a file");
  }
  switch (t.param) {
    case 0:
      CALL_POINTER(stream = blosc2_stdio_open(t.path, "wb+", NULL));
      break;
    case 1:
      CALL(blosc2_stdio_size(stream));
      break;
    case 2:
      CALL(blosc2_stdio_write(data, 1, NBYTES, 100, stream));
      break;
    case 3:
      CALL(blosc2_stdio_read(&buffer, 1, NBYTES, 0, stream));
      break;
    case 4:
      CALL(blosc2_stdio_truncate(stream, 100));
      break;
    case 5:
      CALL(blosc2_stdio_destroy(NULL));
      break;
    default:
      CALL_ONCE(blosc2_stdio_close(stream));
      stream = NULL;
  }
  if (stream != NULL) {
    blosc2_stdio_close(stream);
  }
  free(buffer);
}

static void stdio_mmap(void) {
  t.has_path = false;
  blosc2_stdio_mmap map = BLOSC2_STDIO_MMAP_DEFAULTS;
  map.mode = "w+";
  void *stream = NULL, *there = NULL;
  if (t.param != 0) {
    stream = blosc2_stdio_mmap_open(t.path, "wb+", &map);
    need(stream != NULL && blosc2_stdio_mmap_write(data, 1, NBYTES, 0, stream) == NBYTES, "a map");
  }
  switch (t.param) {
    case 0:
      CALL_POINTER(stream = blosc2_stdio_mmap_open(t.path, "wb+", &map));
      break;
    case 1:
      CALL(blosc2_stdio_mmap_size(stream));
      break;
    case 2:
      CALL(blosc2_stdio_mmap_write(data, 1, NBYTES, 100, stream));
      break;
    case 3:
      CALL(blosc2_stdio_mmap_read(&there, 1, NBYTES, 0, stream));
      break;
    case 4:
      CALL(blosc2_stdio_mmap_truncate(stream, 100));
      break;
    case 5:
      CALL(blosc2_stdio_mmap_close(stream));
      break;
    default:
      blosc2_stdio_mmap_close(stream);
      CALL_ONCE(blosc2_stdio_mmap_destroy(&map));
      return;
  }
  if (stream != NULL) {
    blosc2_stdio_mmap_close(stream);
  }
  blosc2_stdio_mmap_destroy(&map);
}

const struct test_case other_cases[] = {
    {"registered", registered, 8, NO_STORAGE, CODE},
    {"names", names, 8, NO_STORAGE, CODE},
    {"settings", settings, 14, NO_STORAGE, CODE},
    {"free_resources", resources, 1, NO_STORAGE, CODE},
    {"stdio", stdio, 7, IN_FILE, ZERO_TOO},
    {"mmap", stdio_mmap, 7, IN_FILE, ZERO_TOO},
    {0},
};
