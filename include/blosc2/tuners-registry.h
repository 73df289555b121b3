/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_TUNERS_REGISTRY_H
#define BLOSC_BLOSC2_TUNERS_REGISTRY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registered tuners. */
enum {
  /** Btune; a plugin. */
  BLOSC_BTUNE = 32,
};

/** The functions of a plugin that is a tuner: the fields of `blosc2_tuner` by name. */
typedef struct tuner_info {
  /** Name of the function that begins. */
  char *init;
  /** Name of the function that sets the block size alone. */
  char *next_blocksize;
  /** Name of the function that sets the parameters. */
  char *next_cparams;
  /** Name of the function that learns the time taken. */
  char *update;
  /** Name of the function that ends. */
  char *free;
} tuner_info;

/** Inside the library: adds the tuners above. Not exported by the shared library. */
void register_tuners(void);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_TUNERS_REGISTRY_H */
