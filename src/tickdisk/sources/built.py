"""The set-up writes down what was built, from which sources and with which compilers; results are named after that.

`python -m tickdisk.sources.built OUTPUT RUSTC GO` writes it, for the versions that the compilers say.
"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from tickdisk.errors import TickdiskError
from tickdisk.files import read_json, write_json
from tickdisk.sources.checkout import Checkout

TOOLCHAINS = Path("build/toolchains.json")


@dataclass(frozen=True)
class Toolchains:
    """The file holds versions of the compilers, and digests of the sources that they compiled."""

    rustc: str
    go: str
    native: str
    players: str


def load_toolchains(root: Path) -> Toolchains:
    """Returns what the set-up wrote down: in this folder, else in `root`; TickdiskError when it did not, or wrote less."""
    path = next((place for place in (TOOLCHAINS, root / TOOLCHAINS) if place.is_file()), None)
    if path is None:
        raise TickdiskError(f"{TOOLCHAINS} does not exist, which says with which compilers was built; run `make setup`")
    try:
        return Toolchains(**read_json(path))
    except TypeError as error:
        raise TickdiskError(f"{path} is of another version; run `make setup`") from error


def check_built(checkout: Checkout, toolchains: Toolchains) -> None:
    """Raises TickdiskError when what runs was built from other sources than these: results would be filed under wrong code."""
    now = checkout.built()
    for name, then in (("native", toolchains.native), ("players", toolchains.players)):
        if now[name] != then:
            raise TickdiskError(f"src/{name} changed since it was built; run `make setup`")


def main(output: str, rustc: str, go: str) -> None:
    """Writes to `output` what was built from this checkout."""
    write_json(Path(output), asdict(Toolchains(rustc, go, **Checkout.own().built())))


if __name__ == "__main__":
    main(*sys.argv[1:])
