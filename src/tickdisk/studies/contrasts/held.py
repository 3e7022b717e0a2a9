"""Measures by how much answers that the server holds back come later, which tests the positive control of actions itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tickdisk import stats
from tickdisk.studies.contrasts.compute import Contrasts
from tickdisk.studies.runs import LifeTables
from tickdisk.studies.statement import THIS_PROJECT, Statement

_KINDS = {"edits": ("place", "dig"), "teleports": ("teleport",)}
"""Kinds of actions, with their words. The claim is about the first, whose answers wait for no storage."""
_NEAR = 0.05
"""Largest share by which the known time may be missed."""


@dataclass(frozen=True)
class Held:
    """The time by which actions come later in the arm in which the server holds its answers back by a known time."""

    known_ms: int
    later_ms: Mapping[str, stats.Mean]
    """Mean over lives of how much longer an action takes from its issue than at both baselines, in ms, by kind of action."""
    plan: stats.DecisionPlan


def held_back(effects: Contrasts, lives: Sequence[LifeTables]) -> Held | None:
    """Measures the actions of an experiment's lives, or returns None if no arm only holds answers back.

    A latency from the due time would be longer by more than the known time, because an action waits for the one before it. Such
    an action is left out: it is issued when an answer comes, at the end of a step, and so waits longer for the next step's end
    than an action that is issued at any time.
    """
    arm = next((arm for arm in effects.data.arms if arm.delays_only_actions), None)
    if arm is None or arm.action_delay_ms is None:
        return None
    baselines, lag_ms = [effects.baseline, effects.roles.null], effects.data.config.limits.client_lag_ms
    later = {
        name: stats.over_lives(
            [
                _took_ms(life, kinds, [arm.arm], arm.action_delay_ms, lag_ms)
                - _took_ms(life, kinds, baselines, arm.action_delay_ms, lag_ms)
                for life in lives
            ],
            effects.plan.alpha,
        )
        for name, kinds in _KINDS.items()
    }
    return Held(arm.action_delay_ms, later, effects.plan)


def _took_ms(life: LifeTables, kinds: Sequence[str], arms: Sequence[str], known_ms: int, lag_ms: float) -> float:
    """Returns the mean time from issue to completion of a life's actions in some arms, or NaN if there are none.

    Actions count that were issued within `lag_ms` after they were due, in the steady part of an epoch, and so long before its end
    that their answers fall into it.
    """
    epochs = life.epochs[life.epochs["arm"].isin(arms)]
    own = life.actions[life.actions["action"].isin(kinds) & (life.actions["outcome"] == "completed")]
    own = own[own["issued_ns"] - own["due_ns"] <= 1_000_000 * lag_ms]
    parts = [
        own[(own["issued_ns"] >= steady) & (own["issued_ns"] < end - 2_000_000 * known_ms)]
        for steady, end in zip(epochs["steady_ns"], epochs["end_ns"], strict=True)
    ]
    issued = pd.concat(parts) if parts else own.iloc[:0]
    return float((issued["completed_ns"] - issued["issued_ns"]).astype("float64").mean()) / 1e6


def state_held(statement: Statement, held: Held | None, about: str = "") -> None:
    """States by how much actions come later, and whether that is the known time. `about` are words before the statement."""
    if held is None:
        return
    known, source = f"{held.known_ms} ms", "actions tables, t interval over lives"
    for kind, mean in held.later_ms.items():
        note = f"time by which {kind} are completed later after their issue while answers are held back by {known}"
        statement.fact(f"held.{kind}", mean.value, "ms", interval=(mean.low, mean.high), n=mean.n, source=source, note=note)
    mean = held.later_ms["edits"]
    low, high = ((1 + sign * _NEAR) * held.known_ms for sign in (-1, 1))
    few = (
        [stats.TooFew(n=mean.n, needed=held.plan.control_minimum, counted="lives")] if mean.n < held.plan.control_minimum else []
    )
    word: stats.BoundWord = "inconclusive"
    if few:
        word = "not valid"
    elif low <= mean.low and mean.high <= high:
        word = "kept"
    elif mean.high < low or high < mean.low:
        word = "missed"
    statement.bound(
        "held",
        source=THIS_PROJECT,
        statement=f"{about}Edits of blocks are answered {known} later, to within {_NEAR:.0%}, while the server holds its answers "
        "back by that time",
        verdict=word,
        evidence="; ".join([statement["held.edits"].text, *(each.sentence for each in few)]),
        causes=few,
        effect="held.edits",
        facts=["held.teleports"],
        n=mean.n,
        counted="lives",
    )
