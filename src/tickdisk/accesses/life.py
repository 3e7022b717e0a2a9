"""One captured server life as the study needs it, and its windows: what players did in each, and what was accessed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk.accesses.flush import save_of, saves, unload_after_s
from tickdisk.accesses.select import Granularity

Times = NDArray[np.int64]
_LEAVE_NS = 600_000_000
"""So long at most does Luanti take to notice, and save, a player that has left; the network does not show when it has."""
INTERACTIONS = {
    "join": "server join",
    "teleport": "position change",
    "place": "terrain modification",
    "dig": "terrain modification",
    "leave": "server leave",
}
"""What players do here, in the published words."""
UNLOAD = "region flush"
UNLOADED = "terrain unloaded"
"""Stands for `terrain` in counts where the access is part of unloading: nothing else causes those."""
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
"""The generative model's routines with what each can touch; `other sync` is the world's folder, at the end of a transaction.

The published ones that Luanti has and players cause here, and three more that were seen: water that flows on in loaded terrain,
the look-up of a player's privileges, and what a save costs whatever has changed.
"""


@dataclass(frozen=True)
class Life:
    """What a capture and the players left of one server life; times are CLOCK_MONOTONIC ns."""

    name: str
    accesses: pd.DataFrame
    """See Accesses; and unloading (bool): part of writing terrain that is taken out of memory."""
    actions: pd.DataFrame
    """The actions table."""
    phases: pd.DataFrame
    """name, start_ns, end_ns: stretches in which players do one kind of thing."""
    saves: pd.DataFrame
    """start_ns, end_ns, thread of every save of the server."""
    unload_s: tuple[float, float]
    """How long after everybody has left a place its map blocks are unloaded: between these."""

    @property
    def edges_ns(self) -> Times:
        """Ends of saves: what is written later than it is caused is still in the window of its cause."""
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
    """Returns a life with its saves found; `steps_ns` are the begins of the server's steps, `unload_timeout_s` is its setting.

    It ends with its last save: what the server writes as it ends is left out. The thread that ticks touches terrain in saves and
    when it unloads; all other terrain is read by threads of its own.
    """
    found = saves(accesses, steps_ns)
    lived = accesses[accesses["at_ns"] < found["end_ns"].iloc[-1]]
    ticking = (lived["data"] == "terrain") & (lived["thread"] == found["thread"].iloc[0])
    marked = lived.assign(unloading=ticking & save_of(lived, found).isna())
    return Life(name, marked, actions, phases, found, unload_after_s(unload_timeout_s))


def counts(accesses: pd.DataFrame, edges_ns: Sequence[int] | Times, of: Granularity = "requests") -> pd.DataFrame:
    """Returns requests or bytes per window, shape (len(edges_ns) - 1, data x op); a window is [edge, next edge).

    Data types are those of the accesses, but UNLOADED where they are part of unloading.
    """
    windows = len(edges_ns) - 1
    at = np.searchsorted(np.asarray(edges_ns), accesses["at_ns"].to_numpy(), side="right") - 1
    data = accesses["data"].mask(accesses["unloading"], UNLOADED)
    inside = accesses.assign(window=at, requests=1, data=data)[(at >= 0) & (at < windows)]
    table = inside.pivot_table(index="window", columns=["data", "op"], values=of, aggfunc="sum", fill_value=0)
    return table.reindex(range(windows), fill_value=0).astype("float64")


def kinds(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Returns data and op of the columns of counts or coefficients."""
    return [(str(key[0]), str(key[1])) for key in table.columns.to_list()]


def interactions(life: Life, edges_ns: Times) -> pd.DataFrame:
    """Returns how often players did each thing in each window, shape (windows, interactions); parts where one crosses an edge.

    Columns: the published words of INTERACTIONS, and UNLOAD: places that everybody had left `unload_s` before.
    """
    sent = _sent(life.actions)
    names = sent["action"].map(INTERACTIONS)
    table = {name: _done_by(sent[names == name], edges_ns) for name in dict.fromkeys(INTERACTIONS.values())}
    table[UNLOAD] = _unloaded_by(life, sent, edges_ns)
    return pd.DataFrame({name: np.diff(done) for name, done in table.items()})


def events(life: Life) -> pd.DataFrame:
    """Returns how many events of each routine fall between consecutive saves, shape (len(saves) - 1, ROUTINES).

    region load: a player arrives, by join or teleport, where nobody has been; region flush: such a place is unloaded; player
    load: a join; player update: players that have joined, were moved, placed or took something, each once a save, and players
    that have left; terrain modification: places whose nodes were changed, each once a save; liquid flow: places that are in
    memory as the server saves; privilege check: a teleport (a chat command), place or dig; save tick: a save.
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
    """Adds begin_ns and end_ns to the actions that were sent, and the player's stay: how often it had been moved by then.

    The first half of a join is its handshake: it begins then. A leave lasts until the server has saved the player.
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
    """How many of the events that last from begin_ns to end_ns are over at each edge; one under way counts in part."""
    begin, end = (lasting[name].to_numpy()[:, None] for name in ("begin_ns", "end_ns"))
    return np.asarray(np.clip((edges_ns[None, :] - begin) / (end - begin), 0, 1).sum(axis=0))


def _unloaded_by(life: Life, sent: pd.DataFrame, edges_ns: Times) -> NDArray[np.float64]:
    left_ns = sent.loc[sent["action"].isin(("teleport", "leave")), "begin_ns"]
    earliest_ns, latest_ns = (round(after_s * 1e9) for after_s in life.unload_s)
    return _done_by(pd.DataFrame({"begin_ns": left_ns + earliest_ns, "end_ns": left_ns + latest_ns}), edges_ns)


def _distinct(sent: pd.DataFrame, by: list[str], saves: pd.DataFrame) -> NDArray[np.float64]:
    """How many different combinations of `by` there are between saves; what is asked for during a save comes after it."""
    window = np.searchsorted(saves["start_ns"].to_numpy(), sent["begin_ns"].to_numpy(), side="right") - 1
    once = sent.assign(window=window).drop_duplicates(["window", *by])["window"]
    return np.bincount(once[once.between(0, len(saves) - 2)], minlength=len(saves) - 1).astype("float64")
