/* Runs every case with each allocation failing in turn, and with all failing from each on, in a forked child each.

   driver [full] [NAME]: all allocations, or a sample; only the cases whose names contain NAME. */
#define _GNU_SOURCE
#include "harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct trial t;
int32_t data[ITEMS];

/* What a child tells its parent, in shared memory. */
struct result {
  int calls, seen, descriptors;
  long live;
  int64_t rc[2];
  uint64_t before, after[2];
  /* Whether `t.out` was a chunk of the data after the first call; told where the chunk has a dictionary. */
  bool decoded;
  char wrong[200];
};
static struct result *result;
static const char *root;
/* The allocations that fail. */
static int from, to;
/* What the call returns when nothing fails. */
static int64_t expected;
static bool counting;

void need(bool ok, const char *what) {
  if (!ok) {
    snprintf(result->wrong, sizeof result->wrong, "cannot prepare: %s", what);
    _exit(3);
  }
}

static uint64_t hash(uint64_t h, const void *bytes, size_t len) {
  const uint8_t *at = bytes;
  while (len-- > 0) {
    h = (h ^ *at++) * 0x100000001b3u;
  }
  return h ^ h >> 29;
}

static uint64_t hash_number(uint64_t h, int64_t number) { return hash(h, &number, sizeof number); }

static uint64_t hash_schunk(uint64_t h, blosc2_schunk *schunk) {
  static uint8_t chunk[1 << 17];
  if (schunk == NULL) {
    return hash_number(h, -1);
  }
  h = hash_number(hash_number(h, schunk->nchunks), schunk->nbytes);
  h = hash_number(h, schunk->chunksize);
  for (int64_t i = 0; i < schunk->nchunks; i++) {
    int len = blosc2_schunk_decompress_chunk(schunk, i, chunk, sizeof chunk);
    if (len == BLOSC2_ERROR_INVALID_PARAM || len == BLOSC2_ERROR_CODEC_SUPPORT || len == BLOSC2_ERROR_FAILURE) {
      uint8_t *dest;
      int32_t nbytes;
      int block = 0;
      while ((len = blosc2_schunk_get_vlblock(schunk, i, block++, &dest, &nbytes)) >= 0) {
        h = hash(h, dest, (size_t)nbytes);
        free(dest);
      }
    }
    h = hash_number(h, len);
    if (len > 0) {
      h = hash(h, chunk, (size_t)len);
    }
  }
  h = hash_number(h, schunk->nmetalayers);
  for (int i = 0; i < schunk->nmetalayers; i++) {
    blosc2_metalayer *layer = schunk->metalayers[i];
    h = hash(hash(h, layer->name, strlen(layer->name)), layer->content, (size_t)layer->content_len);
  }
  h = hash_number(h, schunk->nvlmetalayers);
  for (int i = 0; i < schunk->nvlmetalayers; i++) {
    const char *name = schunk->vlmetalayers[i]->name;
    uint8_t *content = NULL;
    int32_t len = 0;
    int rc = blosc2_vlmeta_get(schunk, name, &content, &len);
    h = hash(hash_number(h, rc), name, strlen(name));
    if (rc >= 0) {
      h = hash(h, content, (size_t)len);
      free(content);
    }
  }
  return h;
}

static uint64_t hash_array(uint64_t h, b2nd_array_t *array) {
  if (array == NULL) {
    return hash_number(h, -2);
  }
  if (t.follows && b2nd_refresh(array) < 0) {
    return hash_number(h, -5);
  }
  h = hash(h, &array->ndim, sizeof array->ndim);
  h = hash(h, array->shape, sizeof *array->shape * (size_t)array->ndim);
  h = hash(h, array->chunkshape, sizeof *array->chunkshape * (size_t)array->ndim);
  static uint8_t all[1 << 16];
  int64_t len = array->nitems * array->sc->typesize;
  int rc = len <= (int64_t)sizeof all ? b2nd_to_cbuffer(array, all, len) : 1;
  return hash_schunk(hash(hash_number(h, rc), all, rc == 0 ? (size_t)len : 0), array->sc);
}

static uint64_t hash_path(uint64_t h, const char *path) {
  if (access(path, F_OK) != 0) {
    return hash_number(h, -3);
  }
  blosc2_schunk *schunk = blosc2_schunk_open(path);
  h = schunk == NULL ? hash_number(h, -4) : hash_schunk(h, schunk);
  if (schunk != NULL) {
    blosc2_schunk_free(schunk);
  }
  return h;
}

/* Files beside the frame that were left there. */
static int entries(void) {
  DIR *folder = opendir(".");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) {
    count++;
  }
  closedir(folder);
  return count;
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) {
    count++;
  }
  closedir(folder);
  return count;
}

/* What the handles and frames of the case show. */
static uint64_t digest(bool failed) {
  uint64_t h = 0xcbf29ce484222325u;
  h = hash_schunk(hash_schunk(h, t.schunk), t.made_schunk);
  h = hash_array(hash_array(hash_array(h, t.array), t.other), t.made_array);
  h = hash(h, t.made, t.made != NULL ? (size_t)t.made_len : 0);
  if (t.out != NULL && (!failed || t.keeps_out)) {
    h = hash(h, t.out, (size_t)t.out_len);
  }
  if (t.has_path) {
    h = hash_number(hash_path(hash_path(h, t.path), t.new_path), entries());
  }
  return h;
}

void before_call(void) {
  result->before = digest(true);
  shim_arm(from, to);
}

/* Whether `t.out` is a chunk of the data. */
static bool decodes(void) {
  static uint8_t back[NBYTES];
  blosc2_context *ctx = blosc2_create_dctx(BLOSC2_DPARAMS_DEFAULTS);
  int len = blosc2_decompress_ctx(ctx, t.out, (int32_t)t.out_len, back, NBYTES);
  blosc2_free_ctx(ctx);
  return len == NBYTES && memcmp(back, data, NBYTES) == 0;
}

bool after_call(int64_t rc) {
  int seen = shim_disarm();
  int call = result->calls++;
  if (call == 0) {
    result->seen = seen;
    result->decoded = t.has_dictionary && rc > 0 && decodes();
  }
  result->rc[call] = rc;
  result->after[call] = digest(!counting && rc != expected);
  if (!counting && rc != expected && call == 0) {
    from = INT_MAX;
    return true;
  }
  return false;
}

static void remove_all(const char *path) {
  DIR *folder = opendir(path);
  if (folder != NULL) {
    struct dirent *entry;
    char inner[PATH_MAX];
    while ((entry = readdir(folder)) != NULL) {
      if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        remove_all(inner);
      }
    }
    closedir(folder);
  }
  remove(path);
}

static void release(void) {
  blosc2_schunk *schunks[] = {t.schunk, t.made_schunk};
  for (int i = 0; i < 2; i++) {
    if (schunks[i] != NULL) {
      blosc2_schunk_free(schunks[i]);
    }
  }
  b2nd_array_t *arrays[] = {t.made_array, t.array, t.other};
  for (int i = 0; i < 3; i++) {
    if (arrays[i] != NULL && (i == 0 || arrays[i] != t.made_array)) {
      b2nd_free(arrays[i]);
    }
  }
  if (t.array_ctx != NULL) {
    b2nd_free_ctx(t.array_ctx);
  }
  if (t.ctx != NULL) {
    blosc2_free_ctx(t.ctx);
  }
  free(t.made);
  free(t.out);
}

static void *run(void *test) {
  ((const struct test_case *)test)->run();
  release();
  return NULL;
}

static void child(const struct test_case *test) {
  /* The library's messages are no part of what is looked at, but writing them is. */
  int quiet = open("/dev/null", O_WRONLY);
  dup2(quiet, 2);
  close(quiet);
  alarm(20);
  int before = descriptors();
  long live = shim_live();
  /* What the library keeps for a thread goes with it, and is not counted. */
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, (void *)test) != 0 || pthread_join(thread, NULL) != 0) {
    _exit(5);
  }
  /* Ends the worker threads, and with them what the library keeps for each. */
  blosc2_destroy();
  result->descriptors = descriptors() - before;
  result->live = shim_live() - live;
  _exit(0);
}

/* Runs one trial; false if the child died. */
static bool trial(const struct test_case *test, int param, enum storage storage, int fails_from, int fails_to) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s/trial", root);
  if (test->storages != NO_STORAGE) {
    remove_all(folder);
    mkdir(folder, 0700);
  }
  memset(result, 0, sizeof *result);
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    if (test->storages != NO_STORAGE && chdir(folder) != 0) {
      _exit(4);
    }
    memset(&t, 0, sizeof t);
    t.param = param;
    t.storage = storage;
    t.has_path = test->storages != NO_STORAGE;
    strcpy(t.path, "frame.b2frame");
    strcpy(t.new_path, "new.b2frame");
    from = fails_from;
    to = fails_to;
    child(test);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (status == 0) {
    return true;
  }
  if (result->wrong[0] == 0) {
    snprintf(result->wrong, sizeof result->wrong, "died: %s",
             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "an exit code");
  }
  return false;
}

/* What is wrong with a trial, in result->wrong. */
static bool judge(const struct result *good, enum answer answer) {
  const char *wrong = NULL;
  bool same = result->rc[0] == good->rc[0];
  /* With less memory Zstd may make another dictionary, and with it another chunk of the same data. */
  bool other = result->decoded && (!same || result->after[0] != good->after[0]);
  bool refused = result->rc[0] == BLOSC2_ERROR_MEMORY_ALLOC || (answer == ZERO_TOO && result->rc[0] == 0) || other;
  if (!same && !refused) {
    wrong = "another answer";
  } else if (same && !other && result->after[0] != good->after[0]) {
    wrong = "success, but not the state";
  } else if (!same && !other && result->after[0] != result->before) {
    wrong = "an error, and a changed state";
  } else if (!same && result->calls == 2 && result->rc[1] != good->rc[0]) {
    wrong = "the call made again fails";
  } else if (!same && !other && result->calls == 2 && result->after[1] != good->after[0]) {
    wrong = "the call made again gives another state";
  } else if (result->descriptors > good->descriptors) {
    wrong = "a file descriptor is left";
  } else if (result->live > good->live) {
    wrong = "memory is left";
  }
  if (wrong != NULL) {
    snprintf(result->wrong, sizeof result->wrong, "%s (answers %lld, %lld; without failures %lld; left %ld, %ld)", wrong,
             (long long)result->rc[0], (long long)result->rc[1], (long long)good->rc[0], result->live, good->live);
  }
  return wrong == NULL;
}

/* A number between 0 and `below`, the same for the same name (FNV-1a). */
static int start_of(const char *name, int below) {
  uint32_t hash = 2166136261u;
  for (; *name != 0; name++) {
    hash = (hash ^ (unsigned char)*name) * 16777619u;
  }
  return (int)(hash % (uint32_t)below);
}

static int trials, failures, aborts;

static void sweep(const struct test_case *test, int param, enum storage storage, int most) {
  char name[100];
  static const char *const storages[] = {"frame", "chunks", "file", "directory", "mapped"};
  snprintf(name, sizeof name, "%s%s%s/%d", test->name, test->storages ? "/" : "",
           test->storages ? storages[storage] : "", param);
  counting = true;
  bool alive = trial(test, param, storage, INT_MAX, INT_MAX);
  counting = false;
  trials++;
  if (!alive || result->calls != 1) {
    printf("%s: without failures: %s\n", name, alive ? "no call was made" : result->wrong);
    failures++;
    return;
  }
  struct result good = *result;
  expected = good.rc[0];
  int bad = 0, dead = 0, tried = 0;
  char first[400] = "";
  int step = good.seen > most ? good.seen / most + 1 : 1;
  /* The last one is in every sample: when it fails, the most is to be undone. */
  int at = 1 + start_of(name, step);
  for (; at <= good.seen; at = at < good.seen && at + step > good.seen ? good.seen : at + step) {
    for (int all = 0; all < 2; all++) {
      /* Errors are traced in every other trial. */
      if ((at + all) % 2) {
        setenv("BLOSC_TRACE", "1", 1);
      } else {
        unsetenv("BLOSC_TRACE");
      }
      tried++;
      bool lives = trial(test, param, storage, at, all ? INT_MAX : at);
      dead += !lives;
      if (!lives || !judge(&good, test->answer)) {
        if (bad++ == 0 || getenv("OXIBLOSC_OOM_ALL")) {
          snprintf(first, sizeof first, "allocation %d%s: %s", at, all ? " and all later ones" : "", result->wrong);
          if (getenv("OXIBLOSC_OOM_ALL")) {
            printf("  %s %s\n", name, first);
          }
        }
      }
    }
  }
  unsetenv("BLOSC_TRACE");
  trials += tried;
  failures += bad;
  aborts += dead;
  if (bad > 0) {
    printf("%s: %d of %d wrong, %d died; %s\n", name, bad, tried, dead, first);
  }
}

int main(int argc, char **argv) {
  bool full = argc > 2 && strcmp(argv[2], "full") == 0;
  const char *only = argc > 3 ? argv[3] : "";
  if (argc < 3) {
    return 2;
  }
  root = argv[1];
  for (int i = 0; i < ITEMS; i++) {
    data[i] = i % 97 * (i / 500 + 1);
  }
  unsetenv("BLOSC_TRACE");
  setenv("PATH", root, 1);
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const struct test_case *const groups[] = {chunk_cases, schunk_cases, array_cases, other_cases};
  for (int group = 0; group < 4; group++) {
    for (const struct test_case *test = groups[group]; test->name != NULL; test++) {
      if (strstr(test->name, only) == NULL) {
        continue;
      }
      for (int param = 0; param < (test->params ? test->params : 1); param++) {
        for (int storage = 0; storage < STORAGES; storage++) {
          if (test->storages ? (test->storages >> storage & 1) : storage == 0) {
            sweep(test, param, (enum storage)storage, full ? INT_MAX : 3);
          }
        }
      }
    }
  }
  printf("%d trials, %d wrong, %d of them died\n", trials, failures, aborts);
  return failures != 0;
}
