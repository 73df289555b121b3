#!/bin/bash
# Checks what is installed beside the programs of this folder: names, links, symbols, pkg-config.
#
#   check-package.sh <library folder> [<compiler>]
set -u
library_dir=$1 compiler=${2:-cc}
public='^(blosc1|blosc2|blosc|b2nd)_[A-Za-z0-9_]+$'
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

version=$(pkg --modversion blosc2)
expect "pkg-config knows version 3.3.5" [ "$version" = 3.3.5 ]
expect "libblosc2.so leads to libblosc2.so.9 and to libblosc2.so.$version" links_lead_on
expect "the SONAME is libblosc2.so.9" soname_is_9
expect "the shared library exports only public functions" shared_is_public
expect "the static library defines only public functions" static_is_public
expect "both have the same functions" both_are_equal
expect "a program compiles and runs with pkg-config" compiles_with_pkg_config
expect "a program links statically with pkg-config" links_statically_with_pkg_config
expect "the installed tree can be moved" moves
exit $((failures > 0))
