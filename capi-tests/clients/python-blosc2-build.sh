# Builds python-blosc2 4.14.1 from its source distribution against this library; sourced by the scripts that use it (bash), which share
# what was built. The build takes three libraries from GitHub. This one takes them from folders that you give, work trees at these
# commits:
#
#   OXIBLOSC_MINIEXPR   github.com/Blosc/miniexpr    f0b8c94771cd21d3c9029d6ccec204ab3a67584f
#   OXIBLOSC_SLEEF      github.com/shibatch/sleef    7623d6cfa2712462880fa63a4d0f0b5f775d1a83
#   OXIBLOSC_TINYCC     github.com/Blosc/minicc      695ad1e6b5c9a00875192ca1f3a9c4949dee4858
#
# They are asked for once: what was built is used again. On two processors the build takes ten minutes. Sets python, prefix and reference:
# the folders of both libraries, for LD_LIBRARY_PATH.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
work=$target/clients/python-blosc2
mkdir -p "$work"
need_packages gcc g++ make pkg-config python3 python3-venv libc6-dev
version=4.14.1
python_with scikit-build-core cython 'numpy>=2.1' cmake ninja "${packages[@]}"
source_of blosc2 "$version"

# work_tree <variable> <file in it>: the folder that the variable names, if it has this file.
work_tree() {
  [ -n "${!1:-}" ] || die "$1 is not set: a work tree that python-blosc2's build needs (the head of ${BASH_SOURCE[0]} says which)"
  [ -f "${!1}/$2" ] || die "$1: no $2 in ${!1}"
  (cd "${!1}" && pwd)
}

# library_with <library folder>: the libblosc2 that python-blosc2 has loaded, if it was built to take one from the system.
library_with() {
  LD_LIBRARY_PATH=$1 "$python" -c 'import blosc2
print(*{line.split()[-1] for line in open("/proc/self/maps") if "/libblosc2.so" in line})' 2>/dev/null
}

# PyTables brings python-blosc2's wheel, of the same version, which carries the reference inside its extension module.
if [ "$(library_with "$prefix/lib")" != "$(realpath "$ours")" ]; then
  miniexpr=$(work_tree OXIBLOSC_MINIEXPR src/miniexpr.h) || exit 1
  sleef=$(work_tree OXIBLOSC_SLEEF src/arch/helpersse2.h) || exit 1
  tinycc=$(work_tree OXIBLOSC_TINYCC libtcc.h) || exit 1
  step "Build python-blosc2 with USE_SYSTEM_BLOSC2=1"
  "$work/venv/bin/pip" uninstall --quiet --yes blosc2
  # TinyCC is configured by a CMake of its own, which looks for ninja in PATH.
  PATH=$work/venv/bin:$PATH PKG_CONFIG_PATH=$prefix/lib/pkgconfig USE_SYSTEM_BLOSC2=1 "$work/venv/bin/pip" install --quiet \
    --disable-pip-version-check --no-build-isolation --config-settings "build-dir=$work/build" \
    --config-settings "cmake.define.FETCHCONTENT_SOURCE_DIR_MINIEXPR=$miniexpr" \
    --config-settings "cmake.define.FETCHCONTENT_SOURCE_DIR_SLEEF=$sleef" \
    --config-settings "cmake.define.FETCHCONTENT_SOURCE_DIR_TINYCC=$tinycc" \
    "$source_dir" || die "python-blosc2 does not build"
fi

reference=$(dirname "$OXIBLOSC_REFERENCE")
for library in "$ours" "$OXIBLOSC_REFERENCE"; do
  used=$(library_with "$(dirname "$library")")
  [ "$used" = "$(realpath "$library")" ] || die "python-blosc2 uses ${used:-no shared library}, not $library"
done
