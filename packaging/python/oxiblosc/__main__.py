"""python -m oxiblosc COMMAND

  run PROGRAM [ARGS]   runs a program on this libblosc2 instead of the one that it would load; refuses where that is of another
                       ABI: what a program links to, and what packages of its Python carry (PyTables' wheels do)
  b2 [ARGS]            runs the tool
  paths                names library, folders and tool
  flags                what a compiler wants to be told (--include, --lib: one folder each)
"""
import os
import sys

import oxiblosc
from oxiblosc import soname


def execute(program, arguments, environ):
    try:
        os.execvpe(program, [program, *arguments], environ)
    except OSError as error:
        sys.exit(f"{program}: {error.strerror}")


def b2():
    execute(oxiblosc.tool_path(), sys.argv[1:], os.environ)


def main():
    command, *rest = sys.argv[1:] or ["--help"]
    if command == "run" and rest:
        refused = soname.refusal(rest[0], os.environ)
        if refused:
            sys.exit(refused)
        execute(rest[0], rest[1:], oxiblosc.environment(os.environ))
    elif command == "b2":
        execute(oxiblosc.tool_path(), rest, os.environ)
    elif command == "paths":
        print(f"library {oxiblosc.library_path()}\nheaders {oxiblosc.include_dir()}")
        print(f"pkg-config {oxiblosc.library_dir()}/pkgconfig\ntool {oxiblosc.tool_path()}")
    elif command == "flags":
        print(f"-I{oxiblosc.include_dir()} -L{oxiblosc.library_dir()} -Wl,-rpath,{oxiblosc.library_dir()} -lblosc2")
    elif command == "--include":
        print(oxiblosc.include_dir())
    elif command == "--lib":
        print(oxiblosc.library_dir())
    elif command in ("--help", "-h"):
        print(__doc__.rstrip())
    else:
        sys.exit(__doc__.rstrip())


if __name__ == "__main__":
    main()
