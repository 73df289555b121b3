/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_CODECS_REGISTRY_H
#define BLOSC_BLOSC2_CODECS_REGISTRY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registered codecs. */
enum {
  /** A small Lempel-Ziv codec for n-dimensional cells; the meta byte is the cell's side. */
  BLOSC_CODEC_NDLZ = 32,
  /** ZFP with a bound on the absolute error; the meta byte, signed, is the bound's decimal exponent. */
  BLOSC_CODEC_ZFP_FIXED_ACCURACY = 33,
  /** ZFP with a number of bit planes per value, in the meta byte. */
  BLOSC_CODEC_ZFP_FIXED_PRECISION = 34,
  /** ZFP with a fixed size, in the meta byte as a percentage of the data's. */
  BLOSC_CODEC_ZFP_FIXED_RATE = 35,
  /** High-throughput JPEG 2000 by OpenHTJ2K; a plugin. */
  BLOSC_CODEC_OPENHTJ2K = 36,
  /** JPEG 2000 by Grok; a plugin. */
  BLOSC_CODEC_GROK = 37,
  /** OpenZL; a plugin. */
  BLOSC_CODEC_OPENZL = 38,
  /** JPEG 2000; a plugin. */
  BLOSC_CODEC_J2K = 39,
  /** High-throughput JPEG 2000; a plugin. */
  BLOSC_CODEC_HTJ2K = 40,
};

/** The functions of a plugin that is a codec. */
typedef struct codec_info {
  /** Name of the `blosc2_codec_encoder_cb`. */
  char *encoder;
  /** Name of the `blosc2_codec_decoder_cb`. */
  char *decoder;
} codec_info;

/** Inside the library: adds the codecs above. Not exported by the shared library. */
void register_codecs(void);

#ifdef __cplusplus
}
#endif

#endif /* BLOSC_BLOSC2_CODECS_REGISTRY_H */
