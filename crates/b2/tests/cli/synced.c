/* Preloaded into the tool. Logs, in order, which files it changes, which it syncs, and which names it gives. SYNCED_LOG is the path of the
   log, SYNCED_FAIL that of a directory for which syncing fails. */
#include "shim.h"

static void line(const char *what, const char *path, const char *to) {
  const char *log = getenv("SYNCED_LOG");
  char text[3 * PATH_MAX];
  int len = snprintf(text, sizeof text, "%s\t%s\t%s\n", what, path, to);
  int fd = log == NULL ? -1 : REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || REAL(write)(fd, text, (size_t)len) != len) {
    _exit(99);
  }
  close(fd);
}

static void changed(int fd) {
  char room[PATH_MAX];
  const char *path = path_of(fd, room);
  if (path != NULL && path[0] == '/' && strncmp(path, "/dev/", 5) != 0) {
    line("change", path, "");
  }
}

ssize_t write(int fd, const void *from, size_t len) {
  changed(fd);
  return REAL(write)(fd, from, len);
}
ssize_t pwrite(int fd, const void *from, size_t len, off_t at) {
  changed(fd);
  return REAL(pwrite)(fd, from, len, at);
}
ssize_t pwrite64(int fd, const void *from, size_t len, off64_t at) {
  changed(fd);
  return REAL(pwrite64)(fd, from, len, at);
}
ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at) {
  changed(fd);
  return REAL(pwritev)(fd, pieces, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t at) {
  changed(fd);
  return REAL(pwritev64)(fd, pieces, count, at);
}
int ftruncate(int fd, off_t len) {
  changed(fd);
  return REAL(ftruncate)(fd, len);
}
int ftruncate64(int fd, off64_t len) {
  changed(fd);
  return REAL(ftruncate64)(fd, len);
}
int fchmod(int fd, mode_t mode) {
  changed(fd);
  return REAL(fchmod)(fd, mode);
}

static int synced(int fd, const char *what) {
  char room[PATH_MAX];
  const char *path = path_of(fd, room), *fail = getenv("SYNCED_FAIL");
  if (path == NULL) {
    _exit(99);
  }
  if (fail != NULL && strcmp(path, fail) == 0) {
    errno = EIO;
    return -1;
  }
  line(what, path, "");
  return 0;
}
int fsync(int fd) { return synced(fd, "sync"); }
int fdatasync(int fd) { return synced(fd, "sync"); }
int syncfs(int fd) { return synced(fd, "syncall"); }

static void named(int in, const char *from, int of, const char *to) {
  char old[2 * PATH_MAX], new[2 * PATH_MAX];
  line("name", whole(in, from, old), whole(of, to, new));
}
int rename(const char *from, const char *to) {
  named(AT_FDCWD, from, AT_FDCWD, to);
  return REAL(rename)(from, to);
}
int renameat(int in, const char *from, int of, const char *to) {
  named(in, from, of, to);
  return REAL(renameat)(in, from, of, to);
}
int linkat(int in, const char *from, int of, const char *to, int flags) {
  named(in, from, of, to);
  return REAL(linkat)(in, from, of, to, flags);
}
long syscall(long number, ...) {
  ARGUMENTS_OF(number, given)
  if (number == SYS_renameat2) {
    named((int)given[0], (const char *)given[1], (int)given[2], (const char *)given[3]);
  }
  return real_syscall(number, given);
}
