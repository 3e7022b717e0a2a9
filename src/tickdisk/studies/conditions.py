"""Effects of slow disks under several conditions, such as a number of servers, each compared with the effect under the first one.

Either the device changes from epoch to epoch and a block has one life under each condition, or the condition changes from epoch
to epoch and a block has one life on each device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tickdisk import stats
from tickdisk.foundation.numbers import number
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import Runs
from tickdisk.studies.statement import THIS_PROJECT, Statement

_SCAN = "the claim is one of a scan (Benjamini-Hochberg)"


def effect_of(arm: str, condition: str) -> str:
    """Returns the name of the effect of a slow disk under a condition, in facts and claims."""
    return f"{arm}.{condition}"


def over(arm: str, other: str) -> str:
    """Returns the name of the ratio of one arm to another."""
    return f"{arm}_over_{other}"


def over_first(arm: str, condition: str) -> str:
    """Returns the name of the ratio of that effect to the effect under the first condition."""
    return f"{arm}.{condition}_over_first"


@dataclass(frozen=True)
class Arms:
    """The arms whose effects are computed, and the controls."""

    baseline: str
    null: str
    positive: Mapping[str, str]
    """The positive control of each metric."""
    slow: Sequence[str]
    """The arms whose effects are asked about."""

    @classmethod
    def of(cls, data: Runs, metrics: Mapping[str, str]) -> "Arms":
        """Returns the arms of an experiment by their roles.

        `metrics` says for each metric which kind of positive control it has, `ticks` or `actions`.
        """
        return cls(
            data.role("baseline"),
            data.role("null"),
            {metric: data.positive_for(kind) for metric, kind in metrics.items()},
            [arm.arm for arm in data.arms if arm.role not in ("baseline", "null", "delay")],
        )


@dataclass(frozen=True)
class Conditions:
    """The lives of one server under all conditions, and the effects that they show."""

    data: Runs
    names: Sequence[str]
    """Names of the conditions, of which the first is the one that all others are compared with."""
    epochs: pd.DataFrame
    """One row per epoch of a life without the positive control: block, condition, arm, a column for each metric, and others."""
    logs: Mapping[str, pd.DataFrame]
    """Logarithms of each metric, with an index of block and condition, and a column for each arm."""
    contrasts: Mapping[stats.Key, stats.Contrast]
    """Ratios over blocks by metric and name: those of `effect_of` and `over_first` for each slow disk, and the controls."""
    decision: stats.Verdicts
    """Verdicts on `contrasts`."""
    plan: stats.DecisionPlan
    """Rules of the decision. It counts blocks."""
    arms: Arms

    @property
    def slow(self) -> Sequence[str]:
        """The arms whose effects are asked about, such as those with slow disks."""
        return self.arms.slow

    @property
    def title(self) -> str:
        """The name of the server for people."""
        return self.data.manifests[0].server.title

    def disk(self, arm: str) -> str:
        """The disk of an arm in words: its latency, after its name if the name does not say it, such as "hard disk, 6 ms"."""
        latency = f"{number(self.data.latency_ms(arm))} ms"
        return latency if any(letter.isdigit() for letter in arm) else f"{arm.replace('_', ' ')}, {latency}"

    def mean(self, arm: str, condition: str, column: str) -> stats.Mean:
        """Returns the mean over blocks of a column of `epochs` on the disk of an arm under a condition."""
        own = self.epochs[(self.epochs["arm"] == arm) & (self.epochs["condition"] == condition)]
        return stats.over_lives(own[column], self.plan.alpha)

    def means(self, column: str, numbers: Mapping[str, int]) -> pd.DataFrame:
        """Returns the means of a column of `epochs` on the fast disk and on the slow ones, under conditions that are numbers.

        It has the columns server, disk, number, mean, low and high.
        """
        rows = []
        for arm in (self.arms.baseline, *self.slow):
            for condition, size in numbers.items():
                mean = self.mean(arm, condition, column)
                ends = {"mean": mean.value, "low": mean.low, "high": mean.high}
                rows.append({"server": self.title, "disk": self.disk(arm), "number": size, **ends})
        return pd.DataFrame(rows)

    def forest_row(self, metric: str, name: str, *, arm: str, words: str) -> dict[str, object]:
        """Returns the contrast `name` of a metric as a row for `plot.forest`, where it is named `arm`, and the metric `words`."""
        effect = self.contrasts[metric, name]
        interval = {"ratio": effect.ratio, "low": effect.low, "high": effect.high, "n": effect.n}
        return {"arm": arm, "metric": words, **interval, "verdict": self.decision.verdicts[metric, name].word}

    def between(self, metric: str, arm: str, condition: str) -> stats.Contrast:
        """Returns the contrast of a metric on one disk under a condition with that on the same disk under the first one."""
        levels = self.logs[metric].pivot_table(index="block", columns="condition", values=arm)
        return _contrast(self.data, levels[condition] - levels[self.names[0]], self.plan)

    def state_lives(self, part: Statement) -> None:
        """States the name of the server, and how many blocks and lives there are."""
        source = "manifests"
        part.word("title", self.title, source=source, note="name of the server")
        part.fact("blocks", self.epochs["block"].nunique(), "blocks", source=source, note="one life under each condition")
        part.fact("lives", len(self.data.lives), "lives", source=source, note="with the positive control")
        marked = sum(life.marked for life in self.data.lives)
        part.fact("marked", marked, "lives", source=source, note="disturbed even in their last replacement; they count")

    def compare(
        self,
        part: Statement,
        metric: str,
        name: str,
        *,
        fact: str,
        question: str,
        claim: str,
        finding: stats.Finding | None = None,
        is_same: bool = True,
    ) -> None:
        """States the ratio `name` of a metric as the fact `fact`, and a claim about it.

        `finding` and `is_same` are those of `Statement.comparison`.
        """
        effect, verdict = self.contrasts[metric, name], self.decision.verdicts[metric, name]
        causes = stats.causes_of(effect, verdict, self.plan, counted="blocks")
        ends = (effect.low, effect.high)
        part.fact(fact, effect.ratio, "ratio", interval=ends, n=effect.n, source="log ratios of blocks", note=question)
        part.comparison(
            claim,
            source=THIS_PROJECT,
            statement=f"{self.title}: {question}",
            verdict=verdict.word,
            evidence="; ".join(
                [
                    *([verdict.shown] if verdict.shown else []),
                    *(cause.sentence for cause in causes),
                    *([_SCAN] if verdict.family == "scan" else []),
                ]
            ),
            causes=causes,
            effect=fact,
            n=verdict.n,
            counted="blocks",
            finding=finding,
            is_same=is_same,
            must_be="equivalent" if name == self.arms.null else "different" if name == self.arms.positive.get(metric) else "",
        )

    def state_in_every_block(
        self, part: Statement, claim: str, met: Sequence[bool], *, fact: str, question: str, source: str, note: str
    ) -> None:
        """States in how many blocks something was met that the effects rest on, and a claim that it was met in every block."""
        needed = self.plan.control_minimum
        part.fact(fact, sum(met), "blocks", n=len(met), source=source, note=note)
        is_few = len(met) < needed
        part.bound(
            claim,
            source=THIS_PROJECT,
            statement=f"{self.title}: {question}",
            verdict="not valid" if is_few else "kept" if all(met) else "missed",
            evidence=f"in {sum(met)} of {len(met)} blocks",
            causes=[stats.TooFew(n=len(met), needed=needed, counted="blocks")] if is_few else (),
            effect=fact,
            n=len(met),
            counted="blocks",
        )


def analyse(
    data: Runs,
    epochs: pd.DataFrame,
    names: Sequence[str],
    arms: Arms,
    *,
    blocks: int,
    margin: float | None,
    not_valid: Mapping[str, Sequence[stats.Obstacle]] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    with_first: bool = True,
) -> Conditions:
    """Computes the effects of slow disks, or of other arms, under all conditions.

    Each of the `pairs` has two of these arms, whose ratio is computed under each condition, too (`over`). Without `with_first`,
    no effect is compared with that under the first condition.

    `epochs` has a row for each epoch of each life: block, life (its name), condition, arm, and a column for each metric, which is
    above 0. The metrics are those that have a positive control. The life with the name of that control has the baseline and the
    control. `blocks` are the planned ones, and a `margin` of None is the plan's. `not_valid` has the causes for which lives say
    nothing about an arm, or about an effect by its name, and is that of `data` if it is None.
    """
    rules = decide_by(data.decision, blocks, margin)
    baseline, null, positive, slow = arms.baseline, arms.null, arms.positive, arms.slow
    is_control = epochs["life"].isin(set(positive.values()))
    shared, alone = epochs[~is_control], epochs[is_control]
    further = names[1:] if with_first else ()
    effects: dict[stats.Key, stats.Contrast] = {}
    logs: dict[str, pd.DataFrame] = {}
    for metric, delay in positive.items():
        own = logs[metric] = _logs(shared, metric, ["block", "condition"], [baseline, null, *slow])
        base = own[[baseline, null]].mean(axis=1, skipna=False)
        again = (own[null] - own[baseline]).groupby("block").mean()
        delayed = _logs(alone, metric, ["block"], [baseline, delay])
        effects[metric, null] = _contrast(data, again, rules)
        effects[metric, delay] = _contrast(data, delayed[delay] - delayed[baseline], rules)
        for arm in slow:
            effect = (own[arm] - base).rename("effect").reset_index()
            found = effect.pivot_table(index="block", columns="condition", values="effect").reindex(columns=list(names))
            for name in names:
                effects[metric, effect_of(arm, name)] = _contrast(data, found[name], rules)
            for name in further:
                effects[metric, over_first(arm, name)] = _contrast(data, found[name] - found[names[0]], rules)
        for arm, other in pairs:
            between = (own[arm] - own[other]).rename("effect").reset_index()
            found = between.pivot_table(index="block", columns="condition", values="effect").reindex(columns=list(names))
            for name in names:
                effects[metric, effect_of(over(arm, other), name)] = _contrast(data, found[name], rules)
    treatments = [effect_of(arm, name) for arm in slow for name in names]
    treatments += [over_first(arm, name) for arm in slow for name in further]
    treatments += [effect_of(over(arm, other), name) for arm, other in pairs for name in names]
    saturated = dict(data.not_valid() if not_valid is None else not_valid)
    for arm, other in pairs:
        for suffix in ("", *(f".{name}" for name in names)):
            saturated[over(arm, other) + suffix] = (*saturated.get(arm + suffix, ()), *saturated.get(other + suffix, ()))
    lacking = {
        name: (*saturated.get(name, ()), *saturated.get(name.partition(".")[0], ()))
        for name in (*treatments, null, *positive.values())
    }
    roles = stats.Roles(null=null, sham=None, positive=positive, treatments=treatments)
    decision = stats.decide(effects, rules, roles, obstacles_by_arm=lacking, counted="blocks")
    return Conditions(data, names, shared, logs, effects, decision, rules, arms)


def _logs(epochs: pd.DataFrame, metric: str, index: list[str], arms: Sequence[str]) -> pd.DataFrame:
    """Returns the logarithms of a metric with the rows `index` and a column for each arm. A value that is not above 0 is NaN."""
    known = epochs[epochs[metric] > 0]
    wide = known.assign(log=np.log(known[metric])).pivot_table(index=index, columns="arm", values="log")
    return wide.reindex(columns=list(arms))


def _contrast(data: Runs, values: "pd.Series[float]", rules: stats.DecisionPlan) -> stats.Contrast:
    return data.contrast(values.dropna(), margin=rules.margin, alpha=rules.alpha)
