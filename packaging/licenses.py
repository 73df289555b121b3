#!/usr/bin/env python3
"""The licences of the crates, and of Rust's standard library, that are linked into libblosc2 and b2.

  packaging/licenses.py --write    writes cmake/licenses/crates.txt and rust-std.txt anew
  packaging/licenses.py --check    fails when a crate is linked that they do not name, or with another text

Texts come from the sources of the crates, as cargo has them. The licences of the codecs in C lie beside these two files,
under the names of the codecs.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES, STD = (ROOT / "cmake/licenses" / name for name in ("crates.txt", "rust-std.txt"))
TARGETS = [
    "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl",
    "x86_64-pc-windows-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin",
]
# Of several licences to choose from the first of these is taken: it is short, and goes with all others.
PREFERRED = ["LICENSE-MIT", "LICENSE-MIT.txt", "LICENSE-MIT.md", "license-mit", "MIT-LICENSE"]
# Crates of the standard library: those of the Rust project's own tree, and those whose file is not named as they are.
STD_TREE = {
    "alloc", "core", "panic_abort", "panic_unwind", "proc_macro", "profiler_builtins", "std", "std_detect", "sysroot", "test", "unwind",
}
STD_NAMES = {"cfg_if": "cfg-if", "rustc_demangle": "rustc-demangle", "rustc_literal_escaper": "rustc-literal-escaper"}
RUST_NOTICE = "Copyright (c) The Rust Project Contributors\n\n"
RULE = "-" * 100 + "\n"


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def tidy(text):
    """The text without what only lays it out: lines end where their words do, and no blank ones lead or trail."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip("\n") + "\n"


def linked_crates():
    """(name, version) of all crates that are linked on any of the targets, but for our own."""
    linked = set()
    for target in TARGETS:
        tree = run("cargo", "tree", "--locked", "-e", "normal,no-proc-macro", "-p", "oxiblosc-c", "-p", "oxiblosc-b2", "-p", "oxiblosc-blosc1",
                   "--target", target, "--prefix", "none", "--format", "{p}")
        for line in filter(None, tree.splitlines()):
            name, version = line.split()[:2]
            if not name.startswith("oxiblosc"):
                linked.add((name, version.removeprefix("v")))
    return sorted(linked)


def license_text(folder):
    """The text of the licence of the crate in a folder."""
    there = sorted(path for path in folder.iterdir() if re.match(r"(?i)(licen[sc]e|copying|unlicense)", path.name))
    chosen = [folder / name for name in PREFERRED if (folder / name).is_file()] or there
    if not chosen:
        sys.exit(f"{folder.name} comes without the text of its licence")
    return tidy(chosen[0].read_text(encoding="utf-8"))


def grouped(texts):
    """[(heading, text)] as one text, in which equal texts stand once, under the headings of all that have them."""
    headings = {}
    for heading, text in texts:
        headings.setdefault(text, []).append(heading)
    return "".join(RULE + "\n".join(names) + "\n\n" + text for text, names in headings.items())


def crates_file():
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1"))
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    texts = []
    for crate in linked_crates():
        package = packages[crate]
        text = license_text(Path(package["manifest_path"]).parent)
        texts.append((f"{package['name']} {package['version']}: {package['license']}", text))
    return ("The crates that libblosc2 or b2 is linked with, on any system, and the text of the licence of each.\n"
            "Made by packaging/licenses.py.\n" + grouped(texts))


def std_crates():
    """The crates that the toolchain's standard library is made of, but for those of the Rust project's own tree."""
    folder = Path(run("rustc", "--print", "target-libdir").strip())
    names = {re.sub(r"^lib(.+)-[0-9a-f]+$", r"\1", path.stem) for path in folder.glob("*.rlib")}
    return sorted(STD_NAMES.get(name, name) for name in names - STD_TREE if not name.startswith("rustc_std_workspace"))


def std_file():
    """Takes the texts from the crates as they are published, which are not here before cargo fetched them."""
    names = std_crates()
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder) / "Cargo.toml"
        manifest.write_text("[package]\nname = 'std-licenses'\n[lib]\npath = 'Cargo.toml'\n[dependencies]\n" +
                            "".join(f"{name} = '*'\n" for name in names))
        metadata = json.loads(run("cargo", "metadata", "--format-version", "1", "--manifest-path", str(manifest)))
    packages = {package["name"]: package for package in metadata["packages"]}
    texts = {name: license_text(Path(packages[name]["manifest_path"]).parent) for name in names}
    headed = [(f"{name}: {packages[name]['license']}", text) for name, text in texts.items()]
    # Rust's own crates are under the very licence that `libc` is under, which is one of its project's.
    permission = texts["libc"][texts["libc"].index("Permission is hereby granted"):]
    headed.insert(0, ("The Rust standard library: Apache-2.0 OR MIT", RUST_NOTICE + permission))
    return ("Rust's standard library, which is part of libblosc2 and b2, and the crates in it.\n"
            "Made by packaging/licenses.py.\n" + grouped(headed))


def check():
    known = CRATES.read_text(encoding="utf-8")
    if known != crates_file():
        missing = [f"{name} {version}" for name, version in linked_crates() if f"\n{name} {version}: " not in known]
        sys.exit(f"{CRATES.relative_to(ROOT)} is stale (packaging/licenses.py --write); it lacks: {', '.join(missing) or 'no crate'}")
    # Toolchains differ in versions of what is in them; what counts is that no crate came in.
    known = STD.read_text(encoding="utf-8")
    missing = [name for name in std_crates() if f"\n{name}: " not in known]
    if missing:
        sys.exit(f"{STD.relative_to(ROOT)} lacks: {', '.join(missing)}")
    print(f"{len(linked_crates())} crates and {len(std_crates())} of the standard library, each with the text of its licence")


if sys.argv[1:] == ["--write"]:
    CRATES.write_text(crates_file(), encoding="utf-8")
    STD.write_text(std_file(), encoding="utf-8")
elif sys.argv[1:] == ["--check"]:
    check()
else:
    sys.exit(__doc__)
