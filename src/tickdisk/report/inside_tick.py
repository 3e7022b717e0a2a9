"""The inside the tick notebook: which request, in which file, behind which lock, made ticks late; against injected stalls."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import SVG

from tickdisk import blame, plot, server
from tickdisk.errors import TickdiskError
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import Runs
from tickdisk.report.study import OURS, Study

STALLS = 20
"""So many injected stalls of a kind decide whether blame can be trusted."""
_NAMED_SHARE = 0.95
"""At least 19 of 20."""
_AROUND_NS, _STRETCH_NS = 700_000_000, 12_000_000_000
_LINE = 120
"""Letters in a line of a figure's subtitle."""
_NO_FILES = "here nothing says of which file a device's request is: that takes ext4 or xfs on backend fuse"
_BY = {"cause": "causes", "routine": "routines", "data": "data types", "file": "files"}


class InsideTick(Study):
    """Captured server lives with injected stalls: where late time went, and whether blame finds what is known to be there."""

    def __init__(self, plan: str, *, runs: str, output: str | None, bootstrap_samples: int | None, seed: int | None) -> None:
        check_parameters()
        super().__init__("inside_tick", output)
        self.data = Runs(plan, runs, self.name)
        lives = list(self.data.lives())
        self.rng = np.random.default_rng(np.random.SeedSequence(self.data.config.seed if seed is None else seed))
        evidences = [blame.load_life(life.folder, life.manifest) for life in lives]
        self.invalid = list(dict.fromkeys(reason for evidence in evidences for reason in evidence.reasons))
        self.blames = [
            blame.attribute(evidence, budget_ns=server.BUDGET_NS, thread=server.TICK_THREAD)
            for evidence in evidences
            if not evidence.waits.empty
        ]
        samples = self.data.decision.bootstrap_samples if bootstrap_samples is None else bootstrap_samples
        injected = [one.evidence.injections for one in self.blames]
        self.shares = blame.shares(self.blames, rng=self.rng, samples=samples, without=injected)
        self.checks = pd.concat(
            [blame.check_injections(one).assign(life=number) for number, one in enumerate(self.blames)], ignore_index=True
        )
        self.actions = pd.concat([blame.blame_actions(one) for one in self.blames], ignore_index=True)
        self._state_counts()
        self._state_shares()
        self._state_stalls()

    def _state_counts(self) -> None:
        ticks = pd.concat([one.ticks for one in self.blames])
        source = f"{len(self.blames)} captured lives"
        self.fact("lives", len(self.blames), "lives", source=source)
        latency_ms = self.data.latency_ms(self.data.role("baseline"))
        self.fact("latency", latency_ms, "ms", source="device models", note="nominal read latency")
        self.fact("ticks", len(ticks), "ticks", source=source, note="whose whole gap was captured")
        self.fact("uncaptured_ticks", sum(one.uncaptured for one in self.blames), "ticks", source=source)
        self.fact("slow_ticks", int(ticks["slow"].sum()), "ticks", source=source, note=f"gap over {blame.SLOW:g} budgets")
        self.fact("late", float(ticks["late_ns"].sum() / 1e9), "s", n=len(ticks), source=source, note="over the budget")
        self.fact("requests", sum(len(one.evidence.requests) for one in self.blames), "requests", source=source)
        self.fact("waits", sum(len(one.evidence.waits) for one in self.blames), "waits", source=source)
        self.fact("lost_events", sum(one.evidence.lost_events for one in self.blames), "events", source=source)
        io = pd.concat([one.links[one.links["kind"] == "io"] for one in self.blames])
        depths = io.groupby("depth")["ns"].sum() / 1e9
        for depth, name in ((0, "own"), (1, "behind_one_lock")):
            self.fact(f"storage.{name}", float(depths.get(depth, 0.0)), "s", n=int((io["depth"] == depth).sum()), source=source)
        self.fact("storage.deeper", float(depths[depths.index > 1].sum()), "s", n=int((io["depth"] > 1).sum()), source=source)
        with_request = io["request"].notna()
        self.fact(
            "storage.with_request",
            float(io.loc[with_request, "ns"].sum() / io["ns"].sum()) if len(io) else None,
            "share",
            n=len(io),
            source=source,
            note="of the time of waits for I/O: the system call was captured",
        )
        self.fact(
            "storage.with_device_request",
            float(io.loc[io["device"].notna(), "ns"].sum() / io["ns"].sum()) if len(io) else None,
            "share",
            n=len(io),
            source=source,
            note="of the time of waits for I/O: the device's request was found",
        )
        slow = self.actions[self.actions["slow"]]
        for action, own in slow.groupby("action"):
            share = own["storage_ns"].sum() / own["latency_ns"].sum()
            note = "of the time of slow ones: the server waited for storage"
            self.fact(f"slow_actions.{action}", float(share), "share", n=len(own), source=source, note=note)

    def _state_shares(self) -> None:
        rows: list[Any] = list(self.shares.itertuples())
        for row in rows:
            name = re.sub(r"[^a-z0-9]+", "_", Path(str(row.name)).name.lower()).strip("_")
            self.fact(
                f"{row.of}.{row.by}.{name}",
                row.share,
                "share",
                interval=(row.low, row.high),
                n=row.ticks,
                source=f"{row.lives} lives, ticks that no injected stall touched",
                note=f"of the {row.of} time; 95 %, block bootstrap" + (f"; {row.note}" if row.note else ""),
            )
        explained = next(row for row in rows if (row.of, row.by, row.name) == ("late", "all", "storage"))
        enough = explained.lives >= blame.FEWEST_LIVES
        word = "not valid" if self.invalid or not enough else "different" if explained.low > 0 else "inconclusive"
        share, low, high = explained.share, explained.low, explained.high
        latency_ms = self.data.latency_ms(self.data.role("baseline"))
        evidence = f"{share:.0%} [{low:.0%}, {high:.0%}] of the late time" if share >= 0 else "no tick was late"
        note = [explained.note] if explained.note else []
        self.claim(
            "explained",
            source=OURS,
            statement=f"Waits for storage explain late time of ticks on a device of {latency_ms:g} ms",
            verdict=word,
            evidence="; ".join([*self.invalid, evidence, *note, *self.data.marked()]),
            facts=["late.all.storage", "busy.all.storage"],
            n=int(explained.lives),
        )

    def _state_stalls(self) -> None:
        source = "injections, device log and extents against blame"
        kinds = {kind: self.checks[self.checks["kind"] == kind] for kind in ("device_stall", "cpu_stall")}
        counts = {
            "device_stalls.named": (kinds["device_stall"]["named"], "a slow tick whose chain names a request that was stalled"),
            "device_stalls.felt": (kinds["device_stall"]["tick"].notna(), "a tick was slow meanwhile"),
            "cpu_stalls.blamed": (
                kinds["cpu_stall"]["blamed"],
                "the slow tick's cause is storage, which took less than the stall",
            ),
            "cpu_stalls.outweighed": (kinds["cpu_stall"]["outweighed"], "storage took longer than the stall, in the same tick"),
            "cpu_stalls.felt": (kinds["cpu_stall"]["tick"].notna(), "a tick was slow meanwhile"),
        }
        found = {name: blame.count(table) for name, (table, _) in counts.items()}
        for name, (_, note) in counts.items():
            one = found[name]
            self.fact(name, one.k, "stalls", n=one.n, source=source, note=note)
            share = one.k / one.n if one.n else None
            self.fact(
                f"{name}_share", share, "share", interval=one.exact, n=one.n, source=source, note=f"{note}; Clopper-Pearson"
            )
            self.fact(f"{name}_wilson", share, "share", interval=one.wilson, n=one.n, source=source, note=f"{note}; Wilson")
        named, blamed, felt = (found[name] for name in ("device_stalls.named", "cpu_stalls.blamed", "device_stalls.felt"))
        self._stall_claim(
            "device_stalls",
            "Blame names the request, the file and the tick of at least 19 of 20 injected device stalls",
            named,
            holds=named.n > 0 and named.k / named.n >= _NAMED_SHARE,
            words=f"{named.k} of {named.n} named, {felt.n - felt.k} slowed no tick",
            lacks=[] if all(one.evidence.knows_files for one in self.blames) else [_NO_FILES],
        )
        self._stall_claim(
            "cpu_stalls",
            "No injected stall of the processor is blamed on storage",
            blamed,
            holds=blamed.k == 0,
            words=f"{blamed.k} of {blamed.n} blamed, {found['cpu_stalls.outweighed'].k} in ticks in which storage took longer",
        )

    def _stall_claim(
        self, name: str, statement: str, found: blame.Count, *, holds: bool, words: str, lacks: Sequence[str] = ()
    ) -> None:
        word = "not valid" if self.invalid or lacks or found.n < STALLS else "equivalent" if holds else "different"
        evidence = f"{words}, 95 % interval {found.exact[0]:.0%} to {found.exact[1]:.0%}"
        few = [] if found.n >= STALLS else [f"{STALLS} stalls would decide"]
        facts = [fact.removeprefix(f"{self.name}.") for fact in self.facts if fact.startswith(f"{self.name}.{name}.")]
        self.claim(
            name,
            source=OURS,
            statement=statement,
            verdict=word,
            evidence="; ".join([*self.invalid, *lacks, evidence, *few, *self.data.marked()]),
            facts=facts,
            n=found.n,
        )

    def runs(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        return self.data.summary()

    def worst_ticks(self, top: int = 10) -> pd.DataFrame:
        """Returns the latest ticks, each explained in a sentence."""
        ticks = pd.concat([one.ticks.assign(life=number) for number, one in enumerate(self.blames)])
        worst = ticks.nlargest(top, "late_ns")
        said = [blame.explain(self.blames[life], tick) for life, tick in worst[["life", "tick"]].itertuples(index=False)]
        return pd.DataFrame({"cause": worst["cause"].map(blame.CAUSE_WORDS).to_numpy(), "what happened": said})

    def slow_actions(self) -> pd.DataFrame:
        """Returns one row a kind of action: how many were slow, how long the server waited for storage meanwhile, and for what
        longest in the slowest.
        """
        slowest = self.actions.loc[self.actions.groupby("action")["latency_ns"].idxmax()].set_index("action")
        own = self.actions.assign(
            **{name: self.actions[f"{name}_ns"].where(self.actions["slow"], 0) / 1e6 for name in ("latency", "storage")}
        ).groupby("action")
        return pd.DataFrame(
            {
                "actions": own.size(),
                "slow": own["slow"].sum(),
                "median ms": (own["latency_ns"].median() / 1e6).round(),
                "slowest ms": (own["latency_ns"].max() / 1e6).round(),
                "storage in slow ones": (own["storage"].sum() / own["latency"].sum().replace(0, np.nan)).round(3),
                "longest wait in the slowest": pd.Series(
                    [blame.explain_wait(row) for row in slowest.to_dict("records")], index=slowest.index, dtype=object
                ),
            }
        )

    def stalls_table(self) -> pd.DataFrame:
        """Returns one row an injected stall: what was stalled, and what blame says."""
        table = self.checks.assign(
            **{f"{name} ms": (self.checks[f"{name}_ns"].astype("Float64") / 1e6).round() for name in ("gap", "waited")}
        )
        columns = [
            "kind",
            "tick",
            "gap ms",
            "cause",
            "stalled",
            "stalled_files",
            "call",
            "file",
            "request",
            "device",
            "waited ms",
        ]
        return table[[*columns, "named", "outweighed", "blamed"]]

    def timeline(self) -> SVG:
        """Returns a stretch of the first life, with what each thread and the disk did."""
        one = self.blames[0]
        middle = int(one.ticks["start_ns"].iloc[len(one.ticks) // 2])
        said = f"What the {one.thread_name} thread, those that it waits for and the disk did"
        return self.figure("timeline", _timeline(one, middle, middle + _STRETCH_NS, "A stretch of one server life", said))

    def worst_tick(self) -> SVG:
        """Returns the time around the latest tick that no injected stall touched."""
        untouched = [one.ticks[~blame.overlapping(one.ticks, _injections(one))] for one in self.blames]
        late = pd.concat([ticks.assign(life=number) for number, ticks in enumerate(untouched)])
        if late.empty:
            raise TickdiskError("an injected stall touched every captured tick; run the experiment with fewer stalls")
        worst = late.iloc[int(late["late_ns"].to_numpy().argmax())]
        return self.figure("worst_tick", self._around(worst, "Around the latest tick"))

    def stalled_tick(self) -> SVG:
        """Returns the time around the latest tick during an injected stall of the device; if no tick was slow then, the first."""
        stalls = self.checks[self.checks["kind"] == "device_stall"]
        felt = stalls[stalls["tick"].notna()]
        if stalls.empty:
            raise TickdiskError("no stall was injected into the device while ticks were captured; run more lives (BLOCKS)")
        if felt.empty:
            stall = stalls.iloc[0]
            ticks = self.blames[int(stall["life"])].ticks
            tick = ticks[ticks["start_ns"] <= stall["start_ns"]].iloc[-1].copy()
            tick["life"] = stall["life"]
        else:
            tick = felt.iloc[int(felt["gap_ns"].astype("int64").to_numpy().argmax())]
        return self.figure("stalled_tick", self._around(tick, "Around an injected stall of the device"))

    def _around(self, tick: "pd.Series[Any]", heading: str) -> Any:
        """The chart around a tick, which has a life and a number."""
        one = self.blames[int(tick["life"])]
        row = int(one.ticks.index[one.ticks["tick"] == tick["tick"]][0])
        return around_tick(one, row, heading)

    def late_shares(self) -> SVG:
        """Returns what explains late time: shares with intervals by cause, routine, data type and file."""
        late = self.shares[(self.shares["of"] == "late") & self.shares["by"].isin(_BY)]
        rows = late.assign(
            group=late["by"].map(_BY), name=[blame.CAUSE_WORDS.get(name, Path(name).name) for name in late["name"]]
        )
        note = f"n = {rows['ticks'].iloc[0]:,} ticks that no injected stall touched, lives: {rows['lives'].iloc[0]}"
        more = rows["note"].iloc[0]
        return self.figure(
            "late_shares",
            plot.late_shares(rows, order=list(blame.CAUSE_WORDS.values()), notes=[note, *([more] if more else [])]),
        )

    def stalls(self) -> SVG:
        """Returns every injected stall: found or not, by what the slow tick's chain says."""
        first = {number: int(one.ticks["start_ns"].iloc[0]) for number, one in enumerate(self.blames)}
        table = self.checks
        device = (table["kind"] == "device_stall").to_numpy()
        rows = pd.DataFrame(
            {
                "at_s": (table["start_ns"] - table["life"].map(first)) / 1e9,
                "kind": np.where(
                    device, "Disk stalled, and named with request and file", "Core kept busy, and storage not blamed"
                ),
                "gap_ms": table["gap_ns"].astype("Float64") / 1e6,
                "right": np.where(device, table["named"].astype(bool), ~table["blamed"].astype(bool)),
            }
        )
        return self.figure("stalls", plot.stalls_found(rows.sort_values("kind", ascending=False)))


def around_tick(one: blame.Blame, row: int, heading: str) -> Any:
    """Returns the chart of the time around one tick, a row of `one.ticks`: gaps, threads, their files, the disk, saves."""
    tick: Any = one.ticks.loc[row]
    start_ns, end_ns = int(tick["start_ns"]) - _AROUND_NS, int(tick["start_ns"] + tick["gap_ns"]) + _AROUND_NS
    said = blame.explain(one, int(tick["tick"]))
    return _timeline(one, start_ns, end_ns, heading, f"{said[:1].upper()}{said[1:]}")


def _timeline(one: blame.Blame, start_ns: int, end_ns: int, heading: str, said: str) -> Any:
    shown = blame.stretch(one, start_ns, end_ns)
    return plot.tick_timeline(
        {part: getattr(shown, part) for part in ("ticks", "states", "calls", "service", "stalls")},
        span_s=shown.span_s,
        saves_s=shown.saves_s,
        budget_ms=None if one.budget_ns is None else one.budget_ns / 1e6,
        heading=heading,
        notes=textwrap.wrap(said, _LINE),
    )


def _injections(one: blame.Blame) -> pd.DataFrame:
    found = one.evidence.injections
    return pd.DataFrame({"start_ns": [], "end_ns": []}) if found is None else found
