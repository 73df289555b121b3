#!/usr/bin/env python3
"""Puts the crates that a build of libblosc2 and b2 for Linux needs into a folder, for builds without a network.

  packaging/vendor.py FOLDER

FOLDER is made anew: vendored crates in it are removed first, and a folder with anything else in it is refused.

Of crates that are only for tests and for other systems the manifest stays, which is all that cargo asks of them; of the
codecs in C what is neither their library nor its licence is left out.
"""
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]
# Programs, tests and build files for other systems, some under other licences than the libraries.
LEFT_OUT = {
    "lz4-sys": ["liblz4/build", "liblz4/contrib", "liblz4/doc", "liblz4/examples", "liblz4/ossfuzz", "liblz4/programs",
                "liblz4/tests", "liblz4/appveyor.yml", "wasm-shim"],
    "zstd-sys": ["zstd/build", "zstd/contrib", "wasm-shim"],
    "libdeflate-sys": ["libdeflate/programs", "libdeflate/scripts"],
}


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed_crates():
    """name-version of what is compiled for any of the targets."""
    needed = set()
    for target in TARGETS:
        tree = run("cargo", "tree", "--locked", "-e", "normal,build", "-p", "oxiblosc-c", "-p", "oxiblosc-b2", "-p", "oxiblosc-blosc1", "--target", target,
                   "--prefix", "none", "--format", "{p}")
        needed |= {"-".join(line.split()[:2]).replace("-v", "-", 1) for line in tree.splitlines() if line}
    return needed


def record(crate, files):
    """Says to cargo which files a crate consists of."""
    path = crate / ".cargo-checksum.json"
    checksum = json.loads(path.read_text())
    checksum["files"] = {name: digest for name, digest in checksum["files"].items() if name in files}
    path.write_text(json.dumps(checksum, sort_keys=True))


def leave_manifest(crate):
    """Leaves the manifest of a crate, and empty files where it says that code is."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text())
    sections = [manifest.get("lib", {})] + [item for kind in ("bin", "example", "test", "bench") for item in manifest.get(kind, [])]
    code = {section["path"] for section in sections if "path" in section} or {"src/lib.rs"}
    if isinstance(manifest["package"].get("build"), str):
        code.add(manifest["package"]["build"])
    for path in crate.iterdir():
        if path.name not in ("Cargo.toml", ".cargo-checksum.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in code:
        (crate / name).parent.mkdir(parents=True, exist_ok=True)
        (crate / name).touch()
    record(crate, {"Cargo.toml"})


def leave_code(crate):
    """Leaves what is compiled. The manifest as its author wrote it goes, too: debhelper's clean takes it for a patch's backup."""
    left_out = next((names for sys_crate, names in LEFT_OUT.items() if crate.name.startswith(sys_crate + "-")), [])
    for name in left_out:
        path = crate / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (crate / "Cargo.toml.orig").unlink(missing_ok=True)
    record(crate, {str(path.relative_to(crate)) for path in crate.rglob("*") if path.is_file()})


def empty(folder):
    """Removes vendored crates; nothing else is touched."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(not (path / ".cargo-checksum.json").is_file() for path in folder.iterdir()):
        sys.exit(f"{folder} has other things in it than vendored crates: name an empty folder")
    shutil.rmtree(folder)


def main(folder):
    empty(folder)
    run("cargo", "vendor", "--locked", "--quiet", "--versioned-dirs", str(folder))
    needed = needed_crates()
    absent = needed - {path.name for path in folder.iterdir()}
    if any(not name.startswith("oxiblosc") for name in absent):
        sys.exit(f"cargo did not vendor {absent}")
    for crate in sorted(folder.iterdir()):
        leave_code(crate) if crate.name in needed else leave_manifest(crate)
    print(f"{len(needed & {path.name for path in folder.iterdir()})} crates, and the manifests of the others")


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(Path(sys.argv[1]).resolve())
