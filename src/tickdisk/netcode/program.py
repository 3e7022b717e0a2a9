"""The program `tickdisk-netcode`, which serves prototypes on network stacks and plays on them."""

from functools import cache
from pathlib import Path

from tickdisk.foundation.process import built, run


def binary() -> Path:
    """Returns the program that the set-up built. Raises TickdiskError if it was not built."""
    return built("tickdisk-netcode")


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
