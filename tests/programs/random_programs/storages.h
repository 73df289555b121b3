/* Where super-chunks and arrays are. */
#pragma once
#include "tool.h"

enum place { IN_MEMORY, IN_FRAME, IN_FILE, IN_DIRECTORY, IN_MAP };

/* A storage, with what it points to. It stays as long as what is made with it. */
struct place_of {
  enum place place;
  char path[40];
  blosc2_cparams cparams;
  blosc2_dparams dparams;
  blosc2_stdio_mmap map;
  blosc2_io io;
  blosc2_storage storage;
};

/* A new storage at a random place. */
struct place_of *random_place(int32_t typesize);

/* Puts a codec or a filter of the plugins into parameters; not always one that fits. */
void choose_plugin(blosc2_cparams *params);
