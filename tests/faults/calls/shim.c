/* Preloaded into a process whose calls to the system are to fail.

   Every call on a file under one folder is counted from fault_arm() on, and the one with number `at` fails as `act` says:
   that one alone, all of its class from then on, or all of every class. fault_disarm() ends it; fault_class() tells of
   which class each counted call was. */
#include "shim.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/mman.h>

enum class { OPEN, READ, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, CLOSE, MAP, UNMAP, STAT, LOCK, LIST, ATTRIBUTE, DUPLICATE };
enum act { NOTHING, ERROR, SHORT, SHORT_THEN_ERROR };
enum how_long { ONCE, CLASS, ALL };
enum answer { GO, FAIL, HALF };

/* So many classes are remembered. */
#define MOST 4096
/* So many maps are known at a time. */
#define MAPS 64

static char folder[PATH_MAX];
static int armed, at, seen, how_long, number;
static enum act act;
static enum class victim;
static unsigned char classes[MOST];
static void *maps[MAPS];

void fault_arm(const char *where, int call, int what, int lasts, int error) {
  snprintf(folder, sizeof folder, "%s", where);
  at = call;
  act = (enum act)what;
  how_long = lasts;
  number = error;
  seen = 0;
  armed = 1;
}

int fault_disarm(void) {
  armed = 0;
  return seen;
}

int fault_class(int call) {
  return call > 0 && call <= MOST ? classes[call - 1] : -1;
}

static int inside(const char *path) {
  return armed && path != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int inside_fd(int fd) {
  char path[PATH_MAX];
  return armed && fd >= 0 && inside(path_of(fd, path));
}

/* What becomes of a call of this class, if it is one that counts. */
static enum answer ask(enum class class, int counts) {
  if (!counts) {
    return GO;
  }
  seen++;
  if (seen <= MOST) {
    classes[seen - 1] = class;
  }
  if (at == 0 || seen < at) {
    return GO;
  }
  if (seen == at) {
    victim = class;
  } else if (how_long == ONCE || (how_long == CLASS && class != victim)) {
    return GO;
  }
  int transfers = class == READ || class == WRITE;
  if (act == SHORT || (act == SHORT_THEN_ERROR && seen == at)) {
    return transfers ? HALF : GO;
  }
  errno = number;
  return act == NOTHING ? GO : FAIL;
}

/* Half of a transfer, which is not nothing. */
#define HALF_OF(len) ((len) > 1 ? (len) / 2 : (len))

#define WHOLE(class, counts, failed, call) return ask(class, counts) == FAIL ? failed : (call)

#define TRANSFER(class, fd, len, call)                \
  switch (ask(class, inside_fd(fd))) {                \
    case FAIL:                                        \
      return -1;                                      \
    case HALF:                                        \
      len = HALF_OF(len);                             \
      return call;                                    \
    default:                                          \
      return call;                                    \
  }

ssize_t read(int fd, void *to, size_t len) { TRANSFER(READ, fd, len, REAL(read)(fd, to, len)) }
ssize_t write(int fd, const void *from, size_t len) { TRANSFER(WRITE, fd, len, REAL(write)(fd, from, len)) }

#define READS(name, type) \
  ssize_t name(int fd, void *to, size_t len, type where) { TRANSFER(READ, fd, len, REAL(name)(fd, to, len, where)) }
READS(pread, off_t)
READS(pread64, off64_t)

/* Half of a write, but all of one that is made all or not. */
static size_t short_of(int fd, size_t len, off64_t where) { return over_one_page(fd, len, where) ? len : HALF_OF(len); }

#define WRITES(name, type)                                            \
  ssize_t name(int fd, const void *from, size_t len, type where) {    \
    switch (ask(WRITE, inside_fd(fd))) {                              \
      case FAIL:                                                      \
        return -1;                                                    \
      case HALF:                                                      \
        return REAL(name)(fd, from, short_of(fd, len, where), where); \
      default:                                                        \
        return REAL(name)(fd, from, len, where);                      \
    }                                                                 \
  }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

/* Half of a scattered or gathered transfer is half of its first piece. */
#define PIECES(class, fd, pieces, count, call)        \
  struct iovec first;                                 \
  switch (ask(class, inside_fd(fd))) {                \
    case FAIL:                                        \
      return -1;                                      \
    case HALF:                                        \
      first = pieces[0];                              \
      first.iov_len = HALF_OF(first.iov_len);         \
      pieces = &first;                                \
      count = 1;                                      \
      return call;                                    \
    default:                                          \
      return call;                                    \
  }

ssize_t readv(int fd, const struct iovec *pieces, int count) {
  PIECES(READ, fd, pieces, count, REAL(readv)(fd, pieces, count))
}
ssize_t writev(int fd, const struct iovec *pieces, int count) {
  PIECES(WRITE, fd, pieces, count, REAL(writev)(fd, pieces, count))
}

#define POSITIONED(name, class, type)                                         \
  ssize_t name(int fd, const struct iovec *pieces, int count, type where) {   \
    PIECES(class, fd, pieces, count, REAL(name)(fd, pieces, count, where))    \
  }
POSITIONED(preadv, READ, off_t)
POSITIONED(preadv64, READ, off64_t)
POSITIONED(pwritev, WRITE, off_t)
POSITIONED(pwritev64, WRITE, off64_t)

ssize_t copy_file_range(int from, off64_t *at_from, int to, off64_t *at_to, size_t len, unsigned flags) {
  TRANSFER(WRITE, to, len, REAL(copy_file_range)(from, at_from, to, at_to, len, flags))
}

int ftruncate(int fd, off_t len) { WHOLE(TRUNCATE, inside_fd(fd), -1, REAL(ftruncate)(fd, len)); }
int ftruncate64(int fd, off64_t len) { WHOLE(TRUNCATE, inside_fd(fd), -1, REAL(ftruncate64)(fd, len)); }
int truncate(const char *path, off_t len) { WHOLE(TRUNCATE, inside(path), -1, REAL(truncate)(path, len)); }
int fallocate(int fd, int mode, off_t from, off_t len) {
  WHOLE(TRUNCATE, inside_fd(fd), -1, REAL(fallocate)(fd, mode, from, len));
}
int fallocate64(int fd, int mode, off64_t from, off64_t len) {
  WHOLE(TRUNCATE, inside_fd(fd), -1, REAL(fallocate64)(fd, mode, from, len));
}

int fsync(int fd) { WHOLE(SYNC, inside_fd(fd), -1, REAL(fsync)(fd)); }
int fdatasync(int fd) { WHOLE(SYNC, inside_fd(fd), -1, REAL(fdatasync)(fd)); }
int syncfs(int fd) { WHOLE(SYNC, inside_fd(fd), -1, REAL(syncfs)(fd)); }

int rename(const char *from, const char *to) { WHOLE(RENAME, inside(to), -1, REAL(rename)(from, to)); }
int renameat(int a, const char *from, int b, const char *to) {
  WHOLE(RENAME, inside(to) || inside_fd(b), -1, REAL(renameat)(a, from, b, to));
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
  WHOLE(RENAME, inside(to) || inside_fd(b), -1, REAL(renameat2)(a, from, b, to, flags));
}
int link(const char *from, const char *to) { WHOLE(RENAME, inside(to), -1, REAL(link)(from, to)); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
  WHOLE(RENAME, inside(to) || inside_fd(b), -1, REAL(linkat)(a, from, b, to, flags));
}

int unlink(const char *path) { WHOLE(UNLINK, inside(path), -1, REAL(unlink)(path)); }
int unlinkat(int dir, const char *path, int flags) {
  WHOLE(UNLINK, inside(path) || inside_fd(dir), -1, REAL(unlinkat)(dir, path, flags));
}
int remove(const char *path) { WHOLE(UNLINK, inside(path), -1, REAL(remove)(path)); }
int rmdir(const char *path) { WHOLE(UNLINK, inside(path), -1, REAL(rmdir)(path)); }
int mkdir(const char *path, mode_t mode) { WHOLE(MKDIR, inside(path), -1, REAL(mkdir)(path, mode)); }

int fchmod(int fd, mode_t mode) { WHOLE(ATTRIBUTE, inside_fd(fd), -1, REAL(fchmod)(fd, mode)); }
int fchown(int fd, uid_t user, gid_t group) { WHOLE(ATTRIBUTE, inside_fd(fd), -1, REAL(fchown)(fd, user, group)); }

/* A close that fails has closed nevertheless. */
int close(int fd) {
  if (ask(CLOSE, inside_fd(fd)) == FAIL) {
    int error = errno;
    REAL(close)(fd);
    errno = error;
    return -1;
  }
  return REAL(close)(fd);
}
int fclose(FILE *stream) {
  if (ask(CLOSE, inside_fd(fileno(stream))) == FAIL) {
    int error = errno;
    REAL(fclose)(stream);
    errno = error;
    return EOF;
  }
  return REAL(fclose)(stream);
}

/* A directory is opened to be listed. */
static enum class open_class(int flags) {
  return (flags & O_DIRECTORY) && (flags & O_TMPFILE) != O_TMPFILE ? LIST : OPEN;
}

#define OPENS(name)                                                                \
  int name(const char *path, int flags, ...) {                                     \
    MODE_OF(flags, mode)                                                           \
    WHOLE(open_class(flags), inside(path), -1, REAL(name)(path, flags, mode));     \
  }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                     \
  int name(int dir, const char *path, int flags, ...) {                                    \
    MODE_OF(flags, mode)                                                                   \
    WHOLE(OPEN, inside(path) || inside_fd(dir), -1, REAL(name)(dir, path, flags, mode));   \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

FILE *fopen(const char *path, const char *mode) { WHOLE(OPEN, inside(path), NULL, REAL(fopen)(path, mode)); }
FILE *fopen64(const char *path, const char *mode) { WHOLE(OPEN, inside(path), NULL, REAL(fopen64)(path, mode)); }
FILE *fdopen(int fd, const char *mode) { WHOLE(DUPLICATE, inside_fd(fd), NULL, REAL(fdopen)(fd, mode)); }
DIR *opendir(const char *path) { WHOLE(LIST, inside(path), NULL, REAL(opendir)(path)); }

/* The entries of a directory are read by its number alone. */
long syscall(long call, ...) {
  ARGUMENTS_OF(call, a)
  if (call == SYS_getdents64 && ask(LIST, inside_fd((int)a[0])) == FAIL) {
    return -1;
  }
  if (call == SYS_renameat2) {
    return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
  }
  return real_syscall(call, a);
}

/* Only the commands that make descriptors and that lock are failed. */
#define CONTROLS(name)                                                  \
  int name(int fd, int command, ...) {                                  \
    va_list rest;                                                       \
    va_start(rest, command);                                            \
    void *argument = va_arg(rest, void *);                              \
    va_end(rest);                                                       \
    int makes = command == F_DUPFD || command == F_DUPFD_CLOEXEC;       \
    int locks = command == F_OFD_SETLK && ((struct flock *)argument)->l_type != F_UNLCK; \
    if (!makes) {                                                       \
      WHOLE(LOCK, locks && inside_fd(fd), -1, REAL(name)(fd, command, argument)); \
    }                                                                   \
    WHOLE(DUPLICATE, inside_fd(fd), -1, REAL(name)(fd, command, argument)); \
  }
CONTROLS(fcntl)
CONTROLS(fcntl64)

int flock(int fd, int operation) { WHOLE(LOCK, inside_fd(fd), -1, REAL(flock)(fd, operation)); }

int stat(const char *path, struct stat *to) { WHOLE(STAT, inside(path), -1, REAL(stat)(path, to)); }
int stat64(const char *path, struct stat64 *to) { WHOLE(STAT, inside(path), -1, REAL(stat64)(path, to)); }
int lstat(const char *path, struct stat *to) { WHOLE(STAT, inside(path), -1, REAL(lstat)(path, to)); }
int lstat64(const char *path, struct stat64 *to) { WHOLE(STAT, inside(path), -1, REAL(lstat64)(path, to)); }
int fstat(int fd, struct stat *to) { WHOLE(STAT, inside_fd(fd), -1, REAL(fstat)(fd, to)); }
int fstat64(int fd, struct stat64 *to) { WHOLE(STAT, inside_fd(fd), -1, REAL(fstat64)(fd, to)); }
off_t lseek(int fd, off_t by, int from) { WHOLE(STAT, inside_fd(fd), -1, REAL(lseek)(fd, by, from)); }
off64_t lseek64(int fd, off64_t by, int from) { WHOLE(STAT, inside_fd(fd), -1, REAL(lseek64)(fd, by, from)); }
int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict to) {
  /* Some programs pass null to find out whether the call exists, although the header tells the compiler that the argument is never null. */
  const char *volatile given = path;
  int counts = given != NULL && *given != 0 ? inside(path) : inside_fd(dir);
  WHOLE(STAT, counts, -1, REAL(statx)(dir, path, flags, mask, to));
}

static void **map_of(void *address) {
  for (int i = 0; i < MAPS; i++) {
    if (maps[i] == address) {
      return &maps[i];
    }
  }
  return NULL;
}

static void *mapped(void *address) {
  void **free = map_of(NULL);
  if (address != MAP_FAILED && free != NULL) {
    *free = address;
  }
  return address;
}

#define MAPS_FILES(name, type)                                                           \
  void *name(void *where, size_t len, int protection, int flags, int fd, type from) {    \
    if (fd < 0 || !inside_fd(fd)) {                                                      \
      return REAL(name)(where, len, protection, flags, fd, from);                        \
    }                                                                                    \
    WHOLE(MAP, 1, MAP_FAILED, mapped(REAL(name)(where, len, protection, flags, fd, from))); \
  }
MAPS_FILES(mmap, off_t)
MAPS_FILES(mmap64, off64_t)

int munmap(void *address, size_t len) {
  void **known = address != NULL ? map_of(address) : NULL;
  if (ask(UNMAP, armed && known != NULL) == FAIL) {
    return -1;
  }
  if (known != NULL) {
    *known = NULL;
  }
  return REAL(munmap)(address, len);
}
int msync(void *address, size_t len, int flags) {
  WHOLE(SYNC, armed && map_of(address) != NULL, -1, REAL(msync)(address, len, flags));
}
void *mremap(void *address, size_t old, size_t new, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void *where = va_arg(rest, void *);
  va_end(rest);
  void **known = address != NULL ? map_of(address) : NULL;
  if (ask(MAP, armed && known != NULL) == FAIL) {
    return MAP_FAILED;
  }
  void *moved = REAL(mremap)(address, old, new, flags, where);
  if (known != NULL && moved != MAP_FAILED) {
    *known = moved;
  }
  return moved;
}
