#!/bin/bash
# Checks what is installed in the way that packagers look at it: licences of all that is linked, no path of this machine,
# hardening, the symbols file of the Debian package, and a Python wheel made of it.
#
#   packaging/check-installed.sh [PREFIX]      (target/prefix)
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
prefix=${1:-$prefix}
work=$target/check-installed
library=$prefix/lib/libblosc2.so.9
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

licences_are_there() {
  "$root/packaging/licenses.py" --check || return 1
  local file
  for file in "$root"/cmake/licenses/*.txt; do
    cmp "$file" "$prefix/share/doc/oxiblosc/licenses/${file##*/}" || return 1
  done
}

no_path_of_this_machine() {
  local file text found
  for file in "$library" "$prefix/lib/libblosc2.a" "$prefix/bin/b2"; do
    # Neither a missing file nor a missing tool is a file without paths.
    text=$(strings -a "$file") && [ -n "$text" ] || { echo "${file##*/}: cannot be read"; return 1; }
    found=$(grep -F -e "$root/" -e "$target/" -e "$HOME/" -e "${CARGO_HOME:-$HOME/.cargo}/" <<<"$text" | head -3)
    [ -z "$found" ] || { echo "${file##*/}: $found"; return 1; }
  done
}

# is_hardened <file>: what is relocated is then read-only, no memory is both writable and executable, and the parts in C
# guard their stack and the buffers whose size the compiler knows.
is_hardened() {
  local segments dynamic symbols
  segments=$(readelf -lW "$1") dynamic=$(readelf -dW "$1") symbols=$(readelf --dyn-syms -W "$1")
  grep -q GNU_RELRO <<<"$segments" || { echo "no RELRO"; return 1; }
  grep -q BIND_NOW <<<"$dynamic" || grep -q 'FLAGS_1.*NOW' <<<"$dynamic" || { echo "no BIND_NOW"; return 1; }
  grep -q 'GNU_STACK' <<<"$segments" || { echo "no GNU_STACK"; return 1; }
  ! grep -E '^ +[A-Z_]+ .* RWE ' <<<"$segments" || { echo "writable and executable"; return 1; }
  ! grep -E 'TEXTREL|RPATH|RUNPATH' <<<"$dynamic" || return 1
  grep -q '__stack_chk_fail' <<<"$symbols" || { echo "no stack protector"; return 1; }
  grep -qE '__[a-z]+_chk' < <(grep -v __stack_chk <<<"$symbols") || { echo "no _FORTIFY_SOURCE"; return 1; }
}
tool_is_hardened() { is_hardened "$prefix/bin/b2" && readelf -h "$prefix/bin/b2" | grep 'Type:.*DYN' >/dev/null; }

symbols_file_is_right() {
  local symbols=$root/packaging/debian/libblosc2-9.symbols
  [ -s "$symbols" ] && [ -s "$library" ] || { echo "there is nothing to compare"; return 1; }
  diff <(sed -n 's/^ \([^@ ]*\)@Base .*/\1/p' "$symbols" | LC_ALL=C sort) \
    <(nm -D --defined-only --format=posix "$library" | cut -d' ' -f1 | LC_ALL=C sort) ||
    { echo "> has to be added to ${symbols#"$root"/}, < is missing in the library"; return 1; }
}

wheel_runs() {
  rm -rf "$work" && mkdir -p "$work" &&
    "$root/packaging/build-wheel.sh" "$prefix" "$work" >"$work/build.log" 2>&1 || { tail -5 "$work/build.log"; return 1; }
  python3 -m venv "$work/venv" &&
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$work"/oxiblosc-*.whl || return 1
  local python=$work/venv/bin/python
  echo "$(basename "$work"/oxiblosc-*.whl), $(du -k "$work"/oxiblosc-*.whl | cut -f1) KB"
  # A program that asks the loader for libblosc2 by its name gets the wheel's; one that is compiled against it needs nothing more.
  "$python" -m oxiblosc run python3 -c 'import ctypes; ctypes.CDLL("libblosc2.so.9").blosc2_init(); print(open("/proc/self/maps").read())' |
    grep "$work/venv/.*/libblosc2.so.9" >/dev/null &&
    cc "$root/packaging/debian/tests/numbers.c" -o "$work/numbers" $("$python" -m oxiblosc flags) &&
    "$work/numbers" write "$work/numbers.b2frame" && "$work/numbers" read "$work/numbers.b2frame" &&
    "$work/venv/bin/b2" verify "$work/numbers.b2frame" >/dev/null && refuses_other_numbers "$python"
}

# refuses_other_numbers <python>: what was made for another libblosc2 is not run: a program that links to one, and a Python, by its name
# or by a script, whose packages carry one; with a message that says why. What was made for this one is.
refuses_other_numbers() {
  local python=$1 packages other said
  packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo 'int blosc2_other(void) { return 0; }' >"$work/other.c" && echo 'int blosc2_other(void); int main(void) { return blosc2_other(); }' >"$work/uses.c"
  printf '#!%s\nprint("ran")\n' "$python" >"$work/script" && chmod +x "$work/script"
  for other in libblosc2.so.9 libblosc2-0badcafe.so.9 libblosc2.so.7 libblosc2-0badcafe.so.7 libblosc2.so.10; do
    rm -rf "$work/other" "$packages/other.libs" && mkdir -p "$work/other" "$packages/other.libs" &&
      cc -shared -Wl,-soname,$other "$work/other.c" -o "$work/other/$other" && cc "$work/uses.c" "$work/other/$other" -o "$work/uses" || return 1
    cp "$work/other/$other" "$packages/other.libs/"
    for program in "$work/uses" "$python" "$work/script"; do
      said=$(echo 'print("ran")' | LD_LIBRARY_PATH=$work/other "$python" -m oxiblosc run "$program" 2>&1)
      case $other in
        *.9) ! grep -q 'is made for' <<<"$said" || { echo "$other, $program: $said"; return 1; } ;;
        *) grep -q "is made for $other" <<<"$said" && ! grep -q '^ran' <<<"$said" || { echo "$other, $program: $said"; return 1; } ;;
      esac
    done
  done
  rm -rf "$packages/other.libs"
}

expect "licences of all that is linked are installed" licences_are_there
expect "no path of this machine is in what is installed" no_path_of_this_machine
expect "the library is hardened" is_hardened "$library"
expect "the tool is hardened" tool_is_hardened
expect "the Debian package's symbols file has what the library exports" symbols_file_is_right
expect "a Python wheel is made, installed, and runs programs" wheel_runs
exit $((failures > 0))
