"""Trials: what an algorithm adds to the ticks of a real life.

The memory of a machine that others share is by a third faster or slower from one half minute to the next, so nothing is held
against another life. In every tick the same updates are also played on a shadow, a state that no algorithm keeps; and a life's
checkpoints rest now and then, which tells how much slower even the shadow's updates are while a checkpoint is written.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.checkpoint import State, ZipfTrace
from tickdisk.errors import TickdiskError
from tickdisk.store.life import Life, Setting, live
from tickdisk.store.recovery import recover

SLOT_BYTES = 528
"""Of an object on the disk, with its number and checksum."""
_SETTLING = 2
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
    tick_hz: float = 30
    warm_up_s: float = 2
    """Not counted: pages are touched for the first time, caches fill."""
    save_s: float = 2.4
    """After the warm-up checkpoints begin for so long,"""
    rest_s: float = 0.8
    """and rest for so long,"""
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

    @property
    def counted(self) -> int:
        """The last ticks of a life, which count."""
        return self.cycles * self.cycle_ticks


def trials(design: Design, say: Callable[[str], None]) -> pd.DataFrame:
    """Returns a row a life: rate, life, algorithm, ticks (counted); added_ms (mean over ticks of what the algorithm added to
    them), beside_ms (of that, what the updates by themselves take longer while a checkpoint is written), longest_ms (the most
    that it added to one), pause_ms (the longest pause at the beginning of a checkpoint), bare_ms (the updates of a tick while
    checkpoints rest); of a checkpoint on average: checkpoint_s, objects, bytes, pass_ns (of an object until it was written);
    checkpoints, recovery_s (with nothing of the store in the page cache), memory_bytes (the most of the process, without the
    shadow).

    The game's thread spins between ticks: a core that sleeps comes back slower, and it sleeps more where nobody writes
    checkpoints.
    """
    rows: list[dict[str, Any]] = []
    for rate, life in product(design.rates, range(design.lives)):
        setting = Setting(
            "naive_snapshot",
            design.folder / "store",
            design.trace(rate, life),
            ticks=design.ticks,
            tick_hz=design.tick_hz,
            full_every=design.full_every,
            spins=True,
            save_from=design.warm_up_ticks,
            save_ticks=design.save_ticks,
            rest_ticks=design.cycle_ticks - design.save_ticks,
            has_shadow=True,
        )
        for name in design.algorithms:
            row = {"rate": rate, "life": life, "algorithm": name, **_row(*_live(replace(setting, algorithm=name)), design)}
            rows.append(row)
            say(
                f"{rate:>7,} updates per tick, {name:28} added {row['added_ms']:7.3f} ms, longest {row['longest_ms']:7.2f} ms, "
                f"checkpoint {row['checkpoint_s']:6.3f} s"
            )
    return pd.DataFrame(rows)


def _live(setting: Setting) -> tuple[Life, float]:
    """In a new world, which is removed again; with the seconds that recovering it took."""
    try:
        life = live(setting)
        for path in setting.folder.iterdir():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)
        found = recover(setting.folder, setting.cells)
        return life, found.restore_s + found.replay_s
    finally:
        rmtree(setting.folder)


def _row(life: Life, recovery_s: float, design: Design) -> dict[str, Any]:
    ticks, made = life.ticks, life.checkpoints
    saving, resting = phases(ticks, made, design)
    shadow_ms = ticks["shadow_ns"].to_numpy() / 1e6
    own_ms = (ticks["update_ns"] + ticks["pause_ns"]).to_numpy() / 1e6 - shadow_ms
    beside_ms = float(shadow_ms[saving].mean() - shadow_ms[resting].mean())
    state_bytes = design.state.objects * design.state.object_bytes
    settled = made[made["tick"].isin(ticks["tick"][saving])]
    return {
        "ticks": int(saving.sum()),
        "added_ms": float(own_ms[saving].mean()) + beside_ms,
        "beside_ms": beside_ms,
        "longest_ms": float(own_ms[saving].max()) + beside_ms,
        "pause_ms": float(ticks["pause_ns"][saving].max() / 1e6),
        "bare_ms": float(shadow_ms[resting].mean()),
        "checkpoints": len(settled),
        "checkpoint_s": float((settled["end_ns"] - settled["begin_ns"]).mean() / 1e9),
        "objects": float(settled["objects"].mean()),
        "bytes": float(settled["objects"].mean() * SLOT_BYTES),
        "pass_ns": float(settled["write_ns"].sum() / max(1, settled["objects"].sum())),
        "recovery_s": recovery_s,
        "memory_bytes": life.memory_bytes - state_bytes,
    }


def phases(ticks: pd.DataFrame, made: pd.DataFrame, design: Design) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Returns which ticks count as saving, and which as resting.

    Of each time in which checkpoints begin, whole ones: from the end of the tick at which the third begins to that at which the
    last does; all of it where there are too few. Of each rest, the ticks at whose beginning no checkpoint was being written.
    TickdiskError when a rest has none.
    """
    index = np.arange(len(ticks))
    counts = index >= design.warm_up_ticks
    in_save = (index - design.warm_up_ticks) % design.cycle_ticks < design.save_ticks
    saving = np.zeros(len(ticks), dtype=bool)
    number = ticks["tick"].to_numpy()
    for first in range(design.warm_up_ticks, len(ticks), design.cycle_ticks):
        own = (index >= first) & (index < first + design.save_ticks)
        begun = made.loc[made["tick"].isin(number[own]), "tick"].to_numpy()
        whole = (number > begun[_SETTLING]) & (number <= begun[-1]) if len(begun) > _SETTLING + 1 else True
        saving |= own & whole
    begins = ticks["begin_ns"].to_numpy()
    # The last checkpoint that began before a tick is the only one that can still be written then.
    last = np.searchsorted(made["begin_ns"].to_numpy(), begins) - 1
    is_beside = (last >= 0) & (made["end_ns"].to_numpy()[np.maximum(last, 0)] > begins)
    resting = counts & ~in_save & ~is_beside
    if not resting.any():
        raise TickdiskError(
            f"{design.folder}: checkpoints take longer than the rest of {design.rest_s:g} s between them; give longer ones"
        )
    return saving, resting
