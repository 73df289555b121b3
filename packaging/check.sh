#!/bin/bash
# Shows all that packaging/ has: the cheap checks of what is installed, a build without a network, that two builds are
# identical, the Debian packages in a system of their own, programs on the wheel, and the conda recipe.
#
#   packaging/check.sh
#
# Does all the set-up that a Debian 12 with a Rust toolchain and gcc needs. About half an hour on two processors.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"
here=$root/packaging
results=()
failed=0

# check <what> <command...>
check() {
  local what=$1 started=$SECONDS outcome=passed
  shift
  step "$what"
  "$@" || { outcome=FAILED; failed=1; }
  results+=("$(printf '%-8s %4d s  %s' "$outcome" $((SECONDS - started)) "$what")")
}

build_once() {
  need_cargo
  need_packages cmake make gcc g++ pkg-config python3 python3-venv
  mkdir -p "$target"
  build_and_install
}

flags_arrive() { "$here/check-flags.sh"; }

conda_renders() {
  local venv=$target/conda-tools
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check py-rattler-build==0.73.0 && "$venv/bin/python" "$here/check-conda.py"
}

# Programs for libblosc2.so.9 run on the wheel; PyTables' wheels, which are for libblosc2.so.7, are refused.
clients_of_the_wheel() {
  local venv=$target/wheel-venv said
  rm -rf "$venv" && "$here/build-wheel.sh" && python3 -m venv "$venv" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$root"/dist/oxiblosc-*.whl || return 1
  "$venv/bin/python" -m oxiblosc run "$venv/bin/python" -c 'import ctypes; ctypes.CDLL("libblosc2.so.9").blosc2_init()' &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check tables==3.11.1 || return 1
  ! said=$("$venv/bin/python" -m oxiblosc run "$venv/bin/python" -c 'print("ran")' 2>&1) && grep -q 'libblosc2.so.7' <<<"$said" &&
    ! grep -q '^ran' <<<"$said"
}

check "Build and install" build_once
check "What is installed" "$here/check-installed.sh"
check "CFLAGS, LDFLAGS and RUSTFLAGS arrive, through CMake and through cargo" flags_arrive
check "Two builds, one of vendored crates without a network, are identical" "$here/check-reproducible.sh"
check "Debian packages" "$here/build-deb.sh"
check "They install, and programs use them" "$here/check-deb.sh"
check "Programs run on the wheel, or are refused" clients_of_the_wheel
check "The conda recipe renders" conda_renders

printf '\n=== Summary  [%02d:%02d]\n' $((SECONDS / 60)) $((SECONDS % 60))
printf '%s\n' "${results[@]}"
exit $failed
