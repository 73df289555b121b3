/* Frames on disk whose file something else changes while a handle is open: what the tests of open handles share. */
#ifndef OXIBLOSC_SCENE_H
#define OXIBLOSC_SCENE_H

#include <blosc2.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "data.h"

enum { SCENE_ITEMS = 1000, SCENE_NBYTES = SCENE_ITEMS * 8, SCENE_PATH = 320 };

/* What the frame holds. */
typedef enum { NO_CHUNKS, SOME_CHUNKS, ZERO_CHUNKS, CONTENTS } content;

/* A frame on disk with one handle open on it. */
typedef struct {
  bool contiguous;          /* a file, or a directory */
  content content;
  bool opened;              /* the handle was opened, or is the one that made the frame */
  char path[SCENE_PATH];    /* of the file or the directory */
  char index[SCENE_PATH];   /* of the file that holds header, index and trailer */
  char other[SCENE_PATH];   /* another frame */
  blosc2_schunk *schunk;
} scene;

static const uint8_t scene_fixed[] = "a metalayer", scene_note[] = "the first note", scene_news[] = "news from somebody else";

/* The items of the chunk with this number; zeros for a negative one. */
static inline void scene_items(int64_t number, int64_t *items) {
  for (int i = 0; i < SCENE_ITEMS; i++) {
    items[i] = number < 0 ? 0 : number * SCENE_ITEMS + i;
  }
}

/* A frame with one metalayer, one variable-length metalayer and chunks numbered from the first on (zeros if that is
 * negative), open. NULL if it cannot be made. */
static inline blosc2_schunk *scene_frame(bool contiguous, char *path, int nchunks, int64_t first, const uint8_t *note,
                                         int32_t note_len) {
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  blosc2_dparams dparams = BLOSC2_DPARAMS_DEFAULTS;
  cparams.typesize = 8;
  blosc2_storage storage = {.contiguous = contiguous, .urlpath = path, .cparams = &cparams, .dparams = &dparams};
  blosc2_schunk *schunk = blosc2_schunk_new(&storage);
  CHECK(schunk != NULL, NULL);
  CHECK_EQ(blosc2_meta_add(schunk, "fixed", (uint8_t *)scene_fixed, sizeof scene_fixed), 0, NULL);
  for (int i = 0; i < nchunks; i++) {
    int64_t items[SCENE_ITEMS];
    scene_items(first < 0 ? -1 : first + i, items);
    CHECK_EQ(blosc2_schunk_append_buffer(schunk, items, SCENE_NBYTES), i + 1, NULL);
  }
  CHECK_EQ(blosc2_vlmeta_add(schunk, "note", (uint8_t *)note, note_len, NULL), 0, NULL);
  return schunk;
}

static inline int scene_nchunks(const scene *s) { return s->content == NO_CHUNKS ? 0 : 3; }

/* The number of the first chunk. */
static inline int64_t scene_first(const scene *s) { return s->content == ZERO_CHUNKS ? -1 : 10; }

/* A name under the folder of temporary files. */
static inline void scene_path(char *path, const char *name) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, SCENE_PATH, "%s/oxiblosc-scene-%d-%s", folder == NULL ? "/tmp" : folder, (int)getpid(), name);
}

/* Makes the frame and the handle; false if that did not work. */
static inline bool scene_set(scene *s, bool contiguous, content content, bool opened) {
  *s = (scene){.contiguous = contiguous, .content = content, .opened = opened};
  scene_path(s->path, "frame");
  scene_path(s->other, "other");
  snprintf(s->index, SCENE_PATH, contiguous ? "%.300s" : "%.300s/chunks.b2frame", s->path);
  blosc2_remove_urlpath(s->path);
  blosc2_remove_urlpath(s->other);
  s->schunk = scene_frame(contiguous, s->path, scene_nchunks(s), scene_first(s), scene_note, sizeof scene_note);
  CHECK(s->schunk != NULL, false);
  if (opened) {
    CHECK_EQ(blosc2_schunk_free(s->schunk), 0, false);
    s->schunk = blosc2_schunk_open(s->path);
    CHECK(s->schunk != NULL, false);
  }
  return true;
}

/* Frees the handle and removes what is left on disk. */
static inline void scene_end(scene *s) {
  if (s->schunk != NULL) {
    blosc2_schunk_free(s->schunk);
  }
  blosc2_remove_urlpath(s->path);
  blosc2_remove_urlpath(s->other);
}

/* Cuts the file and writes these bytes, as open(path, "wb") and write() do. */
static inline bool scene_write(const char *path, const void *bytes, size_t nbytes) {
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL, false);
  CHECK_EQ(fwrite(bytes, 1, nbytes, file), nbytes, false);
  CHECK_EQ(fclose(file), 0, false);
  return true;
}

/* The length of a file, or -1 if there is none. */
static inline int64_t scene_length(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 ? (int64_t)about.st_size : -1;
}

/* What destroys the frame under the handle. */
typedef enum { CUT_TO_NOTHING, CUT_TO_HALF, CUT_INSIDE_THE_HEADER, GARBAGE, ZEROS, REMOVED, LOSSES } loss;

static const char *const scene_losses[] = {"cut to nothing", "cut to half", "cut inside the header",
                                           "garbage",        "zeros",       "removed"};

static inline bool scene_lose(scene *s, loss loss) {
  const int64_t length = scene_length(s->index);
  CHECK(length > 90, false);
  switch (loss) {
  case CUT_TO_NOTHING:
    CHECK_EQ(truncate(s->index, 0), 0, false);
    break;
  case CUT_TO_HALF:
    CHECK_EQ(truncate(s->index, length / 2), 0, false);
    break;
  case CUT_INSIDE_THE_HEADER:
    CHECK_EQ(truncate(s->index, 90), 0, false);
    break;
  case GARBAGE:
  case ZEROS: {
    uint8_t *bytes = loss == GARBAGE ? noise(3000, 1) : calloc(1, 3000);
    CHECK(bytes != NULL && scene_write(s->index, bytes, 3000), false);
    free(bytes);
    break;
  }
  default:
    CHECK_EQ(s->contiguous ? unlink(s->path) : blosc2_remove_urlpath(s->path), 0, false);
  }
  return true;
}

/* Runs a case for both storages, each content, and both kinds of handle. */
#define FOR_EACH_SCENE(s, body)                                                                                        \
  for (int which_ = 0; which_ < 4 * CONTENTS; which_++) {                                                              \
    scene s;                                                                                                           \
    if (!scene_set(&s, which_ & 1, (content)(which_ / 4), which_ & 2)) {                                               \
      return;                                                                                                          \
    }                                                                                                                  \
    const int failures_ = failures();                                                                                  \
    body;                                                                                                              \
    if (failures() != failures_) {                                                                                     \
      fprintf(stderr, "  in a %s with %s, handle %s\n", s.contiguous ? "file" : "directory",                           \
              (const char *const[]){"no chunks", "chunks", "chunks of zeros"}[s.content],                              \
              s.opened ? "opened" : "of who made it");                                                                 \
    }                                                                                                                  \
    scene_end(&s);                                                                                                     \
  }

#endif
