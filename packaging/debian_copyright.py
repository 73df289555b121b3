#!/usr/bin/env python3
"""Writes debian/copyright of a source package: of the library, and of every crate in its folder vendor.

  packaging/debian_copyright.py SOURCE    (the unpacked source, with vendor/)
"""
import re
import sys
import tomllib
from pathlib import Path

HEAD = Path(__file__).resolve().parent / "debian/copyright.in"
# What a crate carries of others under a licence of its own.
INSIDE = [
    ("vendor/lz4-sys-*/liblz4/*", "2011-2024 Yann Collet", "BSD-2-Clause"),
    ("vendor/zstd-sys-*/zstd/*", "Meta Platforms, Inc. and affiliates", "BSD-3-Clause"),
    ("vendor/libdeflate-sys-*/libdeflate/*", "2016 Eric Biggers\n           2024 Google LLC", "MIT"),
]


def holders(crate):
    """Who holds the copyright: as the texts of the licences say, or else the authors that the manifest names."""
    lines = {}
    for path in sorted(crate.iterdir()):
        if re.match(r"(?i)(licen[sc]e|copying|copyright)", path.name) and path.is_file():
            for who in re.findall(r"(?im)^\W*copyright (?:\(c\)|©) *(.*\w.*)$", path.read_text(encoding="utf-8")):
                if "[" not in who and "<" not in who.split("@")[0][:1]:
                    lines[re.sub(r"\s+", " ", who).strip()] = None
    authors = tomllib.loads((crate / "Cargo.toml").read_text())["package"].get("authors", [])
    return list(lines) or authors or ["the authors of the crate"]


def licence(crate):
    """The licence in the words of Debian's format; of several to choose from, MIT."""
    expression = tomllib.loads((crate / "Cargo.toml").read_text())["package"]["license"]
    alternatives, *others = expression.replace("/", " OR ").replace("(", "").replace(")", "").split(" AND ")
    chosen = [part.strip() for part in alternatives.split(" OR ")]
    return " and ".join(["MIT" if "MIT" in chosen else chosen[0]] + others)


def paragraph(files, who, terms):
    return f"\nFiles: {files}\nCopyright: {who}\nLicense: {terms}\n"


def main(source):
    crates = sorted(path for path in (source / "vendor").iterdir() if path.is_dir())
    text = HEAD.read_text(encoding="utf-8")
    head, licences = text.split("@CRATES@\n")
    out = [head.rstrip("\n") + "\n"]
    bare = [crate for crate in crates if not any(path.stat().st_size for path in crate.rglob("*.rs"))]
    for crate in crates:
        if crate not in bare:
            out.append(paragraph(f"vendor/{crate.name}/*", "\n           ".join(holders(crate)), licence(crate)))
    for files, who, terms in INSIDE:
        out.append(paragraph(files, who, terms))
    for terms in sorted({licence(crate) for crate in bare}):
        files = "\n       ".join(f"vendor/{crate.name}/*" for crate in bare if licence(crate) == terms)
        out.append(paragraph(files, "the authors that each manifest names", terms) +
                   "Comment: manifests of crates for tests and for other systems, without their code.\n")
    (source / "debian/copyright").write_text("".join(out) + "\n" + licences, encoding="utf-8")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(Path(sys.argv[1]))
