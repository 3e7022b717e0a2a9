"""Trials: what an algorithm adds to the ticks of a real life.

The memory of a machine that others share is by a third faster or slower from one half minute to the next, so nothing is held
against another life. In every tick the same updates are also played on a shadow, a state that no algorithm keeps; and a life's
checkpoints rest now and then, which tells how much slower even the shadow's updates are while a checkpoint is written.
"""

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.checkpoint import State, ZipfTrace
from tickdisk.store.life import Life, Setting, live
from tickdisk.store.recovery import recover

SLOT_BYTES = 528
"""Of an object on the disk, with its number and checksum."""
SETTLING = 2
"""So many checkpoints after a rest have more to write than those that follow: there are two images."""


@dataclass(frozen=True)
class Design:
    """Which lives are played, and how."""

    folder: Path
    """On the disk to be tried; every life gets a new world in it, which is removed again."""
    state: State
    rates: Sequence[int]
    algorithms: Sequence[str]
    skew: float = 0.8
    one_by_one: bool = False
    """Whether every update is handed to the store by itself, as the paper's framework has it, and not all of a tick at once."""
    tick_hz: float = 30
    warm_up_s: float = 2
    """Not counted: pages are touched for the first time, caches fill. Its end is that of a cycle as those that follow."""
    save_s: float = 2.4
    """After it checkpoints begin for so long, one after the other; at least four must fit,"""
    rest_s: float = 0.8
    """and for so long none does, which must be longer than a checkpoint takes,"""
    cycles: int = 2
    """so often."""
    lives: int = 1
    """Of each algorithm at each rate, each on updates of its own."""
    seed: int = 42
    full_every: int = 10

    def trace(self, rate: int, life: int = 0) -> ZipfTrace:
        """Returns the updates of a life at a rate."""
        return ZipfTrace(rate, self.skew, 1000 * self.seed + life, state=self.state)

    @property
    def warm_up_ticks(self) -> int:
        """Which do not count."""
        return round(self.warm_up_s * self.tick_hz)

    @property
    def save_ticks(self) -> int:
        """In which checkpoints begin."""
        return max(1, round(self.save_s * self.tick_hz))

    @property
    def cycle_ticks(self) -> int:
        """In which checkpoints begin, and rest."""
        return self.save_ticks + max(1, round(self.rest_s * self.tick_hz))

    @property
    def ticks(self) -> int:
        """Of each life."""
        return self.warm_up_ticks + self.cycles * self.cycle_ticks


def trials(design: Design, say: Callable[[str], None]) -> pd.DataFrame:
    """Returns a row a life: rate, life, algorithm, ticks (counted), whole (checkpoints in them); added_ms (mean over ticks of
    what keeping the world added to them: their updates and pauses, less the updates of the shadow while checkpoints rest), own_ms
    (of that, what the algorithm does: less the shadow's updates of the same tick), beside_ms (of that, the rest: what the
    shadow's updates take longer), slower (the share by which the shadow's updates take longer in ticks that began while a
    checkpoint was being written), null_ms (what the algorithm's updates take longer than the shadow's while checkpoints rest:
    its code, and its dirty bits), longest_ms (the most that it added to one tick), pause_ms (the longest pause at the beginning
    of a checkpoint), bare_ms (the shadow's updates of a tick while checkpoints rest); of a checkpoint on average: checkpoint_s,
    objects, bytes, pass_ns (of an object until it was written); recovery_s (from the end of the life, with nothing of the store
    in the page cache), memory_bytes (the most of the process, without the shadow; of fork with as much again as the state, which
    is the most that its child can keep of it).

    Lives come in blocks (see `interleaved`). The log of actions is not in added_ms. The game's thread spins between
    ticks: a core that sleeps comes back slower, and it sleeps more where nobody writes checkpoints. NaN where too few checkpoints
    fit between rests, or none of the ticks of a rest was free of them: give longer ones.
    """
    return interleaved([design], say)[0]


def interleaved(designs: Sequence[Design], say: Callable[[str], None]) -> list[pd.DataFrame]:
    """Returns the trials of each design (see `trials`), sorted by rate and life. They are played in blocks: a life of each
    algorithm at each rate of each design, in an order drawn anew, then the next life of all, so that the machine's drift is in
    all of them alike, and shows between the lives of each.
    """
    tables: list[list[dict[str, Any]]] = [[] for _ in designs]
    for life in range(max(design.lives for design in designs)):
        block = [
            (number, rate, name)
            for number, design in enumerate(designs)
            if life < design.lives
            for rate, name in product(design.rates, design.algorithms)
        ]
        random.Random(f"{designs[0].seed} {life}").shuffle(block)  # noqa: S311 - nothing secret
        for number, rate, name in block:
            design = designs[number]
            lived = _live(design, name, design.trace(rate, life))
            row = {"rate": rate, "life": life, "algorithm": name, **summed_up(*lived, design)}
            tables[number].append(row)
            say(
                f"{rate:>7,} updates per tick, {name:28} added {row['added_ms']:7.3f} ms, longest {row['longest_ms']:7.2f} ms, "
                f"checkpoint {row['checkpoint_s']:6.3f} s"
            )
    return [pd.DataFrame(rows).sort_values(["rate", "life"], kind="stable", ignore_index=True) for rows in tables]


def _live(design: Design, algorithm: str, updates: ZipfTrace) -> tuple[Life, float]:
    """In a new world, which is removed again; with the seconds that recovering it took."""
    with TemporaryDirectory(prefix="tickdisk-trial-", dir=design.folder) as folder:
        setting = Setting(
            algorithm,
            Path(folder),
            updates,
            ticks=design.ticks,
            tick_hz=design.tick_hz,
            full_every=design.full_every,
            spins=True,
            one_by_one=design.one_by_one,
            save_from=design.warm_up_ticks,
            save_ticks=design.save_ticks,
            rest_ticks=design.cycle_ticks - design.save_ticks,
            has_shadow=True,
        )
        life = live(setting)
        for path in setting.folder.iterdir():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        found = recover(setting.folder, setting.cells)
        return life, found.restore_s + found.replay_s


def summed_up(life: Life, recovery_s: float, design: Design) -> dict[str, Any]:
    """Returns what `trials` says of a life."""
    ticks, made = life.ticks, life.checkpoints
    saving, written, resting = phases(ticks, made, design)
    update_ms, shadow_ms = (ticks[name].to_numpy() / 1e6 for name in ("update_ns", "shadow_ns"))
    own_ms = update_ms + ticks["pause_ns"].to_numpy() / 1e6 - shadow_ms
    bare_ms = _mean(shadow_ms[resting])
    beside_ms = _mean(shadow_ms[saving]) - bare_ms
    state_bytes = design.state.objects * design.state.object_bytes
    settled = made[made["tick"].isin(ticks["tick"][saving])]
    objects = float(settled["objects"].mean())
    return {
        "ticks": int(saving.sum()),
        "whole": len(settled),
        "added_ms": _mean(own_ms[saving]) + beside_ms,
        "own_ms": _mean(own_ms[saving]),
        "beside_ms": beside_ms,
        "slower": _mean(shadow_ms[written]) / bare_ms - 1,
        "null_ms": _mean((update_ms - shadow_ms)[resting]),
        "longest_ms": float(own_ms[saving].max()) + beside_ms if saving.any() else math.nan,
        "pause_ms": float(ticks["pause_ns"][saving].max() / 1e6),
        "bare_ms": bare_ms,
        "checkpoint_s": float((settled["end_ns"] - settled["begin_ns"]).mean() / 1e9),
        "objects": objects,
        "bytes": objects * SLOT_BYTES,
        "pass_ns": float(settled["write_ns"].sum() / settled["objects"].sum()) if len(settled) else math.nan,
        "recovery_s": recovery_s,
        "memory_bytes": life.memory_bytes - (0 if life.setting.algorithm == "fork" else state_bytes),
    }


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else math.nan


_Mask = npt.NDArray[np.bool_]


def phases(ticks: pd.DataFrame, made: pd.DataFrame, design: Design) -> tuple[_Mask, _Mask, _Mask]:
    """Returns which ticks count as saving, in which of these a checkpoint was being written as they began, and which rest.

    Of each time in which checkpoints begin, whole ones: from the end of the tick at which the third begins to that at which the
    last does; nothing where there are fewer than four. Of each rest, the ticks at whose beginning no checkpoint was being
    written.
    """
    index = np.arange(len(ticks))
    in_save = (index - design.warm_up_ticks) % design.cycle_ticks < design.save_ticks
    saving = np.zeros(len(ticks), dtype=bool)
    number = ticks["tick"].to_numpy()
    for first in range(design.warm_up_ticks, len(ticks), design.cycle_ticks):
        own = (index >= first) & (index < first + design.save_ticks)
        begun = made.loc[made["tick"].isin(number[own]), "tick"].to_numpy()
        if len(begun) > SETTLING + 1:
            saving |= own & (number > begun[SETTLING]) & (number <= begun[-1])
    begins = ticks["begin_ns"].to_numpy()
    # Of those that began before a tick only the last can still be written then.
    ends = np.append(-1, made["end_ns"].to_numpy())[np.searchsorted(made["begin_ns"].to_numpy(), begins)]
    is_free = ends <= begins
    return saving, saving & ~is_free, (index >= design.warm_up_ticks) & ~in_save & is_free
