"""The sweep of simulations behind every figure of the study: over update rates, over skews, the game, and other readings."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd

from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.saving.checkpoint.inputs import GameTrace, Input, ZipfTrace
from tickdisk.saving.checkpoint.model import ALGORITHMS, Costs, Readings
from tickdisk.saving.checkpoint.simulate import Outcome, Simulation, simulate

_TABLES = {
    "checkpoints": "tick begin_s end_s pause_ms objects bytes copied is_full recovery_s run",
    "ticks": "tick overhead_ms length_ms run",
    "runs": "run sweep reading rate skew updates_per_tick algorithm ticks overhead_ms longest_ms checkpoint_s recovery_s "
    "checkpoints pause_ms objects bytes copied updates_per_s",
}
"""Columns that the tables must have, by name in the order in which they are written."""
DEFAULT_RATE, DEFAULT_SKEW = 64_000, 0.8
"""Updates per tick of the sweep over skews, and skew of the sweep over update rates."""
STATED, VARIED = "as stated", "varied"
"""Names of the default readings, and of a case whose runs each have their own name of a reading."""
PLACES: dict[str, tuple[dict[str, Any], Readings]] = {
    "scrambled rows": ({"is_scrambled": True}, Readings()),
    "scrambled rows, updates over the tick": ({"is_scrambled": True}, Readings(updates_at="spread")),
    "a column's cells together": ({"by_column": True}, Readings()),
}
"""Readings of the places of rows and columns in the state, by name, with the changed parameters of `ZipfTrace` and the readings
that go with them.
"""
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    STATED: ({}, {}),
    "GB/s and MB/s": ({"memory_unit": "GB/s"}, {}),
    "GiB/s and MiB/s": ({"disk_unit": "MiB/s"}, {}),
    "updates over the tick": ({}, {"updates_at": "spread"}),
    "locks of written objects": ({}, {"locks": "written"}),
    "every first touch copies": ({}, {"copies": "touched"}),
    "every first touch copies, locks of written objects": ({}, {"copies": "touched", "locks": "written"}),
    "written, not whole ticks": ({}, {"lasts": "written"}),
    "writes progress in overheads": ({}, {"writes": "always"}),
    "nothing on the disk at first": ({}, {"starts": "dirty"}),
    **{f"C = {count}": ({}, {"full_every": count}) for count in (5, 8, 9, 12, 20)},
    **{f"O_mem = {ns} ns": ({"copy_start_ns": ns}, {}) for ns in (50, 200)},
}
"""Readings other than the default, by name, with the changed parameters of `Costs` and of `Readings`. Each changes one thing."""


class Case(NamedTuple):
    """One simulation of a sweep: an input that is made once for all runs of the simulator that it is fed to."""

    sweeps: tuple[str, ...]
    """Names of the sweeps that use the simulation: rate, skew, anchor, game or readings."""
    reading: str
    """Name of the reading of all runs, or VARIED if each run has its own."""
    source: Input
    runs: Sequence[tuple[str, Simulation]]
    """Runs with the names of their readings."""
    ticks: int


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep as three tables, from which the report draws its figures.

    `runs` has one row for each sweep, input, reading and algorithm. The other tables refer to its column `run`, and have rows
    only for runs with the default readings.
    """

    runs: pd.DataFrame
    """The columns are run, sweep (rate, skew, anchor, game or readings), reading, rate, skew, updates_per_tick (as counted),
    algorithm, ticks, overhead_ms (mean), longest_ms (longest overhead of a tick), checkpoint_s, recovery_s (means), checkpoints
    (number), pause_ms, objects, bytes, copied (means per checkpoint) and updates_per_s (speed of the simulator).
    """
    ticks: pd.DataFrame
    """The columns are run, tick, overhead_ms and length_ms."""
    checkpoints: pd.DataFrame
    """The columns are run, tick, begin_s, end_s, pause_ms, objects, bytes, copied, is_full and recovery_s."""


def cases(
    *,
    rates: Sequence[int],
    skews: Sequence[float],
    units: int,
    ticks: int,
    readings_ticks: int,
    anchors: Sequence[int],
    seed: int,
) -> list[Case]:
    """Plans the simulations of the study: each input with the runs that it is fed to, those with the most work first.

    `rates` and `anchors`, the rates at which the paper gives numbers, are in updates per tick at the default skew, and `skews`
    are at the default rate. If two sweeps share a rate and a skew, one input serves both. Readings other than the default are
    tried at the rates of `anchors` and at the highest rate, over `readings_ticks` instead of `ticks`. `units` is the size of the
    game.
    """
    stated = [(STATED, Simulation(algorithm)) for algorithm in ALGORITHMS]
    varied = [
        (name, Simulation(algorithm, Costs(**costs), Readings(**readings)))
        for name, (costs, readings) in VARIANTS.items()
        for algorithm in ALGORITHMS
    ]
    names_of: dict[tuple[int, float], tuple[str, ...]] = {}
    for sweep_name, points in (
        ("rate", [(rate, DEFAULT_SKEW) for rate in rates]),
        ("skew", [(DEFAULT_RATE, skew) for skew in skews]),
        ("anchor", [(rate, DEFAULT_SKEW) for rate in anchors]),
    ):
        for point in points:
            names_of[point] = (*names_of.get(point, ()), sweep_name)
    made = [Case(names, STATED, ZipfTrace(rate, skew, seed), stated, ticks) for (rate, skew), names in names_of.items()]
    made.append(Case(("game",), STATED, GameTrace(seed, units), stated, ticks))
    for rate in sorted({*anchors, max(rates)}):
        made.append(Case(("readings",), VARIED, ZipfTrace(rate, DEFAULT_SKEW, seed), varied, readings_ticks))
        for name, (places, readings) in PLACES.items():
            placed = [(name, Simulation(algorithm, readings=readings)) for algorithm in ALGORITHMS]
            made.append(Case(("readings",), name, ZipfTrace(rate, DEFAULT_SKEW, seed, **places), placed, readings_ticks))
    return sorted(made, key=lambda case: -_expected_updates(case))


def _expected_rate(case: Case) -> float:
    return float(case.source.updates_per_tick if isinstance(case.source, ZipfTrace) else 4 * DEFAULT_RATE)


def _expected_updates(case: Case) -> float:
    return _expected_rate(case) * case.ticks * len(case.runs)


def _expected_work(case: Case) -> float:
    """Returns the rough work of a case, in the time that one update of its input takes to make.

    A run works for each object that changes in a tick, and the number of objects grows slowly with the number of updates.
    """
    rate = _expected_rate(case)
    return float(case.ticks * (rate + len(case.runs) * 350 * rate**0.3))


def sweep(made: Sequence[Case], *, cores: int, say: Callable[[str], None], part: int = 1, parts: int = 1) -> Sweep:
    """Simulates one part of all cases, first those with the default readings, and collects the results in tables.

    As many cases as `cores` are simulated at the same time. `say` is given a line about the speed after the default readings and
    after the others. The parts are counted from 1, and `gather` puts them together. Raises TickdiskError if there are more parts
    than cases with the default readings.
    """
    usual = [case for case in made if case.reading == STATED]
    if not 1 <= part <= parts <= len(usual):
        raise TickdiskError(f"there is no part {part} of {parts}; there can be 1 to {len(usual)} parts, which are counted from 1")
    others = [case for case in made if case.reading != STATED]
    numbers = count()
    shares: list[list[tuple[Case, list[int]]]] = [[] for _ in range(parts)]
    free = [(0.0, number) for number in range(parts)]
    for case in (*usual, *others):  # The part with the least work so far gets the next case.
        work, number = heapq.heappop(free)
        shares[number].append((case, [next(numbers) for _ in case.runs]))
        heapq.heappush(free, (work + _expected_work(case), number))
    numbered = shares[part - 1]
    results: list[tuple[Case, list[int], list[Outcome]]] = []
    for what, own in (
        ("update rates, skews and the game", [(case, runs) for case, runs in numbered if case.reading == STATED]),
        ("other readings", [(case, runs) for case, runs in numbered if case.reading != STATED]),
    ):
        started = perf_counter()
        with ThreadPoolExecutor(cores) as pool:
            outcomes = list(
                pool.map(lambda one: simulate(one[0].source, [run for _, run in one[0].runs], ticks=one[0].ticks), own)
            )
        total = sum(outcome.updates for of_case in outcomes for outcome in of_case) / 1e6
        say(f"{what}: {total:,.0f} million updates, counted once per run, in {perf_counter() - started:.1f} s on {cores} cores")
        results += [(case, runs, of_case) for (case, runs), of_case in zip(own, outcomes, strict=True)]
    return _tables(results)


def gather(folders: Sequence[Path]) -> Sweep:
    """Puts the parts of a sweep together, from the folders into which `write_sweep` wrote them."""
    parts = [read_sweep(folder) for folder in folders]
    whole = {name: pd.concat([getattr(part, name) for part in parts], ignore_index=True) for name in _TABLES}
    return Sweep(**{name: rows.sort_values("run", kind="stable", ignore_index=True) for name, rows in whole.items()})


def _tables(results: Iterable[tuple[Case, Sequence[int], Sequence[Outcome]]]) -> Sweep:
    rows, ticks, checkpoints = [], [], []
    for case, numbers, outcomes in results:
        for (name, _), number, outcome in zip(case.runs, numbers, outcomes, strict=True):
            reading = name if case.reading == VARIED else case.reading
            rows += [{"run": number, "sweep": member, "reading": reading, **_described(case, outcome)} for member in case.sweeps]
            if case.reading == STATED:
                ticks.append(outcome.ticks.rename_axis("tick").reset_index().assign(run=number))
                checkpoints.append(outcome.checkpoints.assign(run=number))
    return Sweep(pd.DataFrame(rows), pd.concat(ticks, ignore_index=True), pd.concat(checkpoints, ignore_index=True))


def _described(case: Case, outcome: Outcome) -> dict[str, Any]:
    zipf = case.source if isinstance(case.source, ZipfTrace) else None
    means = outcome.checkpoints[["pause_ms", "objects", "bytes", "copied"]].mean()
    return {
        "rate": zipf.updates_per_tick if zipf else None,
        "skew": zipf.skew if zipf else None,
        "updates_per_tick": outcome.updates / case.ticks,
        "algorithm": outcome.run.algorithm,
        "ticks": case.ticks,
        "overhead_ms": outcome.overhead_ms,
        "longest_ms": float(outcome.ticks["overhead_ms"].max()),
        "checkpoint_s": outcome.checkpoint_s,
        "recovery_s": outcome.recovery_s,
        "checkpoints": len(outcome.checkpoints),
        **{str(name): float(value) for name, value in means.items()},
        "updates_per_s": outcome.updates / max(1, outcome.nanoseconds) * 1e9,
    }


def write_sweep(tables: Sweep, folder: Path) -> None:
    """Writes the tables as `checkpoints.parquet`, `ticks.parquet` and, at last, `runs.parquet`, each only when it is whole."""
    table.write_tables(folder, {name: getattr(tables, name) for name in _TABLES})


def read_sweep(folder: Path) -> Sweep:
    """Reads tables that `write_sweep` wrote. Raises TickdiskError if a file is missing, or has other columns."""
    return Sweep(**table.read_tables(folder, _TABLES, "run `tickdisk checkpoint sweep`"))
