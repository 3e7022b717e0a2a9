"""The record of what the set-up built, after which results are named."""

from collections.abc import Collection, Mapping
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.programs import files_digest, load_programs
from tickdisk.foundation.record import Record, read

TOOLCHAINS = Path("build/toolchains.json")
"""Path of the record, relative to the project's folder."""


class Toolchains(Record):
    """The record of what the set-up built, in build/toolchains.json."""

    rustc: str
    """The version of the Rust compiler."""
    go: str
    """The version of the Go compiler."""
    built: Mapping[str, str]
    """Digests of the sources of the programs that were built, by their folder in `src`."""


def load_toolchains(root: Path) -> Toolchains:
    """Reads the record of what the set-up built, from the current folder or else from `root`, the folder of the checkout.

    Raises TickdiskError if there is no record, or if another version of the project wrote it.
    """
    path = next((place for place in (TOOLCHAINS, root / TOOLCHAINS) if place.is_file()), None)
    if path is None:
        raise TickdiskError(f"{TOOLCHAINS} does not exist, so the compilers of the programs are not known; run `make setup`")
    return read(Toolchains, path, "run `make setup`")


def check_built(root: Path, toolchains: Toolchains, names: Collection[str]) -> None:
    """Raises TickdiskError if one of the programs `names` (folders in `src`) was not built, or has changed since it was built.

    Otherwise the results would be filed under code that did not make them.
    """
    programs = load_programs(root)
    for name in names:
        if name not in toolchains.built:
            raise TickdiskError(f"src/{name} was not built; run `make setup`, which says why")
        if files_digest(root, programs[name].sources) != toolchains.built[name]:
            raise TickdiskError(f"src/{name} changed since it was built; run `make setup`")
