"""Makes the tables and figures of the study of pools."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from tickdisk import plot, stats
from tickdisk.foundation.numbers import number, percent, with_interval
from tickdisk.studies.pools.compute import LARGE, Results


def _text(results: Results, values: pd.Series) -> str:
    mean = stats.over_lives(values, results.rules.alpha)
    return with_interval(mean.value, mean.low, mean.high) if mean.n > 1 else number(mean.value)


def workloads(results: Results) -> pd.DataFrame:
    """Returns one row per captured workload."""
    rows = {
        phase: {
            "requests": number(len(one.requests)),
            "inserted writes": number(one.inserted),
            "do not count": "; ".join(f"{rule}: {number(count)}" for rule, count in one.rejected.items() if count) or "none",
            "readings of dependencies differ": percent(one.differ / len(one.requests)),
        }
        for phase, one in results.workloads.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("workload")


def beside(results: Results) -> pd.DataFrame:
    """Returns the published table beside our numbers. The workloads are different captures of the same kind of load."""
    rows = []
    for row in results.published.rows:
        own = results.of(workload=row.workload, pools=row.pools, queue_depth=row.queue_depth)
        rows.append(
            {
                "pools": row.pools,
                "queue depth": row.queue_depth,
                "workload": row.workload,
                "MB/s, published": number(row.mb_per_s),
                "MB/s": _text(results, own["mb_per_s"]) if len(own) else "not tried",
                "elapsed s, published": number(row.elapsed_s),
                "elapsed s": _text(results, own["elapsed_s"]) if len(own) else "not tried",
                "reads, published": "" if row.reads is None else number(row.reads),
                "reads": number(int(own["reads"].iloc[0])) if len(own) else "",
                "first and later writes, published": ""
                if row.prewrites is None or row.postwrites is None
                else f"{number(row.prewrites)}, {number(row.postwrites)}",
                "first and later writes": f"{number(int(own['prewrites'].iloc[0]))}, {number(int(own['postwrites'].iloc[0]))}"
                if len(own)
                else "",
            }
        )
    return pd.DataFrame(rows).set_index(["pools", "queue depth", "workload"])


def layouts(results: Results) -> pd.DataFrame:
    """Returns one row per pool and workload. The bytes that devices read and wrote are multiples of the bytes that were asked."""
    rows = []
    for name, pool in results.described.items():
        for phase in results.workloads:
            own = results.of(workload=phase, pool=name, queue_depth=LARGE)
            rows.append(
                {
                    "pool": name,
                    "description": pool.description,
                    "workload": phase,
                    "MB/s": _text(results, own["mb_per_s"]),
                    "wait p99 (ms)": _text(results, own["wait_p99_us"] / 1e3),
                    "response p50 (ms)": _text(results, own["response_p50_us"] / 1e3),
                    "response p99 (ms)": _text(results, own["response_p99_us"] / 1e3),
                    "devices read": _text(results, own["device_reads"]),
                    "devices wrote": _text(results, own["device_writes"]),
                }
            )
    return pd.DataFrame(rows).set_index(["pool", "workload"])


def density(results: Results) -> pd.DataFrame:
    """Returns the latency density of each workload: the least and the largest wait in ten groups of equal number, in us."""
    columns = {
        phase: [f"{number(row['least_us'])} to {number(row['most_us'])}" for row in table.to_dict("records")]
        for phase, table in results.densities.items()
    }
    return pd.DataFrame(columns).rename_axis("group").rename(lambda row: row + 1)


def _curve(results: Results) -> pd.DataFrame:
    rows = []
    for phase in results.workloads:
        for depth in results.depths:
            mean = stats.over_lives(results.of(workload=phase, queue_depth=depth)["mb_per_s"], results.rules.alpha)
            rows.append({"workload": phase, "depth": depth, "mb_per_s": mean.value, "low": mean.low, "high": mean.high})
    return pd.DataFrame(rows)


def _bars(results: Results) -> pd.DataFrame:
    rows = []
    for name in results.described:
        for phase in results.workloads:
            own = results.of(workload=phase, pool=name, queue_depth=LARGE)
            mean = stats.over_lives(own["mb_per_s"], results.rules.alpha)
            rows.append({"pool": name, "workload": phase, "mb_per_s": mean.value, "low": mean.low, "high": mean.high})
    return pd.DataFrame(rows)


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "paper_pools": lambda results: plot.pool_throughput(_curve(results), _bars(results)),
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {
    "workloads": workloads,
    "beside": beside,
    "layouts": layouts,
    "density": density,
}
