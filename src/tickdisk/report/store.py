"""The store notebook: real lives of every algorithm, beside what the cost model says, and which algorithm for which game."""

from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import SVG

from tickdisk import checkpoint, plot, store
from tickdisk.report.checkpoint_anchors import NAMES
from tickdisk.report.parameters import check_parameters
from tickdisk.report.study import OURS, Study, display

ALL_NAMES = {
    **NAMES,
    "zigzag": "Zigzag",
    "ping_pong": "Ping-Pong",
    "calc": "CALC",
    "hourglass": "Hourglass",
    "piggyback": "Piggyback",
    "fork": "fork(2)",
}
_KINDS = {"own_ms": "real", "model_ms": "the paper's model", "calibrated_ms": "calibrated"}
_RANKS = 0.9
_VARIES = 2
"""Where the overhead changes less over the rates there is no order to be found."""
_FEWEST_RATES, _FEWEST_LIVES = 5, 5
"""A correlation of ranks over fewer says little, and fewer lives have no interval."""
_AS_PUBLISHED = 1.5
"""The factor within which another number than the published one is called the same."""
_TERMS = {
    "begun": "a checkpoint begun, and handed to the writer",
    "copied": "an object copied at once",
    "groups": "a contiguous group of objects copied at once",
    "tested": "an update that tests whether to save",
    "touched": "the first such update of an object in a tick",
    "locked": "a first touch in a checkpoint, locked",
    "saved": "an old value saved",
    "changed_beside": "an object first changed in a tick while a checkpoint is written",
    "handed": "an update handed to the store",
    "marked": "a dirty bit set",
}


class StoreStudy(Study):
    """Overheads of real lives against models, all algorithms on several games, and advice."""

    def __init__(self, folder: str, *, published: str = "data/published.yaml", output: str | None = None) -> None:
        check_parameters()
        super().__init__("store", output)
        self.published = checkpoint.load_published(Path(published))
        found = store.read_study(Path(folder))
        self.comparison, self.games = found.comparison, found.games
        self.points = self.comparison.points()
        self._source = "lives of the store on this machine"
        self._lives = int(self.points["lives"].sum())
        self._state_models()
        self._claim_paper()
        self._claim_within()
        self._claim_ranks()
        self._state_games()

    def _state_models(self) -> None:
        points = self.points
        self.fact("lives", len(self.comparison.tested), "lives", source=self._source, note="that the models are held against")
        self.fact("rates", points["rate"].nunique(), "update rates", source=self._source)
        self.fact("fit_rates", self.comparison.fitted["rate"].nunique(), "update rates", source=self._source)
        for row in self.comparison.summary().to_dict("records"):
            for column in (
                "ranks",
                "model_least",
                "model_most",
                "calibrated_least",
                "calibrated_most",
                "time_least",
                "time_most",
            ):
                self.fact(f"{row['algorithm']}.{column}", float(row[column]), "", n=int(row["rates"]), source=self._source)
        told = points.dropna(subset="calibrated")
        self.fact("points", len(points), "points", source=self._source, note="an algorithm at an update rate")
        self.fact("points.told", len(told), "points", n=len(points), source=self._source, note=f"at least {store.LEAST_MS:g} ms")
        for kind in ("model", "calibrated"):
            off = np.maximum(told[kind], 1 / told[kind])
            note = "the larger of model over real and real over model, at its worst"
            worst = float(off.max()) if len(off) else None
            self.fact(f"{kind}.most_off", worst, "times", n=len(told), source=self._source, note=note)
        inside = int((abs(told["calibrated"] - 1) <= store.WITHIN).sum())
        self.fact(
            "calibrated.within", inside, "points", n=len(told), source=self._source, note=f"off by {store.WITHIN:.0%} at most"
        )
        share, low, high, lives = self.comparison.slower()
        note = "how much longer updates that nobody keeps take while a checkpoint is written; 95 % interval over lives"
        self.fact("slower", 100 * share, "%", interval=(100 * low, 100 * high), n=lives, source=self._source, note=note)
        null = self.comparison.tested.loc[self.comparison.tested["algorithm"] == "naive_snapshot", "null_ms"]
        note = "Naive-Snapshot's updates against the shadow's while checkpoints rest: what handing them over one by one takes"
        self.fact("null", float(null.mean()), "ms", n=len(null), source=self._source, note=note)

    @property
    def _is_small(self) -> bool:
        return bool(self.points["rate"].nunique() < _FEWEST_RATES or self.points["lives"].min() < _FEWEST_LIVES)

    def _claim_paper(self) -> None:
        own = self.points[self.points["algorithm"] == "copy_on_update"]
        times = float((1 / own["model"]).max())
        self.fact("copy_on_update.real_over_model", times, "times", n=len(own), source=self._source, note="at its worst")
        theirs = self.published.real_copy_on_update
        alike = theirs / _AS_PUBLISHED <= times <= theirs * _AS_PUBLISHED
        self.claim(
            "paper_model",
            source="Vaz Salles et al. 2009",
            statement=f"the real Copy-on-Update costs up to {theirs:g} times what the cost model says",
            verdict="not valid" if self._is_small or not times > 0 else "equivalent" if alike else "different",
            evidence=f"up to {display(self.facts['store.copy_on_update.real_over_model'])}; alike: by at most {_AS_PUBLISHED:g}",
            facts=["copy_on_update.real_over_model"],
            n=int(own["lives"].sum()),
        )

    def _claim_within(self) -> None:
        told = self.points.dropna(subset="calibrated")
        inside = (told["low"] >= 1 - store.WITHIN) & (told["high"] <= 1 + store.WITHIN)
        outside = (told["low"] > 1 + store.WITHIN) | (told["high"] < 1 - store.WITHIN)
        self.fact(
            "calibrated.surely", int(inside.sum()), "points", n=len(told), source=self._source, note="the whole 90 % interval"
        )
        self.fact("calibrated.surely_not", int(outside.sum()), "points", n=len(told), source=self._source, note="none of it")
        verdict = "equivalent" if inside.all() else "different" if outside.any() else "inconclusive"
        facts = [f"calibrated.{name}" for name in ("within", "surely", "surely_not", "most_off")]
        within, surely, surely_not, most_off = (display(self.facts[f"store.{name}"]) for name in facts)
        self.claim(
            "calibrated",
            source=OURS,
            statement=f"the calibrated model is within {store.WITHIN:.0%} of the real overhead, at rates not used for it",
            verdict="not valid" if self._is_small or told.empty else verdict,
            evidence=(
                f"{within} of {len(told)}, off by {most_off} at most; {surely} with all of their 90 % interval, {surely_not} none"
            ),
            facts=[*facts, "points.told"],
            n=self._lives,
        )

    def _claim_ranks(self) -> None:
        rows = self.comparison.summary()
        judged = rows[rows["varies"] >= _VARIES].sort_values("ranks", na_position="first")
        flat = [ALL_NAMES[name] for name in rows.loc[rows["varies"] < _VARIES, "algorithm"]]
        least = float(judged["ranks"].iloc[0]) if len(judged) else None
        note = str(judged["algorithm"].iloc[0]) if len(judged) else ""
        self.fact("ranks.least", least, "", n=self.points["rate"].nunique(), source=self._source, note=note)
        also = f"; not of {', '.join(flat)}, where it changes less than {_VARIES:g}-fold over the rates" if flat else ""
        self.claim(
            "ranks",
            source=OURS,
            statement=f"real and calibrated overhead rank alike over update rates, with a correlation above {_RANKS:g}",
            verdict="not valid" if self._is_small or least is None else "equivalent" if least > _RANKS else "different",
            evidence=f"the least of {len(judged)} algorithms is {display(self.facts['store.ranks.least'])}{also}",
            facts=["ranks.least", "rates"],
            n=self._lives,
        )

    def _state_games(self) -> None:
        for name, own in self.games.groupby("game", sort=False):
            mean = _mean(own)
            self.fact(f"game.{name}.state", float(own["state_bytes"].iloc[0]) / 1e6, "MB", source="plan")
            limit_ms = 500 / float(own["tick_hz"].iloc[0])
            kept = mean[mean["longest_ms"] <= limit_ms]
            self.fact(
                f"game.{name}.kept", len(kept), "algorithms", n=len(mean), source=self._source, note="no tick half a tick longer"
            )
            for row in mean.to_dict("records"):
                for column, unit in (("added_ms", "ms"), ("longest_ms", "ms"), ("checkpoint_s", "s"), ("recovery_s", "s")):
                    fact = f"game.{name}.{row['algorithm']}.{column.rsplit('_', 1)[0]}"
                    self.fact(fact, row[column], unit, n=int(row["lives"]), source=self._source)
            advice = store.advise(mean, limit_ms=limit_ms)
            self.word(f"game.{name}.advice", ALL_NAMES[advice.algorithm], source=self._source, note=advice.why)

    def models(self) -> SVG:
        """Returns real and modelled overhead over the update rate, for each algorithm that the model knows."""
        rows = self.points.melt(["algorithm", "rate"], list(_KINDS), var_name="kind", value_name="ms").dropna()
        table = rows.assign(kind=rows["kind"].map(_KINDS), algorithm=rows["algorithm"].map(ALL_NAMES), added_ms=rows["ms"])
        lives = self.comparison.tested["life"].nunique()
        note = f"a point: {'one life' if lives == 1 else f'the median of {lives} lives'}; below 0.001 ms: drawn there"
        chart = plot.model_real(table, order=list(ALL_NAMES.values()), kinds=list(_KINDS.values()), note=note)
        return self.figure("models", chart)

    def model_table(self) -> pd.DataFrame:
        """Returns, for each algorithm, both models over the real overhead, from the least to the most over rates."""
        rows = self.comparison.summary()
        table = pd.DataFrame(
            {
                "algorithm": rows["algorithm"].map(ALL_NAMES),
                "paper's model over real": [
                    f"{a:.2f} to {b:.2f}" for a, b in zip(rows["model_least"], rows["model_most"], strict=True)
                ],
                "calibrated over real": [
                    f"{a:.2f} to {b:.2f}" for a, b in zip(rows["calibrated_least"], rows["calibrated_most"], strict=True)
                ],
                "rank correlation": rows["ranks"].round(2),
                "a checkpoint's time, calibrated over real": [
                    f"{a:.2f} to {b:.2f}" for a, b in zip(rows["time_least"], rows["time_most"], strict=True)
                ],
                f"within {store.WITHIN:.0%}": [f"{a} of {b}" for a, b in zip(rows["within"], rows["rates"], strict=True)],
            }
        )
        return table.set_index("algorithm")

    def terms(self) -> pd.DataFrame:
        """Returns what each thing that a tick does takes here, beside the paper's micro-benchmarks."""
        calibrated, machine = self.comparison.calibrated, self.comparison.calibrated.machine
        plain = machine.costs(tick_hz=30, object_bytes=checkpoint.State().object_bytes)
        copy_ns = checkpoint.State().object_bytes / plain.memory_bytes_per_s * 1e9
        alone = {
            "groups": plain.copy_start_ns,
            "copied": copy_ns,
            "tested": plain.bit_ns,
            "locked": plain.lock_ns,
            "saved": plain.copy_start_ns + copy_ns,
        }
        rows = [(words, alone.get(name), calibrated.terms_ns[name]) for name, words in _TERMS.items()]
        return pd.DataFrame(rows, columns=["what", "alone (ns)", "in a life (ns)"]).set_index("what").round(2)

    def which(self) -> SVG:
        """Returns all algorithms on each game: mean and most added to a tick."""
        tables = []
        for name, own in self.games.groupby("game", sort=False):
            tables.append(_mean(own).assign(game=name, limit_ms=500 / float(own["tick_hz"].iloc[0])))
        table = pd.concat(tables)
        table["algorithm"] = table["algorithm"].map(ALL_NAMES)
        note = "dot: mean over ticks; mark: the longest; dashed: half a tick"
        return self.figure("which", plot.algorithms_games(table, games=list(dict.fromkeys(table["game"])), note=note))

    def games_table(self) -> pd.DataFrame:
        """Returns every algorithm on every game: what it adds, checkpoints, recovery, bytes written, memory."""
        own = [_mean(rows).assign(game=name) for name, rows in self.games.groupby("game", sort=False)]
        table = pd.concat(own)
        shown = pd.DataFrame(
            {
                "game": table["game"],
                "algorithm": table["algorithm"].map(ALL_NAMES),
                "added (ms)": table["added_ms"].round(3),
                "longest (ms)": table["longest_ms"].round(2),
                "checkpoint (s)": table["checkpoint_s"].round(3),
                "recovery (s)": table["recovery_s"].round(3),
                "written (MB)": (table["bytes"] / 1e6).round(1),
                "memory (MB)": (table["memory_bytes"] / 1e6).round(0),
            }
        )
        return shown.set_index(["game", "algorithm"])

    def advice(self) -> pd.DataFrame:
        """Returns what to take for each game, and why."""
        rows = []
        for name, own in self.games.groupby("game", sort=False):
            found = store.advise(_mean(own), limit_ms=500 / float(own["tick_hz"].iloc[0]))
            rows.append((name, ALL_NAMES[found.algorithm], found.why))
        return pd.DataFrame(rows, columns=["game", "take", "why"]).set_index("game")


def _mean(own: pd.DataFrame) -> pd.DataFrame:
    """A row an algorithm: means over lives, but of the longest tick the most; and how many lives."""
    columns = ["added_ms", "checkpoint_s", "recovery_s", "bytes", "memory_bytes"]
    grouped = own.groupby("algorithm", sort=False)
    return grouped[columns].mean().assign(longest_ms=grouped["longest_ms"].max(), lives=grouped.size()).reset_index()
