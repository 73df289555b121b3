/** Parameters of the back end for files: no locking. */
static const blosc2_stdio_params BLOSC2_STDIO_PARAMS_DEFAULTS = {false};

/** Parameters of the back end for memory maps: read-only, with 1 GiB of address space. */
static const blosc2_stdio_mmap BLOSC2_STDIO_MMAP_DEFAULTS = {
  "r", (size_t)1 << 30, false, /* what the caller may change */
  NULL, NULL, 0, 0, false, NULL, -1, -1, -1,
#ifdef _WIN32
  INVALID_HANDLE_VALUE,
#endif
};
