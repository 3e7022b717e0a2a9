"""The delay of answers, measured from the issue of actions on lives in which it is known."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from simulated_runs import HELD_S, write_runs

from tickdisk import stats
from tickdisk.studies import contrasts
from tickdisk.studies.statement import Statement
from tickdisk.studies.switchback import compute

Tables = Callable[[int, dict[str, pd.DataFrame]], dict[str, pd.DataFrame]]


def placed(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Returns tables whose joins are placed blocks instead."""
    return made | {"actions": made["actions"].assign(action=made["actions"]["action"].replace("join", "place"))}


def late(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Returns tables in which players issue everything 10 ms after it was due, and half of it so late that it does not count."""
    tables = placed(0, made)
    actions = tables["actions"]
    is_late = pd.Series(range(len(actions)), index=actions.index) % 4 < 2
    lag_ns = is_late.map({True: 200_000_000, False: 10_000_000})
    return tables | {"actions": actions.assign(issued_ns=actions["issued_ns"] + lag_ns)}


def held(
    folder: Path, server: str, tables: Tables = placed, blocks: int | None = None
) -> tuple[contrasts.Held | None, Statement]:
    plan = write_runs(folder, "switchback", server=server, tables=tables, blocks=blocks)
    found = compute(str(plan), runs=str(folder), server=server, tick_metric="gap_max_ms", action="teleport", margin=None, seed=1)
    statement = Statement("switchback")
    measured = contrasts.held_back(found.contrasts, found.lives)
    contrasts.state_held(statement, measured)
    return measured, statement


@pytest.mark.parametrize(("server", "known_ms", "word"), [("dragonfly", 300, "kept"), ("luanti", 360, "missed")])
def test_the_known_delay_is_measured_and_another_is_told_from_it(server: str, known_ms: int, word: str, tmp_path: Path) -> None:
    measured, statement = held(tmp_path, server)
    assert measured is not None
    assert measured.known_ms == known_ms
    for kind in ("edits", "teleports"):
        mean = measured.later_ms[kind]
        assert mean.low < 1000 * HELD_S < mean.high
        assert mean.value == pytest.approx(1000 * HELD_S, abs=3)
        assert statement[f"held.{kind}"].value == mean.value
    (claim,) = statement.claims
    assert (claim.id, claim.verdict) == ("switchback.held", word)


def test_it_counts_from_the_issue_and_not_from_the_due_time(tmp_path: Path) -> None:
    measured, _ = held(tmp_path, "dragonfly", late)
    assert measured is not None
    assert measured.later_ms["edits"].value == pytest.approx(1000 * HELD_S, abs=3)


def test_few_lives_decide_nothing(tmp_path: Path) -> None:
    _, statement = held(tmp_path, "dragonfly", blocks=2)
    (claim,) = statement.claims
    assert (claim.verdict, [type(cause) for cause in claim.causes]) == ("not valid", [stats.TooFew])
