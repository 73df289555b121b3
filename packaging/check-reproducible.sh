#!/bin/bash
# Builds the library twice, in folders of different names and depth, with different home and cargo folders, once from the
# registry's crates and once from vendored ones, and compares what is installed, byte by byte.
#
#   packaging/check-reproducible.sh
#
# Two whole builds: about ten minutes on two processors.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
need_cargo
need_packages cmake make python3 git diffutils
work=$target/reproducible
fresh_folder "$work"
mkdir -p "$work/one"

step "One: the crates of the registry"
git -C "$root" archive --prefix=one/a-clone/ HEAD | tar -x -C "$work"
cmake -S "$work/one/a-clone/cmake" -B "$work/one/build" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib >/dev/null
cmake --build "$work/one/build"
DESTDIR=$work/one/installed cmake --install "$work/one/build" >/dev/null

step "Two: vendored crates, other folders"
"$root/packaging/build-offline.sh" "$work/two/much/deeper/than one"

step "What differs"
two="$work/two/much/deeper/than one/installed"
(cd "$work/one/installed" && find . -type f -exec sha256sum {} + | sort -k2) >"$work/one.sums"
(cd "$two" && find . -type f -exec sha256sum {} + | sort -k2) >"$work/two.sums"
diff "$work/one.sums" "$work/two.sums" || die "the builds differ"
echo "$(wc -l <"$work/one.sums") files are the same; the library:"
grep -E 'lib/libblosc2|bin/b2' "$work/one.sums"
