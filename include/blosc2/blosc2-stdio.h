/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_BLOSC2_STDIO_H
#define BLOSC_BLOSC2_BLOSC2_STDIO_H

#include "blosc2-export.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The stream of the back end for files. */
typedef struct blosc2_stdio_file {
  /** The open file; the stream's. */
  FILE *file;
} blosc2_stdio_file;

/**
 * Parameters of the back end for files (`BLOSC2_IO_FILESYSTEM`), for `blosc2_io.params`. They must
 * outlive the super-chunks opened with them; NULL there means `BLOSC2_STDIO_PARAMS_DEFAULTS`.
 */
typedef struct blosc2_stdio_params {
  /**
   * Whether to lock the frame against other handles and processes, by a lock file beside it:
   * readers share the lock, writers hold it alone. It protects only if every handle asks for it,
   * and not on network file systems. The environment variable `BLOSC_LOCKING` (neither empty nor
   * `0`) asks for it on every frame.
   */
  bool locking;
} blosc2_stdio_params;

/**
 * Parameters and state of the back end for memory maps (`BLOSC2_IO_FILESYSTEM_MMAP`), for
 * `blosc2_io.params`; for contiguous frames only. The caller sets the first three fields of
 * `BLOSC2_STDIO_MMAP_DEFAULTS`; the back end keeps its state in the others while the file is open.
 */
typedef struct blosc2_stdio_mmap {
  /**
   * `"r"`: read; `"r+"`: read and write an existing file; `"w+"`: make a new one; `"c"`: change
   * an existing one in memory alone. Not owned.
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
#if defined(_WIN32)
  /** Not used: the map lives on without its handle. */
  HANDLE mmap_handle;
#endif
} blosc2_stdio_mmap;

/**
 * Opens a file in a mode of `fopen`; `params` is not looked at. Returns the stream, a
 * `blosc2_stdio_file` to be closed with `blosc2_stdio_close`, or NULL.
 *
 * Required of the caller:
 * `urlpath` and `mode` are C strings or NULL.
 */
BLOSC_EXPORT void *blosc2_stdio_open(const char *urlpath, const char *mode, void *_params);

/**
 * Closes a stream of `blosc2_stdio_open` and frees it. Returns 0, or -1.
 *
 * Required of the caller:
 * `stream` comes from `blosc2_stdio_open`, or is NULL; it is not used again.
 */
BLOSC_EXPORT int blosc2_stdio_close(void *stream);

/**
 * Returns the size of a stream's file in bytes, or -1. The file's own position stays where it is.
 *
 * Required of the caller:
 * `stream` comes from `blosc2_stdio_open`, or is NULL.
 */
BLOSC_EXPORT int64_t blosc2_stdio_size(void *stream);

/**
 * Writes `nitems` items of `size` bytes from `ptr` at byte `position`, extending the file where it
 * must. Returns how many items it wrote, fewer than `nitems` after an error.
 *
 * Required of the caller:
 * `ptr` has `size * nitems` bytes, or is NULL; `stream` comes from `blosc2_stdio_open`, or is
 * NULL.
 */
BLOSC_EXPORT int64_t blosc2_stdio_write(const void *ptr, int64_t size, int64_t nitems, int64_t position, void *stream);

/**
 * Reads `nitems` items of `size` bytes at byte `position` to `*ptr`. Returns how many items it
 * read, fewer than `nitems` where the file ends and after an error.
 *
 * Required of the caller:
 * `ptr` is NULL or points to a buffer of `size * nitems` bytes, or to NULL; `stream` comes from
 * `blosc2_stdio_open`, or is NULL.
 */
BLOSC_EXPORT int64_t blosc2_stdio_read(void **ptr, int64_t size, int64_t nitems, int64_t position, void *stream);

/**
 * Makes a stream's file `size` bytes long. Returns 0, or -1.
 *
 * Required of the caller:
 * `stream` comes from `blosc2_stdio_open`, or is NULL.
 */
BLOSC_EXPORT int blosc2_stdio_truncate(void *stream, int64_t size);

/** Does nothing: the back end for files keeps nothing. Returns 0. */
BLOSC_EXPORT int blosc2_stdio_destroy(void *_params);

/**
 * Maps the file at `urlpath` in the mode that `params`, a `blosc2_stdio_mmap`, tells; `mode` is
 * not looked at. Returns `params`, which is the stream, or NULL. A map is opened once: until it is
 * destroyed, each call with the same path returns the same stream, and one with another path NULL.
 *
 * Required of the caller:
 * `urlpath` is a C string or NULL; `params` is NULL or points to a `blosc2_stdio_mmap` that was
 * made from `BLOSC2_STDIO_MMAP_DEFAULTS`, and stays there until it is destroyed.
 */
BLOSC_EXPORT void *blosc2_stdio_mmap_open(const char *urlpath, const char *_mode, void *params);

/** Does nothing: a map is closed when it is destroyed. Returns 0. */
BLOSC_EXPORT int blosc2_stdio_mmap_close(void *_stream);

/**
 * Returns the size of the file in bytes as the map knows it, or -1 for NULL.
 *
 * Required of the caller:
 * `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
 */
BLOSC_EXPORT int64_t blosc2_stdio_mmap_size(void *stream);

/**
 * Writes `nitems` items of `size` bytes from `ptr`, which is no part of the map, at byte
 * `position`, extending the file where it must; addresses that were read before may be out of date
 * then. Returns `nitems`, or 0.
 *
 * Required of the caller:
 * `ptr` has `size * nitems` bytes, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is
 * NULL; no other thread uses it meanwhile.
 */
BLOSC_EXPORT
int64_t blosc2_stdio_mmap_write(const void *ptr,
                                int64_t size,
                                int64_t nitems,
                                int64_t position,
                                void *stream);

/**
 * Puts in `*ptr` the address of `nitems` items of `size` bytes at byte `position` of the map,
 * where they can be read until the next write, or NULL if they are not all there. Returns
 * `nitems`, or 0.
 *
 * The file must not be cut short while the address is in use: to read where a file has ended kills
 * the process.
 *
 * Required of the caller:
 * `ptr` can be written, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
 */
BLOSC_EXPORT int64_t blosc2_stdio_mmap_read(void **ptr, int64_t size, int64_t nitems, int64_t position, void *stream);

/**
 * Makes the file, or with mode `"c"` what it looks like from here, `size` bytes long. Returns 0,
 * or -1.
 *
 * Required of the caller:
 * `stream` comes from `blosc2_stdio_mmap_open`, or is NULL; no other thread uses it meanwhile.
 */
BLOSC_EXPORT int blosc2_stdio_mmap_truncate(void *stream, int64_t size);

/**
 * Unmaps and closes the file of `params`, a `blosc2_stdio_mmap`, and frees the struct if its
 * `needs_free` says so. Returns 0, or -1 if no file was open.
 *
 * Required of the caller:
 * `params` is NULL or points to a `blosc2_stdio_mmap` that no other thread uses; with `needs_free`
 * it comes from `malloc`.
 */
BLOSC_EXPORT int blosc2_stdio_mmap_destroy(void *params);

/** Parameters of the back end for files: no locking. */
static const blosc2_stdio_params BLOSC2_STDIO_PARAMS_DEFAULTS = {false};

/** Parameters of the back end for memory maps: read-only, with 1 GiB of address space. */
static const blosc2_stdio_mmap BLOSC2_STDIO_MMAP_DEFAULTS = {
  "r", (size_t)1 << 30, false, /* what the caller may change */
  NULL, NULL, 0, 0, false, NULL, -1, -1, -1,
#ifdef _WIN32
  INVALID_HANDLE_VALUE,
#endif
};

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_BLOSC2_STDIO_H */
