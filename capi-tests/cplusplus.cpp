// The headers and the library as a C++ program sees them.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "b2nd.h"
#include "blosc2.h"
#include "check.h"

namespace {

struct FreeContext {
  void operator()(blosc2_context *context) const { blosc2_free_ctx(context); }
};
using Context = std::unique_ptr<blosc2_context, FreeContext>;

std::vector<double> wave() {
  std::vector<double> items(40000);
  for (std::size_t i = 0; i < items.size(); i++) {
    items[i] = static_cast<double>(i % 1000) / 8;
  }
  return items;
}

void round_trip() {
  const std::vector<double> src = wave();
  const auto nbytes = static_cast<int32_t>(src.size() * sizeof(double));
  for (const char *name : {BLOSC_BLOSCLZ_COMPNAME, BLOSC_LZ4_COMPNAME, BLOSC_ZSTD_COMPNAME}) {
    blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
    cparams.compcode = static_cast<uint8_t>(blosc2_compname_to_compcode(name));
    cparams.typesize = sizeof(double);
    cparams.nthreads = 2;
    const Context cctx(blosc2_create_cctx(cparams));
    const Context dctx(blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS));
    std::vector<uint8_t> chunk(static_cast<std::size_t>(nbytes) + BLOSC2_MAX_OVERHEAD);
    std::vector<double> back(src.size());
    const int cbytes =
        blosc2_compress_ctx(cctx.get(), src.data(), nbytes, chunk.data(), static_cast<int32_t>(chunk.size()));
    CHECK(cbytes > 0 && cbytes < nbytes / 4);
    CHECK_EQ(blosc2_decompress_ctx(dctx.get(), chunk.data(), cbytes, back.data(), nbytes), nbytes);
    CHECK(back == src);
  }
}

int halve(blosc2_prefilter_params *params) {
  for (int32_t at = 0; at < params->output_size; at += static_cast<int32_t>(sizeof(double))) {
    double value;
    std::memcpy(&value, params->input + at, sizeof value);
    value /= 2;
    std::memcpy(params->output + at, &value, sizeof value);
  }
  return 0;
}

void callbacks_have_c_linkage_types() {
  const std::vector<double> src = wave();
  const auto nbytes = static_cast<int32_t>(src.size() * sizeof(double));
  blosc2_prefilter_params params = {};
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.prefilter = halve;
  cparams.preparams = &params;
  const Context cctx(blosc2_create_cctx(cparams));
  std::vector<uint8_t> chunk(static_cast<std::size_t>(nbytes) + BLOSC2_MAX_OVERHEAD);
  const int cbytes =
      blosc2_compress_ctx(cctx.get(), src.data(), nbytes, chunk.data(), static_cast<int32_t>(chunk.size()));
  CHECK(cbytes > 0);
  double item = 0;
  CHECK_EQ(blosc2_getitem(chunk.data(), cbytes, 777, 1, &item, sizeof item), 8);
  CHECK(item == src[777] / 2);
}

void strings() {
  CHECK_STR(blosc2_get_version_string(), BLOSC2_VERSION_STRING);
  CHECK(std::string(print_error(BLOSC2_ERROR_DATA)) == blosc2_error_string(BLOSC2_ERROR_DATA));
}

}  // namespace

int main() {
  blosc2_init();
  RUN(round_trip);
  RUN(callbacks_have_c_linkage_types);
  RUN(strings);
  blosc2_destroy();
  return finish();
}
