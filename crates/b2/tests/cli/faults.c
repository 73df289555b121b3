/* Preloaded into the tool. Lets one call fail, and counts calls.

   FAULTS_KIND is the kind of call: memory (an allocation), open, read, write, name (a directory or a name is made, moved or looked at).
   FAULTS_AT is the number of the call of this kind that fails, from 1 on; 0 for none. FAULTS_FOLDER is the path of a directory: calls on files elsewhere
   are not counted. FAULTS_COUNT is a file to which the number of calls is written at the end. */
#include "shim.h"

static char kind[16], folder[PATH_MAX], count_file[PATH_MAX];
static long fail_at, calls;
static int armed;

__attribute__((constructor)) static void begin(void) {
  const char *text;
  snprintf(kind, sizeof kind, "%s", (text = getenv("FAULTS_KIND")) ? text : "");
  snprintf(folder, sizeof folder, "%s", (text = getenv("FAULTS_FOLDER")) ? text : "/none");
  snprintf(count_file, sizeof count_file, "%s", (text = getenv("FAULTS_COUNT")) ? text : "");
  fail_at = (text = getenv("FAULTS_AT")) ? atol(text) : 0;
  armed = 1;
}

static void write_count(void) {
  if (count_file[0] != 0) {
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", calls);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
      if (syscall(SYS_write, fd, text, (size_t)len) != len) {
        abort();
      }
      syscall(SYS_close, fd);
    }
  }
}
__attribute__((destructor)) static void end(void) { write_count(); }

/* Whether this call fails. */
static int fails(const char *what) {
  if (!armed || strcmp(kind, what) != 0) {
    return 0;
  }
  return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) == fail_at;
}

static int starts_inside(const char *path) { return path != NULL && strncmp(path, folder, strlen(folder)) == 0; }
static int is_inside_of(int dir, const char *path) {
  char room[2 * PATH_MAX];
  return armed && starts_inside(whole(dir, path, room));
}
static int is_inside(const char *path) { return is_inside_of(AT_FDCWD, path); }

/* Standard streams are not looked at: a handler that writes to them has little room on its stack. */
static int fd_is_inside(int fd) {
  if (fd <= STDERR_FILENO) {
    return 0;
  }
  char path[PATH_MAX];
  return starts_inside(path_of(fd, path));
}

#define PATH_CALL(what, path, error)      \
  if (is_inside(path) && fails(what)) {   \
    errno = error;                        \
    return -1;                            \
  }
#define CALL_IN(what, dir, path, error)           \
  if (is_inside_of(dir, path) && fails(what)) {   \
    errno = error;                                \
    return -1;                                    \
  }
#define FILE_CALL(what, fd, error)        \
  if (fd_is_inside(fd) && fails(what)) {  \
    errno = error;                        \
    return -1;                            \
  }

/* The C library's own functions, under their internal names, since looking them up allocates. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define ALLOCATION(call)                  \
  if (fails("memory")) {                  \
    errno = ENOMEM;                       \
    return NULL;                          \
  }                                       \
  return call
void *malloc(size_t size) { ALLOCATION(__libc_malloc(size)); }
void *calloc(size_t n, size_t size) { ALLOCATION(__libc_calloc(n, size)); }
void *realloc(void *old, size_t size) { ALLOCATION(__libc_realloc(old, size)); }
void *memalign(size_t align, size_t size) { ALLOCATION(__libc_memalign(align, size)); }
void *aligned_alloc(size_t align, size_t size) { ALLOCATION(__libc_memalign(align, size)); }
int posix_memalign(void **to, size_t align, size_t size) {
  if (fails("memory")) {
    return ENOMEM;
  }
  *to = __libc_memalign(align, size);
  return *to == NULL ? ENOMEM : 0;
}

int open(const char *path, int flags, ...) {
  MODE_OF(flags, mode) PATH_CALL("open", path, EMFILE) return REAL(open)(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags, mode) PATH_CALL("open", path, EMFILE) return REAL(open64)(path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...) {
  MODE_OF(flags, mode) CALL_IN("open", dir, path, EMFILE) return REAL(openat)(dir, path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...) {
  MODE_OF(flags, mode) CALL_IN("open", dir, path, EMFILE) return REAL(openat64)(dir, path, flags, mode);
}

ssize_t read(int fd, void *to, size_t len) { FILE_CALL("read", fd, EIO) return REAL(read)(fd, to, len); }
ssize_t pread(int fd, void *to, size_t len, off_t at) { FILE_CALL("read", fd, EIO) return REAL(pread)(fd, to, len, at); }
ssize_t pread64(int fd, void *to, size_t len, off64_t at) {
  FILE_CALL("read", fd, EIO) return REAL(pread64)(fd, to, len, at);
}
off_t lseek(int fd, off_t at, int from) { FILE_CALL("read", fd, EIO) return REAL(lseek)(fd, at, from); }
off64_t lseek64(int fd, off64_t at, int from) { FILE_CALL("read", fd, EIO) return REAL(lseek64)(fd, at, from); }

ssize_t write(int fd, const void *from, size_t len) { FILE_CALL("write", fd, ENOSPC) return REAL(write)(fd, from, len); }
ssize_t pwrite(int fd, const void *from, size_t len, off_t at) {
  FILE_CALL("write", fd, ENOSPC) return REAL(pwrite)(fd, from, len, at);
}
ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at) {
  FILE_CALL("write", fd, ENOSPC) return REAL(pwrite64)(fd, from, len, at);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  FILE_CALL("write", fd, ENOSPC) return REAL(pwritev)(fd, parts, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  FILE_CALL("write", fd, ENOSPC) return REAL(pwritev64)(fd, parts, count, at);
}
int ftruncate(int fd, off_t len) { FILE_CALL("write", fd, ENOSPC) return REAL(ftruncate)(fd, len); }
int ftruncate64(int fd, off64_t len) { FILE_CALL("write", fd, ENOSPC) return REAL(ftruncate64)(fd, len); }
int fsync(int fd) { FILE_CALL("write", fd, EIO) return REAL(fsync)(fd); }
int fdatasync(int fd) { FILE_CALL("write", fd, EIO) return REAL(fdatasync)(fd); }

int mkdir(const char *path, mode_t mode) { PATH_CALL("name", path, EIO) return REAL(mkdir)(path, mode); }
int rename(const char *from, const char *to) { PATH_CALL("name", from, EIO) return REAL(rename)(from, to); }
int mkdirat(int dir, const char *path, mode_t mode) { CALL_IN("name", dir, path, EIO) return REAL(mkdirat)(dir, path, mode); }
int renameat(int in, const char *from, int of, const char *to) {
  CALL_IN("name", in, from, EIO) return REAL(renameat)(in, from, of, to);
}
int fchmod(int fd, mode_t mode) { FILE_CALL("name", fd, EIO) return REAL(fchmod)(fd, mode); }
char *realpath(const char *path, char *room) {
  if (is_inside(path) && fails("name")) {
    errno = EIO;
    return NULL;
  }
  return REAL(realpath)(path, room);
}
ssize_t readlink(const char *path, char *to, size_t len) {
  PATH_CALL("name", path, EIO) return syscall(SYS_readlinkat, AT_FDCWD, path, to, len);
}
int linkat(int in, const char *from, int of, const char *to, int flags) {
  CALL_IN("name", in, from, EIO) return REAL(linkat)(in, from, of, to, flags);
}
int statx(int in, const char *restrict named, int flags, unsigned mask, struct statx *restrict there) {
  /* Null to find out whether the system has this call. The compiler must not take from the declaration that it never is. */
  const char *volatile path = named;
  if (path != NULL && path[0] != 0) {
    CALL_IN("name", in, path, EIO)
  } else if (path != NULL) {
    FILE_CALL("name", in, EIO)
  }
  return REAL(statx)(in, path, flags, mask, there);
}
int fstatat64(int in, const char *restrict path, struct stat64 *restrict there, int flags) {
  CALL_IN("name", in, path, EIO) return REAL(fstatat64)(in, path, there, flags);
}
int stat64(const char *restrict path, struct stat64 *restrict there) {
  PATH_CALL("name", path, EIO) return REAL(stat64)(path, there);
}
long syscall(long number, ...) {
  ARGUMENTS_OF(number, given)
  if (number == SYS_renameat2 && is_inside_of((int)given[0], (const char *)given[1]) && fails("name")) {
    errno = EIO;
    return -1;
  }
  return real_syscall(number, given);
}
