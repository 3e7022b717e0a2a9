"""Counts what Luanti asks of its storage to save a player, which it does in a transaction of its own."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk.accesses.flush import save_of

_DATABASE, _JOURNAL, _HEADER_BYTES = "players.sqlite", "players.sqlite-journal", 512
"""Names of the database and of its journal, and the least size of the journal's header, which begins a transaction."""


@dataclass(frozen=True)
class PlayerSaves:
    """Counts over the saves of captured server lives. Each but the first is also a count for a player, divided by `players`."""

    saves: int
    players: int
    """Players that were saved, each as often as it was."""
    flushes: int
    """Flushes of the database of players and of its journal, which are system calls."""
    requests: int
    """Writes and flushes that reached the device during these flushes."""
    in_series: int
    """Requests among these that began when no earlier one was under way, so that their latencies add up."""

    def __add__(self, other: "PlayerSaves") -> "PlayerSaves":
        """Returns the counts of both."""
        return PlayerSaves(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def player_saves(accesses: pd.DataFrame, saves: pd.DataFrame, device: pd.DataFrame) -> PlayerSaves:
    """Counts the requests by which the saves of a captured life store players.

    `accesses` is `Accesses.table`, `saves` the result of `saves`, and `device` the log of the device. A request belongs to the
    flush during which it arrived.
    """
    own = accesses[(accesses["store"] == _DATABASE) & save_of(accesses, saves).notna()]
    begun = own[own["file"].str.endswith(_JOURNAL) & (own["op"] == "write") & (own["offset"] == 0)]
    flushes = own[own["op"] == "sync"].sort_values("at_ns")
    asked = device[device["op"].isin(("write", "flush"))].sort_values("arrival_ns")
    arrival_ns = asked["arrival_ns"].to_numpy()
    flush = np.searchsorted(flushes["at_ns"].to_numpy(), arrival_ns, side="right") - 1
    ends_ns = np.append(
        flushes["end_ns"].to_numpy(), 0
    )  # A request before the first flush has the index -1, which selects this 0, so that it belongs to no flush.
    asked = asked[arrival_ns < ends_ns[flush]]
    busy_until_ns = asked["replied_ns"].cummax().shift(fill_value=0)
    return PlayerSaves(
        saves=len(saves),
        players=int((begun["asked_bytes"] >= _HEADER_BYTES).sum()),
        flushes=len(flushes),
        requests=len(asked),
        in_series=int((asked["arrival_ns"] >= busy_until_ns).sum()),
    )
