"""Holds a captured server life as the study of accesses needs it, and counts what happened in each of its windows.

A window is the time between two edges, which are usually the ends of two saves. The counts are of accesses, of interactions of
players, and of events of the routines of the generative model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.accesses.flush import save_of, saves, unload_after_s
from tickdisk.accesses.select import Granularity

Times = NDArray[np.int64]
_LEAVE_NS = 600_000_000
"""Longest time that Luanti takes to notice and to save a player that has left. The network does not show when it has done so."""
INTERACTIONS = {
    "join": "server join",
    "teleport": "position change",
    "place": "terrain modification",
    "dig": "terrain modification",
    "leave": "server leave",
}
"""Interaction in the words of PokeSto, by kind of action of the players."""
UNLOAD = "region flush"
"""Name of the routine, and of the interaction, in which the server unloads a place that all players have left."""
UNLOADED = "terrain unloaded"
"""Data type for accesses by which the server takes terrain out of memory. They are counted apart, as nothing else causes them."""
ROUTINES = {
    "region load": ("terrain",),
    UNLOAD: (UNLOADED, "other sync"),
    "player load": ("player", "other sync"),
    "player update": ("player", "other sync"),
    "terrain modification": ("terrain", "other sync"),
    "liquid flow": ("terrain", "other sync"),
    "privilege check": ("player read",),
    "save tick": ("terrain", "player", "other"),
}
"""Routines of the generative model (`fit`), with the data types that each can access.

A routine is an activity of the server that accesses files. An entry of two words is a data type and an operation. `other sync`
is a sync of the world's folder, at the end of a transaction. The routines are the published ones that Luanti has and that players
cause in the experiment, and three more that were observed: water that flows on in loaded terrain, the look-up of a player's
privileges, and the fixed cost of a save.
"""


@dataclass(frozen=True)
class Life:
    """The accesses, actions and saves of one captured server life. Times are CLOCK_MONOTONIC in ns."""

    name: str
    accesses: pd.DataFrame
    """One row per access, with the columns of `Accesses.table`, and unloading (it is part of taking terrain out of memory)."""
    actions: pd.DataFrame
    """The table `actions` of the run."""
    phases: pd.DataFrame
    """Phases, in each of which players do one kind of thing, with name, start_ns and end_ns."""
    saves: pd.DataFrame
    """One row per save of the server, with start_ns, end_ns and thread."""
    unload_s: tuple[float, float]
    """Earliest and latest time in seconds at which the map blocks of a place are unloaded after the last player has left it."""

    @property
    def edges_ns(self) -> Times:
        """Ends of saves, shape (saves,). Windows lie between them, so that late writes are in the window of their cause."""
        return self.saves["end_ns"].to_numpy(dtype="int64")


def life_of(
    name: str,
    accesses: pd.DataFrame,
    actions: pd.DataFrame,
    phases: pd.DataFrame,
    *,
    steps_ns: Sequence[int] | Times,
    unload_timeout_s: float,
) -> Life:
    """Makes a `Life` from the accesses that `select` found, until the end of its last save.

    The accesses that the server makes as it ends are left out. `steps_ns` has the starts of the server's steps in ascending
    order, and `unload_timeout_s` is the server's setting server_unload_unused_data_timeout. Raises TickdiskError if there are
    fewer than two saves.

    The thread that ticks accesses terrain only in saves and when it unloads terrain. Other threads make all other accesses to
    terrain. An access of the ticking thread to terrain outside saves is therefore part of unloading.
    """
    saved = saves(accesses, steps_ns)
    lived = accesses[accesses["at_ns"] < saved["end_ns"].iloc[-1]]
    ticking = (lived["data"] == "terrain") & (lived["thread"] == saved["thread"].iloc[0])
    marked = lived.assign(unloading=ticking & save_of(lived, saved).isna())
    return Life(name, marked, actions, phases, saved, unload_after_s(unload_timeout_s))


def counts(accesses: pd.DataFrame, edges_ns: Sequence[int] | Times, of: Granularity = "requests") -> pd.DataFrame:
    """Counts the requests, or sums up the bytes, of each window by data type and operation.

    The edges of the windows are in ascending order, shape (windows + 1,). A window contains its first edge, but not its last.
    There is one row per window and one column per (data, op). The data type is `UNLOADED` for accesses that are part of
    unloading.
    """
    windows = len(edges_ns) - 1
    at = np.searchsorted(np.asarray(edges_ns), accesses["at_ns"].to_numpy(), side="right") - 1
    data = accesses["data"].mask(accesses["unloading"], UNLOADED)
    inside = accesses.assign(window=at, requests=1, data=data)[(at >= 0) & (at < windows)]
    table = inside.pivot_table(index="window", columns=["data", "op"], values=of, aggfunc="sum", fill_value=0)
    return table.reindex(range(windows), fill_value=0).astype("float64")


def kinds(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Returns the data type and the operation of each column of `table`, which is a result of `counts` or `estimate`."""
    return [(str(key[0]), str(key[1])) for key in table.columns.to_list()]


def interactions(life: Life, edges_ns: Times) -> pd.DataFrame:
    """Counts the interactions of players in each window, whose edges are in ascending order, shape (windows + 1,).

    There is one row per window. The columns are the published names of interactions, such as "server join", and `UNLOAD`, which
    counts the places that are unloaded because players have left them. An interaction that lasts over an edge counts in parts.
    """
    sent = _sent(life.actions)
    names = sent["action"].map(INTERACTIONS)
    table = {name: _done_by(sent[names == name], edges_ns) for name in dict.fromkeys(INTERACTIONS.values())}
    table[UNLOAD] = _unloaded_by(life, sent, edges_ns)
    return pd.DataFrame({name: np.diff(done) for name, done in table.items()})


def events(life: Life) -> pd.DataFrame:
    """Counts the events that make each routine of the server act, in the windows between the ends of saves.

    There is one row per window, which are one fewer than the saves, and one column per routine of `ROUTINES`. These are the
    events of each routine:

    - region load: A player arrives by join or teleport at a place where nobody has been.
    - region flush: Such a place is unloaded.
    - player load: A player joins.
    - player update: A player has joined, was moved, placed or dug something, which counts once per save, or has left.
    - terrain modification: The nodes of a place were changed, which counts once per save.
    - liquid flow: A place is in memory when the server saves.
    - privilege check: A player teleports (which is a chat command), places or digs.
    - save tick: The server saves.
    """
    sent, edges_ns = _sent(life.actions), life.edges_ns
    changed = sent[sent["action"].isin(("join", "teleport", "place", "dig"))]
    edited = sent[sent["action"].isin(("place", "dig"))]
    groups = (("join",), ("join", "teleport"), ("teleport", "place", "dig"), ("leave",))
    joined, arrived, asked, gone = (_done_by(sent[sent["action"].isin(group)], edges_ns) for group in groups)
    unloaded = _unloaded_by(life, sent, edges_ns)
    table = {
        "region load": np.diff(arrived),
        UNLOAD: np.diff(unloaded),
        "player load": np.diff(joined),
        "player update": _distinct(changed, ["player"], life.saves) + np.diff(gone),
        "terrain modification": _distinct(edited, ["player", "stay"], life.saves),
        "liquid flow": (arrived - unloaded)[1:],
        "privilege check": np.diff(asked),
        "save tick": 1.0,
    }
    return pd.DataFrame(table)[list(ROUTINES)]


def _sent(actions: pd.DataFrame) -> pd.DataFrame:
    """Returns the actions that were sent and did not fail, with the columns begin_ns, end_ns and stay.

    The stay of an action is the number of teleports that the player has issued until then. The first half of a join is its
    handshake, so that a join begins in the middle. A leave lasts until the server has saved the player.
    """
    sent = actions[actions["issued_ns"].notna() & (actions["outcome"] != "failed")].sort_values("issued_ns", kind="stable")
    begin = sent["issued_ns"].astype("int64")
    end = sent["completed_ns"].fillna(sent["issued_ns"]).astype("int64").clip(lower=begin + 2)
    end = end.mask(sent["action"] == "leave", begin + _LEAVE_NS)
    return sent.assign(
        begin_ns=begin.mask(sent["action"] == "join", (begin + end) // 2),
        end_ns=end,
        stay=(sent["action"] == "teleport").groupby(sent["player"]).cumsum(),
    )


def _done_by(lasting: pd.DataFrame, edges_ns: Times) -> NDArray[np.float64]:
    """Returns the number of events that are over at each edge. One with the edge between begin_ns and end_ns counts in part."""
    begin, end = (lasting[name].to_numpy()[:, None] for name in ("begin_ns", "end_ns"))
    return np.asarray(np.clip((edges_ns[None, :] - begin) / (end - begin), 0, 1).sum(axis=0))


def _unloaded_by(life: Life, sent: pd.DataFrame, edges_ns: Times) -> NDArray[np.float64]:
    """Returns the number of places that were left and have been unloaded at each edge."""
    left_ns = sent.loc[sent["action"].isin(("teleport", "leave")), "begin_ns"]
    earliest_ns, latest_ns = (round(after_s * 1e9) for after_s in life.unload_s)
    return _done_by(pd.DataFrame({"begin_ns": left_ns + earliest_ns, "end_ns": left_ns + latest_ns}), edges_ns)


def _distinct(sent: pd.DataFrame, by: list[str], saves: pd.DataFrame) -> NDArray[np.float64]:
    """Returns the number of different combinations of the columns `by` in the window that each save but the last begins.

    A window begins at the start of a save, because an action that is issued during a save is saved by the next.
    """
    window = np.searchsorted(saves["start_ns"].to_numpy(), sent["begin_ns"].to_numpy(), side="right") - 1
    once = sent.assign(window=window).drop_duplicates(["window", *by])["window"]
    return np.bincount(once[once.between(0, len(saves) - 2)], minlength=len(saves) - 1).astype("float64")
