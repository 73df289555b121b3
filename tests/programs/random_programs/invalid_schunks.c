/* Programs of calls on super-chunks, with arguments that are not valid: one of a call, as the order in which arguments are looked at is
   not told.

   Left out: positions whose bytes do not fit into 64 bits, typesizes and block sizes below one (the reference computes with them), chunks
   without data and names of more than 31 letters (docs/compatibility.md). */
#include "storages.h"
#include <unistd.h>

static int64_t odd_number(int64_t likely) {
  switch (below(4)) {
    case 0: return ONE_OF(-1, -2, 0, 1) * (once_in(3) ? 1000000007ll : 1);
    case 1: return likely + ONE_OF(-1, 0, 1);
    case 2: return ONE_OF(1, -1) * (1ll << 40);
    default: return below(likely);
  }
}

static void state(const blosc2_schunk *schunk) {
  say("    nchunks %lld nbytes %lld chunksize %d layers %d %d", (long long)schunk->nchunks, (long long)schunk->nbytes, schunk->chunksize,
      schunk->nmetalayers, schunk->nvlmetalayers);
}

static void chunk_numbers(blosc2_schunk *schunk, int32_t chunksize, int32_t typesize) {
  int64_t at = odd_number(schunk->nchunks), rc;
  uint8_t *to = buffer_of(chunksize), *chunk = NULL, *data = data_of(chunksize, typesize), *mine = buffer_of(chunksize + BLOSC2_MAX_OVERHEAD);
  bool needs_free = false;
  switch (below(7)) {
    case 0: {
      int32_t room = once_in(2) ? chunksize : ONE_OF(0, -1, 1, INT32_MIN);
      rc = blosc2_schunk_decompress_chunk(schunk, at, to, room);
      say("decompress_chunk %lld into %d: %lld", (long long)at, room, (long long)rc);
      break;
    }
    case 1:
      rc = blosc2_schunk_get_chunk(schunk, at, &chunk, &needs_free);
      say("get_chunk %lld: %lld", (long long)at, (long long)shown(rc, false));
      break;
    case 2:
      rc = blosc2_schunk_get_lazychunk(schunk, at, &chunk, &needs_free);
      say("get_lazychunk %lld: %lld", (long long)at, (long long)shown(rc, false));
      break;
    case 3: rc = blosc2_schunk_delete_chunk(schunk, at); say("delete_chunk %lld: %lld", (long long)at, (long long)rc); break;
    case 4: {
      int32_t len = once_in(2) ? ONE_OF(-1, INT32_MIN) : chunksize;
      rc = schunk->nbytes % (schunk->chunksize > 0 ? schunk->chunksize : 1) != 0 ? 0 : blosc2_schunk_append_buffer(schunk, data, len);
      say("append_buffer %d: %lld", len, (long long)rc);
      break;
    }
    default: {
      blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
      params.typesize = typesize;
      blosc2_chunk_zeros(params, chunksize, mine, chunksize + BLOSC2_MAX_OVERHEAD);
      if (once_in(4) && at >= 0 && at < schunk->nchunks) {
        /* No chunk: of no version, or longer than it is. */
        memset(mine, ONE_OF(0, 255), 32);
      }
      bool inserts = once_in(2);
      rc = inserts ? blosc2_schunk_insert_chunk(schunk, at, mine, true) : blosc2_schunk_update_chunk(schunk, at, mine, true);
      say("%s_chunk %lld: %lld", inserts ? "insert" : "update", (long long)at, (long long)rc);
    }
  }
  if (needs_free) {
    free(chunk);
  }
  free(to);
  free(data);
  free(mine);
  state(schunk);
}

static void slices(blosc2_schunk *schunk, int32_t typesize) {
  int64_t items = schunk->nbytes / typesize, start = odd_number(items), stop = odd_number(items);
  uint8_t *buffer = buffer_of(schunk->nbytes + 64);
  switch (below(4)) {
    case 0: {
      int rc = blosc2_schunk_get_slice_buffer(schunk, start, stop, buffer);
      say("get_slice_buffer %lld %lld: %d", (long long)start, (long long)stop, rc);
      break;
    }
    case 1: {
      /* What reaches outside is written in part by the reference. */
      if (stop > start && (start < 0 || stop > items)) {
        break;
      }
      int rc = blosc2_schunk_set_slice_buffer(schunk, start, stop, buffer);
      say("set_slice_buffer %lld %lld: %d", (long long)start, (long long)stop, rc);
      break;
    }
    case 2: {
      int64_t coords[3] = {odd_number(items), odd_number(items), odd_number(items)}, count = ONE_OF(-1, 0, 1, 3);
      int rc = blosc2_schunk_get_sparse_buffer(schunk, count, coords, buffer);
      say("get_sparse_buffer %lld (%lld %lld %lld): %d", (long long)count, (long long)coords[0], (long long)coords[1], (long long)coords[2], rc);
      break;
    }
    default: {
      int64_t nitems = odd_number(items);
      int32_t size = ONE_OF(-1, 0, 1, 64, 100, INT32_MIN);
      int kind = ONE_OF(-1, 0, 1, 2, 3, 4, 5, 100);
      /* As many chunks as that take long, or do not fit. */
      if (nitems > MOST) {
        break;
      }
      int64_t rc = blosc2_schunk_fill_special(schunk, nitems, kind, size);
      say("fill_special %lld %d of %d: %lld", (long long)nitems, kind, size, (long long)rc);
    }
  }
  free(buffer);
  state(schunk);
}

static void layers(blosc2_schunk *schunk) {
  const char *names[] = {"c", "a", "b", "a name of thirty-one letters, o"};
  const char *name = names[below(COUNT(names))];
  uint8_t content[100];
  memset(content, 7, sizeof content);
  int32_t len = ONE_OF(0, 1, 50, 100);
  int rc;
  switch (below(8)) {
    case 0:
      /* The reference adds those that come too late, and cannot write them. */
      if (schunk->nchunks == 0 && schunk->chunksize < 0) {
        rc = blosc2_meta_add(schunk, name, content, len);
        say("meta_add '%s' %d: %d", name, len, rc);
      }
      break;
    case 1: rc = blosc2_meta_update(schunk, name, content, len); say("meta_update '%s' %d: %d", name, len, rc); break;
    case 2: rc = blosc2_vlmeta_add(schunk, name, content, len, NULL); say("vlmeta_add '%s' %d: %d", name, len, rc); break;
    case 3: rc = blosc2_vlmeta_update(schunk, name, content, len, NULL); say("vlmeta_update '%s' %d: %d", name, len, rc); break;
    case 4: rc = blosc2_vlmeta_delete(schunk, name); say("vlmeta_delete '%s': %d", name, rc); break;
    case 5: {
      blosc2_cparams params = BLOSC2_CPARAMS_DEFAULTS;
      params.compcode = (uint8_t)ONE_OF(1, 5, 7, 33);
      params.clevel = (uint8_t)ONE_OF(1, 9, 10);
      rc = blosc2_vlmeta_add(schunk, name, content, len, &params);
      say("vlmeta_add '%s' %d, codec %d, level %d: %d", name, len, params.compcode, params.clevel, rc);
      break;
    }
    default: {
      uint8_t *got = NULL;
      int32_t got_len = -1;
      bool fixed = once_in(2);
      rc = fixed ? blosc2_meta_get(schunk, name, &got, &got_len) : blosc2_vlmeta_get(schunk, name, &got, &got_len);
      say("%smeta_get '%s': %d %d", fixed ? "" : "vl", name, rc, rc >= 0 ? got_len : 0);
      free(rc >= 0 ? got : NULL);
    }
  }
  state(schunk);
}

static void orders(blosc2_schunk *schunk) {
  int64_t order[16], count = schunk->nchunks;
  if (count > COUNT(order)) {
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    order[i] = i;
  }
  int64_t one = below(count);
  order[one] = odd_number(count);
  /* A right order is none of these programs. */
  if (count == 0 || order[one] == one) {
    return;
  }
  int rc = blosc2_schunk_reorder_offsets(schunk, order);
  say("reorder_offsets of %lld: %d", (long long)count, rc);
}

/* Opens what is no frame, or not one there. */
static void openings(blosc2_schunk *schunk) {
  switch (below(7)) {
    case 0: say("open, nothing: %d", blosc2_schunk_open("nothing") != NULL); break;
    case 1: {
      FILE *file = fopen("text", "w");
      int64_t len = ONE_OF(0, 1, 10, 86, 87, 88, 200);
      for (int64_t i = 0; i < len; i++) {
        fputc('a', file);
      }
      fclose(file);
      say("open, text of %lld: %d %d", (long long)len, blosc2_schunk_open("text") != NULL, blosc2_schunk_open_offset("text", 3) != NULL);
      unlink("text");
      break;
    }
    case 2: {
      uint8_t *frame = NULL;
      bool needs_free = false;
      int64_t len = blosc2_schunk_to_buffer(schunk, &frame, &needs_free);
      if (len <= 0) {
        break;
      }
      int64_t said = once_in(2) ? below(len) : ONE_OF(-1, 0, 1, 86, 87);
      blosc2_schunk *other = blosc2_schunk_from_buffer(frame, said, true);
      /* A frame is as long as it says: whether the rest is looked at is not told. */
      say("from_buffer of too few: %d", other != NULL);
      if (other != NULL) {
        blosc2_schunk_free(other);
      }
      if (needs_free) {
        free(frame);
      }
      break;
    }
    case 3: {
      int64_t len = blosc2_schunk_to_file(schunk, "here");
      int64_t offset = ONE_OF(-1, 1, 16, 87, 1000000);
      blosc2_schunk *other = blosc2_schunk_open_offset("here", offset);
      say("to_file: %d, open_offset %lld: %d", len > 0, (long long)offset, other != NULL);
      if (other != NULL) {
        blosc2_schunk_free(other);
      }
      break;
    }
    case 4: say("to_file into no folder: %lld", (long long)blosc2_schunk_to_file(schunk, "no/folder/file")); break;
    case 5: say("append_file into no folder: %lld", (long long)blosc2_schunk_append_file(schunk, "no/folder/file")); break;
    default: {
      int rc = blosc2_remove_urlpath(once_in(2) ? "nothing" : "no/folder");
      int moved = blosc2_rename_urlpath("nothing", "something");
      say("remove_urlpath: %d, rename_urlpath: %d, remove_dir: %d", rc, moved, blosc2_remove_dir("nothing"));
    }
  }
}

static blosc2_schunk *odd_schunk(struct place_of *place, int32_t typesize) {
  switch (below(12)) {
    case 0: 
      place->cparams.typesize = ONE_OF(255, 256, 300);
      place->cparams.blocksize = 2 * place->cparams.typesize;
      break;
    /* Codecs that are none are left out: whether they are asked depends on the data. */
    case 2: place->cparams.clevel = (uint8_t)ONE_OF(10, 255); break;
    case 3: place->cparams.filters[below(6)] = (uint8_t)ONE_OF(7, 31, 37, 255); break;
    case 4: place->cparams.nthreads = (int16_t)ONE_OF(0, -1); break;
    case 5: place->dparams.nthreads = (int16_t)ONE_OF(0, -1); break;
    case 6: place->cparams.blocksize = typesize * ONE_OF(1, 3, 1000000); break;
    case 7: place->storage.urlpath = place->place >= IN_FILE && place->place != IN_MAP ? "no/folder/frame" : place->storage.urlpath; break;
    default: break;
  }
  say("now typesize %d codec %d level %d threads %d %d blocksize %d", place->cparams.typesize, place->cparams.compcode, place->cparams.clevel,
      place->cparams.nthreads, place->dparams.nthreads, place->cparams.blocksize);
  return blosc2_schunk_new(&place->storage);
}

void invalid_schunk_program(void) {
  say("super-chunk, not valid");
  int32_t typesize = ONE_OF(1, 2, 4, 8, 3);
  struct place_of *place = random_place(typesize);
  place->cparams.use_dict = 0;
  /* Sparse reads of the reference need one. */
  place->cparams.blocksize = 64 * typesize;
  blosc2_schunk *schunk = odd_schunk(place, typesize);
  say("new: %d", schunk != NULL);
  if (schunk == NULL) {
    return;
  }
  typesize = place->cparams.typesize;
  int32_t chunksize = (int32_t)(typesize < 255 ? between(64, 300) : between(2, 20)) * typesize;
  int64_t chunks = below(5);
  for (int64_t i = 0; i < chunks; i++) {
    uint8_t *data = data_of(chunksize, typesize);
    int64_t rc = blosc2_schunk_append_buffer(schunk, data, chunksize);
    say("append_buffer: %lld", (long long)rc);
    free(data);
    if (rc < 0) {
      state(schunk);
      return;
    }
  }
  state(schunk);
  int steps = (int)between(2, 12);
  for (int step = 0; step < steps; step++) {
    switch (below(6)) {
      case 0: case 1: chunk_numbers(schunk, chunksize, typesize); break;
      case 2: slices(schunk, typesize); break;
      case 3: layers(schunk); break;
      case 4: orders(schunk); break;
      default: openings(schunk);
    }
  }
  blosc2_schunk_free(schunk);
}
