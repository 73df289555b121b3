/* Names, numbers and versions of the codecs and of the library, and the words for its errors. */
#include "check.h"
#include "data.h"

static void names_and_codes(void) {
  static const struct {
    const char *name;
    int code;
  } codecs[] = {{"blosclz", 0}, {"lz4", 1}, {"lz4hc", 2}, {"zlib", 4}, {"zstd", 5}};
  for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
    const char *name = NULL;
    CHECK_EQ(blosc2_compcode_to_compname(codecs[i].code, &name), codecs[i].code);
    CHECK_STR(name, codecs[i].name);
    CHECK_EQ(blosc2_compname_to_compcode(codecs[i].name), codecs[i].code);
  }
  const char *name = "something";
  CHECK_EQ(blosc2_compcode_to_compname(BLOSC_LAST_CODEC, &name), -1);
  CHECK(name == NULL);
  name = "something";
  CHECK_EQ(blosc2_compcode_to_compname(-1, &name), -1);
  CHECK(name == NULL);
  CHECK_EQ(blosc2_compname_to_compcode("LZ4"), -1);
  CHECK_EQ(blosc2_compname_to_compcode(""), -1);
}

static void list_of_compressors(void) {
  CHECK_STR(blosc2_list_compressors(), "blosclz,lz4,lz4hc,zlib,zstd");
  CHECK(blosc2_list_compressors() == blosc2_list_compressors());
}

static void libraries_of_the_codecs(void) {
  static const struct {
    const char *name, *library;
    int code;
  } libraries[] = {{"blosclz", "BloscLZ", BLOSC_BLOSCLZ_LIB},
                   {"lz4", "LZ4", BLOSC_LZ4_LIB},
                   {"lz4hc", "LZ4", BLOSC_LZ4_LIB},
                   {"zlib", "Zlib", BLOSC_ZLIB_LIB},
                   {"zstd", "Zstd", BLOSC_ZSTD_LIB}};
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    char *library = NULL, *version = NULL;
    CHECK_EQ(blosc2_get_complib_info(libraries[i].name, &library, &version), libraries[i].code);
    CHECK_STR(library, libraries[i].library);
    /* Which version depends on the build; that it is one does not. */
    CHECK(version != NULL && version[0] >= '0' && version[0] <= '9' && strchr(version, '.') != NULL);
    free(library);
    free(version);
  }
}

static void version_of_the_library(void) {
  CHECK_STR(blosc2_get_version_string(), "3.3.5");
  CHECK_STR(blosc2_get_version_string(), BLOSC2_VERSION_STRING);
  char built[32];
  snprintf(built, sizeof built, "%d.%d.%d", BLOSC2_VERSION_MAJOR, BLOSC2_VERSION_MINOR, BLOSC2_VERSION_RELEASE);
  CHECK_STR(blosc2_get_version_string(), built);
}

static void words_for_errors(void) {
  for (int code = BLOSC2_ERROR_LOCK; code <= BLOSC2_ERROR_SUCCESS; code++) {
    const char *words = blosc2_error_string(code);
    CHECK(words != NULL && words[0] != '\0');
    CHECK_STR(print_error(code), words);
  }
  /* Success is no error, so there is no word for it. */
  CHECK_STR(blosc2_error_string(BLOSC2_ERROR_SUCCESS), "Unknown error");
  CHECK(strcmp(blosc2_error_string(BLOSC2_ERROR_DATA), blosc2_error_string(BLOSC2_ERROR_FAILURE)) != 0);
  CHECK(blosc2_error_string(12345) != NULL);
  CHECK(blosc2_error_string(INT_MIN) != NULL);
}

int main(void) {
  RUN(names_and_codes);
  RUN(list_of_compressors);
  RUN(libraries_of_the_codecs);
  RUN(version_of_the_library);
  RUN(words_for_errors);
  return finish();
}
