# What the scripts of this folder have in common; sourced by them (bash).
#
# Each script gets one client of libblosc2 from its packages, runs the client's own tests once with the reference and once
# with this library, prints how many pass, and ends with an error if something that passes with the reference fails with
# this one. What they need and make goes into target/clients; what is there is used again.
#
#   OXIBLOSC_CLIENT_PREFIX   where this library is installed, if not in target/prefix
#   OXIBLOSC_REFERENCE       another libblosc2.so.9 to compare with
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/setup.sh"

prefix=${OXIBLOSC_CLIENT_PREFIX:-$prefix}
ours=$prefix/lib/libblosc2.so.9
client=$(basename "$0" .sh)
work=$target/clients/$client
mkdir -p "$work"

[ -f "$ours" ] || build_and_install || die "could not build and install"
need_reference

# python_with <package...>: a virtual environment with these packages. Sets python.
python_with() {
  python=$work/venv/bin/python
  if [ ! -x "$python" ]; then
    python3 -m venv "$work/venv" 2>/dev/null || /usr/bin/python3 -m venv "$work/venv" || die "python3 -m venv does not work"
  fi
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$@" || die "pip could not install: $*"
}

# source_of <package> <version>: the source distribution from PyPI, unpacked. Sets source_dir.
source_of() {
  source_dir=$work/$1-$2
  [ -d "$source_dir" ] && return
  "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-binary "$1" \
    -d "$work" "$1==$2" || die "pip could not download $1 $2"
  tar xf "$work/$1-$2.tar.gz" -C "$work" || die "cannot unpack $1 $2"
}

# lost <tests with the reference> <tests with ours>: files with a line for each test that failed. Prints those that fail
# with ours alone; true if there are any.
lost() {
  local more
  more=$(comm -13 <(sort -u "$1") <(sort -u "$2"))
  [ -n "$more" ] && printf 'fails with ours alone:\n%s\n' "$more"
}

# verdict: the last line, and the exit status.
verdict() {
  if lost "$work/reference.failed" "$work/ours.failed"; then
    echo "$client: FAILED"
    exit 1
  fi
  echo "$client: nothing fails with ours that passes with the reference"
}
