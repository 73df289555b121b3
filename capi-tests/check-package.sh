#!/bin/bash
# Checks what is installed beside the programs of this folder: names, links, symbols, sizes, pkg-config, CMake's package,
# the tool b2 and its documents, and that all of it may be put elsewhere.
#
#   check-package.sh <library folder> [<compiler> [<build folder that it was installed from>]]
set -u
# Nothing here asks anybody.
exec </dev/null
library_dir=$1 compiler=${2:-cc}
public='^(blosc1|blosc2|blosc|b2nd|oxiblosc)_[A-Za-z0-9_]+$'
failures=0

# expect <what> <command...>
expect() {
  local what=$1
  shift
  if "$@"; then
    echo "ok     $what"
  else
    echo "FAILED $what"
    failures=$((failures + 1))
  fi
}

# only_public <names on stdin>: there are some, and all are public.
only_public() {
  local names others
  names=$(cat)
  [ -n "$names" ] || return 1
  others=$(grep -Ev "$public" <<<"$names")
  [ -z "$others" ] || { echo "not public: $(head -5 <<<"$others" | tr '\n' ' ')"; return 1; }
}

shared_symbols() { nm -D --defined-only --format=posix "$library_dir/libblosc2.so.9" | cut -d' ' -f1 | sort -u; }
static_symbols() {
  nm -g --defined-only --format=posix "$library_dir/libblosc2.a" | grep -E ' [A-Z] ' | cut -d' ' -f1 | sort -u
}
shared_is_public() { shared_symbols | only_public; }
static_is_public() { static_symbols | only_public; }
both_are_equal() { ! diff <(shared_symbols) <(static_symbols) | grep "^[<>]" | head -5 | grep .; }
links_lead_on() {
  [ "$(readlink "$library_dir/libblosc2.so")" = libblosc2.so.9 ] &&
    [ "$(readlink "$library_dir/libblosc2.so.9")" = "libblosc2.so.$version" ] &&
    [ -f "$library_dir/libblosc2.so.$version" ]
}
soname_is_9() { readelf -d "$library_dir/libblosc2.so.9" | grep -q 'SONAME.*\[libblosc2\.so\.9\]'; }
pkg() { PKG_CONFIG_PATH=$library_dir/pkgconfig pkg-config "$@"; }

cat >version.c <<'END'
#include <blosc2.h>
#include <stdio.h>
int main(void) { return puts(blosc2_get_version_string()) < 0; }
END
# The flags are several words, so they are not quoted.
compiles_with_pkg_config() {
  $compiler version.c -o version-shared $(pkg --cflags --libs blosc2) &&
    [ "$(LD_LIBRARY_PATH=$library_dir ./version-shared)" = "$version" ]
}
links_statically_with_pkg_config() {
  $compiler -static version.c -o version-static $(pkg --static --cflags --libs blosc2) 2>version-static.log &&
    [ "$(./version-static)" = "$version" ]
}
# A copy of the whole tree works from its new place.
moves() {
  local prefix moved
  prefix=$(pkg --variable=prefix blosc2) && moved=$PWD/moved && rm -rf "$moved" && cp -a "$prefix/." "$moved" || return 1
  local flags
  flags=$(PKG_CONFIG_PATH=$moved/${library_dir#"$(cd "$prefix" && pwd)"/}/pkgconfig pkg-config --cflags --libs blosc2)
  rm -rf "$moved"
  grep -q "moved" <<<"$flags"
}

# The C program that the README shows.
readme_program_runs() {
  sed -n '/^```c$/,/^```$/{/^```/d;p}' "$(dirname "$0")/../README.md" >readme.c && [ -s readme.c ] &&
    $compiler -Wall -Wextra -Werror readme.c -o readme $(pkg --cflags --libs blosc2) &&
    LD_LIBRARY_PATH=$library_dir ./readme && rm numbers.b2frame
}

# What the library needs at run time: the C library and its parts, and gcc's unwinder.
needs_little() {
  local others
  others=$(readelf -d "$library_dir/libblosc2.so.9" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc\.so\.6|libm\.so\.6|libgcc_s\.so\.1|ld-linux-[a-z0-9_-]+\.so\.[0-9])$')
  [ -z "$others" ] || { echo "needs $others"; return 1; }
}
# The reference has 2,270,000.
most_bytes=3020000
is_small() {
  local size
  strip -o stripped.so "$library_dir/libblosc2.so.9" && size=$(stat -c %s stripped.so) && rm stripped.so || return 1
  echo "stripped: $size bytes"
  [ "$size" -le "$most_bytes" ]
}
# Names of functions decide which C libraries it runs on. All that it uses are there in glibc 2.28, under versions that
# depend on where it was linked; where that is Debian 12 the README promises this one.
promised_glibc=GLIBC_2.34
newest_glibc() {
  objdump -T "$library_dir/libblosc2.so.9" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -1
}
old_glibc_is_enough() {
  local newest
  newest=$(newest_glibc)
  [ -n "$newest" ] && [ "$(printf '%s\n' "$newest" $promised_glibc | sort -V | tail -1)" = $promised_glibc ] ||
    { echo "asks for $newest"; return 1; }
}
prefix_of() { pkg --variable=prefix blosc2; }
# The tool runs from where it lies, needs no library beside it, and knows the documents that lie with it.
tool_works() {
  local prefix
  prefix=$(prefix_of) && [ -x "$prefix/bin/b2" ] || return 1
  ! readelf -d "$prefix/bin/b2" | grep -q 'NEEDED.*blosc2' && [ "$("$prefix/bin/b2" --version)" = "b2 $version" ] &&
    head -c 100000 "$library_dir/libblosc2.a" >data &&
    "$prefix/bin/b2" compress data -o data.b2frame --force && "$prefix/bin/b2" decompress data.b2frame -o - | cmp - data
}
documents_are_there() {
  local prefix file
  prefix=$(prefix_of)
  for file in share/man/man1/b2.1 share/bash-completion/completions/b2 share/zsh/site-functions/_b2 \
    share/fish/vendor_completions.d/b2.fish share/doc/oxiblosc/licenses/{oxiblosc,lz4,zstd,libdeflate,snap,crates,rust-std}.txt; do
    [ -s "$prefix/$file" ] || { echo "no $file"; return 1; }
  done
  bash -n "$prefix/share/bash-completion/completions/b2"
}
# Into another tree, with another name for the library's folder, as a distribution's package is made: what the files say
# holds there, and in the tree once it is moved.
stages() {
  local build=$1 libdir=lib/some-arch
  rm -rf staged && cmake -S "$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")" -B staged-build \
    -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=$libdir -DOXIBLOSC_TOOL="$(grep -c '^OXIBLOSC_TOOL:BOOL=ON' "$build/CMakeCache.txt")" \
    -DOXIBLOSC_CARGO_TARGET_DIR="$(sed -n 's/^OXIBLOSC_CARGO_TARGET_DIR:PATH=//p' "$build/CMakeCache.txt")" >staged.log 2>&1 &&
    cmake --build staged-build >>staged.log 2>&1 &&
    DESTDIR=$PWD/staged cmake --install staged-build >>staged.log 2>&1 || { tail -5 staged.log; return 1; }
  [ -f "staged/usr/$libdir/libblosc2.so.9" ] && [ -f staged/usr/include/blosc2.h ] || return 1
  rm -rf elsewhere && mv staged/usr elsewhere || return 1
  local flags
  flags=$(PKG_CONFIG_PATH=$PWD/elsewhere/$libdir/pkgconfig pkg-config --cflags --libs blosc2)
  $compiler version.c -o version-elsewhere $flags && [ "$(LD_LIBRARY_PATH=elsewhere/$libdir ./version-elsewhere)" = "$version" ] ||
    return 1
  mkdir -p finds && printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(finds C)' \
    'find_package(Blosc2 3.3 REQUIRED CONFIG COMPONENTS LZ4 ZLIB ZSTD ZFP)' 'add_executable(finds ../version.c)' \
    'target_link_libraries(finds PRIVATE Blosc2::blosc2_shared)' >finds/CMakeLists.txt
  rm -rf finds/build && cmake -S finds -B finds/build -DCMAKE_PREFIX_PATH="$PWD/elsewhere" \
    -DBlosc2_DIR="$PWD/elsewhere/$libdir/cmake/Blosc2" >finds.log 2>&1 && cmake --build finds/build >>finds.log 2>&1 &&
    [ "$(finds/build/finds)" = "$version" ] || { tail -5 finds.log; return 1; }
}

# What the reference's own package says to who finds it: each variable it sets, and what Blosc2::blosc2 has. The list is read off
# the reference's package where that is there.
package_says_what_the_reference_says() {
  local theirs name
  theirs=$(dirname "${OXIBLOSC_REFERENCE:-/}")/cmake/blosc2/Blosc2Config.cmake
  [ -f "$theirs" ] || { echo "the reference's package is not there"; return 1; }
  mkdir -p says && {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(says C)'
    printf '%s\n' 'find_package(Blosc2 3.3 REQUIRED CONFIG COMPONENTS THREADS LZ4 ZLIB ZSTD ZFP IPP)'
    for name in $(grep -oE '^ *set\([A-Za-z0-9_]+' "$theirs" | sed 's/.*(//' | grep -vE '^(BLOSC_ZFP_TARGET|Blosc2_FOUND)$' | sort -u); do
      printf 'message(STATUS "says %s=${%s}")\n' "$name" "$name"
    done
    printf '%s\n' 'get_target_property(folder Blosc2::blosc2 INTERFACE_INCLUDE_DIRECTORIES)' \
      'if(NOT EXISTS "${folder}/blosc2.h")' 'message(FATAL_ERROR "no folder of headers: ${folder}")' 'endif()'
  } >says/CMakeLists.txt
  # Without the targets, whose paths hold only where it was installed.
  mkdir -p says/theirs && sed '/^include("${CMAKE_CURRENT_LIST_DIR}\/Blosc2Targets/d' "$theirs" >says/theirs/Blosc2Config.cmake &&
    printf '%s\n' 'add_library(Blosc2::blosc2 INTERFACE IMPORTED)' 'set_target_properties(Blosc2::blosc2 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES' \
      "\"$(dirname "$OXIBLOSC_REFERENCE")/../include\")" >>says/theirs/Blosc2Config.cmake &&
    printf '%s\n' 'set(PACKAGE_VERSION 3.3.5)' 'set(PACKAGE_VERSION_COMPATIBLE TRUE)' >says/theirs/Blosc2ConfigVersion.cmake || return 1
  rm -rf says/build-*
  cmake -S says -B says/build-theirs -DBlosc2_DIR="$PWD/says/theirs" >says/theirs.log 2>&1 || { tail -5 says/theirs.log; return 1; }
  cmake -S says -B says/build-ours -DBlosc2_DIR="$library_dir/cmake/Blosc2" >says/ours.log 2>&1 || { tail -5 says/ours.log; return 1; }
  [ "$(grep -c 'says ' says/theirs.log)" -gt 20 ] && diff <(grep 'says ' says/theirs.log) <(grep 'says ' says/ours.log)
}

# A project that has this one as a part of it links to each target of the package, and installs only what is its own.
is_a_part() {
  local build=$1 source target
  source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
  mkdir -p part && {
    printf '%s\n' 'cmake_minimum_required(VERSION 3.18)' 'project(part C)' "add_subdirectory($source blosc2)"
    for target in blosc2 blosc2_shared blosc2_static; do
      printf '%s\n' "add_executable(part-$target ../version.c)" "target_link_libraries(part-$target PRIVATE Blosc2::$target)"
    done
    printf '%s\n' 'install(FILES ../version.c DESTINATION share)'
  } >part/CMakeLists.txt
  rm -rf part/build part/installed && cmake -S part -B part/build -DCMAKE_INSTALL_PREFIX="$PWD/part/installed" \
    -DOXIBLOSC_CARGO_TARGET_DIR="$(sed -n 's/^OXIBLOSC_CARGO_TARGET_DIR:PATH=//p' "$build/CMakeCache.txt")" >part.log 2>&1 &&
    cmake --build part/build >>part.log 2>&1 && cmake --install part/build >>part.log 2>&1 || { tail -5 part.log; return 1; }
  for target in blosc2 blosc2_shared blosc2_static; do
    [ "$(part/build/part-$target)" = "$version" ] || return 1
  done
  readelf -d part/build/part-blosc2 | grep -q 'NEEDED.*libblosc2' && ! readelf -d part/build/part-blosc2_static | grep -q libblosc2 &&
    [ "$(cd part/installed && find . -type f)" = ./share/version.c ]
}

# Of libblosc.so.1: its links and SONAME, its symbols, shared and static, and that a program finds it by pkg-config and by CMake,
# alone and, linked statically, beside libblosc2.
cat >blosc1.c <<'END'
#include <blosc.h>
#include <stdio.h>
int main(void) {
  int numbers[1000] = {7}, back[1000];
  char chunk[sizeof numbers + BLOSC_MAX_OVERHEAD];
  return blosc_compress(5, 1, 4, sizeof numbers, numbers, chunk, sizeof chunk) <= 0 ||
         blosc_decompress(chunk, back, sizeof back) != (int)sizeof back || puts(blosc_get_version_string()) < 0;
}
END
cat >both.c <<'END'
#include <blosc2.h>
#include <stdio.h>
const char *blosc_get_version_string(void);
int main(void) { return printf("%s %s\n", blosc_get_version_string(), blosc2_get_version_string()) < 0; }
END
blosc1_is_there() {
  local shared=$library_dir/libblosc.so.1 symbols expected
  [ "$(readlink "$library_dir/libblosc.so")" = libblosc.so.1 ] && [ "$(readlink "$shared")" = libblosc.so.1.21.6 ] &&
    readelf -d "$shared" | grep -q 'SONAME.*\[libblosc\.so\.1\]' && [ "$(pkg --modversion blosc)" = 1.21.6 ] || return 1
  symbols=$(nm -D --defined-only --format=posix "$shared" | cut -d' ' -f1 | sort)
  expected=$(grep -o 'blosc_[a-z_]*(' "$(pkg --variable=includedir blosc)/blosc.h" | tr -d '(' | sort -u)
  [ "$symbols" = "$expected" ] && [ "$(wc -l <<<"$symbols")" = 25 ] &&
    [ "$symbols" = "$(nm -g --defined-only --format=posix "$library_dir/libblosc.a" | grep -E ' [A-Z] ' | cut -d' ' -f1 | sort)" ]
}
blosc1_programs_run() {
  $compiler blosc1.c -o blosc1-shared $(pkg --cflags --libs blosc) && [ "$(LD_LIBRARY_PATH=$library_dir ./blosc1-shared)" = 1.21.6 ] &&
    $compiler -static blosc1.c -o blosc1-static $(pkg --static --cflags --libs blosc) 2>blosc1.log && [ "$(./blosc1-static)" = 1.21.6 ] &&
    $compiler -static both.c -o both $(pkg --static --cflags --libs blosc blosc2) 2>both.log && [ "$(./both)" = "1.21.6 $version" ] ||
    return 1
  mkdir -p finds1 && printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(finds1 C)' 'find_package(Blosc 1.21 REQUIRED CONFIG)' \
    'add_executable(finds1 ../blosc1.c)' 'target_link_libraries(finds1 PRIVATE Blosc::blosc)' >finds1/CMakeLists.txt
  rm -rf finds1/build && cmake -S finds1 -B finds1/build -DBlosc_DIR="$library_dir/cmake/Blosc" >finds1.log 2>&1 &&
    cmake --build finds1/build >>finds1.log 2>&1 && [ "$(finds1/build/finds1)" = 1.21.6 ] || { tail -5 finds1.log; return 1; }
}

version=$(pkg --modversion blosc2)
expect "pkg-config knows version 3.3.5" [ "$version" = 3.3.5 ]
expect "libblosc2.so leads to libblosc2.so.9 and to libblosc2.so.$version" links_lead_on
expect "the SONAME is libblosc2.so.9" soname_is_9
expect "the shared library exports only public functions" shared_is_public
expect "the static library defines only public functions" static_is_public
expect "both have the same functions" both_are_equal
expect "a program compiles and runs with pkg-config" compiles_with_pkg_config
expect "the README's program compiles and runs" readme_program_runs
expect "a program links statically with pkg-config" links_statically_with_pkg_config
expect "the installed tree can be moved" moves
expect "it needs the C library at run time, and little else" needs_little
expect "it asks for no glibc after $promised_glibc" old_glibc_is_enough
expect "the stripped library is small" is_small
expect "libblosc.so.1 is there, with the functions of blosc.h" blosc1_is_there
expect "programs for Blosc 1 compile and run, shared, static, and beside libblosc2" blosc1_programs_run
expect "b2 is there and works" tool_works
expect "manual, completions and licences are there" documents_are_there
expect "the CMake package sets the variables of the reference's" package_says_what_the_reference_says
expect "pkg-config knows an address" [ "$(grep -c '^URL: https' "$library_dir/pkgconfig/blosc2.pc")" = 1 ]
[ -z "${3:-}" ] || expect "a project with this one as a part links to its targets" is_a_part "$3"
[ -z "${3:-}" ] || expect "it installs below DESTDIR with a libdir of its own, and works when moved from there" stages "$3"
exit $((failures > 0))
