"""The sweep behind every figure of the study: update rates, skews and the game; each input is made once and fed to all."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tickdisk.checkpoint.inputs import GameTrace, Input, ZipfTrace
from tickdisk.checkpoint.model import ALGORITHMS, Costs, Readings
from tickdisk.checkpoint.published import PublishedCheckpoint
from tickdisk.checkpoint.simulate import Outcome, Run, simulate
from tickdisk.errors import TickdiskError
from tickdisk.files import whole

SCHEMA_VERSION = "1"
TABLES = ("runs", "ticks", "checkpoints")
DEFAULT_RATE, DEFAULT_SKEW = 64_000, 0.8
STATED, VARIED = "as stated", "varied"
PLACES: dict[str, tuple[dict[str, Any], Readings]] = {
    "scrambled rows": ({"is_scrambled": True}, Readings()),
    "scrambled rows, updates over the tick": ({"is_scrambled": True}, Readings(updates_at="spread")),
    "a column's cells together": ({"by_column": True}, Readings()),
}
"""Readings of where rows and columns lie in the state, by name: what changes in ZipfTrace, and with which other readings."""
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
"""Readings other than those stated, one thing changed at a time, by name: what changes in Costs and in Readings."""


class Case(NamedTuple):
    """An input, which sweeps it belongs to, and the runs that it is fed to."""

    sweeps: tuple[str, ...]
    reading: str
    source: Input
    runs: Sequence[tuple[str, Run]]
    ticks: int


@dataclass(frozen=True)
class Sweep:
    """What the sweep gives; `runs` has a row for each input, reading and algorithm, the others belong to its `run`."""

    runs: pd.DataFrame
    """run, sweep (rate, skew, anchor, game, readings), reading, rate, skew, updates_per_tick (as found), algorithm, ticks,
    overhead_ms, longest_ms, checkpoint_s, recovery_s, checkpoints, pause_ms, objects, bytes, copied (per checkpoint),
    updates_per_s (simulated)."""
    ticks: pd.DataFrame
    """run, tick, overhead_ms, length_ms; of the readings as stated."""
    checkpoints: pd.DataFrame
    """run, tick, begin_s, end_s, pause_ms, objects, bytes, copied, is_full, recovery_s; of the readings as stated."""


def anchor_rates(published: PublishedCheckpoint) -> list[int]:
    """Returns the update rates at which something was published."""
    rates = {each.updates_per_tick for each in (published.log, published.half_tick, published.eager)}
    return sorted(rates | {crossing.updates_per_tick for crossing in published.crossovers})


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
    """Returns the inputs of the sweep, those with the most updates first.

    One input serves both sweeps where they cross; readings other than those stated are tried at the anchors' rates over
    fewer ticks.
    """
    stated = [(STATED, Run(algorithm)) for algorithm in ALGORITHMS]
    varied = [
        (name, Run(algorithm, Costs(**costs), Readings(**readings)))
        for name, (costs, readings) in VARIANTS.items()
        for algorithm in ALGORITHMS
    ]
    found: dict[tuple[int, float], tuple[str, ...]] = {}
    for sweep_name, points in (
        ("rate", [(rate, DEFAULT_SKEW) for rate in rates]),
        ("skew", [(DEFAULT_RATE, skew) for skew in skews]),
        ("anchor", [(rate, DEFAULT_SKEW) for rate in anchors]),
    ):
        for point in points:
            found[point] = (*found.get(point, ()), sweep_name)
    made = [Case(names, STATED, ZipfTrace(rate, skew, seed), stated, ticks) for (rate, skew), names in found.items()]
    made.append(Case(("game",), STATED, GameTrace(seed, units), stated, ticks))
    for rate in sorted({*anchors, max(rates)}):
        made.append(Case(("readings",), VARIED, ZipfTrace(rate, DEFAULT_SKEW, seed), varied, readings_ticks))
        for name, (places, readings) in PLACES.items():
            placed = [(name, Run(algorithm, readings=readings)) for algorithm in ALGORITHMS]
            made.append(Case(("readings",), name, ZipfTrace(rate, DEFAULT_SKEW, seed, **places), placed, readings_ticks))
    return sorted(made, key=lambda case: -_expected_updates(case))


def _expected_updates(case: Case) -> float:
    rate = case.source.updates_per_tick if isinstance(case.source, ZipfTrace) else 4 * DEFAULT_RATE
    return float(rate) * case.ticks * len(case.runs)


def sweep(made: Sequence[Case], *, cores: int, say: Callable[[str], None]) -> Sweep:
    """Returns the outcomes of all cases, those of the stated readings first; as many at a time as there are cores."""
    results: list[tuple[Case, list[Outcome]]] = []
    for what, own in (
        ("update rates, skews and the game", [case for case in made if case.reading == STATED]),
        ("other readings", [case for case in made if case.reading != STATED]),
    ):
        started = perf_counter()
        with ThreadPoolExecutor(cores) as pool:
            outcomes = list(pool.map(lambda case: simulate(case.source, [run for _, run in case.runs], ticks=case.ticks), own))
        total = sum(outcome.updates for found in outcomes for outcome in found) / 1e6
        say(f"{what}: {total:,.0f} million updates, counted once a run, in {perf_counter() - started:.1f} s on {cores} cores")
        results += zip(own, outcomes, strict=True)
    return _tables(results)


def _tables(results: Iterable[tuple[Case, Sequence[Outcome]]]) -> Sweep:
    rows, ticks, checkpoints = [], [], []
    numbers = count()
    for case, outcomes in results:
        for (name, _), outcome in zip(case.runs, outcomes, strict=True):
            number = next(numbers)
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


def write_sweep(found: Sweep, folder: Path) -> None:
    """Writes the tables as `runs.parquet`, `ticks.parquet` and `checkpoints.parquet`, each whole or not at all; `runs` last."""
    for name in reversed(TABLES):
        arrow = pa.Table.from_pandas(getattr(found, name), preserve_index=False)
        metadata = {b"schema_version": SCHEMA_VERSION.encode(), b"table": f"checkpoint_{name}".encode()}
        with whole(folder / f"{name}.parquet") as partial:
            pq.write_table(
                arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), **metadata}), partial, compression="zstd"
            )


def read_sweep(folder: Path) -> Sweep:
    """Returns the tables in a folder; TickdiskError names the file that is missing or of another version."""
    tables = {}
    for name in TABLES:
        path = folder / f"{name}.parquet"
        try:
            arrow = pq.read_table(path)
        except (FileNotFoundError, pa.ArrowInvalid) as error:
            raise TickdiskError(f"{path} is missing or not Parquet; run `tickdisk checkpoint sweep`") from error
        if (arrow.schema.metadata or {}).get(b"schema_version") != SCHEMA_VERSION.encode():
            raise TickdiskError(f"{path} is of another version; run `tickdisk checkpoint sweep` again")
        tables[name] = arrow.to_pandas()
    return Sweep(**tables)
