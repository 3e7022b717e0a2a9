"""Trials, which measure the time that an algorithm adds to the ticks of a real life.

On a shared machine the speed of the memory changes by a third from one half minute to the next, so a life is not compared with
another life. Instead, each tick also plays the same updates on a shadow, a state that no algorithm keeps. A life also has rests,
in which no checkpoint begins. They show by how much even the shadow's updates are slower while a checkpoint is being written.
"""

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.foundation import temporary
from tickdisk.saving.checkpoint import State, ZipfTrace
from tickdisk.saving.store.life import Setting, StoreLife, live
from tickdisk.saving.store.recovery import recover

SLOT_BYTES = 528
"""Size of an object on the disk with its number and checksum."""
SETTLING = 2
"""Number of checkpoints after a rest that are not counted. They have more to write than later checkpoints, because a double
backup has two images and each of them missed the rest.
"""


@dataclass(frozen=True)
class TrialDesign:
    """The design of trials: the algorithms, the update rates, and the parts of each life.

    A life begins with a part that is not counted. Then come cycles, each of which has a time with checkpoints and a rest.
    """

    folder: Path
    """Folder on the disk to be tried. Every life has a new store in it, which is removed afterwards."""
    state: State
    rates: Sequence[int]
    """Update rates in updates per tick."""
    algorithms: Sequence[str]
    skew: float = 0.8
    one_by_one: bool = False
    """Whether each update is handed to the store by itself, as in the paper's framework, or all updates of a tick at once."""
    tick_hz: float = 30
    warm_up_s: float = 2
    """Length of the first part of a life, which is not counted because pages are touched for the first time and caches fill. It
    is the end of a cycle like those that follow, so it ends with a rest.
    """
    save_s: float = 2.4
    """Length of the first part of a cycle, in which one checkpoint begins after another. At least four must fit into it."""
    rest_s: float = 0.8
    """Length of the second part of a cycle, in which no checkpoint begins. It must be longer than a checkpoint takes."""
    cycles: int = 2
    lives: int = 1
    """Number of lives of each algorithm at each rate. Each of them has its own updates."""
    seed: int = 42
    """Seed of the updates and of the order of lives."""
    full_every: int = 10
    """Number of checkpoints per full one, for the algorithms that write a partial log."""

    def trace(self, rate: int, life: int = 0) -> ZipfTrace:
        """Returns the random updates of a life, counted from 0, at a rate in updates per tick. All algorithms get the same."""
        return ZipfTrace(rate, self.skew, 1000 * self.seed + life, state=self.state)

    @property
    def warm_up_ticks(self) -> int:
        """Number of ticks of `warm_up_s`."""
        return round(self.warm_up_s * self.tick_hz)

    @property
    def save_ticks(self) -> int:
        """Number of ticks of `save_s`, at least 1."""
        return max(1, round(self.save_s * self.tick_hz))

    @property
    def cycle_ticks(self) -> int:
        """Number of ticks of a whole cycle: those of `save_ticks`, and those of the rest."""
        return self.save_ticks + max(1, round(self.rest_s * self.tick_hz))

    @property
    def ticks(self) -> int:
        """Number of ticks of a life: those of the first part, and those of all cycles."""
        return self.warm_up_ticks + self.cycles * self.cycle_ticks


def trials(design: TrialDesign, say: Callable[[str], None]) -> pd.DataFrame:
    """Plays the lives of a design and measures the time that each algorithm adds to a tick, with one row per life, by rate and
    life.

    Each round plays one life of each algorithm at each rate, in a random order that is drawn anew. The game's thread spins
    between ticks, because a core that has slept is slower at first, and it would sleep more if no checkpoint is being written.
    `say` is given a line of progress after each life. Raises TickdiskError if a life fails.

    Means are over the counted ticks, which are those of whole checkpoints: from the end of the tick at which the third checkpoint
    of a cycle begins to the end of the tick at which the last begins. Values are NaN if fewer than four checkpoints began in each
    cycle, or if a checkpoint was being written in every tick of the rests. Then `save_s` or `rest_s` must be longer. The columns
    are:

    - rate, life, algorithm
    - ticks: number of counted ticks
    - whole: number of checkpoints that began in them
    - added_ms: mean time that saving the state added to a tick, which is own_ms + beside_ms. The log of actions is not included.
    - own_ms: mean time of the algorithm's updates and pauses, less the shadow's updates of the same tick
    - beside_ms: mean time of the shadow's updates, less bare_ms
    - slower: share by which the shadow's updates exceed bare_ms in ticks that began while a checkpoint was being written
    - null_ms: time by which the algorithm's updates take longer than the shadow's during rests, for its code and its dirty bits
    - longest_ms: longest time that was added to a tick
    - pause_ms: longest pause at the beginning of a checkpoint
    - bare_ms: mean time of the shadow's updates in ticks of rests that began while no checkpoint was being written
    - checkpoint_s, objects, bytes: mean time, number of written objects and number of written bytes of a checkpoint
    - pass_ns: mean time for an object until the writer had handed it to the page cache
    - recovery_s: time of a recovery after the life, with nothing of the store in the page cache
    - memory_bytes: highest memory of the process without the shadow. For fork, the size of the state is added, as its child can
      keep at most that much.
    """
    return interleaved([design], say)[0]


def interleaved(designs: Sequence[TrialDesign], say: Callable[[str], None]) -> list[pd.DataFrame]:
    """Plays the lives of several designs in turn, and returns the trials of each (see `trials`).

    A round has one life of each algorithm at each rate of each design, in a random order that is drawn anew. The machine's drift
    therefore affects all of them alike, and shows as a difference between the lives of each.
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
            row = {"rate": rate, "life": life, "algorithm": name, **life_summary(*lived, design)}
            tables[number].append(row)
            say(
                f"{rate:>7,} updates per tick, {name:28} added {row['added_ms']:7.3f} ms, longest {row['longest_ms']:7.2f} ms, "
                f"checkpoint {row['checkpoint_s']:6.3f} s"
            )
    return [pd.DataFrame(rows).sort_values(["rate", "life"], kind="stable", ignore_index=True) for rows in tables]


def _live(design: TrialDesign, algorithm: str, updates: ZipfTrace) -> tuple[StoreLife, float]:
    """Plays a life in a new store, which is removed afterwards. Returns the life and the time in s of a recovery after it."""
    with temporary.folder(design.folder) as own:
        setting = Setting(
            algorithm,
            own / "store",
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
        state = recover(setting.folder, setting.cells)
        return life, state.restore_s + state.replay_s


def life_summary(life: StoreLife, recovery_s: float, design: TrialDesign) -> dict[str, Any]:
    """Returns the columns of `trials` for one life, without rate, life and algorithm. `recovery_s` is the time of a recovery
    after it.
    """
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


def phases(ticks: pd.DataFrame, made: pd.DataFrame, design: TrialDesign) -> tuple[_Mask, _Mask, _Mask]:
    """Returns three masks of the ticks of a life: counted ticks, counted ticks that began during a write, and resting ticks.

    The counted ticks of a cycle are those of whole checkpoints (see `trials`). A cycle with fewer than four checkpoints has none.
    The second mask has the counted ticks at whose beginning a checkpoint was being written, and the third the ticks of rests at
    whose beginning none was. `ticks` and `made` are the tables of the `StoreLife`.
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
    # Only the last checkpoint that began before a tick can still be in progress at its beginning.
    ends = np.append(-1, made["end_ns"].to_numpy())[np.searchsorted(made["begin_ns"].to_numpy(), begins)]
    is_free = ends <= begins
    return saving, saving & ~is_free, (index >= design.warm_up_ticks) & ~in_save & is_free
