"""Which libblosc2 a program was compiled for: the number in the library's name (SONAME) grows when a structure of the interface changes.

A program that gets another number's library reads fields where they are not, and its data are wrong without a word.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

OURS = 9
# As its makers name it, or as auditwheel does in a wheel: libblosc2-a12ec544.so.7.
NAME = re.compile(r"libblosc2(?:-\w+)?\.so\.(\d+)")


class Elf:
    """The parts of an ELF file of 64 bits that the loader goes by; an error (ValueError, struct.error) where there are none."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path}: no ELF file of 64 bits")
        offset, size, count = struct.unpack_from("<Q", self.data, 32)[0], *struct.unpack_from("<HH", self.data, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", self.data, offset + size * i) for i in range(count)]

    def text(self, offset):
        return self.data[offset : self.data.index(b"\0", offset)].decode()

    def loader(self):
        """The program that loads this one; None for a library, and for a program that needs none."""
        return next((self.text(offset) for kind, _, offset, *_ in self.segments if kind == 3), None)

    def soname(self):
        entries = {}
        for kind, _, offset, _, _, size in self.segments:
            if kind == 2:
                entries.update(struct.unpack_from("<QQ", self.data, at) for at in range(offset, offset + size, 16))
        if 14 not in entries:
            return ""
        strings = next(
            offset + entries[5] - address
            for kind, _, offset, address, _, size in self.segments
            if kind == 1 and address <= entries[5] < address + size
        )
        return self.text(strings + entries[14])


def of_programs(path):
    """The names of libblosc2 for which the loader looks when it starts the program."""
    try:
        loader = Elf(path).loader()
    except (OSError, ValueError, struct.error):
        return []
    if loader is None:
        return []
    listed = subprocess.run([loader, "--list", path], capture_output=True, text=True)
    return [(match[0], path) for match in NAME.finditer(listed.stdout + listed.stderr)]


def of_packages(python, environ):
    """The libraries libblosc2 that packages of a Python carry for themselves."""
    asked = subprocess.run(
        [*python, "-c", "import sys; print('\\n'.join(sys.path))"], capture_output=True, text=True, env=environ
    )
    for folder in dict.fromkeys(asked.stdout.splitlines()):
        for pattern in ("*/libblosc2*.so*", "*/lib/libblosc2*.so*", "*/lib64/libblosc2*.so*"):
            for file in Path(folder or ".").glob(pattern):
                try:
                    yield Elf(file).soname(), str(file)
                except (OSError, ValueError, struct.error, StopIteration):
                    continue


def python_of(program):
    """The command of the Python that runs a program; None for a program in another language."""
    try:
        with open(program, "rb") as file:
            line = file.readline(1000)
    except OSError:
        return None
    if line.startswith(b"#!"):
        words = os.fsdecode(line[2:]).split()
        return words if any(is_python(word) for word in words[:2]) else None
    return [program] if is_python(program) else None


def is_python(path):
    return re.fullmatch(r"(python|pypy)[\d.]*", os.path.basename(path)) is not None


def refusal(program, environ):
    """Why this library must not be preloaded into the program; None where nothing speaks against it."""
    path = shutil.which(program, path=environ.get("PATH"))
    if path is None:
        return None
    found = of_programs(path)
    python = python_of(path)
    if python is not None:
        found += of_packages(python, environ)
    for name, file in found:
        match = NAME.fullmatch(name)
        if match and int(match[1]) != OURS:
            return (
                f"{file} is made for {name}, and this library is libblosc2.so.{OURS}: structures of the interface differ between "
                f"the two, so that data would be wrong without a word. Nothing was run. Compile what uses it against this library's "
                f"headers ({os.path.basename(sys.executable)} -m oxiblosc paths), or remove it from where the program looks."
            )
    return None
