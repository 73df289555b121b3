#!/bin/bash
# Installs the packages that build-deb.sh made into a fresh Debian, in a folder, and runs their autopkgtest there.
#
#   packaging/check-deb.sh [FOLDER]      (target/debian)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
work=${1:-$target/debian}
need_packages debootstrap autopkgtest
system=$target/debian-system
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

if [ ! -e "$system/complete" ]; then
  step "A fresh Debian ($release)"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" | head -1)
  as_root rm -rf "$system"
  as_root debootstrap --variant=minbase --include=build-essential,cmake,pkgconf,eatmydata "$release" "$system" ${mirror:+"$mirror"} >"$target/debootstrap.log" ||
    { tail -5 "$target/debootstrap.log"; exit 1; }
  as_root touch "$system/complete"
fi

step "The packages in it, and what they are for"
as_root rm -rf "$target/autopkgtest"
as_root autopkgtest --output-dir "$target/autopkgtest" "$work"/*.deb "$work"/oxiblosc-*/ -- chroot "$system"
