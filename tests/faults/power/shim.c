/* Preloaded into a process whose changes of files are to be known in order.

   From shim_start() on, every call that changes something under one folder is made and written to a log: what was written
   and where, new lengths, new names, and what was synced. Nothing is truly synced: no power is cut here, and it would take
   its time. A record of the log is a line of text; the bytes that were written follow their line. */
#include "shim.h"

#include <sys/mman.h>

static char folder[PATH_MAX];
static int log_fd = -1;

/* The exit code of a process that made a call which has no record. */
#define UNKNOWN 98

static void put(const void *from, size_t len) {
  const char *at = from;
  while (len > 0) {
    ssize_t done = REAL(write)(log_fd, at, len);
    if (done <= 0) {
      _exit(99);
    }
    at += done;
    len -= (size_t)done;
  }
}

static void line(const char *format, ...) {
  char text[2 * PATH_MAX + 100];
  va_list rest;
  va_start(rest, format);
  int len = vsnprintf(text, sizeof text, format, rest);
  va_end(rest);
  put(text, (size_t)len);
}

void shim_start(const char *where, const char *log) {
  snprintf(folder, sizeof folder, "%s/", where);
  log_fd = REAL(open)(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log_fd < 0) {
    _exit(99);
  }
}

/* The process has come to a point that the log is to show. */
void shim_mark(void) { line("mark\n"); }

void shim_stop(void) {
  close(log_fd);
  log_fd = -1;
}

/* The part of a path behind the folder, or NULL for a path elsewhere, and while nothing is logged. */
static const char *inside(const char *path) {
  size_t len = strlen(folder);
  if (log_fd < 0 || path == NULL || strncmp(path, folder, len - 1) != 0) {
    return NULL;
  }
  if (path[len - 1] == 0) {
    return "";
  }
  return path[len - 1] == '/' ? path + len : NULL;
}

static const char *inside_fd(int fd) {
  static __thread char path[PATH_MAX];
  return log_fd < 0 ? NULL : inside(path_of(fd, path));
}

static unsigned long long inode(int fd) {
  struct stat there;
  if (fstat(fd, &there) != 0) {
    _exit(99);
  }
  return (unsigned long long)there.st_ino;
}

static void unknown(const char *call) {
  fprintf(stderr, "%s is a call that the shim does not know\n", call);
  _exit(UNKNOWN);
}

static void wrote(int fd, const void *from, size_t len, long long at) {
  line("write %llu %lld %zu\n", inode(fd), at, len);
  put(from, len);
}

#define POSITIONED(name, type)                                      \
  ssize_t name(int fd, const void *from, size_t len, type at) {     \
    ssize_t done = REAL(name)(fd, from, len, at);                   \
    if (done > 0 && inside_fd(fd) != NULL) {                        \
      wrote(fd, from, (size_t)done, at);                            \
    }                                                               \
    return done;                                                    \
  }
POSITIONED(pwrite, off_t)
POSITIONED(pwrite64, off64_t)

#define GATHERED(name, type)                                                 \
  ssize_t name(int fd, const struct iovec *pieces, int count, type at) {     \
    ssize_t done = REAL(name)(fd, pieces, count, at);                        \
    if (done > 0 && inside_fd(fd) != NULL) {                                 \
      ssize_t left = done;                                                   \
      line("write %llu %lld %zd\n", inode(fd), (long long)at, done);         \
      for (int i = 0; i < count && left > 0; i++) {                          \
        size_t len = pieces[i].iov_len;                                      \
        len = len < (size_t)left ? len : (size_t)left;                       \
        put(pieces[i].iov_base, len);                                        \
        left -= (ssize_t)len;                                                \
      }                                                                      \
    }                                                                        \
    return done;                                                             \
  }
GATHERED(pwritev, off_t)
GATHERED(pwritev64, off64_t)

ssize_t write(int fd, const void *from, size_t len) {
  int logged = inside_fd(fd) != NULL;
  off_t at = logged ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t done = REAL(write)(fd, from, len);
  if (done > 0 && logged) {
    wrote(fd, from, (size_t)done, at);
  }
  return done;
}

#define LENGTH(name, type)                                            \
  int name(int fd, type len) {                                        \
    int rc = REAL(name)(fd, len);                                     \
    if (rc == 0 && inside_fd(fd) != NULL) {                           \
      line("length %llu %lld\n", inode(fd), (long long)len);          \
    }                                                                 \
    return rc;                                                        \
  }
LENGTH(ftruncate, off_t)
LENGTH(ftruncate64, off64_t)

#define SYNC(name)                                          \
  int name(int fd) {                                        \
    const char *path = inside_fd(fd);                       \
    struct stat there;                                      \
    if (path == NULL) {                                     \
      return REAL(name)(fd);                                \
    }                                                       \
    if (fstat(fd, &there) == 0 && S_ISDIR(there.st_mode)) { \
      line("syncdir %s\n", path);                           \
    } else {                                                \
      line("sync %llu\n", inode(fd));                       \
    }                                                       \
    return 0;                                               \
  }
SYNC(fsync)
SYNC(fdatasync)

/* A file is made, or emptied. */
static int opened(const char *path, int flags, int was_there, int fd) {
  const char *name = fd < 0 ? NULL : inside(path);
  if (name == NULL) {
    return fd;
  }
  if ((flags & O_TMPFILE) == O_TMPFILE || (flags & O_APPEND)) {
    unknown("open");
  }
  if (!was_there) {
    line("create %llu %s\n", inode(fd), name);
  } else if (flags & O_TRUNC) {
    line("length %llu 0\n", inode(fd));
  }
  return fd;
}

#define OPENS(name)                                                      \
  int name(const char *path, int flags, ...) {                           \
    MODE_OF(flags, mode)                                                 \
    int was_there = access(path, F_OK) == 0;                             \
    return opened(path, flags, was_there, REAL(name)(path, flags, mode)); \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                               \
  int name(int dir, const char *path, int flags, ...) {                              \
    char room[2 * PATH_MAX];                                                         \
    MODE_OF(flags, mode)                                                             \
    const char *at = whole(dir, path, room);                                         \
    int was_there = access(at, F_OK) == 0;                                           \
    return opened(at, flags, was_there, REAL(name)(dir, path, flags, mode));         \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

/* One name is made or goes. */
#define NAMED(record, path, call)            \
  int rc = call;                             \
  const char *name = inside(path);           \
  if (rc == 0 && name != NULL) {             \
    line(record " %s\n", name);              \
  }                                          \
  return rc;

int unlink(const char *path) { NAMED("unlink", path, REAL(unlink)(path)) }
int rmdir(const char *path) { NAMED("unlink", path, REAL(rmdir)(path)) }
int remove(const char *path) { NAMED("unlink", path, REAL(remove)(path)) }
int mkdir(const char *path, mode_t mode) { NAMED("mkdir", path, REAL(mkdir)(path, mode)) }
int unlinkat(int dir, const char *path, int flags) {
  char room[2 * PATH_MAX];
  NAMED("unlink", whole(dir, path, room), REAL(unlinkat)(dir, path, flags))
}

/* Two names. */
#define RENAMED(record, from, to, call)                             \
  int rc = call;                                                    \
  const char *old = inside(from), *name = inside(to);               \
  if (rc == 0 && (old != NULL) != (name != NULL)) {                 \
    unknown(record " across the border of the folder");             \
  }                                                                 \
  if (rc == 0 && name != NULL) {                                    \
    line(record " %s %s\n", old, name);                             \
  }                                                                 \
  return rc;

int rename(const char *from, const char *to) { RENAMED("rename", from, to, REAL(rename)(from, to)) }
int link(const char *from, const char *to) { RENAMED("link", from, to, REAL(link)(from, to)) }
int renameat(int a, const char *from, int b, const char *to) {
  char room[2 * PATH_MAX], other[2 * PATH_MAX];
  RENAMED("rename", whole(a, from, room), whole(b, to, other), REAL(renameat)(a, from, b, to))
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  char room[2 * PATH_MAX], other[2 * PATH_MAX];
  if (flags & RENAME_EXCHANGE) {
    unknown("renameat2");
  }
  RENAMED("rename", whole(a, from, room), whole(b, to, other), REAL(renameat2)(a, from, b, to, flags))
}
/* The library makes this call by its number. */
long syscall(long number, ...) {
  ARGUMENTS_OF(number, a)
  if (number == SYS_renameat2) {
    return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
  }
  return real_syscall(number, a);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
  char room[2 * PATH_MAX], other[2 * PATH_MAX];
  RENAMED("link", whole(a, from, room), whole(b, to, other), REAL(linkat)(a, from, b, to, flags))
}

/* What the library does not call. If it does one day, this says so. */
#define REFUSED(name, inside_it, call) \
  if (inside_it) {                     \
    unknown(#name);                    \
  }                                    \
  return call;

int truncate(const char *path, off_t len) { REFUSED(truncate, inside(path), REAL(truncate)(path, len)) }
ssize_t writev(int fd, const struct iovec *pieces, int count) {
  REFUSED(writev, inside_fd(fd), REAL(writev)(fd, pieces, count))
}
int fallocate(int fd, int mode, off_t from, off_t len) {
  REFUSED(fallocate, inside_fd(fd), REAL(fallocate)(fd, mode, from, len))
}
int fallocate64(int fd, int mode, off64_t from, off64_t len) {
  REFUSED(fallocate64, inside_fd(fd), REAL(fallocate64)(fd, mode, from, len))
}
int posix_fallocate(int fd, off_t from, off_t len) {
  REFUSED(posix_fallocate, inside_fd(fd), REAL(posix_fallocate)(fd, from, len))
}
ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t len, unsigned flags) {
  REFUSED(copy_file_range, inside_fd(to), REAL(copy_file_range)(from, at_from, to, at_to, len, flags))
}
ssize_t sendfile(int to, int from, off_t *at, size_t len) {
  REFUSED(sendfile, inside_fd(to), ((ssize_t (*)(int, int, off_t *, size_t))real("sendfile"))(to, from, at, len))
}
FILE *fopen(const char *path, const char *mode) {
  REFUSED(fopen, strcmp(mode, "r") != 0 && strcmp(mode, "rb") != 0 && inside(path), REAL(fopen)(path, mode))
}

/* Maps are for reading: what is written through one is on the disk in no order that could be told. To write to one ends the
   process, so that the log has all that reaches a file. */
#define MAPPED(name, type)                                                                    \
  void *name(void *at, size_t len, int access, int flags, int fd, type from) {               \
    if ((flags & MAP_SHARED) && (access & PROT_WRITE) && fd >= 0 && inside_fd(fd) != NULL) {  \
      access &= ~PROT_WRITE;                                                                  \
    }                                                                                         \
    return REAL(name)(at, len, access, flags, fd, from);                                      \
  }
MAPPED(mmap, off_t)
MAPPED(mmap64, off64_t)

/* All of the file system that the file is on. */
int syncfs(int fd) {
  if (inside_fd(fd) == NULL) {
    return REAL(syncfs)(fd);
  }
  line("syncfs\n");
  return 0;
}
