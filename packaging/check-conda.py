#!/usr/bin/env python3
"""Renders the conda recipe with rattler-build, and compares its version with the crate's.

  packaging/check-conda.py      (in a Python that has py-rattler-build)
"""
import re
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

ROOT = Path(__file__).resolve().parent.parent
version = re.search(r'(?m)^version = "(\S+)"$', (ROOT / "Cargo.toml").read_text())[1]
recipe = Stage0Recipe.from_file(ROOT / "packaging/conda/recipe.yaml")
packages = [variant.recipe.package for variant in recipe.render(VariantConfig.from_file(ROOT / "packaging/conda/variants.yaml"))]
rendered = [(str(package.name), str(package.version)) for package in packages]
if rendered != [("oxiblosc", version)]:
    raise SystemExit(f"the recipe renders {rendered}, and not oxiblosc {version}")
print(f"the recipe renders: oxiblosc {version}")
