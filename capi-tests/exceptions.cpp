// C++ exceptions that leave a callback: the process ends, at once and on whatever thread, and nothing goes on in a state that
// nobody foresaw. The headers say so where the callbacks are declared.
#include <blosc2.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "check.h"

namespace {

constexpr int32_t nbytes = 400000;
constexpr uint8_t id = 200;

[[noreturn]] void thrown() { throw std::runtime_error("out of a callback"); }

int prefilter(blosc2_prefilter_params *) { thrown(); }
int postfilter(blosc2_postfilter_params *) { thrown(); }
int encoder(const uint8_t *, int32_t, uint8_t *, int32_t, uint8_t, blosc2_cparams *, const void *) { thrown(); }
int encoder_that_works(const uint8_t *, int32_t, uint8_t *output, int32_t, uint8_t, blosc2_cparams *, const void *) {
  output[0] = 1;
  return 1;
}
int decoder(const uint8_t *, int32_t, uint8_t *, int32_t, uint8_t, blosc2_dparams *, const void *) { thrown(); }
int forward(const uint8_t *, uint8_t *, int32_t, uint8_t, blosc2_cparams *, uint8_t) { thrown(); }
int forward_that_works(const uint8_t *input, uint8_t *output, int32_t size, uint8_t, blosc2_cparams *, uint8_t) {
  std::memcpy(output, input, static_cast<size_t>(size));
  return 0;
}
int backward(const uint8_t *, uint8_t *, int32_t, uint8_t, blosc2_dparams *, uint8_t) { thrown(); }
void *open_stream(const char *, const char *, void *) { thrown(); }

struct Work {
  std::vector<uint8_t> source = std::vector<uint8_t>(nbytes), chunk = std::vector<uint8_t>(nbytes + BLOSC2_MAX_OVERHEAD);
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_prefilter_params preparams{};
  blosc2_postfilter_params postparams{};

  explicit Work(int16_t nthreads) {
    for (size_t i = 0; i < source.size(); i++) {
      source[i] = static_cast<uint8_t>(i / 7 ^ i);
    }
    cparams.nthreads = dparams.nthreads = nthreads;
  }

  void use_codec(blosc2_codec_encoder_cb encoder) {
    static char name[] = "throws";
    blosc2_codec codec{};
    codec.compcode = id;
    codec.compname = name;
    codec.encoder = encoder;
    codec.decoder = decoder;
    CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_SUCCESS);
    cparams.compcode = id;
  }

  void use_filter(blosc2_filter_forward_cb forward) {
    static char name[] = "throws";
    blosc2_filter filter{};
    filter.id = id;
    filter.name = name;
    filter.forward = forward;
    filter.backward = backward;
    CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_SUCCESS);
    cparams.filters[BLOSC2_MAX_FILTERS - 1] = id;
  }

  int32_t compress() {
    blosc2_context *context = blosc2_create_cctx(cparams);
    return blosc2_compress_ctx(context, source.data(), nbytes, chunk.data(), static_cast<int32_t>(chunk.size()));
  }

  void decompress() {
    const int32_t size = compress();
    blosc2_context *context = blosc2_create_dctx(dparams);
    blosc2_decompress_ctx(context, chunk.data(), size, source.data(), nbytes);
  }
};

void from_a_prefilter(int16_t nthreads) {
  Work work(nthreads);
  work.cparams.prefilter = prefilter;
  work.cparams.preparams = &work.preparams;
  work.compress();
}

void from_a_postfilter(int16_t nthreads) {
  Work work(nthreads);
  work.dparams.postfilter = postfilter;
  work.dparams.postparams = &work.postparams;
  work.decompress();
}

void from_an_encoder(int16_t nthreads) {
  Work work(nthreads);
  work.use_codec(encoder);
  work.compress();
}

void from_a_decoder(int16_t nthreads) {
  Work work(nthreads);
  work.use_codec(encoder_that_works);
  work.decompress();
}

void from_a_filter(int16_t nthreads) {
  Work work(nthreads);
  work.use_filter(forward);
  work.compress();
}

void from_a_filter_undone(int16_t nthreads) {
  Work work(nthreads);
  work.use_filter(forward_that_works);
  work.decompress();
}

void from_a_back_end(int16_t) {
  static char name[] = "throws";
  blosc2_io_cb callbacks = *blosc2_get_io_cb(BLOSC2_IO_FILESYSTEM);
  callbacks.id = id;
  callbacks.name = name;
  callbacks.open = open_stream;
  CHECK_EQ(blosc2_register_io_cb(&callbacks), BLOSC2_ERROR_SUCCESS);
  blosc2_io io{};
  io.id = id;
  io.name = name;
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  blosc2_storage storage{};
  static char path[] = "no file";
  storage.contiguous = true;
  storage.urlpath = path;
  storage.cparams = &cparams;
  storage.dparams = &dparams;
  storage.io = &io;
  blosc2_schunk_new(&storage);
}

/* Does it in a child, which must be ended by abort(). */
void aborts(void (*work)(int16_t), int16_t nthreads) {
  std::fflush(nullptr);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(30);
    try {
      work(nthreads);
    } catch (const std::exception &) {
      _exit(1);
    }
    _exit(2);
  }
  int status = 0;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), SIGABRT);
}

void one_thread() {
  for (auto work : {from_a_prefilter, from_a_postfilter, from_an_encoder, from_a_decoder, from_a_filter,
                    from_a_filter_undone, from_a_back_end}) {
    aborts(work, 1);
  }
}

void several_threads() {
  for (auto work : {from_a_prefilter, from_a_postfilter, from_an_encoder, from_a_decoder, from_a_filter,
                    from_a_filter_undone}) {
    aborts(work, 3);
  }
}

} // namespace

int main() {
  blosc2_init();
  RUN(one_thread);
  RUN(several_threads);
  blosc2_destroy();
  return finish();
}
