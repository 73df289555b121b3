/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_OXIBLOSC_H
#define BLOSC_OXIBLOSC_H

/* What this library can do that the reference cannot. A program that uses it runs on no other libblosc2. */

#include "blosc2/blosc2-export.h"
#include "blosc2.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Gives a super-chunk in a frame checksums: its chunks, header, index and metalayers now, and all that comes later, by this
 * handle and by every other one of this library. Damage is then an error of the read that meets it (`BLOSC2_ERROR_DATA`), and
 * no wrong data. Other readers and writers of the format pass over the checksums; chunks that those write have none.
 *
 * Chunks that have none are written anew, some at a time, so that after an error some may have checksums and others not. New
 * frames get checksums by themselves where the environment variable `BLOSC_CHECKSUMS` is set, neither empty nor `0`.
 *
 * Returns 0, or a negative error code: `BLOSC2_ERROR_FRAME_TYPE` if the super-chunk is no frame, `BLOSC2_ERROR_DATA` if a chunk is
 * damaged.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT
int oxiblosc_schunk_add_checksums(blosc2_schunk *schunk);

/**
 * Whether chunks that come into a super-chunk get checksums: 1 or 0, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_has_checksums(blosc2_schunk *schunk);

/**
 * Checks all checksums of a chunk, without decompressing it. Returns 1 if they are right, 0 if the chunk has none, or a negative
 * error code: `BLOSC2_ERROR_DATA` if the chunk is damaged.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT
int oxiblosc_schunk_check_chunk(blosc2_schunk *schunk,
                                int64_t nchunk);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_OXIBLOSC_H */
