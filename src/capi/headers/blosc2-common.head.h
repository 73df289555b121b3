#include "blosc2-export.h"

#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
#define BLOSC_GCC_VERSION (__GNUC__ * 100 + __GNUC_MINOR__)
#define BLOSC_UNUSED_VAR __attribute__((unused)) /* a variable that may stay unread */
#else
#define BLOSC_UNUSED_VAR
#endif

/* A parameter that stays unread. */
#define BLOSC_UNUSED_PARAM(x) ((void)(x))

/* Defined where a load or a store must be aligned, as far as these macros of the compilers tell. */
#if !defined(BLOSC_STRICT_ALIGN) && \
    !(defined(__i386__) || defined(__386) || defined(__i486__) || defined(__i586__) || defined(__i686__)) && \
    !(defined(__amd64) || defined(_M_IX86) || defined(_M_X64) || defined(_X86_) || defined(__I86__)) && \
    !(defined(__ARM_FEATURE_UNALIGNED) && defined(__ARM64_ARCH_8__)) && \
    !(defined(_ARCH_PPC) || defined(__PPC__))
#define BLOSC_STRICT_ALIGN
#endif

/* The vector types that the compiler may use: programs count on them being visible from here. */
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#if defined(__AVX2__) || defined(__AVX512F__) || defined(__AVX512BW__)
#include <immintrin.h>
#endif
