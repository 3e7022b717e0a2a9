# ruff: noqa: INP001
"""`make bench-model`: requests a second that the device model completes in simulated time on one core, part by part.

All kinds run in turn, several times, and the best of each counts; ratios are to the plain model of the same run.
"""

import sys
import time
from typing import Any

import numpy as np

from tickdisk import device

REQUESTS = 2_000_000
TURNS = 5
WANTED_PER_S = {"channels, bandwidth": 20e6, "everything": 2e6}
DRAWN = {"median_ns": 80_000, "p99_ns": 400_000}
PLAIN = {f"{op}_latency_ns": 80_000 for op in device.OPS}
PIPE = {"channels": 32, "bandwidth_bytes_per_s": 3_500_000_000}
CREDITS = [{"per_s": 200_000, "capacity": 5_400_000, "request_bytes": 1 << 18}, {"per_s": 1 << 31, "capacity": 1 << 27}]
STALLS = {"every_bytes": 1 << 28, "period_ns": 10**9, "at_random": True, "length_ns": DRAWN}
CACHE = {"bytes": 1 << 26, "latency_ns": 20_000, "destage_bytes_per_s": 500_000_000}
SEEK = {"least_ns": 1_000_000, "most_ns": 15_000_000, "span_bytes": 2 * 10**12, "revolution_ns": 8_333_333}
LOAD = [[1, 1], [32, 2], [128, 6]]
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "channels, bandwidth": PIPE,
    "lognormal": {f"{op}_latency_ns": DRAWN for op in device.OPS},
    "quantiles": {"read_latency_ns": {"quantiles": [[0, 20_000], [0.5, 80_000], [0.99, 400_000], [1, 5_000_000]]}},
    "load": {"load": LOAD},
    "credits": {"credits": CREDITS},
    "seek": {"seek": SEEK, "channels": 1, "bandwidth_bytes_per_s": 138_000_000},
    "stalls": {"stalls": STALLS},
    "cache": {"cache": CACHE},
    "everything": {
        **{f"{op}_latency_ns": DRAWN for op in device.OPS},
        **PIPE,
        "load": LOAD,
        "credits": CREDITS,
        "stalls": STALLS,
        "cache": CACHE,
    },
}


def main() -> int:
    """Prints the table; returns 1 when the model is slower than it should be."""
    rng = np.random.default_rng(1)
    requests = (
        np.cumsum(rng.integers(0, 10_000, REQUESTS)),
        rng.choice(4, REQUESTS, p=[0.68, 0.3, 0.019, 0.001]),
        rng.integers(0, 1 << 19, REQUESTS) << 12,
        np.full(REQUESTS, 4096),
    )
    models = {name: device.DeviceModel(name="bench", **{**PLAIN, **parts}) for name, parts in KINDS.items()}
    best_s = dict.fromkeys(models, float("inf"))
    for _ in range(TURNS):
        for name, model in models.items():
            start_s = time.perf_counter()
            device.simulate(model, *requests)
            best_s[name] = min(best_s[name], time.perf_counter() - start_s)
    print(f"{'model':22}{'million requests/s':>20}{'ns a request':>14}{'times plain':>13}")
    for name, seconds in best_s.items():
        print(f"{name:22}{REQUESTS / seconds / 1e6:20.1f}{seconds / REQUESTS * 1e9:14.1f}{seconds / best_s['plain']:13.2f}")
    slow = [name for name, wanted in WANTED_PER_S.items() if REQUESTS / best_s[name] < wanted]
    for name in slow:
        print(f"{name}: below {WANTED_PER_S[name] / 1e6:.0f} million requests/s", file=sys.stderr)
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
