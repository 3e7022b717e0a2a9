"""Lags, times lost and differences between replays, computed once from the tables of replayed requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import device, replay, stats
from tickdisk.errors import TickdiskError
from tickdisk.files import read_json

Floats = npt.NDArray[np.float64]
LIMIT_MS = 1.0
"""The most that p99 of the issuer's lag may be."""
STREAMS = 4
"""The least number of streams that the bound of the lag is for."""
EQUAL_MS = 0.1
"""Mean times of issue that differ by less are equivalent."""
_BATCHES, _SAMPLES = 200, 2000
_LEAST_TENTH = 30
"""With fewer requests in the first and the last tenth a drift is not judged."""


@dataclass(frozen=True)
class Found:
    """A quantile in ms of a number of requests; None where these are too few."""

    quantile: stats.Quantile | None
    n: int


@dataclass(frozen=True)
class Difference:
    """A difference of means in ms with its 95 % interval, and the number of requests that it rests on."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Run:
    """One replay of the captured requests by one tool on one device."""

    described: Mapping[str, Any]
    """The entry of the replay in replay.json."""
    timings: pd.DataFrame
    """One row a request, in the order of due times, as in `tickdisk.replay.log`."""
    quantiles: Mapping[str, Found]
    """By name in facts, such as "lag_p99" and "lag_first_tenth_p99"."""

    @property
    def name(self) -> str:
        """The tool and the device in one word, as tables and figures have it."""
        return str(self.described["name"])

    @property
    def key(self) -> str:
        """The name as it stands in names of facts."""
        return self.name.lower()

    @property
    def device(self) -> str:
        """The name of the device."""
        return str(self.described["device"]["name"])

    @property
    def lag_ms(self) -> Floats:
        """The delay of the issuer that the device did not cause, where that is known."""
        return _known_ms(self.timings["lag_ns"])

    @property
    def lost_ms(self) -> Floats:
        """The delay of the issuer that the device caused, where that is known."""
        return _known_ms(self.timings["lost_ns"])

    @property
    def late_ms(self) -> Floats:
        """Time of issue less due time of every request."""
        return np.asarray(self.timings["issued_ns"] - self.timings["due_ns"], dtype=np.float64) / 1e6

    @property
    def differing(self) -> int:
        """The number of requests whose result is not the captured one."""
        return int(sum(self.described["differing"].values()))


@dataclass(frozen=True)
class Results:
    """The results of the replay."""

    seconds: float
    """The length of the part of the captured life that was replayed."""
    captured: int
    replayed: int
    """The requests of the plan: those that were captured and not refused."""
    refused: Mapping[str, int]
    """The requests that the plan refuses, by reason."""
    streams: int
    runs: Mapping[str, Run]
    """All replays by name, in the order in which they were made."""
    fast: Run
    """Our replay on the device with the least latency."""
    slow: Run
    """Our replay on the device with the greatest latency; the same as `fast` where there is only one."""
    fio: Run | None
    drifts: Mapping[str, Difference | None]
    """For "ours" (by its lag) and "fio" (by issued less due) the mean of the last tenth of requests less that of the first."""
    delay: Difference | None
    """The delay of requests on the slow device beside the fast one; None where there is only one device."""

    @property
    def ours(self) -> Sequence[Run]:
        """Our replays."""
        return [run for run in self.runs.values() if run.described["tool"] == replay.OURS]


def compute(path: str, *, seed: int) -> Results:
    """Computes the results; see `study` for the parameters.

    TickdiskError if a table is missing, or if nothing was replayed by this project's issuer.
    """
    result: dict[str, Any] = read_json(Path(path))
    runs = {described["name"]: _run(described, Path(path).parent) for described in result["runs"]}
    ours = sorted((run for run in runs.values() if run.described["tool"] == replay.OURS), key=_latency_ns)
    if not ours:
        raise TickdiskError(f"{path} holds no replay by {replay.OURS}; run `tickdisk replay-study` again")
    fast, slow = ours[0], ours[-1]
    fio = next((run for run in runs.values() if run.described["tool"] == replay.FIO), None)
    # A late request of fio's makes its own next one look delayed by the device, so that its lag alone would hide a drift.
    drifts = {"ours": _drift("ours", fast.lag_ms, seed)}
    if fio is not None:
        drifts["fio"] = _drift("fio", fio.late_ms, seed)
    return Results(
        seconds=result["seconds"],
        captured=result["captured"],
        replayed=result["replayed"],
        refused=result["refused"],
        streams=len(result["streams"]),
        runs=runs,
        fast=fast,
        slow=slow,
        fio=fio,
        drifts=drifts,
        delay=_delay(fast, slow, seed),
    )


def bound_verdict(low: float | None, high: float | None, limit: float) -> str:
    """Returns whether an interval lies below a limit: kept, missed if it lies above, inconclusive otherwise or without one."""
    if low is None or high is None or np.isnan(low) or np.isnan(high):
        return "inconclusive"
    return "kept" if high <= limit else "missed" if low > limit else "inconclusive"


def drift_verdict(drift: Difference | None) -> str:
    """Returns whether the last tenth of requests was issued as late as the first: a bound on the size of the difference."""
    if drift is None:
        return "not valid"
    if max(-drift.low, drift.high) <= EQUAL_MS:
        return "kept"
    return "missed" if drift.low > EQUAL_MS or drift.high < -EQUAL_MS else "inconclusive"


def delay_verdict(delay: Difference | None) -> str:
    """Returns whether requests are issued at other times on the slow device; equivalent within `EQUAL_MS`."""
    if delay is None:
        return "not valid"
    if max(-delay.low, delay.high) <= EQUAL_MS:
        return "equivalent"
    return "different" if delay.low > 0 or delay.high < 0 else "inconclusive"


def _latency_ns(run: Run) -> int:
    return device.DeviceModel(**run.described["device"]).latency_ns[0]


def _run(described: Mapping[str, Any], folder: Path) -> Run:
    run = Run(described, replay.read_timings(folder / described["table"]), {})
    lag, late, lost = run.lag_ms, run.late_ms, run.lost_ms
    tenth = len(lag) // 10
    chosen = {
        f"{quantity}_{name}": (values, q)
        for quantity, values in (("lag", lag), ("late", late), ("lost", lost))
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }
    chosen["lag_first_tenth_p99"] = (lag[:tenth], 0.99)
    chosen["lag_last_tenth_p99"] = (lag[len(lag) - tenth :], 0.99)
    found = {name: Found(stats.quantile(values, q), len(values)) for name, (values, q) in chosen.items()}
    return Run(described, run.timings, found)


def _drift(whose: str, late_ms: Floats, seed: int) -> Difference | None:
    tenth = len(late_ms) // 10
    if tenth < _LEAST_TENTH:
        return None
    first, last = late_ms[:tenth], late_ms[-tenth:]
    drawn = [
        _means(values, stats.named_generator(seed, "replay", f"drift of {whose}, {part} tenth"))
        for part, values in (("first", first), ("last", last))
    ]
    low, high = np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
    return Difference(float(last.mean() - first.mean()), float(low), float(high), 2 * tenth)


def _delay(fast: Run, slow: Run, seed: int) -> Difference | None:
    """Returns how much later the same requests are issued on the slow device; None where there is only one device."""
    fast_ms, slow_ms = (pd.Series(run.late_ms, index=run.timings["seq"]) for run in (fast, slow))
    later_ms = np.asarray((slow_ms.reindex(fast_ms.index) - fast_ms).dropna(), dtype=np.float64)
    if fast is slow or later_ms.size == 0:
        return None
    drawn = _means(later_ms, stats.named_generator(seed, "replay", "delay by the slow device"))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Difference(float(later_ms.mean()), float(low), float(high), len(later_ms))


def _means(values: Floats, rng: np.random.Generator) -> Floats:
    """Returns means of stationary bootstrap samples of batch means in the order of time, as neighbours are late together."""
    batches = np.array([batch.mean() for batch in np.array_split(values, min(_BATCHES, len(values)))])
    indices = stats.stationary_indices(len(batches), stats.block_length(batches), _SAMPLES, rng)
    return np.asarray(batches[indices].mean(axis=1))


def _known_ms(ns: "pd.Series[int]") -> Floats:
    return np.asarray(ns.dropna(), dtype=np.float64) / 1e6
