// C++ exceptions that leave a callback: they count as a failure of the callback, on whatever thread, and the library goes on.
// Those that leave the callback for threads end the process, since its threads may still be at work. The headers say so where the
// callbacks are declared.
#include <algorithm>
#include <atomic>
#include <blosc2.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

namespace {

constexpr int32_t nbytes = 400000;
constexpr uint8_t id = 200;

std::atomic<int> nthrown;

[[noreturn]] void thrown() {
  nthrown++;
  throw std::runtime_error("out of a callback");
}

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
int init(void *, blosc2_context *, blosc2_context *) { thrown(); }
int init_that_works(void *, blosc2_context *, blosc2_context *) { return 0; }
int next_blocksize(blosc2_context *) { thrown(); }
void pool(void *, void (*)(void *), int, size_t, void *) { thrown(); }

void pool_that_works(void *, void (*job)(void *), int jobs, size_t size, void *data) {
  std::vector<std::thread> threads;
  for (int i = 0; i < jobs; i++) {
    threads.emplace_back(job, static_cast<uint8_t *>(data) + static_cast<size_t>(i) * size);
  }
  for (auto &thread : threads) {
    thread.join();
  }
}

/* A back end that keeps one file in memory. One of its functions throws. */
enum class Function { open, close, size, write, read, truncate, destroy, none };
Function throwing;
std::vector<uint8_t> file;

void called(Function function) {
  if (function == throwing) {
    thrown();
  }
}

void *open_stream(const char *, const char *mode, void *) {
  called(Function::open);
  if (mode[0] == 'w') {
    file.clear();
  }
  return &file;
}

int close_stream(void *) {
  called(Function::close);
  return 0;
}

int64_t size_of_stream(void *) {
  called(Function::size);
  return static_cast<int64_t>(file.size());
}

int64_t write_stream(const void *from, int64_t size, int64_t nitems, int64_t position, void *) {
  called(Function::write);
  const size_t len = static_cast<size_t>(size * nitems), at = static_cast<size_t>(position);
  file.resize(std::max(file.size(), at + len));
  std::memcpy(file.data() + at, from, len);
  return nitems;
}

int64_t read_stream(void **to, int64_t size, int64_t nitems, int64_t position, void *) {
  called(Function::read);
  const size_t len = static_cast<size_t>(size * nitems), at = static_cast<size_t>(position);
  if (at + len > file.size()) {
    return 0;
  }
  std::memcpy(*to, file.data() + at, len);
  return nitems;
}

int truncate_stream(void *, int64_t size) {
  called(Function::truncate);
  file.resize(static_cast<size_t>(size));
  return 0;
}

int destroy(void *) {
  called(Function::destroy);
  return 0;
}

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
    // Enough blocks for all threads.
    cparams.blocksize = 16384;
  }

  void use_codec(uint8_t id, blosc2_codec_encoder_cb encoder) {
    static char names[2][8] = {"throws", "decodes"};
    blosc2_codec codec{};
    codec.compcode = id;
    codec.compname = names[id % 2];
    codec.encoder = encoder;
    codec.decoder = decoder;
    // Registering the same codec once more changes nothing.
    CHECK_EQ(blosc2_register_codec(&codec), BLOSC2_ERROR_SUCCESS);
    cparams.compcode = id;
  }

  void use_filter(uint8_t id, blosc2_filter_forward_cb forward) {
    static char names[2][8] = {"throws", "undoes"};
    blosc2_filter filter{};
    filter.id = id;
    filter.name = names[id % 2];
    filter.forward = forward;
    filter.backward = backward;
    CHECK_EQ(blosc2_register_filter(&filter), BLOSC2_ERROR_SUCCESS);
    cparams.filters[BLOSC2_MAX_FILTERS - 1] = id;
  }

  int32_t compress() {
    blosc2_context *context = blosc2_create_cctx(cparams);
    if (context == nullptr) {
      return BLOSC2_ERROR_FAILURE;
    }
    const int32_t size =
        blosc2_compress_ctx(context, source.data(), nbytes, chunk.data(), static_cast<int32_t>(chunk.size()));
    blosc2_free_ctx(context);
    return size;
  }

  int32_t decompress() {
    const int32_t size = compress();
    CHECK(size > 0, 1);
    blosc2_context *context = blosc2_create_dctx(dparams);
    const int32_t result = blosc2_decompress_ctx(context, chunk.data(), size, source.data(), nbytes);
    blosc2_free_ctx(context);
    return result;
  }
};

int32_t from_a_prefilter(int16_t nthreads) {
  Work work(nthreads);
  work.cparams.prefilter = prefilter;
  work.cparams.preparams = &work.preparams;
  return work.compress();
}

int32_t from_a_postfilter(int16_t nthreads) {
  Work work(nthreads);
  work.dparams.postfilter = postfilter;
  work.dparams.postparams = &work.postparams;
  return work.decompress();
}

int32_t from_an_encoder(int16_t nthreads) {
  Work work(nthreads);
  work.use_codec(id, encoder);
  return work.compress();
}

int32_t from_a_decoder(int16_t nthreads) {
  Work work(nthreads);
  work.use_codec(id + 1, encoder_that_works);
  return work.decompress();
}

int32_t from_a_filter(int16_t nthreads) {
  Work work(nthreads);
  work.use_filter(id, forward);
  return work.compress();
}

int32_t from_a_filter_undone(int16_t nthreads) {
  Work work(nthreads);
  work.use_filter(id + 1, forward_that_works);
  return work.decompress();
}

template <uint8_t id, int (*init)(void *, blosc2_context *, blosc2_context *), int (*next_blocksize)(blosc2_context *)>
int32_t from_a_tuner(int16_t nthreads) {
  static char name[] = "throws";
  blosc2_tuner tuner{};
  tuner.id = id;
  tuner.name = name;
  tuner.init = init;
  tuner.next_blocksize = next_blocksize;
  tuner.next_cparams = next_blocksize;
  tuner.update = [](blosc2_context *, double) { return 0; };
  tuner.free = [](blosc2_context *) { return 0; };
  static const int registered = blosc2_register_tuner(&tuner);
  CHECK_EQ(registered, BLOSC2_ERROR_SUCCESS, 1);
  Work work(nthreads);
  work.cparams.tuner_id = id;
  return work.compress();
}

void from_a_pool() {
  blosc2_set_threads_callback(pool, nullptr);
  Work work(3);
  work.compress();
}

/* On a thread of the program's. */
int32_t within_a_pool(int16_t nthreads) {
  blosc2_set_threads_callback(pool_that_works, nullptr);
  const int32_t result = from_a_prefilter(nthreads);
  blosc2_set_threads_callback(nullptr, nullptr);
  return result;
}

/* Calls all functions of the back end, of which one throws, and then again when none does. */
void from_a_back_end(Function function, int16_t nthreads) {
  static char name[] = "throws";
  blosc2_io_cb callbacks{id,           name,        true,            open_stream, close_stream, size_of_stream,
                         write_stream, read_stream, truncate_stream, destroy};
  CHECK_EQ(blosc2_register_io_cb(&callbacks), BLOSC2_ERROR_SUCCESS);
  blosc2_io io{};
  io.id = id;
  io.name = name;
  Work work(nthreads);
  blosc2_storage storage{};
  static char path[] = "no file";
  storage.contiguous = true;
  storage.urlpath = path;
  storage.cparams = &work.cparams;
  storage.dparams = &work.dparams;
  storage.io = &io;
  throwing = Function::none;
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != nullptr);
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, work.source.data(), nbytes), 1);
  nthrown = 0;
  throwing = function;
  int64_t nchunks = 1;
  const int64_t appended = blosc2_schunk_append_buffer(schunk, work.source.data(), nbytes);
  nchunks += appended > 0;
  const int nread = blosc2_schunk_decompress_chunk(schunk, 0, work.source.data(), nbytes);
  CHECK(nread == nbytes || nread < 0);
  const int64_t deleted = blosc2_schunk_delete_chunk(schunk, 0);
  nchunks -= deleted >= 0;
  CHECK_EQ(schunk->nchunks, nchunks);
  const bool failed = appended < 0 || nread < 0 || deleted < 0;
  // The end of a stream that was only read is no failure of the call.
  CHECK_EQ(failed, nthrown > 0 && function != Function::close);
  throwing = Function::none;
  CHECK_EQ(blosc2_schunk_append_buffer(schunk, work.source.data(), nbytes), nchunks + 1);
  CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, nchunks, work.source.data(), nbytes), nbytes);
  throwing = function == Function::destroy ? function : Function::none;
  CHECK_EQ(blosc2_schunk_free(schunk), function == Function::destroy);
  throwing = Function::none;
  CHECK(nthrown > 0);
  CHECK_EQ(std::uncaught_exceptions(), 0);
}

/* An exception is an error, and the library goes on. */
void fails(int32_t (*work)(int16_t), int16_t nthreads) {
  nthrown = 0;
  CHECK(work(nthreads) <= 0);
  CHECK(nthrown > 0);
  CHECK_EQ(std::uncaught_exceptions(), 0);
  Work healthy(nthreads);
  const std::vector<uint8_t> expected = healthy.source;
  CHECK_EQ(healthy.decompress(), nbytes);
  CHECK(healthy.source == expected);
}

void filters_codecs_and_tuners() {
  for (auto work : {from_a_prefilter, from_a_postfilter, from_an_encoder, from_a_decoder, from_a_filter, from_a_filter_undone,
                    from_a_tuner<id, init, next_blocksize>, from_a_tuner<id + 1, init_that_works, next_blocksize>}) {
    for (int16_t nthreads : {1, 3}) {
      fails(work, nthreads);
    }
  }
  fails(within_a_pool, 3);
}

void back_ends() {
  for (auto function : {Function::open, Function::close, Function::size, Function::write, Function::read, Function::truncate,
                        Function::destroy}) {
    from_a_back_end(function, 1);
    from_a_back_end(function, 3);
  }
}

/* In a child, which must be ended by abort(). */
void threads() {
  std::fflush(nullptr);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(30);
    try {
      from_a_pool();
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

} // namespace

int main() {
  blosc2_init();
  RUN(filters_codecs_and_tuners);
  RUN(back_ends);
  RUN(threads);
  blosc2_destroy();
  return finish();
}
