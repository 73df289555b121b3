#!/bin/bash
# Builds the library and b2 as a distribution does: from the tree and vendored crates alone, with an empty cargo folder, and
# without a network.
#
#   packaging/build-offline.sh [FOLDER]
#
# FOLDER (target/offline) gets the sources, the crates, and what is built. What an earlier run left in it is removed first; a folder
# with anything else in it is refused.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

work=${1:-$target/offline}
need_cargo
need_packages cmake make python3 util-linux git
fresh_folder "$work"
mkdir -p "$work/home/cargo"
work=$(cd "$work" && pwd)

step "The sources, and the crates beside them"
git -C "$root" archive --prefix=source/ HEAD | tar -x -C "$work"
"$root/packaging/vendor.py" "$work/source/vendor"
cat >"$work/home/cargo/config.toml" <<END
[source.crates-io]
replace-with = "vendored"
[source.vendored]
directory = "$work/source/vendor"
[net]
offline = true
END

step "Build and install without a network"
# The toolchain is rustup's where there is one; it lies in the home folder, which is another one here.
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
as_root_in "$work" unshare --net env HOME="$work/home" CARGO_HOME="$work/home/cargo" PATH="$PATH" RUSTUP_HOME="$RUSTUP_HOME" bash -euo pipefail -c '
  ! timeout 5 bash -c ": </dev/tcp/1.1.1.1/443" 2>/dev/null || { echo "there is a network"; exit 1; }
  cmake -S "$1/source/cmake" -B "$1/build" -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib \
    -DOXIBLOSC_CARGO_TARGET_DIR="$1/target" >"$1/configure.log"
  cmake --build "$1/build"
  DESTDIR="$1/installed" cmake --install "$1/build" >"$1/install.log"
' bash "$work"
ls -l "$work"/installed/usr/lib "$work"/installed/usr/bin
