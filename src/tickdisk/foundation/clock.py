"""Converts the time stamps of all programs to nanoseconds of CLOCK_MONOTONIC.

`Sampler` reads three clocks of the kernel together at the start and the end of a run and every 10 s in between. `to_monotonic`
takes times of one clock and the table of these samples, and interpolates the difference between the clocks. Luanti has times of
CLOCK_MONOTONIC_RAW, and strace has times of CLOCK_REALTIME. The kernel adjusts the rate of CLOCK_MONOTONIC but not that of
CLOCK_MONOTONIC_RAW, so the two differ by more and more as time goes on. CLOCK_REALTIME can be set, and then jumps.
"""

import threading
import time
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
import numpy.typing as npt

from tickdisk.foundation.errors import TickdiskError

if TYPE_CHECKING:
    import pandas as pd

Clock = Literal["monotonic", "monotonic_raw", "realtime"]
Nanoseconds = npt.NDArray[np.int64]
_ATTEMPTS = 9


def sample() -> dict[str, int]:
    """Reads the kernel's three clocks at nearly the same time. All values are in ns.

    CLOCK_MONOTONIC is read before and after the two others. The narrowest bracket of several attempts is kept. Its middle is the
    time of the sample, and half of its width is the uncertainty.
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
    """A context manager that samples the clocks when it is entered, when it is left, and every `period_s` seconds in between.

    From the samples of `table`, `to_monotonic` converts the times of programs that ran within the block.
    """

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

    def table(self) -> "pd.DataFrame":
        """Returns the samples so far. A row is a sample, and the columns are the keys of `sample`."""
        import pandas as pd  # noqa: PLC0415 - commands start without it

        return pd.DataFrame(self._samples.copy())  # pandas looks at a list more than once, and the thread goes on

    def _watch(self) -> None:
        while not self._stop.wait(self._period_s):
            self._samples.append(sample())


def to_monotonic(times_ns: npt.ArrayLike, clock: Clock, samples: "pd.DataFrame") -> Nanoseconds:
    """Converts times of a clock in ns, shape (n,), to times of CLOCK_MONOTONIC, so that records of programs can be compared.

    The offset between the two clocks is interpolated linearly between `samples` (as `Sampler.table` returns them). Before the
    first sample and after the last, the offset of the nearest sample holds. Times of `monotonic` are returned unchanged. Raises
    TickdiskError if a conversion is needed and there is no sample, or if the clock was set back between two samples, because a
    time of it then stands for two moments.
    """
    times = np.asarray(times_ns, dtype=np.int64)
    if clock == "monotonic":
        return times
    if samples.empty:
        raise TickdiskError(
            f"there is no clock sample, so {clock} times cannot be converted; record a clocks table during the run"
        )
    ordered = samples.sort_values("monotonic_ns", kind="stable")
    at = ordered[f"{clock}_ns"].to_numpy(np.int64)
    back_ns = int((-np.diff(at)).max(initial=0))
    if back_ns > 0:
        raise TickdiskError(f"the clock {clock} was set back by at least {back_ns / 1e9:.3g} s during the run; run it again")
    offset = ordered["monotonic_ns"].to_numpy(np.int64) - at
    # The offsets are interpolated and not the times, because a double represents differences between offsets exactly, but not
    # times in ns since 1970.
    base = int(offset[0])
    shift = np.interp((times - at[0]).astype(float), (at - at[0]).astype(float), (offset - base).astype(float))
    converted: Nanoseconds = times + base + np.rint(shift).astype(np.int64)
    return converted
