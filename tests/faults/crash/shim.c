/* Preloaded into a process that is to die, or to meet a full disk, at one of its writes.

   Every call that changes something under one folder is counted from shim_arm() on, and at call number `at` comes what
   `act` says. The calls of stdio count as the calls that they would come to. */
#include "shim.h"

enum act { COUNT, DIE, DIE_HALF, NO_SPACE, IO_ERROR };

static char folder[PATH_MAX];
static int at, seen, armed;
static enum act act;

/* The exit code of a process that died at its call. */
#define DEAD 77

void shim_arm(const char *where, int number, int what) {
  snprintf(folder, sizeof folder, "%s", where);
  at = number;
  act = (enum act)what;
  seen = 0;
  armed = 1;
}

int shim_seen(void) {
  return seen;
}

int shim_disarm(void) {
  armed = 0;
  return seen;
}

static int inside(const char *path) {
  return path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int inside_fd(int fd) {
  char path[PATH_MAX];
  return inside(path_of(fd, path));
}

/* Whether this is the call: 0 to go on, 1 to write half and die, -1 to fail with errno. Does not return to die. */
static int event(int counts) {
  if (!armed || !counts || ++seen != at) {
    return 0;
  }
  switch (act) {
    case DIE:
      _exit(DEAD);
    case DIE_HALF:
      return 1;
    case NO_SPACE:
      errno = ENOSPC;
      return -1;
    case IO_ERROR:
      errno = EIO;
      return -1;
    default:
      return 0;
  }
}

/* For calls that are done or not, with nothing in between. */
#define WHOLE(counts, failed, call)  \
  switch (event(counts)) {           \
    case -1:                         \
      return failed;                 \
    case 1:                          \
      (void)!(call);                 \
      _exit(DEAD);                   \
    default:                         \
      return call;                   \
  }

ssize_t write(int fd, const void *from, size_t len) {
  switch (armed ? event(inside_fd(fd)) : 0) {
    case -1:
      return -1;
    case 1:
      (void)!REAL(write)(fd, from, len / 2);
      _exit(DEAD);
    default:
      return REAL(write)(fd, from, len);
  }
}

#define POSITIONED(name, type)                                      \
  ssize_t name(int fd, const void *from, size_t len, type where) {  \
    switch (armed ? event(inside_fd(fd)) : 0) {                     \
      case -1:                                                      \
        return -1;                                                  \
      case 1:                                                       \
        len = over_one_page(fd, len, where) ? len : len / 2;        \
        (void)!REAL(name)(fd, from, len, where);                    \
        _exit(DEAD);                                                \
      default:                                                      \
        return REAL(name)(fd, from, len, where);                    \
    }                                                               \
  }
POSITIONED(pwrite, off_t)
POSITIONED(pwrite64, off64_t)

/* Half of a gathered write: its first piece, or half of its only one. */
static int half(const struct iovec *pieces, int count, struct iovec *first) {
  *first = pieces[0];
  if (count == 1) {
    first->iov_len /= 2;
  }
  return 1;
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  struct iovec first;
  switch (armed ? event(inside_fd(fd)) : 0) {
    case -1:
      return -1;
    case 1:
      (void)!REAL(writev)(fd, &first, half(pieces, count, &first));
      _exit(DEAD);
    default:
      return REAL(writev)(fd, pieces, count);
  }
}

#define GATHERED(name, type)                                                  \
  ssize_t name(int fd, const struct iovec *pieces, int count, type where) {   \
    struct iovec first;                                                       \
    switch (armed ? event(inside_fd(fd)) : 0) {                               \
      case -1:                                                                \
        return -1;                                                            \
      case 1:                                                                 \
        (void)!REAL(name)(fd, &first, half(pieces, count, &first), where);    \
        _exit(DEAD);                                                          \
      default:                                                                \
        return REAL(name)(fd, pieces, count, where);                          \
    }                                                                         \
  }
GATHERED(pwritev, off_t)
GATHERED(pwritev64, off64_t)

int ftruncate(int fd, off_t len) { WHOLE(armed && inside_fd(fd), -1, REAL(ftruncate)(fd, len)) }
int ftruncate64(int fd, off64_t len) { WHOLE(armed && inside_fd(fd), -1, REAL(ftruncate64)(fd, len)) }
int fallocate(int fd, int mode, off_t from, off_t len) {
  WHOLE(armed && inside_fd(fd), -1, REAL(fallocate)(fd, mode, from, len))
}
int fallocate64(int fd, int mode, off64_t from, off64_t len) {
  WHOLE(armed && inside_fd(fd), -1, REAL(fallocate64)(fd, mode, from, len))
}
ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t len, unsigned flags) {
  WHOLE(armed && inside_fd(to), -1, REAL(copy_file_range)(from, at_from, to, at_to, len, flags))
}
int truncate(const char *path, off_t len) { WHOLE(inside(path), -1, REAL(truncate)(path, len)) }
int unlink(const char *path) { WHOLE(inside(path), -1, REAL(unlink)(path)) }
int unlinkat(int dir, const char *path, int flags) {
  WHOLE(inside(path) || (armed && inside_fd(dir)), -1, REAL(unlinkat)(dir, path, flags))
}
int remove(const char *path) { WHOLE(inside(path), -1, REAL(remove)(path)) }
int rmdir(const char *path) { WHOLE(inside(path), -1, REAL(rmdir)(path)) }
int mkdir(const char *path, mode_t mode) { WHOLE(inside(path), -1, REAL(mkdir)(path, mode)) }
int link(const char *from, const char *to) { WHOLE(inside(to), -1, REAL(link)(from, to)) }
int rename(const char *from, const char *to) { WHOLE(inside(to), -1, REAL(rename)(from, to)) }
int renameat(int a, const char *from, int b, const char *to) {
  WHOLE(inside(to) || (armed && inside_fd(b)), -1, REAL(renameat)(a, from, b, to))
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  WHOLE(inside(to) || (armed && inside_fd(b)), -1, REAL(renameat2)(a, from, b, to, flags))
}
/* The library makes this call by its number. */
long syscall(long number, ...) {
  ARGUMENTS_OF(number, a)
  if (number == SYS_renameat2) {
    return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
  }
  return real_syscall(number, a);
}

/* Opening changes something only when it makes or empties a file. */
#define CHANGES(path, flags) (((flags) & (O_CREAT | O_TRUNC)) && inside(path))

#define OPENS(name)                                                     \
  int name(const char *path, int flags, ...) {                          \
    MODE_OF(flags, mode)                                                \
    WHOLE(CHANGES(path, flags), -1, REAL(name)(path, flags, mode))      \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                       \
  int name(int dir, const char *path, int flags, ...) {                      \
    MODE_OF(flags, mode)                                                     \
    int there = inside(path) || (armed && dir >= 0 && inside_fd(dir));       \
    there = there && (flags & (O_CREAT | O_TRUNC));                          \
    WHOLE(there, -1, REAL(name)(dir, path, flags, mode))                     \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

#define OPENS_STREAM(name)                                                     \
  FILE *name(const char *path, const char *mode) {                             \
    int makes = mode[0] == 'w' || (mode[0] == 'a' && access(path, F_OK) != 0); \
    FILE *stream = NULL;                                                       \
    WHOLE(makes && inside(path), NULL, (stream = REAL(name)(path, mode)))      \
  }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

size_t fwrite(const void *from, size_t size, size_t count, FILE *to) {
  switch (armed ? event(inside_fd(fileno(to))) : 0) {
    case -1:
      return 0;
    case 1:
      (void)!REAL(fwrite)(from, 1, size * count / 2, to);
      fflush(to);
      _exit(DEAD);
    default:
      return REAL(fwrite)(from, size, count, to);
  }
}
