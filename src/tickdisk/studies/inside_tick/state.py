"""States the facts and claims of the study of the inside of ticks: counts, shares of late time, and the check of blame."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import blame, stats
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.inside_tick.compute import Results
from tickdisk.studies.statement import THIS_PROJECT, Statement

_NAMED_SHARE = 0.95
"""Least share of the device's stalls that blame must name."""
_EXAMPLES = 3
"""Number of ticks, those with the most late time, that are stated in words."""
_OF = {"late": "the late time", "busy": "the time in which the tick thread was not asleep"}
"""The times that shares are of, in words."""
_STALL_NOTES = {
    "device_stalls.named": "stalls for which the chain of a slow tick names a stalled request",
    "device_stalls.felt": "stalls during which a tick was slow",
    "cpu_stalls.blamed": "stalls with a slow tick whose cause is storage, although storage took less than the stall",
    "cpu_stalls.outweighed": "stalls with a slow tick in which storage took longer than the stall",
    "cpu_stalls.felt": "stalls during which a tick was slow",
}


@dataclass(frozen=True)
class _Bound:
    """A bound that blame must keep on the injected stalls of one kind."""

    name: str
    statement: str
    count: str
    """Name of the count that decides."""
    is_kept: bool
    words: str
    """The counts in a sentence."""
    obstacles: Sequence[stats.Obstacle]
    """Causes for which the bound cannot be decided."""


def state(results: Results) -> Statement:
    """Returns the facts and claims: the shares of late time, and whether blame judges the injected stalls rightly."""
    statement = Statement("inside_tick")
    _state_counts(statement, results)
    _state_waits(statement, results)
    _state_actions(statement, results)
    _state_shares(statement, results)
    _state_explained(statement, results)
    _state_stalls(statement, results)
    for bound in (_device_stalls(results), _cpu_stalls(results)):
        _state_bound(statement, results, bound)
    return statement


def _state_counts(statement: Statement, results: Results) -> None:
    ticks, source = pd.concat([one.ticks for one in results.blames]), results.counted_lives
    statement.fact("lives", len(results.blames), "lives", source="manifests", note="lives that were captured")
    statement.fact("latency", results.latency_ms, "ms", source="device models", note="nominal read latency")
    statement.fact("ticks", len(ticks), "ticks", source=source, note="ticks whose whole gap was captured")
    statement.fact("uncaptured_ticks", sum(one.uncaptured for one in results.blames), "ticks", source=source)
    slow = int(ticks["slow"].sum())
    statement.fact(
        "slow_ticks", slow, "ticks", n=len(ticks), source=source, note=f"ticks longer than {number(blame.SLOW)} budgets"
    )
    untouched = results.untouched
    note = "slow ticks among those that no injected stall touched"
    statement.fact("untouched_slow_ticks", int(untouched["slow"].sum()), "ticks", n=len(untouched), source=source, note=note)
    for place, tick in enumerate(untouched.head(_EXAMPLES).to_dict("records"), start=1):
        words = blame.explain(results.blames[int(tick["life"])], int(tick["tick"]))
        statement.word(f"latest.{place}", f"{words[:1].upper()}{words[1:]}.", source=source, note="a tick with much late time")
    late_s = float(ticks["late_ns"].sum() / 1e9)
    statement.fact("late", late_s, "s", n=len(ticks), source=source, note="time of gaps over the budget")
    for name in ("requests", "waits"):
        count = sum(len(getattr(one.evidence, name)) for one in results.blames)
        statement.fact(name, count, name, source=source)
    statement.fact("lost_events", sum(one.evidence.lost_events for one in results.blames), "events", source=source)


def _state_waits(statement: Statement, results: Results) -> None:
    """States the time of waits for I/O by the number of locks before them, and the share of it with a known request."""
    io = pd.concat([one.links[one.links["kind"] == "io"] for one in results.blames])
    of_depth = {
        "own": (io["depth"] == 0, "the tick thread's own waits for I/O"),
        "behind_one_lock": (io["depth"] == 1, "waits for I/O of a thread that held a lock"),
        "deeper": (io["depth"] > 1, "waits for I/O behind more than one lock"),
    }
    for name, (chosen, note) in of_depth.items():
        waited_s = float(io.loc[chosen, "ns"].sum() / 1e9)
        statement.fact(f"storage.{name}", waited_s, "s", n=int(chosen.sum()), source=results.counted_lives, note=note)
    for name, column, words in (
        ("with_request", "request", "whose system call was captured"),
        ("with_device_request", "device", "for which the device's request was found"),
    ):
        share = float(io.loc[io[column].notna(), "ns"].sum() / io["ns"].sum()) if len(io) else None
        note = f"share of the time of waits for I/O that is in waits {words}"
        statement.fact(f"storage.{name}", share, "share", n=len(io), source=results.counted_lives, note=note)


def _state_actions(statement: Statement, results: Results) -> None:
    slow = results.actions[results.actions["slow"]]
    for action, own in slow.groupby("action"):
        share = float(own["storage_ns"].sum() / own["latency_ns"].sum())
        note = "share of the time of slow actions of this kind in which the server waited for storage"
        statement.fact(f"slow_actions.{action}", share, "share", n=len(own), source=results.counted_lives, note=note)


def _state_shares(statement: Statement, results: Results) -> None:
    source = f"{results.counted_lives}, ticks that no injected stall touched"
    rows: list[Any] = list(results.shares.itertuples())
    for row in rows:
        statement.fact(
            f"{row.of}.{row.by}.{re.sub(r'[^a-z0-9]+', '_', row.name.lower()).strip('_')}",
            row.share,
            "share",
            interval=(row.low, row.high),
            n=row.ticks,
            source=source,
            note="; ".join([f"share of {_OF[row.of]}", "block bootstrap", *([row.note] if row.note else [])]),
        )


def _state_explained(statement: Statement, results: Results) -> None:
    shares = results.shares
    chosen = (shares["of"] == "late") & (shares["by"] == "all") & (shares["name"] == "storage")
    explained = shares[chosen].iloc[0]
    lives = int(explained["lives"])
    few = [stats.TooFew(n=lives, needed=blame.FEWEST_LIVES, counted="lives")] if lives < blame.FEWEST_LIVES else []
    words = [obstacle.sentence for obstacle in results.obstacles]
    words += [f"{each.n} of the {each.needed} lives that an interval over lives needs" for each in few]
    share, low, high = (100 * float(explained[name]) for name in ("share", "low", "high"))
    is_late = bool(np.isfinite(share))
    size, ticks = with_interval(share, low, high), number(int(explained["ticks"]))
    part = f"waits for storage explain {size} % of the late time of {ticks} ticks"
    word: stats.Word = "different" if low > 0 else "inconclusive"
    statement.comparison(
        "explained",
        source=THIS_PROJECT,
        statement=f"Late time of ticks with and without their waits for storage, on a device of {number(results.latency_ms)} ms",
        verdict="not valid" if results.obstacles or few else word,
        evidence="; ".join([*words, part if is_late else "no tick was late", *results.data.marked()]),
        causes=[*results.obstacles, *few],
        effect="late.all.storage",
        facts=["busy.all.storage"],
        n=lives,
        counted="lives",
    )


def _state_stalls(statement: Statement, results: Results) -> None:
    source = "injections, device log and extents against blame"
    for name, one in results.stalls.items():
        note, share = _STALL_NOTES[name], one.k / one.n if one.n else None
        statement.fact(name, one.k, "stalls", n=one.n, source=source, note=note)
        for method, ends, words in (("share", one.exact, "Clopper-Pearson"), ("wilson", one.wilson, "Wilson")):
            statement.fact(
                f"{name}_{method}", share, "share", interval=ends, n=one.n, source=source, note=f"{note}; {words} interval"
            )


def _device_stalls(results: Results) -> _Bound:
    named, felt = (results.stalls[f"device_stalls.{name}"] for name in ("named", "felt"))
    return _Bound(
        "device_stalls",
        f"Blame names request, file and tick of at least {percent(_NAMED_SHARE)} of the injected stalls of the device",
        "device_stalls.named",
        is_kept=named.n > 0 and named.k / named.n >= _NAMED_SHARE,
        words=f"blame names {named.k} of {named.n} stalls, and {felt.n - felt.k} of the stalls slowed no tick",
        obstacles=[] if results.knows_files else [stats.FilesUnknown()],
    )


def _cpu_stalls(results: Results) -> _Bound:
    blamed, outweighed = (results.stalls[f"cpu_stalls.{name}"] for name in ("blamed", "outweighed"))
    return _Bound(
        "cpu_stalls",
        "Blame puts no injected stall of the processor down to storage",
        "cpu_stalls.blamed",
        is_kept=blamed.k == 0,
        words=f"blame puts {blamed.k} of {blamed.n} stalls down to storage; "
        f"{outweighed.k} of the stalls have a slow tick in which storage took longer than the stall",
        obstacles=[],
    )


def _state_bound(statement: Statement, results: Results, bound: _Bound) -> None:
    found = results.stalls[bound.count]
    obstacles = [*results.obstacles, *bound.obstacles]
    level, (low, high) = percent(results.data.decision.confidence), map(percent, found.exact)
    ends = f"the {level} interval of the share is {low} to {high}"
    counted = [bound.words, ends] if found.n else ["no such stall was injected while ticks were captured"]
    few = [] if found.n >= blame.FEWEST_STALLS else [stats.TooFew(n=found.n, needed=blame.FEWEST_STALLS, counted="stalls")]
    words = [*(each.sentence for each in obstacles), *counted, *(each.would_decide for each in few)]
    prefix = f"{statement.name}.{bound.name}."
    statement.bound(
        bound.name,
        source=THIS_PROJECT,
        statement=bound.statement,
        verdict="not valid" if obstacles or few else "kept" if bound.is_kept else "missed",
        evidence="; ".join([*words, *results.data.marked()]),
        causes=[*obstacles, *few],
        effect=f"{bound.count}_share",
        facts=[name.removeprefix(f"{statement.name}.") for name in statement.facts if name.startswith(prefix)],
        n=found.n,
        counted="stalls",
    )
