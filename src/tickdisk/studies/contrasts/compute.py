"""Computes the contrasts of an experiment, the verdicts that follow from them, and the power of its confirmatory tests."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd

from tickdisk import qos, stats
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import Runs


@dataclass(frozen=True)
class Effects:
    """The effects and verdicts that one set of server lives gives: all lives, or those that are not marked."""

    logs: Mapping[stats.Key, "pd.Series[float]"]
    """Log ratios of the arm to the baselines by metric and arm, each indexed by life."""
    contrasts: Mapping[stats.Key, stats.Contrast]
    decision: stats.Verdicts


@dataclass(frozen=True)
class Power:
    """The simulated power of the confirmatory tests, which are those of claims named before the runs, for one size of effect."""

    question: str
    """Event whose probability the power is, as a clause."""
    power: float
    """Share of the claims for which the event happens in simulated experiments."""
    claims: int


@dataclass(frozen=True)
class Contrasts:
    """The contrasts of an experiment, which are the effects of its arms on its metrics, with the verdicts on them.

    For each metric, a server life gives one contrast of each arm: the log ratio of the arm to the mean of both its baselines. If
    every arm has a life of its own, a block takes the place of the life. Verdicts rest on all lives. The verdicts without marked
    lives are kept for comparison.
    """

    name: str
    data: Runs
    table: pd.DataFrame
    """One row per epoch with its metrics."""
    metrics: Mapping[str, str]
    """Columns of the table that are tested, with their names in prose."""
    actions: frozenset[str]
    """Metrics of actions. All other metrics are of ticks."""
    seed: int
    caveats: tuple[str, ...]
    """Sentences that the evidence of every claim about an effect includes."""
    plan: stats.DecisionPlan
    roles: stats.Roles
    baseline: str
    arms: tuple[str, ...]
    """Names of all arms but the baseline."""
    not_valid: Mapping[str, Sequence[stats.Obstacle]]
    """Causes for which nothing can be said about an arm, by arm."""
    outcome: Effects
    unmarked: Effects | None
    """Result without marked lives. None if no life is marked, or if every life is."""
    requests: pd.DataFrame
    """One row per epoch with its requests in the device's log, their median latency, and how late replies were."""
    powers: Mapping[str, Power]
    """Power to find an effect as large as the margin (`difference`), and to find no effect equivalent (`equivalence`).

    It is empty for an experiment without confirmatory claims.
    """

    @property
    def margin(self) -> float:
        """The margin of equivalence. A margin of 0.2 allows ratios from 1 / 1.2 to 1.2."""
        return self.plan.margin

    @property
    def verdicts(self) -> Mapping[stats.Key, stats.Verdict]:
        """The verdicts by metric and arm, for every control and every claim about a treatment."""
        return self.outcome.decision.verdicts

    def random(self, purpose: str) -> np.random.Generator:
        """Returns a random generator whose draws depend only on the seed, the experiment and the purpose."""
        return stats.named_generator(self.seed, self.name, purpose)

    def kind(self, metric: str) -> str:
        """Returns the kind of a metric, which is `actions` or `ticks`."""
        return "actions" if metric in self.actions else "ticks"

    def untested_latency(self, arm: str) -> list[str]:
        """Returns one sentence if the server made too few requests in the arm's epochs to put the latency to the test.

        Otherwise, and for an arm with the latency of the baseline, the list is empty.
        """
        if self.data.latency_ms(arm) == self.data.latency_ms(self.baseline):
            return []
        median = float(self.requests.loc[self.requests["arm"] == arm, "requests"].median())
        enough = self.data.decision.enough_requests
        if median >= enough:
            return []
        return [
            f"in the median epoch the server made {median:g} requests, fewer than the {enough} that put a latency to the test"
        ]


def compute(
    name: str,
    data: Runs,
    tables: Iterable[pd.DataFrame],
    metrics: Mapping[str, str],
    *,
    actions: Collection[str],
    planned: int,
    asked: int,
    margin: float | None,
    seed: int | None,
    controlled_by: Contrasts | None = None,
) -> Contrasts:
    """Computes the contrasts of an experiment and decides on its claims.

    Parameters
    ----------
    name, data
        Experiment, and its cells that have run.
    tables
        One table per life, as `LifeTables.epoch_rows` makes it: one row per epoch, with its metrics.
    metrics
        Columns of the tables to test, with their names in prose.
    actions
        Metrics of actions. All other metrics are of ticks, which decides which arm is their positive control.
    planned
        Number of lives or blocks that the scale fixed before the runs. A verdict needs as many.
    asked
        Number of lives or blocks with the option `blocks`. If it is above `planned`, every claim says so.
    margin
        Margin of equivalence, as a ratio less 1. If None, the margin of the plan.
    seed
        Seed of random draws. If None, the seed of the plan.
    controlled_by
        Another experiment with the same metrics on the same server, whose positive controls and sham stand for those of this
        one. If None, this experiment has its own.
    """
    decision = data.decision
    extended = f"{planned} lives were planned, so claims are confirmatory only if BLOCKS was set before the first run"
    plan = decide_by(decision, planned, margin)
    baseline, roles = data.role("baseline"), _roles(name, data, metrics, actions, controlled_by)
    arms = tuple(arm.arm for arm in data.arms if arm.role != "baseline")
    not_valid: dict[str, Sequence[stats.Obstacle]] = {**data.not_valid()}
    unreached = data.unreached()
    lent: list[stats.Key] = []
    if controlled_by is not None:
        shams = [(metric, roles.sham) for metric in metrics] if roles.sham is not None else []
        lent = [*roles.positive.items(), *shams]
        not_valid |= {arm: controlled_by.not_valid.get(arm, ()) for _, arm in lent}
        before = controlled_by.data.unreached()
        unreached = {**unreached, **{arm: before[arm] for _, arm in lent if arm in before}}

    def decide(rows: pd.DataFrame, lender: Effects | None) -> Effects:
        logs: dict[stats.Key, pd.Series[float]] = {}
        for metric in metrics:
            found = qos.contrasts_by_life(rows, metric, baseline=baseline, null=roles.null)
            logs |= {(metric, arm): found.get(arm, pd.Series(dtype=float)) for arm in arms}
        logs |= {} if lender is None else {key: lender.logs[key] for key in lent}
        sources = {} if controlled_by is None else dict.fromkeys(lent, controlled_by.data)
        contrasts = {
            key: sources.get(key, data).contrast(values, margin=plan.margin, alpha=plan.alpha) for key, values in logs.items()
        }
        plans = {} if controlled_by is None else {arm: controlled_by.plan for _, arm in lent}
        decided = stats.decide(contrasts, plan, roles, obstacles_by_arm=not_valid, unreached=unreached, lent=plans)
        return Effects(logs, contrasts, decided)

    table = pd.concat(tables, ignore_index=True)
    clean = table[~table["marked"]]
    seed = data.config.seed if seed is None else seed
    return Contrasts(
        name=name,
        data=data,
        table=table,
        metrics=dict(metrics),
        actions=frozenset(actions),
        seed=seed,
        caveats=(extended,) if asked > planned else (),
        plan=plan,
        roles=roles,
        baseline=baseline,
        arms=arms,
        not_valid=not_valid,
        outcome=decide(table, None if controlled_by is None else controlled_by.outcome),
        unmarked=decide(clean, None if controlled_by is None else controlled_by.unmarked or controlled_by.outcome)
        if 0 < len(clean) < len(table)
        else None,
        requests=pd.concat([life.requests() for life in data.lives], ignore_index=True),
        powers=_powers(name, plan, len(roles.confirmatory), sd=decision.planned_life_sd, seed=seed),
    )


def _roles(
    name: str, data: Runs, metrics: Collection[str], actions: Collection[str], controlled_by: Contrasts | None
) -> stats.Roles:
    fixed = data.decision.confirmatory
    # A delay of answers must not reach ticks. Their claims about it are decided like those about the doses.
    claimed = [arm.arm for arm in data.arms if arm.role in ("dose", "treatment") or arm.delays_only_actions]
    keys = [(fixed.tick_metric, fixed.arm), (f"{fixed.action}_mean_ms", fixed.arm)]
    if controlled_by is None:
        sham = next((arm.arm for arm in data.arms if arm.role == "sham"), None)
        positive = {metric: data.positive_for("actions" if metric in actions else "ticks") for metric in metrics}
    else:
        sham, positive = controlled_by.roles.sham, {metric: controlled_by.roles.positive[metric] for metric in metrics}
    return stats.Roles(
        null=data.role("null"),
        sham=sham,
        positive=positive,
        treatments=claimed,
        confirmatory=frozenset(keys if fixed.experiment == name else ()),
    )


def _powers(name: str, plan: stats.DecisionPlan, claims: int, *, sd: float, seed: int) -> dict[str, Power]:
    """Simulates the power with the planned number of lives and the planned standard deviation `sd`."""
    if claims == 0:
        return {}
    powers = {}
    for number, (key, effect, question) in enumerate(
        (
            ("difference", log(1 + plan.margin), f"an effect of {plan.margin:.0%} is found"),
            ("equivalence", 0.0, f"no effect is found equivalent within {plan.margin:.0%}"),
        )
    ):
        rng = stats.named_generator(seed, name, f"power {key}")
        shares = stats.family_power(plan.lives, claims, sd=sd, effect=effect, margin=plan.margin, alpha=plan.alpha, rng=rng)
        powers[key] = Power(question, shares[number], claims)
    return powers
