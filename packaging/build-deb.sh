#!/bin/bash
# Makes the Debian source package and the packages libblosc2-9, libblosc2-dev, libblosc2-doc and b2, without a network, and lets lintian look at
# them.
#
#   packaging/build-deb.sh [FOLDER]        (target/debian)
#
# What an earlier run left in FOLDER is removed first; a folder with anything else in it is refused.
#
# Takes what is committed. Where Rust is rustup's and not Debian's, the build dependencies on it are not asked for.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

work=${1:-$target/debian}
need_cargo
need_packages build-essential cmake debhelper doxygen fakeroot lintian python3 git xz-utils util-linux
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
fresh_folder "$work"
work=$(cd "$work" && pwd)
source=$work/oxiblosc-$version

# tarball <file> <folder>: the same bytes for the same files.
tarball() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$(dirname "$2")" -c "$(basename "$2")" |
    xz -T0 -3 >"$1"
}

step "The two source tarballs: the tree, and the crates"
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
export SOURCE_DATE_EPOCH
git -C "$root" archive --prefix="oxiblosc-$version/" HEAD | xz -T0 -3 >"$work/oxiblosc_$version.orig.tar.xz"
tar -xf "$work/oxiblosc_$version.orig.tar.xz" -C "$work"
"$root/packaging/vendor.py" "$work/vendor"
tarball "$work/oxiblosc_$version.orig-vendor.tar.xz" "$work/vendor"
mv "$work/vendor" "$source/vendor"
cp -r "$root/packaging/debian" "$source/debian"
rm "$source/debian/copyright.in"
"$root/packaging/debian_copyright.py" "$source"

step "dpkg-buildpackage, source and binary, without a network"
without=()
dpkg-query -W rustc >/dev/null 2>&1 || without=(--no-check-builddeps)
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} DEB_BUILD_OPTIONS="parallel=$jobs ${DEB_BUILD_OPTIONS:-}"
cd "$source"
dpkg-buildpackage -us -uc -S "${without[@]}" >"$work/source.log" 2>&1 || { tail -30 "$work/source.log"; exit 1; }
# CI: no program may be skipped there, and those in other languages are no part of the package's tests.
as_root_in "$work" unshare --net env -u CI HOME="$HOME" PATH="$PATH" dpkg-buildpackage -us -uc -b "${without[@]}" >"$work/binary.log" 2>&1 ||
  { tail -40 "$work/binary.log"; exit 1; }
grep -E 'tests passed' "$work/binary.log" || true

step "lintian"
lintian --fail-on error,warning "$work"/*.changes
ls -l "$work"/*.deb "$work"/*.tar.xz "$work"/*.dsc
