/* Part of oxiblosc, the C library of Blosc2 in Rust; see its README.md. */
/* Generated from src/capi by the test `headers`: change it there. */

#ifndef BLOSC_BLOSC2_BLOSC2_EXPORT_H
#define BLOSC_BLOSC2_BLOSC2_EXPORT_H

/* BLOSC_EXPORT stands before what the shared library exports, BLOSC_NO_EXPORT before what it keeps. Programs see the
   first as nothing; only the build of a library sets BLOSC_SHARED_LIBRARY. */
#ifdef BLOSC_SHARED_LIBRARY
#ifdef _WIN32
#define BLOSC_EXPORT __declspec(dllexport)
#else
#define BLOSC_EXPORT __attribute__((visibility("default")))
#endif
#else
#define BLOSC_EXPORT
#endif

#if defined(BLOSC_TESTING) /* tests reach everything */
#define BLOSC_NO_EXPORT BLOSC_EXPORT
#elif (defined(__GNUC__) || defined(__clang__)) && !defined(_WIN32)
#define BLOSC_NO_EXPORT __attribute__((visibility("hidden")))
#else
#define BLOSC_NO_EXPORT
#endif

#endif /* BLOSC_BLOSC2_BLOSC2_EXPORT_H */
