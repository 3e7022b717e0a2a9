"""The real algorithms against their simulation with this machine's parameters, over update rates: the paper's validation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import pandas as pd

from tickdisk import checkpoint
from tickdisk.checkpoint import Readings, Run, State, ZipfTrace
from tickdisk.store.life import Life, Setting, live
from tickdisk.store.machine import Machine, measure_machine

REAL = Readings(locks="written", writes="always", starts="dirty", lasts="written")
"""How the real ones do what the paper leaves open."""
WARM_UP_S = 2.0


def compare(
    folder: Path,
    *,
    state: State,
    rates: Sequence[int],
    ticks: int,
    tick_hz: float = 30,
    seed: int = 42,
    algorithms: Sequence[str] = checkpoint.ALGORITHMS,
    say: Callable[[str], None] = print,
) -> tuple[Machine, pd.DataFrame]:
    """Returns the machine, and a row for each rate and algorithm: rate, algorithm, real_ms, model_ms, aware_ms, longest_real_ms,
    longest_model_ms, checkpoint_real_s, checkpoint_model_s, memory_bytes.

    Overheads are means over ticks, in ms: what a tick takes more than one of a life without checkpoints on the same updates, and
    what the cost model says with parameters as the paper measures them (model) and with memory that is not in the cache (aware).
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="tickdisk-compare-", dir=folder) as own:
        return _compare(Path(own), state, rates, ticks, tick_hz, seed, algorithms, say)


def _compare(
    folder: Path,
    state: State,
    rates: Sequence[int],
    ticks: int,
    tick_hz: float,
    seed: int,
    algorithms: Sequence[str],
    say: Callable[[str], None],
) -> tuple[Machine, pd.DataFrame]:
    machine = measure_machine(state, folder)
    costs = [machine.costs(tick_hz=tick_hz, object_bytes=state.object_bytes, cached=cached) for cached in (True, False)]
    rows = []
    for rate in rates:
        trace = ZipfTrace(rate, seed=seed, state=state)
        setting = Setting("naive_snapshot", folder / "store", trace, ticks=ticks, tick_hz=tick_hz, full_every=REAL.full_every)
        bare = _settled(_live(replace(setting, has_checkpoints=False)))
        for name in algorithms:
            life = _live(replace(setting, algorithm=name))
            real_ms = _overhead_ms(life, bare)
            row = {"rate": rate, "algorithm": name, "real_ms": real_ms.mean(), "longest_real_ms": real_ms.max()}
            row["checkpoint_real_s"] = _settled_checkpoints_s(life)
            row["memory_bytes"] = life.memory_bytes
            if name in checkpoint.ALGORITHMS:
                model, aware = checkpoint.simulate(trace, [Run(name, one, REAL) for one in costs], ticks=ticks)
                from_tick = len(model.ticks) - len(real_ms)
                row["model_ms"] = model.ticks["overhead_ms"][from_tick:].mean()
                row["longest_model_ms"] = model.ticks["overhead_ms"][from_tick:].max()
                row["aware_ms"] = aware.ticks["overhead_ms"][from_tick:].mean()
                row["checkpoint_model_s"] = model.checkpoint_s
            rows.append(row)
            say(", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in row.items()))
    return machine, pd.DataFrame(rows)


def summary(found: pd.DataFrame) -> Iterator[str]:
    """Yields a line for each algorithm that the cost model knows: rank correlation over rates, and the model over the real."""
    for name in checkpoint.ALGORITHMS:
        rows = found[found["algorithm"] == name]
        ranks = rows["real_ms"].rank().corr(rows["aware_ms"].rank())
        ratios = {column: rows[column] / rows["real_ms"] for column in ("model_ms", "aware_ms")}
        spans = [f"{own.min():.2f} to {own.max():.2f}" for own in ratios.values()]
        yield f"{name:28} rank correlation {ranks:.2f}; model over real {spans[0]}, with memory out of the cache {spans[1]}"


def _live(setting: Setting) -> Life:
    """In a new world, which is removed again."""
    try:
        return live(setting)
    finally:
        rmtree(setting.folder)


def _settled(life: Life) -> pd.DataFrame:
    """The ticks after the first seconds, in which pages are touched for the first time."""
    since_ns = life.ticks["begin_ns"] - life.ticks["begin_ns"].iloc[0]
    settled: pd.DataFrame = life.ticks[since_ns >= 1e9 * WARM_UP_S]
    return settled


def _overhead_ms(life: Life, bare: pd.DataFrame) -> pd.Series:
    """Of each tick: its updates and its pause, less what the updates take by themselves on average."""
    own = _settled(life)
    return (own["update_ns"] + own["pause_ns"] - bare["update_ns"].mean()) / 1e6


def _settled_checkpoints_s(life: Life) -> float:
    made = life.checkpoints
    return float((made["end_ns"] - made["begin_ns"]).iloc[1:].mean() / 1e9)
