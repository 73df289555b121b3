/* Preloaded into the tool. Logs, in order, which files it changes, which it syncs, and which names it gives. SYNCED_LOG is the path of the
   log, SYNCED_FAIL that of a directory for which syncing fails. */
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

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

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

static const char *path_of(int fd) {
  static __thread char path[PATH_MAX];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t len = readlink(link, path, sizeof path - 1);
  path[len < 0 ? 0 : len] = 0;
  return path;
}

static void changed(int fd) {
  const char *path = path_of(fd);
  if (path[0] == '/' && strncmp(path, "/dev/", 5) != 0) {
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
int chmod(const char *path, mode_t mode) {
  line("change", path, "");
  return REAL(chmod)(path, mode);
}

static int synced(int fd, const char *what) {
  const char *path = path_of(fd), *fail = getenv("SYNCED_FAIL");
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

int rename(const char *from, const char *to) {
  line("name", from, to);
  return REAL(rename)(from, to);
}
int linkat(int in, const char *from, int of, const char *to, int flags) {
  line("name", from, to);
  return REAL(linkat)(in, from, of, to, flags);
}
long syscall(long number, ...) {
  long given[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; i++) {
    given[i] = va_arg(rest, long);
  }
  va_end(rest);
  if (number == SYS_renameat2) {
    line("name", (const char *)given[1], (const char *)given[3]);
  }
  return REAL(syscall)(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}
