/* Preloaded into a process. Before one of its calls on files, another user puts a link in the place of a file or directory.

   Calls on what lies in EXCHANGE_FOLDER are counted. Before that with the number EXCHANGE_AT, from 1 on, EXCHANGE_OLD gets another name, and
   a link to EXCHANGE_DECOY takes its place; where EXCHANGE_OLD ends in a star, the first name that begins so is exchanged, once there is one.
   EXCHANGE_COUNT is a file to which the number of calls is written at the end. */
#include "shim.h"

#include <dirent.h>

static char folder[PATH_MAX], old[PATH_MAX], decoy[PATH_MAX], count_file[PATH_MAX];
static long exchange_at, calls;
static int armed, is_exchanged;

static void take(const char *name, char *room) {
  const char *text = getenv(name);
  snprintf(room, PATH_MAX, "%s", text ? text : "");
}

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("EXCHANGE_AT");
  take("EXCHANGE_FOLDER", folder);
  take("EXCHANGE_OLD", old);
  take("EXCHANGE_DECOY", decoy);
  take("EXCHANGE_COUNT", count_file);
  exchange_at = text ? atol(text) : 0;
  armed = folder[0] != 0;
}

static long called(long number, long a, long b, long c, long d, long e) {
  long arguments[6] = {a, b, c, d, e};
  return real_syscall(number, arguments);
}

__attribute__((destructor)) static void end(void) {
  if (armed && count_file[0] != 0) {
    char text[32];
    int len = snprintf(text, sizeof text, "%ld\n", calls);
    int fd = (int)called(SYS_openat, AT_FDCWD, (long)count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600, 0);
    if (fd < 0 || called(SYS_write, fd, (long)text, len, 0, 0) != len) {
      _exit(99);
    }
  }
}

/* The path to exchange; NULL while there is none. */
static const char *found(char *room) {
  size_t len = strlen(old);
  if (len == 0 || old[len - 1] != '*') {
    return old;
  }
  snprintf(room, PATH_MAX, "%s", old);
  char *slash = strrchr(room, '/');
  *slash = 0;
  DIR *all = REAL(opendir)(room);
  struct dirent *entry;
  const char *path = NULL;
  while (all != NULL && (entry = readdir(all)) != NULL) {
    if (strncmp(entry->d_name, slash + 1, strlen(slash + 1) - 1) == 0) {
      *slash = '/';
      snprintf(slash + 1, PATH_MAX - (size_t)(slash + 1 - room), "%s", entry->d_name);
      path = room;
      break;
    }
  }
  if (all != NULL) {
    closedir(all);
  }
  return path;
}

static void call(int dir, const char *path) {
  char room[2 * PATH_MAX], aside[PATH_MAX + 8];
  if (!armed || path == NULL) {
    return;
  }
  path = whole(dir, path, room);
  if (strncmp(path, folder, strlen(folder)) != 0) {
    return;
  }
  armed = 0;
  if (++calls >= exchange_at && exchange_at > 0 && !is_exchanged) {
    const char *at = found(room);
    if (at != NULL) {
      snprintf(aside, sizeof aside, "%s~", at);
      if (called(SYS_renameat2, AT_FDCWD, (long)at, AT_FDCWD, (long)aside, 0) == 0) {
        called(SYS_symlinkat, (long)decoy, AT_FDCWD, (long)at, 0, 0);
      }
      is_exchanged = 1;
    }
  }
  armed = 1;
}

static void call_fd(int fd) {
  char room[PATH_MAX];
  if (armed && fd > STDERR_FILENO) {
    call(AT_FDCWD, path_of(fd, room));
  }
}

#define OPENS(name)                            \
  int name(const char *path, int flags, ...) { \
    MODE_OF(flags, mode)                       \
    call(AT_FDCWD, path);                      \
    return REAL(name)(path, flags, mode);      \
  }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name)                                  \
  int name(int dir, const char *path, int flags, ...) { \
    MODE_OF(flags, mode)                                \
    call(dir, path);                                    \
    return REAL(name)(dir, path, flags, mode);          \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

/* A call on a path, and one on a name in an open directory. */
#define PATH(type, name, given, taken) \
  type name given {                    \
    call(AT_FDCWD, path);              \
    return REAL(name) taken;           \
  }
#define NAME(name, given, taken) \
  int name given {               \
    call(dir, path);             \
    return REAL(name) taken;     \
  }
PATH(DIR *, opendir, (const char *path), (path))
PATH(int, unlink, (const char *path), (path))
PATH(int, rmdir, (const char *path), (path))
PATH(int, mkdir, (const char *path, mode_t mode), (path, mode))
PATH(int, chmod, (const char *path, mode_t mode), (path, mode))
PATH(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group))
PATH(int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group))
PATH(int, rename, (const char *path, const char *to), (path, to))
PATH(int, link, (const char *path, const char *to), (path, to))
PATH(int, stat64, (const char *restrict path, struct stat64 *restrict there), (path, there))
PATH(int, lstat64, (const char *restrict path, struct stat64 *restrict there), (path, there))
PATH(char *, realpath, (const char *restrict path, char *restrict room), (path, room))
PATH(ssize_t, readlink, (const char *restrict path, char *restrict to, size_t len), (path, to, len))
NAME(unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
NAME(mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
NAME(renameat, (int dir, const char *path, int of, const char *to), (dir, path, of, to))
NAME(linkat, (int dir, const char *path, int of, const char *to, int flags), (dir, path, of, to, flags))
NAME(fstatat64, (int dir, const char *restrict path, struct stat64 *restrict there, int flags), (dir, path, there, flags))
NAME(statx, (int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict there),
     (dir, path, flags, mask, there))

int fchmod(int fd, mode_t mode) {
  call_fd(fd);
  return REAL(fchmod)(fd, mode);
}
int fchown(int fd, uid_t user, gid_t group) {
  call_fd(fd);
  return REAL(fchown)(fd, user, group);
}
long syscall(long number, ...) {
  ARGUMENTS_OF(number, given)
  if (number == SYS_renameat2) {
    call((int)given[0], (const char *)given[1]);
  } else if (number == SYS_getdents64) {
    call_fd((int)given[0]);
  }
  return real_syscall(number, given);
}
