"""Contrasts of server lives, the verdicts that follow from them, and what stands beside them; nothing is stated or shown here."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd

from tickdisk import qos, stats
from tickdisk.report.runs import LifeTables, Runs


@dataclass(frozen=True)
class Outcome:
    """The log ratios of lives by metric and arm, their contrasts, and what is decided on them."""

    logs: Mapping[stats.Key, "pd.Series[float]"]
    contrasts: Mapping[stats.Key, stats.Contrast]
    decision: stats.Decision


@dataclass(frozen=True)
class Power:
    """The simulated power of the confirmatory tests."""

    question: str
    power: float
    claims: int


@dataclass(frozen=True)
class Contrasts:
    """An experiment's table of epochs and the contrasts in it.

    A server life (or a block, where every arm has a life of its own) gives one contrast for each arm, and every test is over
    these. Verdicts rest on all lives; those without marked lives stand beside them.
    """

    name: str
    data: Runs
    table: pd.DataFrame
    """One row an epoch."""
    metrics: Mapping[str, str]
    """The columns that are decided on, and their names in prose."""
    actions: frozenset[str]
    """The metrics of actions; all others are of ticks."""
    seed: int
    caveats: tuple[str, ...]
    """Sentences that every claim's evidence ends with."""
    plan: stats.Plan
    roles: stats.Roles
    baseline: str
    arms: tuple[str, ...]
    """All arms but the baseline."""
    not_valid: Mapping[str, Sequence[str]]
    """For an arm, the reasons for which nothing can be said of it."""
    outcome: Outcome
    unmarked: Outcome | None
    """The outcome without marked lives; None if there are none, or no others."""
    requests: pd.DataFrame
    """One row an epoch: the requests that the device's log holds, and their median latency."""
    powers: Mapping[str, Power]
    """For an effect of the margin's size (`difference`) and for none (`equivalence`); empty without confirmatory claims."""

    @property
    def margin(self) -> float:
        """The margin of equivalence: 0.2 allows ratios from 1 / 1.2 to 1.2."""
        return self.plan.margin

    @property
    def verdicts(self) -> Mapping[stats.Key, stats.Verdict]:
        """The verdict of every control and of every claim about a treatment."""
        return self.outcome.decision.verdicts

    def random(self, purpose: str) -> np.random.Generator:
        """Returns the generator of one purpose: its draws depend on the seed and on its name alone."""
        return stats.named_generator(self.seed, self.name, purpose)

    def kind(self, metric: str) -> str:
        """Returns `actions` or `ticks`."""
        return "actions" if metric in self.actions else "ticks"

    def untried(self, arm: str) -> list[str]:
        """Returns a sentence if the server made too few requests in the arm's epochs for its latency to have been tried.

        An arm with the baseline's latency has nothing to try.
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
    table: pd.DataFrame,
    metrics: Mapping[str, str],
    *,
    actions: Collection[str],
    planned: int,
    asked: int,
    margin: float | None,
    seed: int | None,
) -> Contrasts:
    """Makes the contrasts of an experiment and decides on them.

    `planned` lives are the scale's, which a verdict needs, `asked` those that `blocks` makes of them. `margin` and `seed` None
    are the plan's.
    """
    decision = data.decision
    margin = decision.margin if margin is None else margin
    extended = f"{planned} lives were planned: confirmatory only if BLOCKS was set before the first run"
    plan = stats.Plan(planned, decision.minimum_lives, decision.control_minimum_lives, margin, decision.alpha)
    baseline, roles = data.role("baseline"), _roles(name, data, metrics, actions)
    arms = tuple(arm.arm for arm in data.arms if arm.role != "baseline")
    not_valid, unreached = data.not_valid(), data.unreached()

    def decide(rows: pd.DataFrame) -> Outcome:
        logs: dict[stats.Key, pd.Series[float]] = {}
        for metric in metrics:
            found = qos.contrasts_by_life(rows, metric, baseline=baseline, null=roles.null)
            logs |= {(metric, arm): found.get(arm, pd.Series(dtype=float)) for arm in arms}
        contrasts = {key: stats.contrast(values.to_numpy(float), margin=margin, alpha=plan.alpha) for key, values in logs.items()}
        return Outcome(logs, contrasts, stats.decide(contrasts, plan, roles, of_arms=not_valid, unreached=unreached))

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
        outcome=decide(table),
        unmarked=decide(clean) if 0 < len(clean) < len(table) else None,
        requests=pd.concat([life.requests() for life in data.lives()], ignore_index=True),
        powers=_powers(name, plan, len(roles.confirmatory), sd=decision.planned_life_sd, seed=seed),
    )


def _roles(name: str, data: Runs, metrics: Collection[str], actions: Collection[str]) -> stats.Roles:
    sham = next((arm.arm for arm in data.arms if arm.role == "sham"), None)
    fixed = data.decision.confirmatory
    keys = [(fixed.tick_metric, fixed.arm), (f"{fixed.action}_mean_ms", fixed.arm)]
    return stats.Roles(
        null=data.role("null"),
        sham=sham,
        positive={metric: data.positive_for("actions" if metric in actions else "ticks") for metric in metrics},
        treatments=[arm.arm for arm in data.arms if arm.role in ("dose", "treatment")],
        confirmatory=frozenset(keys if fixed.experiment == name else ()),
    )


def _powers(name: str, plan: stats.Plan, claims: int, *, sd: float, seed: int) -> dict[str, Power]:
    """Simulates the confirmatory family with the planned number of lives and standard deviation."""
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


def epoch_rows(lives: Sequence[LifeTables], tau_ns: int) -> pd.DataFrame:
    """Returns one row an epoch of all lives; `tau_ns` is the worst latency that an action counts with."""
    return pd.concat([life.epoch_rows(tau_ns) for life in lives], ignore_index=True)
