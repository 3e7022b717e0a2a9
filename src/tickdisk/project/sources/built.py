"""The record of what the set-up built: the versions of the compilers, and digests of the sources that they compiled.

Results are named after this record. `python -m tickdisk.project.sources.built OUTPUT RUSTC GO NAME...` writes it, with the
compilers' versions RUSTC and GO, for the programs that were built.
"""

import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import read_json, write_json
from tickdisk.project.sources.checkout import Checkout

TOOLCHAINS = Path("build/toolchains.json")
"""Path of the record, relative to the project's folder."""


@dataclass(frozen=True)
class Toolchains:
    """The record of what the set-up built, in build/toolchains.json: the compilers, and digests of the sources they compiled."""

    rustc: str
    """Version of the Rust compiler."""
    go: str
    """Version of the Go compiler."""
    built: Mapping[str, str]
    """Digests of the sources by the program's folder in `src`. A program that could not be built has none."""


def load_toolchains(root: Path) -> Toolchains:
    """Reads the record of what the set-up built, from the current folder or else from `root`, the folder of the checkout.

    Raises TickdiskError if there is no record, or if another version of the project wrote it.
    """
    path = next((place for place in (TOOLCHAINS, root / TOOLCHAINS) if place.is_file()), None)
    if path is None:
        raise TickdiskError(f"{TOOLCHAINS} does not exist, so the compilers of the programs are not known; run `make setup`")
    try:
        return Toolchains(**read_json(path))
    except TypeError as error:
        raise TickdiskError(f"{path} is of another version; run `make setup`") from error


def check_built(checkout: Checkout, toolchains: Toolchains, names: Collection[str]) -> None:
    """Raises TickdiskError if one of the programs `names` (folders in `src`) was not built, or has changed since it was built.

    Otherwise the results would be filed under code that did not make them.
    """
    for name in names:
        if name not in toolchains.built:
            raise TickdiskError(f"src/{name} was not built; run `make setup`, which says why")
        if checkout.built(name) != toolchains.built[name]:
            raise TickdiskError(f"src/{name} changed since it was built; run `make setup`")


def main(output: str, rustc: str, go: str, *names: str) -> None:
    """Writes the record of what the set-up built from this checkout to the file `output`.

    `rustc` and `go` are the versions of the compilers. `names` are the folders in `src` of the programs that were built.
    """
    checkout = Checkout.own()
    write_json(Path(output), asdict(Toolchains(rustc, go, {name: checkout.built(name) for name in names})))


if __name__ == "__main__":
    main(*sys.argv[1:])
