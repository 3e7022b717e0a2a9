"""Computes the results of the replay study from the tables of replayed requests: lags, times lost, and their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import replay as replayed
from tickdisk import stats
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import read_plan
from tickdisk.replay import FIO, TICKDISK

Floats = npt.NDArray[np.float64]
LIMIT_MS = 1.0
"""Largest p99 of the issuer's lag that keeps the bound."""
STREAMS = 4
"""Least number of streams for which the bound on the lag is decided."""
EQUAL_MS = 0.1
"""Largest difference between mean times of issue that count as equal."""
_BATCHES, _SAMPLES = 200, 2000
"""Number of batches whose means are resampled, and number of bootstrap samples."""
LEAST_REQUESTS = 300
"""Least number of requests for which a drift from their first tenth to their last is judged."""


@dataclass(frozen=True)
class Found:
    """A quantile of how late requests were, and the number of requests that it was computed from."""

    quantile: stats.Quantile | None
    """The quantile in ms with its interval. None if the requests are too few."""
    n: int


@dataclass(frozen=True)
class Difference:
    """A difference between the mean times of two groups of requests in ms, with its interval from bootstrap samples."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class AnalysedReplay:
    """One replay of the captured requests by one tool on one device."""

    described: replayed.Run
    """The summary of this replay, from replay.json."""
    timings: pd.DataFrame
    """One row per request, in the order of due times, as in `tickdisk.replay.log`."""
    quantiles: Mapping[str, Found]
    """Quantiles by their names in facts, such as "lag_p99" and "lag_first_tenth_p99"."""

    @property
    def name(self) -> str:
        """The tool that replayed and the device, such as "fio_hdd"."""
        return self.described.name

    @property
    def key(self) -> str:
        """The name in lower case, with which the names of facts begin."""
        return self.name.lower()

    @property
    def device(self) -> str:
        """The name of the device."""
        return self.described.device.name

    @property
    def lag_ms(self) -> Floats:
        """The lag of each request for which it is known: the delay that the tool or its machine caused."""
        return _known_ms(self.timings["lag_ns"])

    @property
    def lost_ms(self) -> Floats:
        """The time lost of each request for which it is known: the delay that earlier requests of its stream caused."""
        return _known_ms(self.timings["lost_ns"])

    @property
    def late_ms(self) -> Floats:
        """The time of issue less the due time of every request. It is the sum of the lag and the time lost."""
        return np.asarray(self.timings["issued_ns"] - self.timings["due_ns"], dtype=np.float64) / 1e6

    @property
    def differing(self) -> int:
        """The number of requests with another result than in the capture, such as fewer bytes or an error."""
        return self.described.differing.total


@dataclass(frozen=True)
class Results:
    """The results of the replay study: requests of a captured life, made again by this project's issuer or by fio."""

    seconds: float
    """Length of the part of the captured life that was replayed."""
    captured: int
    replayed: int
    """Number of requests that were to be made again, which are the captured requests that were not refused."""
    refused: Mapping[str, int]
    """Number of captured requests that no replay could make again, by reason."""
    streams: int
    """Number of streams. A stream is the requests of one captured thread, and is replayed by a thread of its own."""
    runs: Mapping[str, AnalysedReplay]
    fast: AnalysedReplay
    """Replay by this project's issuer on the device with the smallest latency."""
    slow: AnalysedReplay
    """Replay by this project's issuer on the device with the largest latency. It is `fast` if there is only one device."""
    fio: AnalysedReplay | None
    drifts: Mapping[str, Difference | None]
    """Mean lateness of the last tenth of the requests less that of the first, or None if the requests are too few. The key "ours"
    has the lag in `fast`. The key "fio" has the time of issue less the due time.
    """
    delay: Difference | None
    """Mean time by which requests are issued later on the slow device than on the fast one. None if there is only one device, or
    if no request was replayed on both.
    """
    confidence: float
    """Confidence of all intervals."""

    @property
    def ours(self) -> Sequence[AnalysedReplay]:
        """The replays by this project's issuer."""
        return [run for run in self.runs.values() if run.described.tool == TICKDISK]


def compute(plan: str, *, replay: str, seed: int | None) -> Results:
    """Analyses the lag of the issuer beside that of fio, the time lost to each device, and the service times.

    `replay` is the file that `tickdisk replay-study` wrote, with the tables of requests in its folder. If `seed`, which the
    bootstrap draws with, is None, it is the plan's. Raises TickdiskError if a
    file is missing, or if no replay was made by this project's issuer.
    """
    config = read_plan(Path(plan)).config
    alpha, seed = config.decision.alpha, config.seed if seed is None else seed
    result = replayed.read_replays(Path(replay))
    runs = {described.name: _run(described, Path(replay).parent, alpha) for described in result.runs}
    ours = sorted(
        (run for run in runs.values() if run.described.tool == TICKDISK), key=lambda run: run.described.device.latency_ns[0]
    )
    if not ours:
        raise TickdiskError(f"{replay} holds no replay by {TICKDISK}; run `tickdisk replay-study` again")
    fast, slow = ours[0], ours[-1]
    fio = next((run for run in runs.values() if run.described.tool == FIO), None)
    # If fio issues a request late, the next request of the stream seems to be delayed by the device. The lag of fio would
    # therefore hide a drift.
    drifts = {"ours": _drift("ours", fast.lag_ms, seed, alpha)}
    if fio is not None:
        drifts["fio"] = _drift("fio", fio.late_ms, seed, alpha)
    return Results(
        seconds=result.seconds,
        captured=result.captured,
        replayed=result.replayed,
        refused=result.refused,
        streams=len(result.streams),
        runs=runs,
        fast=fast,
        slow=slow,
        fio=fio,
        drifts=drifts,
        delay=_delay(fast, slow, seed, alpha),
        confidence=1 - alpha,
    )


def bound_verdict(low: float | None, high: float | None, limit: float) -> stats.BoundWord:
    """Returns "kept" for an interval below the limit, "missed" for one above it, and "inconclusive" otherwise or for none."""
    if low is None or high is None or np.isnan(low) or np.isnan(high):
        return "inconclusive"
    return "kept" if high <= limit else "missed" if low > limit else "inconclusive"


def drift_verdict(drift: Difference | None) -> stats.BoundWord:
    """Returns "kept" if the interval lies within `EQUAL_MS`, "missed" if it lies outside, and "inconclusive" otherwise.
    Without a drift, for which there were too few requests, it is "not valid".
    """
    if drift is None:
        return "not valid"
    if max(-drift.low, drift.high) <= EQUAL_MS:
        return "kept"
    return "missed" if drift.low > EQUAL_MS or drift.high < -EQUAL_MS else "inconclusive"


def delay_verdict(delay: Difference | None) -> stats.Word:
    """Returns "equivalent" if the interval lies within `EQUAL_MS`, "different" if it excludes 0, and "inconclusive"
    otherwise. Without a delay, as for a single device, the verdict is "not valid".
    """
    if delay is None:
        return "not valid"
    if max(-delay.low, delay.high) <= EQUAL_MS:
        return "equivalent"
    return "different" if delay.low > 0 or delay.high < 0 else "inconclusive"


def _run(described: replayed.Run, folder: Path, alpha: float) -> AnalysedReplay:
    run = AnalysedReplay(described, table.read("replay", folder / described.table), {})
    lag, late, lost = run.lag_ms, run.late_ms, run.lost_ms
    tenth = len(lag) // 10
    chosen = {
        f"{quantity}_{name}": (values, q)
        for quantity, values in (("lag", lag), ("late", late), ("lost", lost))
        for name, q in (("p50", 0.5), ("p99", 0.99))
    }
    chosen["lag_first_tenth_p99"] = (lag[:tenth], 0.99)
    chosen["lag_last_tenth_p99"] = (lag[len(lag) - tenth :], 0.99)
    found = {name: Found(stats.quantile(values, q, 1 - alpha), len(values)) for name, (values, q) in chosen.items()}
    return AnalysedReplay(described, run.timings, found)


def _drift(whose: str, late_ms: Floats, seed: int, alpha: float) -> Difference | None:
    """Returns the mean of the last tenth of the values less that of the first. None if a tenth has too few values."""
    tenth = len(late_ms) // 10
    if len(late_ms) < LEAST_REQUESTS:
        return None
    first, last = late_ms[:tenth], late_ms[-tenth:]
    drawn = [
        _means(values, stats.named_generator(seed, "replay", f"drift of {whose}, {part} tenth"))
        for part, values in (("first", first), ("last", last))
    ]
    low, high = np.quantile(drawn[1] - drawn[0], [alpha / 2, 1 - alpha / 2])
    return Difference(float(last.mean() - first.mean()), float(low), float(high), 2 * tenth)


def _delay(fast: AnalysedReplay, slow: AnalysedReplay, seed: int, alpha: float) -> Difference | None:
    """Returns the mean time by which requests are issued later on the slow device. None for one device or no common request."""
    fast_ms, slow_ms = (pd.Series(run.late_ms, index=run.timings["seq"]) for run in (fast, slow))
    later_ms = np.asarray((slow_ms.reindex(fast_ms.index) - fast_ms).dropna(), dtype=np.float64)
    if fast is slow or later_ms.size == 0:
        return None
    drawn = _means(later_ms, stats.named_generator(seed, "replay", "delay by the slow device"))
    low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2])
    return Difference(float(later_ms.mean()), float(low), float(high), len(later_ms))


def _means(values: Floats, rng: np.random.Generator) -> Floats:
    """Returns the means of bootstrap samples. Batch means in the order of time are resampled by the stationary bootstrap, because
    adjacent requests are late together.
    """
    batches = np.array([batch.mean() for batch in np.array_split(values, min(_BATCHES, len(values)))])
    indices = stats.stationary_indices(len(batches), stats.block_length(batches), _SAMPLES, rng)
    return np.asarray(batches[indices].mean(axis=1))


def _known_ms(ns: "pd.Series[int]") -> Floats:
    return np.asarray(ns.dropna(), dtype=np.float64) / 1e6
