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
 * Gives a super-chunk in a frame checksums: its chunks, header, index and metalayers now, and all
 * that comes later, by this handle and by every other one of this library. Damage is then an error
 * of the read that meets it (`BLOSC2_ERROR_DATA`), and no wrong data. Other readers and writers of
 * the format pass over the checksums; chunks that those write have none.
 *
 * Chunks that have none are written anew, some at a time, so that after an error some may have
 * checksums and others not. New frames get checksums by themselves where the environment variable
 * `BLOSC_CHECKSUMS` is set, neither empty nor `0`.
 *
 * Returns 0, or a negative error code: `BLOSC2_ERROR_FRAME_TYPE` if the super-chunk is no frame,
 * `BLOSC2_ERROR_DATA` if a chunk is damaged.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_add_checksums(blosc2_schunk *schunk);

/**
 * Whether chunks that come into a super-chunk get checksums: 1 or 0, or a negative error code.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_has_checksums(blosc2_schunk *schunk);

/**
 * Checks that each chunk of a frame is where it belongs, and the newest that was there, which its
 * own checksums do not tell. Returns 1 if so, 0 if the frame does not know it (it has no
 * checksums, or another library changed its chunks since), or a negative error code:
 * `BLOSC2_ERROR_DATA` if a chunk is not.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_check_places(blosc2_schunk *schunk);

/**
 * Checks all checksums of a chunk, without decompressing it. Returns 1 if they are right, 0 if the
 * chunk has none, or a negative error code: `BLOSC2_ERROR_DATA` if the chunk is damaged.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_check_chunk(blosc2_schunk *schunk, int64_t nchunk);

/**
 * Sets how many bytes of memory the library keeps at most for the next call, while nothing needs
 * them, and frees what it keeps beyond that. At first that is what the environment variable
 * `BLOSC_KEPT_MEMORY` says, or 16 MiB. `blosc2_free_resources` and `blosc2_destroy` free all of
 * it. Returns the number before, or `BLOSC2_ERROR_INVALID_PARAM` for a negative one.
 */
BLOSC_EXPORT int64_t oxiblosc_set_kept_memory(int64_t nbytes);

/**
 * Begins a transaction: from now on all changes of a super-chunk are kept in memory (chunks,
 * metalayers of both kinds, the shape of an array: give `array->sc`), until
 * `oxiblosc_schunk_commit` makes them, all at once, or `oxiblosc_schunk_abandon` forgets them. The
 * handle shows what was changed, on every thread; other handles and processes see nothing of it
 * before the commit.
 *
 * No lock is held meanwhile. Where another handle or process changes the frame before the commit,
 * or closes it after changes, or takes its lock alone, the functions of this handle return
 * `BLOSC2_ERROR_LOCK` until the transaction is abandoned. Who cannot have that calls
 * `blosc2_schunk_lock` before, on a frame that was opened with locking, and `blosc2_schunk_unlock`
 * at the end.
 *
 * `blosc2_schunk_free` abandons a transaction. Super-chunks without a frame, and frames in memory,
 * have transactions, too. `blosc2_schunk_to_buffer` gives a copy meanwhile, and
 * `blosc2_schunk_get_lazychunk` whole chunks.
 *
 * Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if a transaction has been
 * begun.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_begin(blosc2_schunk *schunk);

/**
 * Makes the changes of a transaction, all of them, as one: after a crash, and, where
 * `BLOSC_DURABLE` is set, after a loss of power, the frame has all of them or none.
 *
 * Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if none has been begun,
 * `BLOSC2_ERROR_LOCK` where the frame was changed by others. After an error nothing has changed,
 * and the transaction goes on: the commit can be tried again.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_commit(blosc2_schunk *schunk);

/**
 * Forgets the changes of a transaction. The structure of the super-chunk shows at once what it was
 * before; that of an array gets its shape back at the next call with it, `b2nd_refresh` for one.
 *
 * Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if none has been begun.
 *
 * Required of the caller:
 * `schunk` is NULL or valid.
 */
BLOSC_EXPORT int oxiblosc_schunk_abandon(blosc2_schunk *schunk);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_OXIBLOSC_H */
