"""The kernel's clocks, sampled together, so that every producer's time stamps become CLOCK_MONOTONIC nanoseconds.

CLOCK_MONOTONIC is slewed and CLOCK_MONOTONIC_RAW is not, so their difference drifts (by more than a server step within hours),
and CLOCK_REALTIME jumps. Luanti stamps MONOTONIC_RAW, strace stamps REALTIME.
"""

import threading
import time
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk.errors import TickdiskError

Clock = Literal["monotonic", "monotonic_raw", "realtime"]
Nanoseconds = npt.NDArray[np.int64]
_ATTEMPTS = 9


def sample() -> dict[str, int]:
    """Returns one simultaneous reading of the three clocks in ns, and its uncertainty.

    MONOTONIC is read before and after the two others; of several attempts the one with the narrowest bracket is kept, and half
    its width is the uncertainty.
    """
    best: dict[str, int] | None = None
    for _ in range(_ATTEMPTS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        real = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        uncertainty = (after - before + 1) // 2
        if best is None or uncertainty < best["uncertainty_ns"]:
            best = {
                "monotonic_ns": before + uncertainty,
                "monotonic_raw_ns": raw,
                "realtime_ns": real,
                "uncertainty_ns": uncertainty,
            }
    assert best is not None
    return best


class Sampler:
    """Samples the clocks when entered, when left, and every `period_s` between; `table()` gives the samples."""

    def __init__(self, period_s: float = 10.0) -> None:
        self._period_s = period_s
        self._samples: list[dict[str, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="clocks", daemon=True)

    def __enter__(self) -> Self:
        self._samples.append(sample())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._samples.append(sample())

    def table(self) -> pd.DataFrame:
        """Returns the samples so far: monotonic_ns, monotonic_raw_ns, realtime_ns, uncertainty_ns."""
        return pd.DataFrame(self._samples)

    def _watch(self) -> None:
        while not self._stop.wait(self._period_s):
            self._samples.append(sample())


def to_monotonic(times_ns: npt.ArrayLike, clock: Clock, samples: pd.DataFrame) -> Nanoseconds:
    """Returns `times_ns`, read from `clock`, as CLOCK_MONOTONIC ns, by linear interpolation between the samples.

    Before the first and after the last sample the nearest offset holds. TickdiskError when there is no sample.
    """
    times = np.asarray(times_ns, dtype=np.int64)
    if clock == "monotonic":
        return times
    if samples.empty:
        raise TickdiskError(
            f"there is no clock sample, so {clock} times cannot be converted; record a clocks table during the run"
        )
    at = samples[f"{clock}_ns"].to_numpy(np.int64)
    order = np.argsort(at)
    offset = (samples["monotonic_ns"].to_numpy(np.int64) - at)[order]
    # Offsets are interpolated, not times: a double carries offsets of this size exactly, but not times since the epoch.
    base = int(offset[0])
    shift = np.interp(
        (times - at[order][0]).astype(float), (at[order] - at[order][0]).astype(float), (offset - base).astype(float)
    )
    converted: Nanoseconds = times + base + np.rint(shift).astype(np.int64)
    return converted
