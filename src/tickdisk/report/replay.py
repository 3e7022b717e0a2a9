"""The replay notebook: were captured requests made again when they were made, and what did the device cost."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from IPython.display import SVG

from tickdisk import device, plot, replay, stats
from tickdisk.files import read_json
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import OURS, Study, display

Floats = npt.NDArray[np.float64]
_LIMIT_MS = 1.0
_DRIFT_MS = 0.1
"""Mean lags of the first and of the last tenth that differ by less are called equal."""
_BATCHES, _SAMPLES = 200, 2000
_STREAMS = 4


class ReplayStudy(Study):
    """Lag of the issuer, fio's beside it, time lost to each device, and service times."""

    def __init__(self, result: str, *, output: str | None, seed: int = 42) -> None:
        check_parameters()
        super().__init__("replay", output)
        self._rng = np.random.default_rng(seed)
        self.result: dict[str, Any] = read_json(Path(result))
        self.runs: dict[str, dict[str, Any]] = {run["name"]: run for run in self.result["runs"]}
        self.timings = {name: replay.read_timings(Path(result).parent / run["table"]) for name, run in self.runs.items()}
        ours = [name for name, run in self.runs.items() if run["tool"] == replay.OURS]
        by_latency = sorted(ours, key=lambda name: device.DeviceModel(**self.runs[name]["device"]).latency_ns[0])
        self._fast, self._slow = by_latency[0], by_latency[-1]
        self._fio = next((name for name, run in self.runs.items() if run["tool"] == replay.FIO), None)
        self._source = f"{self.result['seconds']:g} s of a captured server life, replayed"
        self._state_counts()
        for name in self.runs:
            self._state_times(name)
        self._claim_nothing_lost()
        self._claim_lag()
        self._claim_no_drift(self._fast, "ours")
        if self._fio is not None:
            self._claim_no_drift(self._fio, "fio")
        self._claim_device()

    def _state_counts(self) -> None:
        refused = self.result["refused"]
        self.fact("streams", len(self.result["streams"]), "streams", source=self._source, note="captured threads")
        self.fact("captured", self.result["captured"], "requests", source="capture")
        self.fact("replayed", self.result["replayed"], "requests", n=self.result["captured"], source=self._source)
        for name in ("backend", "file_system"):
            here = dict.fromkeys(str(run[name] or "none") for run in self.runs.values())
            self.word(name, ", ".join(here), source="replay.json", note="of the devices under test")
        reasons = "; ".join(f"{count} {reason}" for reason, count in refused.items())
        self.fact("refused", sum(refused.values()), "requests", n=self.result["captured"], source="plan", note=reasons)

    def _state_times(self, name: str) -> None:
        run, timings, key = self.runs[name], self.timings[name], name.lower()
        lag, behind = _known(timings["lag_ns"]), _behind_ms(timings)
        for quantile, q in (("p50", 0.5), ("p99", 0.99)):
            self._quantile(f"{key}.lag_{quantile}", lag, q, "ms", "issued - max(due, previous completion in the stream)")
            self._quantile(f"{key}.late_{quantile}", behind, q, "ms", "issued - due: lag and time lost to the device")
            self._quantile(
                f"{key}.lost_{quantile}", _known(timings["lost_ns"]), q, "ms", "previous completion - due, where later"
            )
        self.fact(f"{key}.lag_longest", float(lag.max()), "ms", n=len(lag), source=self._source)
        for part, values in (("first", lag[: len(lag) // 10]), ("last", lag[len(lag) - len(lag) // 10 :])):
            self._quantile(f"{key}.lag_{part}_tenth_p99", values, 0.99, "ms", f"of the {part} tenth of the requests")
        self.fact(f"{key}.behind", run["behind_ns"] / 1e9, "s", n=run["streams"], source=self._source, note="summed over streams")
        self.fact(f"{key}.differing", sum(run["differing"].values()), "requests", n=run["requests"], source="results as captured")

    def _quantile(self, name: str, values: Floats, q: float, unit: str, note: str) -> None:
        found = stats.quantile(values, q)
        value, interval = (None, None) if found is None else (found.value, (found.low, found.high))
        self.fact(name, value, unit, interval=interval, n=len(values), source=self._source, note=note)

    def _claim_nothing_lost(self) -> None:
        ours = len(self.timings[self._fast])
        differing = sum(self.runs[self._fast]["differing"].values())
        is_whole = ours == self.result["replayed"] == self.result["captured"] - sum(self.result["refused"].values())
        self.claim(
            "nothing_lost",
            source=OURS,
            statement="Every captured request is made again and moves as many bytes, or is refused for a stated reason",
            verdict="equivalent" if is_whole and differing == 0 else "different",
            evidence=(
                f"{self.result['captured']} captured, {ours} replayed, {differing} of them with another result, "
                f"refused: {self.facts['replay.refused'].note or 0}"
            ),
            facts=["captured", "replayed", "refused", f"{self._fast}.differing"],
            n=self.result["captured"],
        )

    def _claim_lag(self) -> None:
        fact = self.facts[f"replay.{self._fast}.lag_p99"]
        low, high = fact.low if fact.low is not None else fact.value, fact.high if fact.high is not None else fact.value
        verdict = "inconclusive" if low is None or high is None else _against(low, high, _LIMIT_MS)
        streams = len(self.result["streams"])
        self.claim(
            "lag",
            source=OURS,
            statement=f"99 % of the requests of {_STREAMS} or more streams are issued at most {_LIMIT_MS:g} ms late",
            verdict="not valid" if streams < _STREAMS else verdict,
            evidence=f"p99 of the lag {display(fact)}, {streams} streams",
            facts=["streams", f"{self._fast}.lag_p99", f"{self._fast}.lag_longest"],
            n=fact.n or 0,
        )

    def _claim_no_drift(self, name: str, whose: str) -> None:
        """Ours by its lag; fio's by issued - due, as a late issue of fio's makes its own next request look delayed."""
        timings = self.timings[name]
        late = _known(timings["lag_ns"]) if whose == "ours" else _behind_ms(timings)
        tenth = max(1, len(late) // 10)
        drawn = [self._means(late[:tenth]), self._means(late[-tenth:])]
        value = float(late[-tenth:].mean() - late[:tenth].mean())
        low, high = np.quantile(drawn[1] - drawn[0], [0.025, 0.975])
        note = "mean lateness of the last tenth of the requests less that of the first"
        self.fact(f"{whose}.drift", value, "ms", interval=(float(low), float(high)), n=2 * tenth, source=self._source, note=note)
        inside = max(-low, high) < _DRIFT_MS
        outside = low > _DRIFT_MS or high < -_DRIFT_MS
        self.claim(
            f"no_drift_{whose}",
            source=OURS,
            statement=f"{name}: the last tenth of the requests is issued as late as the first, within {_DRIFT_MS:g} ms",
            verdict="equivalent" if inside else "different" if outside else "inconclusive",
            evidence=f"the last tenth is later by {display(self.facts[f'replay.{whose}.drift'])}",
            facts=[f"{whose}.drift", f"{name}.late_p99"],
            n=2 * tenth,
        )

    def _claim_device(self) -> None:
        fast, slow = (_behind_ms(self.timings[name]) for name in (self._fast, self._slow))
        drawn = self._means(slow - fast)
        low, high = np.quantile(drawn, [0.025, 0.975])
        value, interval = float((slow - fast).mean()), (float(low), float(high))
        note = f"mean of issued - due on {self._slow} less that on {self._fast}, request by request"
        self.fact("device.delay", value, "ms", interval=interval, n=len(slow), source=self._source, note=note)
        self.claim(
            "time_lost_to_the_device",
            source=OURS,
            statement="A slower device issues the same requests later, as earlier ones are completed later",
            verdict="different" if low > 0 else "equivalent" if high <= 0 else "inconclusive",
            evidence=f"later by {display(self.facts['replay.device.delay'])} on average",
            facts=["device.delay", f"{self._fast}.behind", f"{self._slow}.behind"],
            n=len(slow),
        )

    def _means(self, values: Floats) -> Floats:
        """Means of stationary bootstrap samples of batch means in the order of time, as neighbours are late together."""
        batches = np.array([batch.mean() for batch in np.array_split(values, min(_BATCHES, len(values)))])
        indices = stats.stationary_indices(len(batches), stats.block_length(batches), _SAMPLES, self._rng)
        return np.asarray(batches[indices].mean(axis=1))

    def summary(self) -> pd.DataFrame:
        """Returns one row a replay: requests, lag, time lost, results that differ, load."""
        rows = []
        for name, run in self.runs.items():
            shown = {quantity: run[f"{quantity}_ns"] for quantity in ("lag", "lag_first_tenth", "lag_last_tenth", "lost")}
            rows.append(
                {
                    "replay": name,
                    "on": " on ".join(str(run[part]) for part in ("file_system", "backend") if run[part]),
                    "requests": run["requests"],
                    **{f"{words.replace('_', ' ')} p99 ms": _ms(values["p99"]) for words, values in shown.items()},
                    "behind s": round(run["behind_ns"] / 1e9, 3),
                    "results that differ": sum(run["differing"].values()),
                    "left out": sum(run["left_out"].values()),
                    "real-time": run["is_real_time"],
                    "CPU pressure": f"{run['load']['pressure_cpu_share']:.0%}",
                }
            )
        return pd.DataFrame(rows).set_index("replay")

    def refused(self) -> pd.DataFrame:
        """Returns what was not made again and why: by ours, which is what the plan refuses, and in addition by fio."""
        rows = [("plan", reason, count) for reason, count in self.result["refused"].items()]
        rows += [(name, reason, count) for name, run in self.runs.items() for reason, count in run["left_out"].items()]
        return pd.DataFrame(rows, columns=["by", "reason", "requests"])

    def lateness(self) -> SVG:
        """Returns the CCDFs of lag and of issued - due, ours and fio's."""
        shown = [name for name in (self._fast, self._fio) if name is not None]
        parts = {
            "Lag": {name: 1000 * _known(self.timings[name]["lag_ns"]) for name in shown},
            "Issued less due": {name: 1000 * _behind_ms(self.timings[name]) for name in shown},
        }
        return self.figure("lateness", plot.lateness_tails(parts, limit_us=1000 * _LIMIT_MS))

    def lag_over_time(self) -> SVG:
        """Returns lateness over time, ours and fio's."""
        shown = [name for name in (self._fast, self._fio) if name is not None]
        heading = "Does the schedule hold to the end?"
        return self._over_time("lag_over_time", shown, "Issued less due", heading, lost=False)

    def time_lost(self) -> SVG:
        """Returns the time lost to each device over time."""
        shown = list(dict.fromkeys((self._fast, self._slow)))
        return self._over_time("time_lost", shown, "Time lost to the device", "What the device delays", lost=True)

    def _over_time(self, figure: str, shown: list[str], quantity: str, heading: str, *, lost: bool) -> SVG:
        tables = []
        for name in shown:
            timings = self.timings[name]
            us = timings["lost_ns"].astype(float) / 1000 if lost else 1000 * pd.Series(_behind_ms(timings))
            at_s = (timings["due_ns"] - timings["due_ns"].min()) / 1e9
            tables.append(pd.DataFrame({"replay": name, "at_s": at_s, "us": us}).dropna())
        table = pd.concat(tables, ignore_index=True)
        return self.figure(figure, plot.lateness_over_time(table, order=shown, quantity=quantity, heading=heading))

    def service(self) -> SVG:
        """Returns service times by operation, captured and on each device."""
        fast = self.timings[self._fast]
        shown = {"captured": (fast["op"], fast["captured_ns"])}
        for name in dict.fromkeys((self._fast, self._slow)):
            timings = self.timings[name]
            shown[name] = (timings["op"], timings["completed_ns"] - timings["issued_ns"])
        ops = fast["op"].value_counts().index
        parts = {
            op: {where: ns[ops_there == op].to_numpy(float) / 1000 for where, (ops_there, ns) in shown.items()} for op in ops
        }
        return self.figure("service", plot.service_times(parts, order=list(shown)))


def _known(ns: "pd.Series[int]") -> Floats:
    """Milliseconds, without the unknown."""
    return ns.dropna().to_numpy(float) / 1e6


def _behind_ms(timings: pd.DataFrame) -> Floats:
    return (timings["issued_ns"] - timings["due_ns"]).to_numpy(float) / 1e6


def _against(low: float, high: float, limit: float) -> str:
    return "equivalent" if high < limit else "different" if low > limit else "inconclusive"


def _ms(ns: float | None) -> str:
    return "not estimable" if ns is None else f"{ns / 1e6:.3g}"
