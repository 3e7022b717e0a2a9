"""Runs captured requests on storage pools that do not exist, after the Shape simulator (Li, Wang and Wu).

`workload_of` filters the requests to block devices in a trace, puts before each read the writes that create its pages, and finds
which request each request has waited for. `load_pools` reads descriptions of pools: stripes, copies and RAID over devices of
`tickdisk.device`. `simulate` issues each request when the one that it depends on is done, and `density` divides latencies as the
publication does.
"""

from tickdisk.pools.layout import DeviceGroup, FastTier, Pool, load_pools
from tickdisk.pools.simulate import PoolRun, PoolsOutcome, Settings, density, simulate
from tickdisk.pools.workload import Workload, workload_of

__all__ = [
    "DeviceGroup",
    "FastTier",
    "Pool",
    "PoolRun",
    "PoolsOutcome",
    "Settings",
    "Workload",
    "density",
    "load_pools",
    "simulate",
    "workload_of",
]
