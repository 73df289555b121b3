"""Where the library libblosc2.so.9 (oxiblosc), its headers and its tool b2 are, and a way to run programs on it.

>>> import ctypes, oxiblosc
>>> ctypes.CDLL(oxiblosc.library_path()).blosc2_get_version_string
"""
from pathlib import Path

TREE = Path(__file__).resolve().parent / "tree"


def library_path():
    """The file of the shared library."""
    return str(TREE / "lib/libblosc2.so.9")


def library_dir():
    """The folder of the libraries, with those of pkg-config and CMake in it."""
    return str(TREE / "lib")


def include_dir():
    """The folder of the headers."""
    return str(TREE / "include")


def tool_path():
    """The file of the tool b2."""
    return str(TREE / "bin/b2")


def environment(environ):
    """A copy of the environment in which the loader takes this library for libblosc2, preloaded or asked for."""

    def first(path, paths):
        return ":".join([path] + [other for other in paths.split(":") if other not in ("", path)])

    # The loader takes a space in LD_PRELOAD for the end of a name; through LD_LIBRARY_PATH it finds the library by its name, too.
    library = library_path() if " " not in library_path() else "libblosc2.so.9"
    return {
        **environ,
        "LD_PRELOAD": first(library, environ.get("LD_PRELOAD", "").replace(" ", ":")),
        "LD_LIBRARY_PATH": first(library_dir(), environ.get("LD_LIBRARY_PATH", "")),
    }
