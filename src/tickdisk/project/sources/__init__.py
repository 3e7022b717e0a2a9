"""Computes digests of the source code, by which a result shows whether the code that made it has changed since.

Comments, docstrings, formatting and unit tests do not count. A `Closure` is the Python code that a computation reaches by
imports. `make setup` records the compilers and the digests of what it built (`Toolchains`), and `check_built` raises
TickdiskError if the sources have changed since then, because the programs would not be the ones that the digests name.
"""

from tickdisk.project.sources.built import TOOLCHAINS, Toolchains, check_built, load_toolchains
from tickdisk.project.sources.checkout import Checkout, data_digests, notebook_cells, server_digests
from tickdisk.project.sources.native import parts_of

__all__ = [
    "TOOLCHAINS",
    "Checkout",
    "Toolchains",
    "check_built",
    "data_digests",
    "load_toolchains",
    "notebook_cells",
    "parts_of",
    "server_digests",
]
