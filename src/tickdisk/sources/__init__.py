"""Digests of sources say whether a result was made by the code that is there now."""

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
