"""Says what pyproject.toml cannot: which version the installed tree has, and that it is for one kind of machine, any Python."""
import re
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

VERSION = re.search(r"(?m)^Version: (\S+)$", Path("oxiblosc/tree/lib/pkgconfig/blosc2.pc").read_text())[1]


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(version=VERSION, distclass=Binary, cmdclass={"bdist_wheel": AnyPython})
