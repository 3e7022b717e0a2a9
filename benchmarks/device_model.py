"""A benchmark of the device model in simulated time on one core, run by `python -m benchmarks.device_model`.

All kinds of model run in turn, several times, and the best time of each kind counts.
"""

import sys
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import best_s
from tickdisk.device import OPS, DeviceModel, simulate

_REQUESTS = 2_000_000
_TURNS = 5
_WANTED_PER_S = {"channels, bandwidth": 20e6, "everything": 2e6}
_DRAWN = {"median_ns": 80_000, "p99_ns": 400_000}
_PLAIN = {f"{op}_latency_ns": 80_000 for op in OPS}
_PIPE = {"channels": 32, "bandwidth_bytes_per_s": 3_500_000_000}
_CREDITS = [{"per_s": 200_000, "capacity": 5_400_000, "request_bytes": 1 << 18}, {"per_s": 1 << 31, "capacity": 1 << 27}]
_STALLS = {"every_bytes": 1 << 28, "period_ns": 10**9, "at_random": True, "length_ns": _DRAWN}
_CACHE = {"bytes": 1 << 26, "latency_ns": 20_000, "destage_bytes_per_s": 500_000_000}
_SEEK = {"least_ns": 1_000_000, "most_ns": 15_000_000, "span_bytes": 2 * 10**12, "revolution_ns": 8_333_333}
_LOAD = [[1, 1], [32, 2], [128, 6]]
_KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "channels, bandwidth": _PIPE,
    "lognormal": {f"{op}_latency_ns": _DRAWN for op in OPS},
    "quantiles": {"read_latency_ns": {"quantiles": [[0, 20_000], [0.5, 80_000], [0.99, 400_000], [1, 5_000_000]]}},
    "by inflight": {
        "read_latency_ns": {"inflight": [1, 32], "quantiles": [[0, 20_000, 40_000], [0.99, 80_000, 90_000], [1, 10**6, 10**7]]}
    },
    "load": {"load": _LOAD},
    "credits": {"credits": _CREDITS},
    "seek": {"seek": _SEEK, "channels": 1, "bandwidth_bytes_per_s": 138_000_000},
    "stalls": {"stalls": _STALLS},
    "cache": {"cache": _CACHE},
    "everything": {
        **{f"{op}_latency_ns": _DRAWN for op in OPS},
        **_PIPE,
        "load": _LOAD,
        "credits": _CREDITS,
        "stalls": _STALLS,
        "cache": _CACHE,
    },
}


def main() -> int:
    """Prints how fast each kind of model is, and returns 1 if one is slower than `_WANTED_PER_S` demands, and 0 otherwise."""
    rng = np.random.default_rng(1)
    requests = (
        np.cumsum(rng.integers(0, 10_000, _REQUESTS)),
        rng.choice(4, _REQUESTS, p=[0.68, 0.3, 0.019, 0.001]),
        rng.integers(0, 1 << 19, _REQUESTS) << 12,
        np.full(_REQUESTS, 4096),
    )
    models = {name: DeviceModel(name="bench", **{**_PLAIN, **parts}) for name, parts in _KINDS.items()}
    best = best_s({name: partial(simulate, model, *requests) for name, model in models.items()}, _TURNS)
    print(f"{'model':22}{'million requests/s':>20}{'ns a request':>14}{'times plain':>13}")
    for name, seconds in best.items():
        print(f"{name:22}{_REQUESTS / seconds / 1e6:20.1f}{seconds / _REQUESTS * 1e9:14.1f}{seconds / best['plain']:13.2f}")
    slow = [name for name, wanted in _WANTED_PER_S.items() if _REQUESTS / best[name] < wanted]
    for name in slow:
        print(f"{name}: below {_WANTED_PER_S[name] / 1e6:.0f} million requests/s", file=sys.stderr)
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
