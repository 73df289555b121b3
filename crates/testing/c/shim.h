/* What the libraries have in common that go in front of the C library (`shim.rs` compiles them): how they call what they replace, what they
   take from arguments that may be missing, and where a descriptor leads. */
#ifndef OXIBLOSC_SHIM_H
#define OXIBLOSC_SHIM_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* The function of that name behind this library. */
#define REAL(name) ((__typeof__(&name))real(#name))

static inline void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    _exit(99);
  }
  return found;
}

/* The argument `mode` behind `flags`, which callers give only where a file may be made. */
#define MODE_OF(flags, mode)             \
  mode_t mode = 0;                       \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                        \
    va_start(rest, flags);               \
    mode = va_arg(rest, mode_t);         \
    va_end(rest);                        \
  }

/* The arguments of `syscall` behind `number`. There may be fewer than six; the system looks at no more than it needs. */
#define ARGUMENTS_OF(number, arguments)  \
  long arguments[6];                     \
  va_list rest;                          \
  va_start(rest, number);                \
  for (int i = 0; i < 6; i++) {          \
    arguments[i] = va_arg(rest, long);   \
  }                                      \
  va_end(rest);

static inline long real_syscall(long number, const long *a) {
  static long (*found)(long, ...);
  if (found == NULL) {
    found = REAL(syscall);
  }
  return found(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The path of an open file, in `room` of PATH_MAX bytes; NULL if there is none. */
static inline const char *path_of(int fd, char *room) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long arguments[6] = {AT_FDCWD, (long)link, (long)room, PATH_MAX - 1};
  long len = real_syscall(SYS_readlinkat, arguments);
  if (len < 0) {
    return NULL;
  }
  room[len] = 0;
  return room;
}

/* A path that is relative to an open directory, or leads through the descriptor of one, made whole in `room` of 2 * PATH_MAX bytes. */
static inline const char *whole(int dir, const char *path, char *room) {
  static const char descriptors[] = "/proc/self/fd/";
  if (path == NULL) {
    return path;
  }
  if (strncmp(path, descriptors, sizeof descriptors - 1) == 0) {
    char *rest;
    dir = (int)strtol(path + sizeof descriptors - 1, &rest, 10);
    if (path_of(dir, room) != NULL) {
      strncat(room, rest, PATH_MAX - 1);
      return room;
    }
    return path;
  }
  if (path[0] == '/' || dir == AT_FDCWD || path_of(dir, room) == NULL) {
    return path;
  }
  size_t len = strlen(room);
  snprintf(room + len, PATH_MAX, "/%s", path);
  return room;
}

/* Whether bytes go over others in one page of a file: the system copies those as a whole, whenever it stops the process. */
static inline int over_one_page(int fd, size_t len, off64_t where) {
  const off64_t page = 4096;
  struct stat file;
  off64_t end = where + (off64_t)len;
  return len > 0 && where / page == (end - 1) / page && syscall(SYS_fstat, fd, &file) == 0 && end <= file.st_size;
}

#endif
