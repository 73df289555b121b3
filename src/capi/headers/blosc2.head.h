#include "blosc2/blosc2-export.h"
#include "blosc2/blosc2-common.h"
#include "blosc2/blosc2-stdio.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A program for Blosc 1 that defines BLOSC1_COMPAT finds the functions and sizes of Blosc 1 under their old names. */
#ifdef BLOSC1_COMPAT
#define BLOSC_VERSION_MAJOR BLOSC2_VERSION_MAJOR
#define BLOSC_VERSION_MINOR BLOSC2_VERSION_MINOR
#define BLOSC_VERSION_RELEASE BLOSC2_VERSION_RELEASE
#define BLOSC_VERSION_STRING BLOSC2_VERSION_STRING
#define BLOSC_VERSION_DATE BLOSC2_VERSION_DATE
#define BLOSC_MAX_OVERHEAD BLOSC2_MAX_OVERHEAD
#define BLOSC_MAX_BUFFERSIZE BLOSC2_MAX_BUFFERSIZE
/* kept as Blosc 1 had them */
#define blosc_compress blosc1_compress
#define blosc_decompress blosc1_decompress
#define blosc_getitem blosc1_getitem
#define blosc_cbuffer_sizes blosc1_cbuffer_sizes
#define blosc_cbuffer_validate blosc1_cbuffer_validate
#define blosc_cbuffer_metainfo blosc1_cbuffer_metainfo
#define blosc_get_compressor blosc1_get_compressor
#define blosc_set_compressor blosc1_set_compressor
#define blosc_get_blocksize blosc1_get_blocksize
#define blosc_set_blocksize blosc1_set_blocksize
#define blosc_set_splitmode blosc1_set_splitmode
/* the same in Blosc 2 */
#define blosc_init blosc2_init
#define blosc_destroy blosc2_destroy
#define blosc_free_resources blosc2_free_resources
#define blosc_get_nthreads blosc2_get_nthreads
#define blosc_set_nthreads blosc2_set_nthreads
#define blosc_compcode_to_compname blosc2_compcode_to_compname
#define blosc_compname_to_compcode blosc2_compname_to_compcode
#define blosc_list_compressors blosc2_list_compressors
#define blosc_get_version_string blosc2_get_version_string
#define blosc_get_complib_info blosc2_get_complib_info
#define blosc_cbuffer_versions blosc2_cbuffer_versions
#define blosc_cbuffer_complib blosc2_cbuffer_complib
#endif /* BLOSC1_COMPAT */

/* Messages on stderr, printed while the environment variable BLOSC_TRACE is set. `msg` is a literal format. */
#define BLOSC_TRACE_ERROR(msg, ...) BLOSC_TRACE(error, msg, ##__VA_ARGS__)
#define BLOSC_TRACE_WARNING(msg, ...) BLOSC_TRACE(warning, msg, ##__VA_ARGS__)
#define BLOSC_TRACE_INFO(msg, ...) BLOSC_TRACE(info, msg, ##__VA_ARGS__)
#define BLOSC_TRACE(cat, msg, ...)                                                                \
  do {                                                                                            \
    if (getenv("BLOSC_TRACE") != NULL) {                                                          \
      fprintf(stderr, "[%s] - " msg " (%s:%d)\n", #cat, ##__VA_ARGS__, __FILE__, __LINE__);       \
    }                                                                                             \
  } while (0)

/* A message on stderr, printed while the environment variable BLOSC_INFO is set. */
#define BLOSC_INFO(msg, ...)                                                                      \
  do {                                                                                            \
    if (getenv("BLOSC_INFO") != NULL) {                                                           \
      fprintf(stderr, "[INFO] - " msg "\n", ##__VA_ARGS__);                                       \
    }                                                                                             \
  } while (0)

/* Leaves the calling function with `rc` when the pointer is NULL. */
#define BLOSC_ERROR_NULL(pointer, rc)                                                             \
  do {                                                                                            \
    if ((pointer) == NULL) {                                                                      \
      if (getenv("BLOSC_TRACE") != NULL) {                                                        \
        fprintf(stderr, "[error] - Pointer is null (%s:%d)\n", __FILE__, __LINE__);               \
      }                                                                                           \
      return (rc);                                                                                \
    }                                                                                             \
  } while (0)

/* Leaves the calling function with `rc` when it is an error. */
#define BLOSC_ERROR(rc)                                                                           \
  do {                                                                                            \
    const int rc_ = (rc);                                                                         \
    if (rc_ < BLOSC2_ERROR_SUCCESS) {                                                             \
      if (getenv("BLOSC_TRACE") != NULL) {                                                        \
        fprintf(stderr, "[error] - %s (%s:%d)\n", print_error(rc_), __FILE__, __LINE__);          \
      }                                                                                           \
      return rc_;                                                                                 \
    }                                                                                             \
  } while (0)

#ifdef __GNUC__
#define BLOSC_ATTRIBUTE_UNUSED __attribute__((unused)) /* a function that may stay uncalled */
#else
#define BLOSC_ATTRIBUTE_UNUSED
#endif
