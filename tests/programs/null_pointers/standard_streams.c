/* Ends the process where it uses a descriptor of a standard stream other than to give it another number: in front of a program that has closed
   these, so that one is a file that should not have it. */
#include "shim.h"

#include <sys/file.h>
#include <sys/mman.h>

static void refuse_standard(int fd) {
  if (fd >= 0 && fd < 3 && fcntl(fd, F_GETFD) >= 0) {
    _exit(98);
  }
}

#define CHECKED(result, name, parameters, fd, ...) \
  result name parameters {                         \
    refuse_standard(fd);                           \
    return REAL(name)(__VA_ARGS__);                \
  }

CHECKED(ssize_t, read, (int fd, void *to, size_t len), fd, fd, to, len)
CHECKED(ssize_t, write, (int fd, const void *from, size_t len), fd, fd, from, len)
CHECKED(ssize_t, pread64, (int fd, void *to, size_t len, off64_t at), fd, fd, to, len, at)
CHECKED(ssize_t, pwrite64, (int fd, const void *from, size_t len, off64_t at), fd, fd, from, len, at)
CHECKED(ssize_t, pread, (int fd, void *to, size_t len, off_t at), fd, fd, to, len, at)
CHECKED(ssize_t, pwrite, (int fd, const void *from, size_t len, off_t at), fd, fd, from, len, at)
CHECKED(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), fd, fd, parts, count, at)
CHECKED(int, ftruncate64, (int fd, off64_t len), fd, fd, len)
CHECKED(int, ftruncate, (int fd, off_t len), fd, fd, len)
CHECKED(off64_t, lseek64, (int fd, off64_t at, int from), fd, fd, at, from)
CHECKED(int, flock, (int fd, int how), fd, fd, how)
CHECKED(int, fsync, (int fd), fd, fd)
CHECKED(int, fdatasync, (int fd), fd, fd)
CHECKED(void *, mmap64, (void *at, size_t len, int protection, int flags, int fd, off64_t from), fd, at, len, protection, flags, fd, from)
CHECKED(void *, mmap, (void *at, size_t len, int protection, int flags, int fd, off_t from), fd, at, len, protection, flags, fd, from)
