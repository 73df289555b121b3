/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_BLOSC2_STDIO_H
#define BLOSC_BLOSC2_BLOSC2_STDIO_H

#include "blosc2-export.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The stream of the back end for files. */
typedef struct blosc2_stdio_file {
  /** The open file; the stream's. */
  FILE *file;
} blosc2_stdio_file;

/**
 * Parameters of the back end for files (`BLOSC2_IO_FILESYSTEM`), for `blosc2_io.params`. They must outlive the
 * super-chunks opened with them; NULL there means `BLOSC2_STDIO_PARAMS_DEFAULTS`.
 */
typedef struct blosc2_stdio_params {
  /**
   * Whether to lock the frame against other handles and processes, by a lock file beside it: readers share the lock,
   * writers hold it alone. It protects only if every handle asks for it, and not on network file systems. The
   * environment variable `BLOSC_LOCKING` (neither empty nor `0`) asks for it on every frame.
   */
  bool locking;
} blosc2_stdio_params;

/**
 * Parameters and state of the back end for memory maps (`BLOSC2_IO_FILESYSTEM_MMAP`), for `blosc2_io.params`; for
 * contiguous frames only. The caller sets the first three fields of `BLOSC2_STDIO_MMAP_DEFAULTS`; the back end keeps
 * its state in the others while the file is open.
 */
typedef struct blosc2_stdio_mmap {
  /**
   * `"r"`: read; `"r+"`: read and write an existing file; `"w+"`: make a new one; `"c"`: change an existing one in
   * memory alone. Not owned.
   */
  const char *mode;
  /** Bytes of address space to reserve at first, room to grow in for the modes that write. */
  size_t initial_mapping_size;
  /** Whether the back end frees this struct, with `free`, when the super-chunk is done with it. */
  bool needs_free;
  /** Where the map begins. */
  char *addr;
  /** The file's path; the back end's. */
  char *urlpath;
  /** Bytes of the file. */
  size_t file_size;
  /** Bytes of the map, never fewer than the file's. */
  size_t mapping_size;
  /** Whether changes stay in memory (mode `"c"`). */
  bool is_memory_only;
  /** The open file; the back end's. */
  FILE *file;
  /** Its descriptor. */
  int fd;
  /** The protection that the map was made with. */
  int64_t access_flags;
  /** The flags that the map was made with. */
  int64_t map_flags;
} blosc2_stdio_mmap;

/** Parameters of the back end for files: no locking. */
static const blosc2_stdio_params BLOSC2_STDIO_PARAMS_DEFAULTS = {false};

/** Parameters of the back end for memory maps: read-only, with 1 GiB of address space. */
static const blosc2_stdio_mmap BLOSC2_STDIO_MMAP_DEFAULTS = {
  "r", (size_t)1 << 30, false, /* what the caller may change */
  NULL, NULL, 0, 0, false, NULL, -1, -1, -1,
};

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_BLOSC2_STDIO_H */
