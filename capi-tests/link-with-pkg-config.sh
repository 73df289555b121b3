#!/bin/bash
# Compiles a program with what pkg-config says, and lets it write and read a frame.
#
#   link-with-pkg-config.sh <library folder> shared|static <source> <emulator or ""> <compiler> [<option>...]
set -eu
library_dir=$1 linkage=$2 source=$3 emulator=$4
shift 4
export PKG_CONFIG_LIBDIR=$library_dir/pkgconfig
work=$(mktemp -d)
# By this name Windows finds it, too.
program=$work/program.exe
trap 'rm -rf "$work"' EXIT
# Flags, options of linkage and the emulator are several words, so they are not quoted.
case $linkage in
shared) "$@" "$source" -o "$program" $(pkg-config --cflags --libs blosc2) -Wl,-rpath,"$library_dir" ;;
static) "$@" -static "$source" -o "$program" $(pkg-config --static --cflags --libs blosc2) 2>"$work/log" || { cat "$work/log"; exit 1; } ;;
esac
$emulator "$program" write "$work/numbers.b2frame"
$emulator "$program" read "$work/numbers.b2frame"
