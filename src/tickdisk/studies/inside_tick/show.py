"""Makes the tables and figures of the study of the inside of ticks."""

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tickdisk import blame, plot
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.inside_tick.compute import Results

_AROUND_NS, _STRETCH_NS = 700_000_000, 12_000_000_000
"""Time that is drawn before and after a tick, and the length of the stretch of a life that is drawn."""
_LINE = 120
"""Largest number of letters in a line of a figure's subtitle."""
_LEAST = 0.005
"""Share below which the paper draws nothing."""
_WORST = 10
"""Number of ticks in the table of ticks with the most late time."""
_BY = {"cause": "causes", "routine": "routines", "data": "data types", "file": "files"}
"""Divisions of the late time, with their headings in the figure."""


def worst_ticks(results: Results) -> pd.DataFrame:
    """Returns the ten ticks with the most late time, each with its cause and a sentence that explains it. Ticks that an injected
    stall touched are among them.
    """
    ticks = pd.concat([one.ticks.assign(life=life) for life, one in enumerate(results.blames)])
    worst = ticks.nlargest(_WORST, "late_ns")
    said = [blame.explain(results.blames[life], tick) for life, tick in worst[["life", "tick"]].itertuples(index=False)]
    return pd.DataFrame({"cause": worst["cause"].map(blame.CAUSE_WORDS).to_numpy(), "what happened": said})


def slow_actions(results: Results) -> pd.DataFrame:
    """Returns one row per kind of action: how many were slow, and how long the server waited for storage meanwhile. An action is
    slow if it took more than twice the median of its kind and more than the budget of a tick.
    """
    rows = {}
    for action, own in results.actions.groupby("action"):
        slow = own[own["slow"].astype(bool)]
        slowest = own.iloc[int(own["latency_ns"].to_numpy().argmax())]
        rows[str(action)] = {
            "actions": len(own),
            "slow": len(slow),
            "median (ms)": number(own["latency_ns"].median() / 1e6),
            "slowest (ms)": number(own["latency_ns"].max() / 1e6),
            "storage in slow actions": percent(slow["storage_ns"].sum() / slow["latency_ns"].sum()) if len(slow) else "",
            "longest wait in the slowest action": blame.explain_wait(slowest.to_dict()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("action")


def stalls_table(results: Results) -> pd.DataFrame:
    """Returns one row per injected stall: the stalled requests and files, and the blame of the slow tick, if there was one. The
    columns call, file and device request describe the longest wait for storage in it.
    """
    rows = [
        {
            "kind": row["kind"].replace("_", " "),
            "tick": _known(row["tick"]),
            "gap (ms)": _ms(row["gap_ns"]),
            "cause": blame.CAUSE_WORDS.get(row["cause"], ""),
            "requests stalled": row["stalled"],
            "files stalled": ", ".join(Path(path).name for path in row["stalled_files"]),
            "call": row["call"],
            "file": Path(row["file"]).name,
            "device request": _known(row["device"]),
            "waited (ms)": _ms(row["waited_ns"]),
            **{name: bool(row[name]) for name in ("named", "outweighed", "blamed")},
        }
        for row in results.checks.to_dict("records")
    ]
    return pd.DataFrame(rows)


def _known(value: Any) -> str:
    return "" if pd.isna(value) else str(int(value))


def _ms(ns: Any) -> str:
    return "" if pd.isna(ns) else number(float(ns) / 1e6)


def timeline(results: Results) -> Any:
    """Draws a stretch of 12 s from the middle of the first life, with the states of each thread and of the disk."""
    one = results.blames[0]
    middle_ns = int(one.ticks["start_ns"].iloc[len(one.ticks) // 2])
    said = f"States of the {one.thread_name} thread, of the threads that it waits for, and of the disk"
    return _timeline(one, middle_ns, middle_ns + _STRETCH_NS, "A stretch of one server life", said)


def worst_tick(results: Results) -> Any:
    """Draws the time around the most late tick that no injected stall touched. Raises TickdiskError if there is none."""
    untouched = results.untouched
    if untouched.empty:
        raise TickdiskError("an injected stall touched every captured tick; run the experiment with fewer stalls")
    return _around(results, untouched.iloc[0], "Around the tick with the most late time")


def stalled_tick(results: Results) -> Any:
    """Draws the time around the slow tick with the longest gap during a stall of the device. If no tick was slow, it is the tick
    in which the first stall began. Raises TickdiskError if the device was never stalled.
    """
    stalls = results.checks[results.checks["kind"] == "device_stall"]
    felt = stalls[stalls["tick"].notna()]
    if stalls.empty:
        raise TickdiskError("no stall was injected into the device while ticks were captured; run more lives (a larger BLOCKS)")
    if felt.empty:
        stall = stalls.iloc[0]
        ticks = results.blames[int(stall["life"])].ticks
        tick = ticks[ticks["start_ns"] <= stall["start_ns"]].iloc[-1].copy()
        tick["life"] = stall["life"]
    else:
        tick = felt.iloc[int(felt["gap_ns"].astype("int64").to_numpy().argmax())]
    return _around(results, tick, "Around an injected stall of the device")


def _around(results: Results, tick: "pd.Series[Any]", heading: str) -> Any:
    one = results.blames[int(tick["life"])]
    row = int(one.ticks.index[one.ticks["tick"] == tick["tick"]][0])
    return around_tick(one, row, heading)


def late_shares(results: Results) -> Any:
    """Draws the shares of late time by cause, routine, data type and file. Raises TickdiskError if no tick was late."""
    rows = _late(results, tuple(_BY))
    notes = [f"n = {number(int(rows['ticks'].iloc[0]))} ticks that no injected stall touched, of {results.counted_lives}"]
    notes += [note for note in rows["note"].iloc[:1] if note]
    known = set(rows.loc[rows["by"] == "cause", "name"])
    order = [words for words in blame.CAUSE_WORDS.values() if words in known]
    return plot.late_shares(rows.assign(group=rows["by"].map(_BY)), order=order, notes=notes, level=_level(results))


def paper_shares(results: Results) -> Any:
    """Draws the shares of late time for the paper, by cause and routine. Raises TickdiskError if no tick was late."""
    rows = _late(results, ("cause", "routine"))
    # A smaller share cannot be told from 0 in the figure.
    rows = rows[(rows["high"] > _LEAST) | (rows["share"] > _LEAST)]
    return plot.late_shares(rows.assign(group=rows["by"]), level=_level(results), theme=plot.PAPER)


def _level(results: Results) -> float:
    """Returns the confidence of the intervals of shares."""
    return results.data.decision.confidence


def _late(results: Results, by: tuple[str, ...]) -> pd.DataFrame:
    """Returns the shares of late time, with the causes in words. Raises TickdiskError if no tick was late."""
    late = results.shares[(results.shares["of"] == "late") & results.shares["by"].isin(by)]
    if not late["share"].notna().any():
        raise TickdiskError("no tick was late among those that no injected stall touched, so that there is nothing to explain")
    return late.assign(name=[blame.CAUSE_WORDS.get(name, name) for name in late["name"]])


def stalls(results: Results) -> Any:
    """Draws every injected stall over time, with the gap of the slow tick and whether the blame of this tick is right.

    Blame is right if it names the request and the file of a stall of the device, or does not put a stall of the processor down to
    storage. Raises TickdiskError if no stall was injected.
    """
    checks = results.checks
    if checks.empty:
        raise TickdiskError("no stall was injected while ticks were captured; run more lives (a larger BLOCKS)")
    first_ns = {life: int(one.ticks["start_ns"].iloc[0]) for life, one in enumerate(results.blames)}
    device = (checks["kind"] == "device_stall").to_numpy()
    rows = pd.DataFrame(
        {
            "at_s": (checks["start_ns"] - checks["life"].map(first_ns)) / 1e9,
            "kind": np.where(device, "Disk stalled, and named with request and file", "Core kept busy, and storage not blamed"),
            "gap_ms": checks["gap_ns"].astype("Float64") / 1e6,
            "right": np.where(device, checks["named"].astype(bool), ~checks["blamed"].astype(bool)),
        }
    )
    return plot.stalls_found(rows.sort_values("kind", ascending=False))


def around_tick(one: blame.Blame, row: int, heading: str) -> Any:
    """Draws the time around the tick at the label `row` of `one.ticks`: gaps, threads, files, the disk and saves. The subtitle
    explains the tick in a sentence.
    """
    tick: Any = one.ticks.loc[row]
    start_ns, end_ns = int(tick["start_ns"]) - _AROUND_NS, int(tick["start_ns"] + tick["gap_ns"]) + _AROUND_NS
    said = blame.explain(one, int(tick["tick"]))
    return _timeline(one, start_ns, end_ns, heading, f"{said[:1].upper()}{said[1:]}")


def _timeline(one: blame.Blame, start_ns: int, end_ns: int, heading: str, said: str) -> Any:
    shown = blame.stretch(one, start_ns, end_ns)
    return plot.tick_timeline(
        {part: getattr(shown, part) for part in ("ticks", "states", "calls", "service", "stalls")},
        span_s=shown.span_s,
        saves_s=shown.saves_s,
        budget_ms=None if one.budget_ns is None else one.budget_ns / 1e6,
        heading=heading,
        notes=textwrap.wrap(said, _LINE),
    )


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "timeline": timeline,
    "worst_tick": worst_tick,
    "late_shares": late_shares,
    "stalls": stalls,
    "stalled_tick": stalled_tick,
    "paper_shares": paper_shares,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "runs": lambda results: results.data.summary(),
    "worst_ticks": worst_ticks,
    "slow_actions": slow_actions,
    "stalls": stalls_table,
}
