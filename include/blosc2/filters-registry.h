/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_FILTERS_REGISTRY_H
#define BLOSC_BLOSC2_FILTERS_REGISTRY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registered filters. */
enum {
  /**
   * Reorders an n-dimensional block so that each cell is contiguous; the meta byte is the cell's
   * side.
   */
  BLOSC_FILTER_NDCELL = 32,
  /** Replaces each cell of an n-dimensional block by its mean; the meta byte is the cell's side. */
  BLOSC_FILTER_NDMEAN = 33,
  /** Bytedelta as first released, with its mistake: for reading old data only. */
  BLOSC_FILTER_BYTEDELTA_BUGGY = 34,
  /**
   * Differences of neighbouring bytes in each of the byte streams that a shuffle made; the meta byte
   * is the typesize.
   */
  BLOSC_FILTER_BYTEDELTA = 35,
  /**
   * Zeroes low bits of integers. The meta byte, signed: bits to keep if positive, bits to zero if
   * negative.
   */
  BLOSC_FILTER_INT_TRUNC = 36,
};

/** The functions of a plugin that is a filter. */
typedef struct filter_info {
  /** Name of the `blosc2_filter_forward_cb`. */
  char *forward;
  /** Name of the `blosc2_filter_backward_cb`. */
  char *backward;
} filter_info;

/** Inside the library: adds the filters above. Not exported by the shared library. */
void register_filters(void);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_FILTERS_REGISTRY_H */
