"""The notebook of storage accesses: who causes them, what they look like, when they happen, and a model that generates them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import SVG
from numpy.typing import NDArray

from tickdisk import accesses, plot, stats, table
from tickdisk.report.parameters import check_parameters
from tickdisk.report.runs import LifeTables, Runs
from tickdisk.report.study import OURS, Study

_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S = "server_unload_unused_data_timeout", 29.0
_SAVE_PERIOD = "server_map_save_interval"
_MAP = "map.sqlite"
_PER_LIFE = {
    "share_4_8_kib": ("share", "reads and writes of exactly 4 or 8 KiB"),
    "share_sequential_reads": ("share", "reads that begin where the access before in their file ended"),
    "share_sequential_writes": ("share", "writes that begin where the access before in their file ended"),
    "save_period_s": ("s", "from the end of a save to the end of the next"),
    "save_syncs": ("syncs", "sync calls of a save"),
    "save_requests": ("requests", "writes and syncs of a save"),
    "save_requests_per_s": ("requests/s", "writes and syncs a second while a save writes"),
    "share_saved_bytes_terrain": ("share", "terrain bytes written in saves; the rest as blocks are unloaded"),
    "share_saved_bytes_player": ("share", "player bytes written in saves; the rest at joins and leaves"),
}


class _Claimed(NamedTuple):
    """A claim that two quantities differ, and the log of their ratio, one value a life."""

    statement: str
    source: str
    log_ratios: NDArray[np.float64]
    note: str


class AccessStudy(Study):
    """Storage accesses of captured server lives; the last third of the lives is held out from the generative model."""

    def __init__(
        self,
        plan: str,
        *,
        runs: str,
        published: str,
        output: str | None,
        margin: float | None,
        bootstrap_samples: int | None,
        seed: int | None,
    ) -> None:
        check_parameters()
        super().__init__("accesses", output)
        self.data = Runs(plan, runs, "accesses")
        decision = self.data.decision
        self.margin = decision.margin if margin is None else margin
        samples = decision.bootstrap_samples if bootstrap_samples is None else bootstrap_samples
        self.rng = np.random.default_rng(np.random.SeedSequence(self.data.config.seed if seed is None else seed))
        planned, least = self.data.scale.accesses.lives, decision.minimum_lives
        self.plan = stats.Plan(planned, least, decision.control_minimum_lives, self.margin, decision.alpha)
        self.published = accesses.load_published(Path(published))
        self._tables = list(self.data.lives())
        self._selected = [accesses.select(table.read("requests", life.folder / "requests.parquet")) for life in self._tables]
        self.lives = [_life(tables, chosen.table) for tables, chosen in zip(self._tables, self._selected, strict=True)]
        held_out = max(1, len(self.lives) // 3) if len(self.lives) > 1 else 0
        self.fitted, self.held_out = self.lives[: len(self.lives) - held_out], self.lives[len(self.lives) - held_out :]
        self.model = accesses.fit(self.fitted, rng=self.rng, samples=samples)
        self.model_bytes = accesses.fit(self.fitted, rng=self.rng, samples=samples, of="bytes")
        self.errors = accesses.errors(self.model.value, self.held_out)
        self.in_turn = accesses.errors_in_turn(self.lives)
        self.summary = accesses.summary(self.lives)
        self.points = accesses.region_points(self.lives)
        self.lines = {kind: accesses.line(self._arrivals(kind), "reads") for kind in accesses.ARRIVALS}
        self.effects = accesses.compare(accesses.effects(self.lives, decision.alpha), self.published)
        self._state_counts()
        self._state_means()
        self._state_coefficients()
        self._state_claims()
        self._state_interactions()

    def _arrivals(self, kind: str) -> pd.DataFrame:
        return self.points[self.points["kind"] == kind]

    def _state_counts(self) -> None:
        left = pd.DataFrame([chosen.left_out for chosen in self._selected]).sum().sort_values(ascending=False)
        reasons = ", ".join(f"{count:.0f} {reason}" for reason, count in left.items())
        lost = sum(capture["lost_events"] for life in self._tables for capture in life.manifest["captures"])
        self.fact("lives", len(self.lives), "lives", source="manifests")
        self.fact("held_out_lives", len(self.held_out), "lives", source="the last third of the lives")
        self.fact("lost_events", lost, "events", source="captures")
        ending = sum(len(chosen.table) for chosen in self._selected) - sum(len(life.accesses) for life in self.lives)
        self.fact("at_end", ending, "requests", source="captures", note="after the last save: as the server ends; not studied")
        self.fact("left_out", int(left.sum()), "calls", source="captures", note=f"calls that move or sync no data: {reasons}")
        for op in ("reads", "writes", "syncs"):
            self.fact(op, int(self.summary[op].sum()), "requests", n=len(self.lives), source="captures")

    def _state_means(self) -> None:
        """States means over lives, the slopes over regions, and the model's errors."""
        off = "off in requests per minute"
        values = {name: (self.summary.get(name, pd.Series(dtype=float)), *words) for name, words in _PER_LIFE.items()}
        values |= {
            "model.held_out_error": (self.errors["error"].abs(), "share", f"{off}: lives that were held out"),
            "model.in_turn_error": (self.in_turn["error"].abs(), "share", f"{off}: each life predicted from all others"),
        }
        for name, (of, unit, note) in values.items():
            mean, source = accesses.over_lives(of, self.plan.alpha), "captures, mean of lives"
            self.fact(name, mean.value, unit, interval=(mean.low, mean.high), n=mean.n, source=source, note=note)
        for kind, line in self.lines.items():
            interval, note = (line.low, line.high), f"reads of terrain over regions, phases of {kind}"
            self.fact(f"{kind}.per_region", line.slope, "requests", interval=interval, n=line.lives, source="captures", note=note)
            self.fact(f"{kind}.r_squared", line.r_squared, "share", n=line.points, source="captures", note=note)
            every, note = accesses.line(self._arrivals(kind)), f"all requests over regions, phases of {kind}"
            self.fact(f"{kind}.r_squared_all", every.r_squared, "share", n=every.points, source="captures", note=note)

    def _state_coefficients(self) -> None:
        for unit, model in (("requests", self.model), ("bytes", self.model_bytes)):
            source = f"non-negative least squares over {model.windows} windows of {model.lives} lives"
            for row in accesses.listed(model).to_dict("records"):
                name = f"model.{unit}.{row['routine']}.{row['data']}.{row['op']}".replace(" ", "_")
                interval, note = (row["low"], row["high"]), f"of one {row['routine']}"
                self.fact(name, row["value"], unit, interval=interval, n=model.lives, source=source, note=note)

    def _state_claims(self) -> None:
        """States what is tested over lives; all claims are one scan."""
        claims = self._claimed()
        effects = {name: stats.contrast(of.log_ratios, margin=self.margin, alpha=self.plan.alpha) for name, of in claims.items()}
        p = stats.adjusted([effect.p for effect in effects.values()], "scan")
        equivalent = stats.adjusted([effect.p_equivalent for effect in effects.values()], "scan")
        for index, (name, effect) in enumerate(effects.items()):
            of, interval = claims[name], (effect.low, effect.high)
            verdict = stats.verdict(effect, self.plan, p=float(p[index]), p_equivalent=float(equivalent[index]))
            source = "captures, geometric mean of lives"
            self.fact(f"{name}_ratio", effect.ratio, "ratio", interval=interval, n=effect.n, source=source, note=of.note)
            self.claim(
                name,
                source=of.source,
                statement=of.statement,
                verdict=verdict.word,
                evidence="; ".join([verdict.reason, *self.data.marked()]),
                facts=[f"{name}_ratio"],
                n=effect.n,
            )

    def _claimed(self) -> dict[str, _Claimed]:
        theirs = {name: f"PokeSto: {words}" for name, words in self.published.findings.items()}
        told_s = [float(life.manifest["server"]["settings"][_SAVE_PERIOD]) for life in self._tables]
        rows, turns = self.summary, self.in_turn
        claims = {
            f"linear.{kind}": _Claimed(
                f"A region costs another number of reads of terrain where {kind} are many than where they are few",
                theirs["linear"],
                accesses.ratio_of_rates(self._arrivals(kind), "reads"),
                "reads of terrain per region in the phase with most regions over the one with fewest",
            )
            for kind in accesses.ARRIVALS
        }
        for name, statement, source, ratios, note in (
            (
                "writes",
                "Writes and reads differ in number",
                theirs["writes"],
                rows["writes"] / rows["reads"],
                "writes over reads",
            ),
            (
                "sizes",
                "Requests of 4 or 8 KiB and those of other sizes differ in number",
                theirs["sizes"],
                _odds(rows["share_4_8_kib"], rows["reads"] + rows["writes"]),
                "requests of 4 or 8 KiB over others",
            ),
            (
                "random.reads",
                "Random and sequential reads differ in number",
                theirs["random"],
                _odds(1 - rows["share_sequential_reads"], rows["reads"]),
                "random over sequential reads",
            ),
            (
                "random.writes",
                "Random and sequential writes differ in number",
                theirs["random"],
                _odds(1 - rows["share_sequential_writes"], rows["writes"]),
                "random over sequential writes",
            ),
            (
                "flush_interval",
                "The server saves at another interval than it is told to",
                OURS,
                rows["save_period_s"] / told_s,
                "interval as measured over interval as set",
            ),
            (
                "model",
                "The model predicts another number of requests a minute than is observed",
                OURS,
                turns["predicted"] / turns["observed"],
                "predicted over observed, each life predicted from all others",
            ),
        ):
            claims[name] = _Claimed(statement, source, _finite_logs(ratios), note)
        return claims

    def _state_interactions(self) -> None:
        """States, for each published cause that players act out here, whether the accesses are there."""
        for row in self.effects[self.effects["published"] & (self.effects["lives"] > 0)].to_dict("records"):
            cause, data, op, lives = row["interaction"], row["data"], row["op"], int(row["lives"])
            name = f"interaction.{cause.replace(' ', '_')}.{data}.{op}"
            interval, note = (row["low"], row["high"]), "requests per interaction beyond those of quiet windows"
            self.fact(name, row["per_event"], "requests", interval=interval, n=lives, source="captures", note=note)
            found = "different" if row["p_adjusted"] < self.plan.alpha else "inconclusive"
            size = _with_interval(row["per_event"], row["low"], row["high"])
            few = f"n = {lives}, fewer than the {self.plan.minimum} lives that a verdict needs"
            obstacles = [few] if lives < self.plan.minimum else []
            self.claim(
                name,
                source=f"PokeSto: {cause} {accesses.DIRECTIONS[op]} {data}",
                statement=f"{cause.capitalize()} causes {op}s of {data} data",
                verdict="not valid" if obstacles else found,
                evidence="; ".join(
                    [*(obstacles or [f"{size} requests each, adjusted p = {row['p_adjusted']:.2g}"]), *self.data.marked()]
                ),
                facts=[name],
                n=lives,
            )

    def runs(self) -> pd.DataFrame:
        """Returns one row a cell: what ran, how loaded the machine was, what was counted."""
        return self.data.summary()

    def files(self) -> pd.DataFrame:
        """Returns requests and MB by data type, database or file, and direction, over all lives."""
        rows = pd.concat([life.accesses for life in self.lives])
        counted = rows.assign(mb=rows["bytes"] / 1e6).groupby(["data", "store", "op"])["mb"].agg(requests="size", MB="sum")
        return counted.reset_index().pivot_table(index=["data", "store"], columns="op", fill_value=0)

    def interactions(self) -> pd.DataFrame:
        """Returns which interaction causes which accesses: as published, and as found here in requests per interaction."""
        rows = self.effects.assign(
            found=[
                _with_interval(row["per_event"], row["low"], row["high"]) if row["lives"] else "not seen alone"
                for row in self.effects.to_dict("records")
            ],
            published=self.effects["published"].map({True: "yes", False: "no"}),
        )
        shown = rows[(rows["published"] == "yes") | (rows["p_adjusted"] < self.plan.alpha)]
        return shown.set_index(["interaction", "data", "op"])[["published", "found", "p_adjusted", "windows", "lives"]]

    def form(self) -> pd.DataFrame:
        """Returns requests, bytes, sizes and sequential share by data type and direction, the mean of lives."""
        return pd.concat([accesses.form(life.accesses) for life in self.lives]).groupby(["data", "op"]).mean()

    def delayed(self) -> pd.DataFrame:
        """Returns how much of what was written was written in saves, by data type, over all lives."""
        return pd.concat([accesses.delayed(life.accesses, life.saves).assign(life=life.name) for life in self.lives]).set_index(
            ["data", "life"]
        )

    def routines(self) -> pd.DataFrame:
        """Returns the generative table: what one event of each routine costs here, beside the published accesses."""
        theirs = {row.routine: f"{row.accesses}, {row.timing} {'/'.join(row.directions)}" for row in self.published.routines}
        rows: dict[tuple[str, str, str], dict[str, str]] = {}
        for unit, model in (("requests", self.model), ("bytes", self.model_bytes)):
            for row in accesses.listed(model).to_dict("records"):
                key = (row["routine"], row["data"], row["op"])
                cell = rows.setdefault(key, {"published": theirs.get(row["routine"], "none")})
                cell[f"{unit} each"] = _with_interval(row["value"], row["low"], row["high"])
        for routine in theirs.keys() - {routine for routine, *_ in rows}:
            rows[routine, "", ""] = {"published": theirs[routine], "requests each": "no such event here"}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis(["routine", "data", "op"]).fillna("")

    def predictions(self) -> pd.DataFrame:
        """Returns requests per minute of each life that was held out, observed and predicted."""
        return self.errors.set_index("life")

    def cumulative(self) -> SVG:
        """Returns bytes read and written so far over time in the first life, its saves marked."""
        life = self.lives[0]
        start = int(life.accesses["at_ns"].min())
        saves_s = ((life.saves["end_ns"] - start) / 1e9).tolist()
        chart = plot.cumulative_accesses(accesses.cumulative(life.accesses, start), saves_s=saves_s, life=life.name)
        return self.figure("cumulative", chart)

    def sizes(self) -> SVG:
        """Returns the sizes of requests by data type and direction, over all lives."""
        return self.figure("sizes", plot.access_sizes(accesses.sizes(pd.concat([life.accesses for life in self.lives]))))

    def offsets(self) -> SVG:
        """Returns where in the map the first life reads and writes over time."""
        rows = self.lives[0].accesses
        own = rows[(rows["store"] == _MAP) & rows["file"].str.endswith(_MAP) & (rows["op"] != "sync")].dropna(subset=["offset"])
        own = own.assign(at_s=(own["at_ns"] - int(rows["at_ns"].min())) / 1e9)
        return self.figure("offsets", plot.offset_time(own, store=_MAP))

    def regions(self) -> SVG:
        """Returns requests over the number of regions, for joins and for teleports."""
        return self.figure("regions", plot.over_regions(self.points, self.lines))

    def held_out_windows(self) -> SVG:
        """Returns requests between saves, observed and predicted, in the lives that were held out (with one life: in that)."""
        lives = self.held_out or self.lives
        windows = pd.concat([accesses.predict(self.model.value, life).assign(life=life.name) for life in lives])
        return self.figure("predicted", plot.predicted_observed(windows))


def _life(tables: LifeTables, rows: pd.DataFrame) -> accesses.Life:
    started_ns, settings = tables.manifest["started_ns"], tables.manifest["server"]["settings"]
    phases = pd.DataFrame(tables.manifest["phases"])
    times = {f"{end}_ns": (started_ns + phases[f"{end}_s"] * 1e9).round().astype("int64") for end in ("start", "end")}
    return accesses.life_of(
        f"block {tables.block + 1}",
        rows,
        tables.actions,
        phases.assign(**times),
        steps_ns=tables.ticks["start_ns"].to_numpy(),
        unload_timeout_s=float(settings.get(_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S)),
    )


def _odds(share: "pd.Series[float]", n: "pd.Series[int]") -> "pd.Series[float]":
    """Returns share over the rest, of n, half a request added to each so that neither is none (Haldane 1956)."""
    return (share * n + 0.5) / ((1 - share) * n + 0.5)


def _finite_logs(ratios: "pd.Series[float]") -> NDArray[np.float64]:
    """Logs of the ratios that are positive and finite: a life without one side has none."""
    values = ratios.to_numpy(dtype=float)
    return np.log(values[np.isfinite(values) & (values > 0)])


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:.3g}" + (f" [{low:.3g}, {high:.3g}]" if np.isfinite(low) else "")
