"""Computes digests of the source code, by which a result shows whether the code that made it has changed since.

A `Checkout` is the project's folder. Its methods return a digest of each part that a result can depend on, in Python, Rust, Go,
Java and Lua. Comments, docstrings, formatting and unit tests do not count. `Checkout.python` returns a `Closure`: the modules
with which a computation starts and all modules that they import, directly or through others, except those that the caller leaves
out. `make setup` records the compilers and the digests of what it built (`Toolchains`). `check_built` raises TickdiskError if the
sources have changed since then, because the programs would not be the ones that the digests name.
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
