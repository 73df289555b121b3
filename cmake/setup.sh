# What the main job and the tests have in common; sourced by both (bash). Everything is safe to repeat: what is there
# already is used, and what is made goes into the crate's target folder.
#
# Sets: root (the repository), jobs (how many processors), target (where cargo builds), prefix (where step_install
# installs), PATH (with cargo in it).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
prefix=$target/prefix
jobs=$(nproc 2>/dev/null || echo 2)
export PATH=$PATH:$HOME/.cargo/bin
step_number=0

# step <what>: says what comes now, and how long it has been since the start.
step() {
  step_number=$((step_number + 1))
  printf '\n=== %d. %s  [%02d:%02d]\n' "$step_number" "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

die() {
  echo "error: $*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "cannot become root to run: $*"
  fi
}

# as_root_in <folder> <command...>: the same, and what root made in the folder belongs to the user afterwards.
as_root_in() {
  local folder=$1 outcome=0
  shift
  as_root "$@" || outcome=$?
  [ "$(id -u)" -eq 0 ] || as_root chown -R "$(id -u):$(id -g)" "$folder"
  return $outcome
}

# fresh_folder <folder>: an empty folder. One with things in it is emptied only if this function made it, or below the target folder.
fresh_folder() {
  local folder=$1 mark=.made-by-oxiblosc
  case $folder in
    "$target"/*) ;;
    *) [ ! -e "$folder" ] || [ -e "$folder/$mark" ] || [ -z "$(ls -A "$folder")" ] || die "$folder has other things in it: name an empty folder" ;;
  esac
  # An earlier run may have ended where some of it was root's.
  rm -rf "$folder" 2>/dev/null || as_root rm -rf "$folder"
  mkdir -p "$folder"
  touch "$folder/$mark"
}

have_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# need_packages <Debian package...>: installs those that are not installed. Elsewhere than on Debian the commands must
# be there already; the step that misses one says so.
need_packages() {
  local missing=() package
  if ! command -v apt-get >/dev/null; then
    echo "no apt-get here; these must be there already: $*"
    return
  fi
  for package in "$@"; do
    have_package "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "already there: $*"
    return
  fi
  echo "installing: ${missing[*]}"
  [ -n "${lists_are_new:-}" ] || as_root apt-get update -qq || echo "apt-get update failed; going on with the lists that are there"
  lists_are_new=yes
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get could not install: ${missing[*]}"
}

need_cargo() { command -v cargo >/dev/null || die "cargo not found: install a Rust toolchain first"; }

# pretend_compiler <file>: makes a C compiler that only looks as if it did its work: `cargo check` links nothing.
pretend_compiler() {
  mkdir -p "$(dirname "$1")"
  printf '#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && : >"$2"; shift; done\n' >"$1"
  chmod +x "$1"
}

# need_reference: gets the reference library 3.3.5, as the wheel of blosc2 4.14.1 carries it, into a virtual environment
# of its own. Sets reference_dir, the folder with lib/ and include/, and exports OXIBLOSC_REFERENCE, the library.
need_reference() {
  local venv=$target/reference library
  if [ -n "${OXIBLOSC_REFERENCE:-}" ]; then
    [ -f "$OXIBLOSC_REFERENCE" ] || die "OXIBLOSC_REFERENCE is set, but there is no $OXIBLOSC_REFERENCE"
    echo "given: $OXIBLOSC_REFERENCE"
  else
    library=$(reference_library "$venv")
    if [ -z "$library" ]; then
      rm -rf "$venv"
      # Where a python comes without its venv module, Debian's own comes with it.
      python3 -m venv "$venv" 2>/dev/null || /usr/bin/python3 -m venv "$venv" || die "python3 -m venv does not work"
      "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps blosc2==4.14.1 ||
        die "pip could not install blosc2==4.14.1"
      library=$(reference_library "$venv")
      [ -n "$library" ] || die "no libblosc2.so.9 in the wheel of blosc2 4.14.1"
    fi
    export OXIBLOSC_REFERENCE=$library
    echo "reference: ${library#"$root"/}"
  fi
  reference_dir=$(cd "$(dirname "$OXIBLOSC_REFERENCE")/.." && pwd)
}

# need_plugins: gets the plugins that PyPI has into a virtual environment of their own, and exports OXIBLOSC_PLUGIN_PYTHON,
# its Python. Where that does not work the test of plugins is skipped; in CI it fails.
need_plugins() {
  local venv=$target/plugins
  local packages="blosc2-grok==0.3.5 blosc2-htj2k==0.4.2 blosc2-openhtj2k==0.1.2 blosc2-openzl==0.0.1 blosc2-j2k==0.4.0"
  [ -z "${OXIBLOSC_PLUGIN_PYTHON:-}" ] || return 0
  if [ "$(cat "$venv/complete" 2>/dev/null)" != "$packages" ]; then
    rm -rf "$venv"
    { python3 -m venv "$venv" 2>/dev/null || /usr/bin/python3 -m venv "$venv"; } &&
      "$venv/bin/pip" install --quiet --disable-pip-version-check $packages &&
      echo "$packages" >"$venv/complete" || { echo "pip could not install the plugins"; return 0; }
  fi
  export OXIBLOSC_PLUGIN_PYTHON=$venv/bin/python
}

# reference_library <folder>: the library below it, or nothing.
reference_library() {
  [ ! -d "$1" ] || find "$1" -path '*/blosc2/lib/libblosc2.so.9' -print -quit
}

# configure <source folder> <build folder> <option...>: CMake's first step. A build folder that belongs to another
# source folder, because the repository was moved, is made anew.
configure() {
  local source=$1 build=$2
  shift 2
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$build/CMakeCache.txt"; then
    rm -rf "$build"
  fi
  mkdir -p "$build"
  cmake -S "$source" -B "$build" "$@" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; return 1; }
}

# build_and_install [ON|OFF]: the library through cmake and cargo into $prefix, with the tool and the library of Blosc 1 or without.
build_and_install() {
  local all=${1:-ON}
  configure "$root/cmake" "$target/cmake" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DOXIBLOSC_CARGO_TARGET_DIR="$target" -DOXIBLOSC_TOOL="$all" -DOXIBLOSC_BLOSC1="$all" || return 1
  cmake --build "$target/cmake" && cmake --install "$target/cmake" >"$target/cmake/install.log" &&
    sed -n 's/^-- Installing: /  /p; s/^-- Up-to-date: /  /p' "$target/cmake/install.log" | sed "s|$prefix/||" |
    grep -v '^  .*include/blosc2/'
}
