-- Lua without a binding: libblosc2 through the FFI of LuaJIT.
--
--     luajit blosc2_luajit.lua [path of libblosc2.so.9]
--
-- Compresses numbers, keeps them in a frame in a file, and reads them back. Ends with an error if anything differs.

local ffi = require("ffi")

ffi.cdef [[
const char *blosc2_get_version_string(void);
int blosc2_compress(int clevel, int doshuffle, int32_t typesize, const void *src, int32_t srcsize, void *dest, int32_t destsize);
int blosc2_decompress(const void *src, int32_t srcsize, void *dest, int32_t destsize);

typedef struct blosc2_storage {
  bool contiguous;
  const char *urlpath;
  void *cparams;
  void *dparams;
  void *io;
} blosc2_storage;
void *blosc2_schunk_new(blosc2_storage *storage);
void *blosc2_schunk_open(const char *urlpath);
int blosc2_schunk_free(void *schunk);
int64_t blosc2_schunk_append_buffer(void *schunk, const void *src, int32_t nbytes);
int blosc2_schunk_decompress_chunk(void *schunk, int64_t nchunk, void *dest, int32_t nbytes);
int blosc2_vlmeta_add(void *schunk, const char *name, const uint8_t *content, int32_t content_len, void *cparams);
int blosc2_vlmeta_get(void *schunk, const char *name, uint8_t **content, int32_t *content_len);
void free(void *ptr);
]]

local blosc2 = ffi.load(arg[1] or "libblosc2.so.9")

local count = 100000
local nbytes = count * 8
local data = ffi.new("double[?]", count)
for i = 0, count - 1 do data[i] = math.sqrt(i) end

local chunk = ffi.new("uint8_t[?]", nbytes + 32)
local size = blosc2.blosc2_compress(5, 1, 8, data, nbytes, chunk, nbytes + 32)
assert(size > 0 and size < nbytes, "does not compress")
local back = ffi.new("double[?]", count)
assert(blosc2.blosc2_decompress(chunk, size, back, nbytes) == nbytes)
for i = 0, count - 1 do assert(back[i] == data[i], "another number came back") end

local path = os.tmpname()
local storage = ffi.new("blosc2_storage", { contiguous = true, urlpath = path })
os.remove(path)
local schunk = blosc2.blosc2_schunk_new(storage)
assert(schunk ~= nil, "no super-chunk")
for n = 1, 3 do
  assert(blosc2.blosc2_schunk_append_buffer(schunk, data, nbytes) == n)
end
local text = "square roots"
assert(blosc2.blosc2_vlmeta_add(schunk, "about", ffi.cast("const uint8_t *", text), #text, nil) >= 0)
assert(blosc2.blosc2_schunk_free(schunk) == 0)

schunk = blosc2.blosc2_schunk_open(path)
assert(schunk ~= nil, "cannot be opened")
ffi.fill(back, nbytes)
assert(blosc2.blosc2_schunk_decompress_chunk(schunk, 2, back, nbytes) == nbytes)
assert(back[count - 1] == math.sqrt(count - 1))
assert(blosc2.blosc2_schunk_decompress_chunk(schunk, 3, back, nbytes) < 0)
local content, len = ffi.new("uint8_t *[1]"), ffi.new("int32_t[1]")
assert(blosc2.blosc2_vlmeta_get(schunk, "about", content, len) >= 0)
assert(ffi.string(content[0], len[0]) == text)
ffi.C.free(content[0])
blosc2.blosc2_schunk_free(schunk)
os.remove(path)
print("LuaJIT: libblosc2 " .. ffi.string(blosc2.blosc2_get_version_string()) .. " - " .. nbytes .. " bytes to " .. tonumber(size))
