"""Makes the tables and figures of the replay study."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tickdisk import plot
from tickdisk.foundation.numbers import number, percent
from tickdisk.studies.replay.compute import LIMIT_MS, AnalysedReplay, Results

_SHOWN = ("lag_p99", "lag_first_tenth_p99", "lag_last_tenth_p99", "lost_p99")


def summary(results: Results) -> pd.DataFrame:
    """Returns one row per replay: requests, p99 of lag and time lost, results that differ from the capture, and the load."""
    return pd.DataFrame([_summary_row(run) for run in results.runs.values()]).set_index("replay")


def _summary_row(run: AnalysedReplay) -> dict[str, Any]:
    described = run.described
    found = {name: run.quantiles[name].quantile for name in _SHOWN}
    return {
        "replay": run.name,
        "on": " on ".join(part for part in (described.file_system, described.backend) if part),
        "requests": number(len(run.timings)),
        **{f"{name.replace('_', ' ')} (ms)": number(None if each is None else each.value) for name, each in found.items()},
        "behind (s)": number(described.behind_ns / 1e9),
        "results that differ": run.differing,
        "left out": sum(described.left_out.values()),
        "real-time": "yes" if described.is_real_time else "no",
        "CPU pressure": percent(described.load.pressure_cpu_share),
    }


def refused(results: Results) -> pd.DataFrame:
    """Returns the requests that were not made again, by reason. For `plan` in the column `by`, no replay could make them."""
    rows = [("plan", reason, count) for reason, count in results.refused.items()]
    for run in results.runs.values():
        rows += [(run.name, reason, count) for reason, count in run.described.left_out.items()]
    return pd.DataFrame(rows, columns=["by", "reason", "requests"])


def lateness(results: Results) -> Any:
    """Draws the share of requests that were later than each time, for the issuer on the fast device and for fio. One panel is
    about the lag, and the other about the time of issue less the due time.
    """
    shown = _ours_and_fio(results)
    parts = {
        "Lag": {run.name: 1000 * run.lag_ms for run in shown},
        "Issued less due": {run.name: 1000 * run.late_ms for run in shown},
    }
    return plot.lateness_tails(parts, limit_us=1000 * LIMIT_MS)


def lag_over_time(results: Results) -> Any:
    """Draws the time of issue less the due time over the replay, for the issuer on the fast device and for fio."""
    shown = {run.name: (run, 1000 * run.late_ms) for run in _ours_and_fio(results)}
    return _over_time(shown, "Issued less due", "Does the schedule hold to the end?")


def time_lost(results: Results) -> Any:
    """Draws the time that requests lost to earlier requests of their stream over the replay, on the fast and the slow device."""
    shown = {run.name: (run, run.timings["lost_ns"].to_numpy(float, na_value=np.nan) / 1000) for run in _fast_and_slow(results)}
    return _over_time(shown, "Time lost to the device", "Does the device delay requests?")


def _over_time(shown: Mapping[str, tuple[AnalysedReplay, npt.NDArray[np.float64]]], quantity: str, heading: str) -> Any:
    tables = []
    for name, (run, us) in shown.items():
        due_ns = run.timings["due_ns"].to_numpy()
        tables.append(pd.DataFrame({"replay": name, "at_s": (due_ns - due_ns.min()) / 1e9, "us": us}).dropna())
    table = pd.concat(tables, ignore_index=True)
    return plot.lateness_over_time(table, order=list(shown), quantity=quantity, heading=heading)


def service(results: Results) -> Any:
    """Draws the time from issue to completion of requests by operation, as captured and on the fast and the slow device."""
    captured = results.fast.timings
    shown = {"captured": (captured["op"], captured["captured_ns"])}
    for run in _fast_and_slow(results):
        shown[run.name] = (run.timings["op"], run.timings["completed_ns"] - run.timings["issued_ns"])
    parts = {
        str(op): {where: ns[ops == op].to_numpy(float) / 1000 for where, (ops, ns) in shown.items()}
        for op in captured["op"].value_counts().index
    }
    return plot.service_times(parts, order=list(shown))


def _ours_and_fio(results: Results) -> Sequence[AnalysedReplay]:
    return [results.fast] if results.fio is None else [results.fast, results.fio]


def _fast_and_slow(results: Results) -> Sequence[AnalysedReplay]:
    return [results.fast] if results.slow is results.fast else [results.fast, results.slow]


def paper_lateness(results: Results) -> Any:
    """Draws for the paper which share of requests was issued later than each time, by this project's issuer and by fio."""
    names = {results.fast.name: "our replay"} | ({} if results.fio is None else {results.fio.name: "fio"})
    parts = {names[run.name]: 1000 * run.late_ms for run in _ours_and_fio(results)}
    return plot.lateness_tails({"Issued later than due by": parts}, limit_us=None, theme=plot.PAPER)


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "lateness": lateness,
    "lag_over_time": lag_over_time,
    "time_lost": time_lost,
    "service": service,
    "paper_lateness": paper_lateness,
}
TABLES: Mapping[str, Callable[[Results], pd.DataFrame]] = {"summary": summary, "refused": refused}
