/* Part of oxiblosc: the library of Blosc 1 in Rust. */

#ifndef BLOSC_EXPORT_H
#define BLOSC_EXPORT_H

/* BLOSC_EXPORT stands before what the shared library exports, BLOSC_NO_EXPORT before what it keeps. Programs see the
   first as nothing; only the build of a library sets BLOSC_SHARED_LIBRARY. */
#ifdef BLOSC_SHARED_LIBRARY
#define BLOSC_EXPORT __attribute__((visibility("default")))
#else
#define BLOSC_EXPORT
#endif

#if defined(BLOSC_TESTING) /* tests reach everything */
#define BLOSC_NO_EXPORT BLOSC_EXPORT
#elif defined(__GNUC__) || defined(__clang__)
#define BLOSC_NO_EXPORT __attribute__((visibility("hidden")))
#else
#define BLOSC_NO_EXPORT
#endif

#endif /* BLOSC_EXPORT_H */
