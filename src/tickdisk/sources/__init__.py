"""Digests of the project's sources, which tell whether a result was made by the code that is there now.

A `Checkout` is a folder with the project's sources in Python, Rust, Go and Lua. Its methods return a digest for each thing that
a result can depend on. A change of comments, docstrings, unit tests or formatting does not change a digest. A `Closure` is the
Python code that a computation uses: the modules that it starts with, and all modules that these import, directly or through
others. The native module `tickdisk._native` has parts, and each part has a digest of its own.

The set-up writes down from which sources and with which compilers it built the programs (`Toolchains`). `check_built` refuses to
work while the sources are others.
"""

from tickdisk.sources.built import TOOLCHAINS, Toolchains, check_built, load_toolchains
from tickdisk.sources.checkout import Checkout, data_digests, notebook_cells, server_digests
from tickdisk.sources.closure import Closure
from tickdisk.sources.native import parts_of

__all__ = [
    "TOOLCHAINS",
    "Checkout",
    "Closure",
    "Toolchains",
    "check_built",
    "data_digests",
    "load_toolchains",
    "notebook_cells",
    "parts_of",
    "server_digests",
]
