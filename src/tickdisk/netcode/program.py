"""The program `tickdisk-netcode`, which serves prototypes on network stacks and plays on them."""

from functools import cache
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.process import run

_PROGRAM = Path("build/tickdisk-netcode")
_REPOSITORY = Path(__file__).parents[3]


def binary() -> Path:
    """Returns the program in `build`, here or in the checkout. Raises TickdiskError if it was not built."""
    found = next((path for folder in (Path(), _REPOSITORY) if (path := folder / _PROGRAM).is_file()), None)
    if found is None:
        raise TickdiskError(f"{_PROGRAM} does not exist; `make setup` builds it")
    return found.absolute()


@cache
def _known() -> tuple[tuple[str, str, str], ...]:
    lines = run([binary(), "list"]).splitlines()
    return tuple((kind, name, about) for kind, name, about in (line.split("\t") for line in lines))


def stacks() -> dict[str, str]:
    """Returns a description of each network stack, by its name."""
    return {name: about for kind, name, about in _known() if kind == "stack"}


def prototypes() -> dict[str, str]:
    """Returns a description of each prototype of a game, by its name."""
    return {name: about for kind, name, about in _known() if kind == "prototype"}
