"""A benchmark of pools in simulated time on one core, run by `python -m benchmarks.pools`.

It prints the requests that pools of several layouts serve in a second, beside the plain device model of `make bench-model`. All
run in turn, several times, and the best time of each counts.
"""

import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.timing import best_s
from tickdisk.device import OPS, DeviceModel
from tickdisk.device import simulate as simulate_device
from tickdisk.pools import DeviceGroup, FastTier, Pool, Settings, Workload, simulate, workload_of

if TYPE_CHECKING:
    from collections.abc import Callable

_REQUESTS = 1_000_000
_TURNS = 3
_WANTED_SHARE = 1 / 8
"""Least requests per second of a pool of one device, as a share of those of the plain device."""
_PLAIN = DeviceModel.model_validate({"name": "plain"} | {f"{op}_latency_ns": 80_000 for op in OPS})
_LAYOUTS = {
    "one device": {"data": DeviceGroup(device="plain", devices=1, copies=1)},
    "two copies": {"data": DeviceGroup(device="plain", devices=2, copies=2)},
    "RAID 6 of ten": {"data": DeviceGroup(device="plain", devices=10, parities=2, chunk_kib=32)},
    "tier before RAID 6": {
        "data": DeviceGroup(device="plain", devices=10, parities=2, chunk_kib=32),
        "tier": FastTier(device="plain", devices=4, copies=2, gib=0.25),
    },
}


def main() -> int:
    """Prints how fast pools of each layout serve requests. Returns 1 if a pool of one device is too slow, and 0 otherwise."""
    workload = _workload()
    arrivals = np.arange(_REQUESTS) * 10_000
    columns = (arrivals, np.ones(_REQUESTS, dtype=int), workload.requests["page"].to_numpy() << 12, np.full(_REQUESTS, 4096))
    jobs: dict[str, Callable[[], object]] = {"the plain device itself": partial(simulate_device, _PLAIN, *columns)}
    for name, parts in _LAYOUTS.items():
        pool = Pool.model_validate({"name": name, "description": name, "source": "bench", **parts})
        jobs[name] = partial(simulate, [workload], pool, {"plain": _PLAIN}, Settings(queue_depth=32))
    best = best_s(jobs, _TURNS)
    plain_s = best["the plain device itself"]
    print(f"{'pool':26}{'million requests/s':>20}{'ns a request':>14}{'share of the device':>21}")
    for name, seconds in best.items():
        print(f"{name:26}{_REQUESTS / seconds / 1e6:20.2f}{seconds / _REQUESTS * 1e9:14.1f}{plain_s / seconds:21.3f}")
    is_slow = plain_s / best["one device"] < _WANTED_SHARE
    if is_slow:
        print(f"a pool of one device serves less than {_WANTED_SHARE:.3f} of the requests of the device", file=sys.stderr)
    return int(is_slow)


def _workload() -> Workload:
    """Returns writes of a page at random places, of which about eight are in progress at a time."""
    rng = np.random.default_rng(1)
    requests = pd.DataFrame(
        {
            "seq": np.arange(_REQUESTS),
            "level": "block",
            "op": "write",
            "volume": "sda",
            "start_ns": np.arange(_REQUESTS) * 10_000,
            "latency_ns": rng.integers(40_000, 120_000, _REQUESTS),
            "offset": rng.integers(0, 1 << 19, _REQUESTS) << 12,
            "length": 4096,
            "errno": 0,
        }
    )
    return workload_of(requests, "random writes")


if __name__ == "__main__":
    sys.exit(main())
