/* Handles whose file something else cuts, overwrites or removes: programs do that to their own open frames. python-blosc2's
 * stores open a frame's file for writing (which cuts it) and then write what the open super-chunk gives. */
#include "scene.h"

/* What a handle holds in memory: metalayers, sizes, and all of a frame without chunks. */
static void answers_from_memory(const scene *s, int64_t length) {
  blosc2_schunk *schunk = s->schunk;
  CHECK_EQ(blosc2_schunk_refresh(schunk), 0);
  CHECK_EQ(blosc2_vlmeta_exists(schunk, "note"), 0);
  CHECK(blosc2_vlmeta_exists(schunk, "none") < 0);
  uint8_t *bytes = NULL;
  int32_t nbytes = 0;
  CHECK_EQ(blosc2_vlmeta_get(schunk, "note", &bytes, &nbytes), 0);
  CHECK_EQ(nbytes, sizeof scene_note);
  CHECK_BYTES(bytes, scene_note, nbytes);
  free(bytes);
  char *names[BLOSC2_MAX_VLMETALAYERS];
  CHECK_EQ(blosc2_vlmeta_get_names(schunk, names), 1);
  CHECK_STR(names[0], "note");
  CHECK_EQ(blosc2_meta_exists(schunk, "fixed"), 0);
  CHECK_EQ(blosc2_meta_get(schunk, "fixed", &bytes, &nbytes), 0);
  CHECK_EQ(nbytes, sizeof scene_fixed);
  CHECK_BYTES(bytes, scene_fixed, nbytes);
  free(bytes);
  CHECK_EQ(schunk->nchunks, scene_nchunks(s));
  CHECK_EQ(schunk->nbytes, scene_nchunks(s) * SCENE_NBYTES);
  CHECK_EQ(schunk->nmetalayers, 1);
  CHECK_EQ(schunk->nvlmetalayers, 1);
  CHECK_EQ(blosc2_schunk_frame_len(schunk), length);
}

/* The super-chunk holds what the scene's had, and is freed. */
static void is_the_same(const scene *s, blosc2_schunk *schunk) {
  CHECK(schunk != NULL);
  CHECK_EQ(schunk->nchunks, scene_nchunks(s));
  for (int i = 0; i < scene_nchunks(s); i++) {
    int64_t items[SCENE_ITEMS], expected[SCENE_ITEMS];
    scene_items(scene_first(s) < 0 ? -1 : scene_first(s) + i, expected);
    CHECK_EQ(blosc2_schunk_decompress_chunk(schunk, i, items, SCENE_NBYTES), SCENE_NBYTES);
    CHECK_BYTES(items, expected, SCENE_NBYTES);
  }
  uint8_t *note = NULL;
  int32_t nbytes = 0;
  CHECK_EQ(blosc2_vlmeta_get(schunk, "note", &note, &nbytes), 0);
  CHECK_EQ(nbytes, sizeof scene_note);
  CHECK_BYTES(note, scene_note, nbytes);
  free(note);
  CHECK_EQ(blosc2_schunk_free(schunk), 0);
}

/* All that writes the frame elsewhere still does. */
static void is_copied_whole(scene *s, int64_t length) {
  uint8_t *frame = NULL;
  bool needs_free = false;
  CHECK_EQ(blosc2_schunk_to_buffer(s->schunk, &frame, &needs_free), length);
  is_the_same(s, blosc2_schunk_from_buffer(frame, length, true));
  if (needs_free) {
    free(frame);
  }
  CHECK_EQ(blosc2_schunk_to_file(s->schunk, s->other), length);
  is_the_same(s, blosc2_schunk_open(s->other));
  CHECK_EQ(blosc2_schunk_append_file(s->schunk, s->other), length);
  is_the_same(s, blosc2_schunk_open_offset(s->other, length));
  blosc2_cparams cparams = BLOSC2_CPARAMS_DEFAULTS;
  cparams.typesize = 8;
  blosc2_storage storage = {.contiguous = true, .cparams = &cparams};
  is_the_same(s, blosc2_schunk_copy(s->schunk, &storage));
}

/* Chunks whose bytes are gone are errors, never other bytes; the number of chunks that can still be read. */
static int readable(const scene *s) {
  int count = 0;
  for (int i = 0; i < scene_nchunks(s); i++) {
    int64_t items[SCENE_ITEMS], expected[SCENE_ITEMS];
    scene_items(scene_first(s) < 0 ? -1 : scene_first(s) + i, expected);
    if (blosc2_schunk_decompress_chunk(s->schunk, i, items, SCENE_NBYTES) < 0) {
      CHECK(blosc2_schunk_get_slice_buffer(s->schunk, i * SCENE_ITEMS, (i + 1) * SCENE_ITEMS, items) < 0, -1);
      continue;
    }
    CHECK_BYTES(items, expected, SCENE_NBYTES, -1);
    CHECK_EQ(blosc2_schunk_get_slice_buffer(s->schunk, i * SCENE_ITEMS, (i + 1) * SCENE_ITEMS, items), 0, -1);
    CHECK_BYTES(items, expected, SCENE_NBYTES, -1);
    count++;
  }
  return count;
}

/* The length of the frame that to_buffer gives. */
static int64_t whole_length(scene *s) {
  uint8_t *frame = NULL;
  bool needs_free = false;
  const int64_t length = blosc2_schunk_to_buffer(s->schunk, &frame, &needs_free);
  if (length > 0 && needs_free) {
    free(frame);
  }
  return length;
}

static void lost(scene *s, loss loss) {
  const int64_t frame_len = blosc2_schunk_frame_len(s->schunk), whole = whole_length(s);
  CHECK(scene_lose(s, loss));
  answers_from_memory(s, frame_len);
  /* A file that is open stays readable after its name is gone; the parts of a directory are opened by name. */
  const bool all = s->content == NO_CHUNKS || (loss == REMOVED && s->contiguous);
  if (all) {
    is_copied_whole(s, whole);
  }
  const int count = readable(s);
  CHECK(!all || count == scene_nchunks(s));
  answers_from_memory(s, frame_len);
}

static void destroyed(void) {
  for (loss loss = 0; loss < LOSSES; loss++) {
    const int before = failures();
    FOR_EACH_SCENE(s, lost(&s, loss));
    if (failures() != before) {
      fprintf(stderr, "  when it was %s\n", scene_losses[loss]);
    }
  }
}

/* Only the files of the chunks are gone: the rest goes on. */
static void without_chunk_files(void) {
  scene s;
  CHECK(scene_set(&s, false, SOME_CHUNKS, true));
  const int64_t frame_len = blosc2_schunk_frame_len(s.schunk);
  for (int i = 0; i < scene_nchunks(&s); i++) {
    char name[SCENE_PATH + 16];
    snprintf(name, sizeof name, "%s/%08X.chunk", s.path, (unsigned)i);
    CHECK_EQ(unlink(name), 0);
  }
  answers_from_memory(&s, frame_len);
  CHECK_EQ(readable(&s), 0);
  CHECK(whole_length(&s) < 0);
  CHECK_EQ(blosc2_vlmeta_update(s.schunk, "note", (uint8_t *)scene_news, sizeof scene_news, NULL), 0);
  scene_end(&s);
}

/* f = open(path, "wb"); f.write(schunk.to_cframe()); and then the store goes on with the handle. */
static void writes_itself_back(void) {
  for (int rounds = 0; rounds < 2; rounds++) {
    scene s;
    CHECK(scene_set(&s, true, NO_CHUNKS, rounds));
    FILE *file = fopen(s.path, "wb");
    CHECK(file != NULL);
    CHECK_EQ(scene_length(s.path), 0);
    uint8_t *frame = NULL;
    bool needs_free = false;
    const int64_t length = blosc2_schunk_to_buffer(s.schunk, &frame, &needs_free);
    CHECK(length > 0);
    CHECK_EQ(fwrite(frame, 1, (size_t)length, file), length);
    CHECK_EQ(fclose(file), 0);
    if (needs_free) {
      free(frame);
    }
    /* TreeStore's second entry of vlmeta, and a table's append. */
    CHECK_EQ(blosc2_vlmeta_add(s.schunk, "second", (uint8_t *)scene_news, sizeof scene_news, NULL), 1);
    CHECK_EQ(blosc2_vlmeta_update(s.schunk, "note", (uint8_t *)scene_news, sizeof scene_news, NULL), 0);
    int64_t items[SCENE_ITEMS];
    scene_items(7, items);
    CHECK_EQ(blosc2_schunk_append_buffer(s.schunk, items, SCENE_NBYTES), 1);
    CHECK_EQ(blosc2_schunk_free(s.schunk), 0);
    s.schunk = blosc2_schunk_open(s.path);
    CHECK(s.schunk != NULL);
    CHECK_EQ(s.schunk->nchunks, 1);
    CHECK_EQ(blosc2_vlmeta_exists(s.schunk, "second"), 1);
    memset(items, 0, sizeof items);
    CHECK_EQ(blosc2_schunk_decompress_chunk(s.schunk, 0, items, SCENE_NBYTES), SCENE_NBYTES);
    CHECK_EQ(items[1], 7 * SCENE_ITEMS + 1);
    scene_end(&s);
  }
}

/* The ways in which another program puts a whole frame in the place of this one. */
typedef enum { RENAMED_OVER, OVERWRITTEN, CHANGED_BY_A_HANDLE, REPLACEMENTS } replacement;

enum { OTHER_CHUNKS = 5, OTHER_FIRST = 100 };

static bool replace(scene *s, replacement how) {
  if (how == CHANGED_BY_A_HANDLE) {
    blosc2_schunk *another = blosc2_schunk_open(s->path);
    CHECK(another != NULL, false);
    while (another->nchunks > 0) {
      CHECK(blosc2_schunk_delete_chunk(another, 0) >= 0, false);
    }
    for (int i = 0; i < OTHER_CHUNKS; i++) {
      int64_t items[SCENE_ITEMS];
      scene_items(OTHER_FIRST + i, items);
      CHECK_EQ(blosc2_schunk_append_buffer(another, items, SCENE_NBYTES), i + 1, false);
    }
    CHECK_EQ(blosc2_vlmeta_update(another, "note", (uint8_t *)scene_news, sizeof scene_news, NULL), 0, false);
    CHECK_EQ(blosc2_schunk_free(another), 0, false);
    return true;
  }
  blosc2_schunk *other = scene_frame(true, how == RENAMED_OVER ? s->other : NULL, OTHER_CHUNKS, OTHER_FIRST, scene_news,
                                     sizeof scene_news);
  CHECK(other != NULL, false);
  if (how == OVERWRITTEN) {
    uint8_t *frame = NULL;
    bool needs_free = false;
    const int64_t length = blosc2_schunk_to_buffer(other, &frame, &needs_free);
    CHECK(length > 0 && scene_write(s->path, frame, (size_t)length), false);
    if (needs_free) {
      free(frame);
    }
  }
  CHECK_EQ(blosc2_schunk_free(other), 0, false);
  if (how == RENAMED_OVER) {
    CHECK_EQ(rename(s->other, s->path), 0, false);
  }
  return true;
}

/* A whole frame that another one left is seen, and changes go into it. */
static void replaced_by_a_whole_frame(void) {
  for (replacement how = 0; how < REPLACEMENTS; how++) {
    FOR_EACH_SCENE(s, {
      if (!s.contiguous && how != CHANGED_BY_A_HANDLE) {
        scene_end(&s);
        continue;
      }
      CHECK(replace(&s, how));
      CHECK_EQ(blosc2_schunk_refresh(s.schunk), 1);
      uint8_t *note = NULL;
      int32_t nbytes = 0;
      CHECK_EQ(blosc2_vlmeta_get(s.schunk, "note", &note, &nbytes), 0);
      CHECK_EQ(nbytes, sizeof scene_news);
      CHECK_BYTES(note, scene_news, nbytes);
      free(note);
      CHECK_EQ(s.schunk->nchunks, OTHER_CHUNKS);
      int64_t items[SCENE_ITEMS];
      for (int i = 0; i < OTHER_CHUNKS; i++) {
        CHECK_EQ(blosc2_schunk_decompress_chunk(s.schunk, i, items, SCENE_NBYTES), SCENE_NBYTES);
        CHECK_EQ(items[1], (OTHER_FIRST + i) * SCENE_ITEMS + 1);
      }
      CHECK_EQ(blosc2_schunk_append_buffer(s.schunk, items, SCENE_NBYTES), OTHER_CHUNKS + 1);
      CHECK_EQ(blosc2_vlmeta_add(s.schunk, "second", (uint8_t *)scene_note, sizeof scene_note, NULL), 1);
      CHECK_EQ(blosc2_schunk_free(s.schunk), 0);
      s.schunk = blosc2_schunk_open(s.path);
      CHECK(s.schunk != NULL);
      CHECK_EQ(s.schunk->nchunks, OTHER_CHUNKS + 1);
      CHECK_EQ(blosc2_vlmeta_exists(s.schunk, "second"), 1);
    });
  }
}

int main(void) {
  blosc2_init();
  RUN(destroyed);
  RUN(without_chunk_files);
  RUN(writes_itself_back);
  RUN(replaced_by_a_whole_frame);
  blosc2_destroy();
  return finish();
}
