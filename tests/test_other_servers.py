"""The comparison of servers, on run folders in which the effects on each server are known."""

from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from simulated_runs import BASE_MS, LATENCY_MS, linear, write_runs

from tickdisk import blame, stats
from tickdisk.foundation.errors import TickdiskError
from tickdisk.studies import other_servers
from tickdisk.studies.other_servers import Results
from tickdisk.studies.other_servers.compute import InjectedStalls
from tickdisk.studies.other_servers.state import state
from tickdisk.studies.study import Study

PREFIX = "other_servers.dragonfly"


def twice(arm: str, block: int) -> float:
    """Returns the gap in ms on a server that storage latency costs twice as much."""
    return 2 * linear(arm, block) - BASE_MS


def study_of(plan: Path) -> Study[Results]:
    own: dict[str, Any] = {
        "published": "data/published.yaml",
        "tick_metric": "gap_max_ms",
        "action": "teleport",
        "margin": None,
        "seed": 1,
    }
    return other_servers(str(plan), runs=str(plan.parent), **own)


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    folder = tmp_path_factory.mktemp("servers")
    for experiment in ("switchback", "join_burst"):
        write_runs(folder, experiment)
        path = write_runs(folder, experiment, server="dragonfly", gap_ms=twice)
    return study_of(path)


def test_each_server_has_its_own_effects_and_only_the_others_have_claims(compared: Study[Results]) -> None:
    facts = compared.statement.facts
    assert facts["other_servers.servers"].value == 1
    for arm in ("latency_1ms", "latency_6ms"):
        found = facts[f"{PREFIX}.switchback.gap_mean_ratio.{arm}"]
        assert found.value == pytest.approx(twice(arm, 0) / twice("ssd_100us", 0), rel=0.02)
    assert all(name.startswith((PREFIX, "other_servers.servers")) for name in facts)
    verdicts = {claim.id: claim.verdict for claim in compared.statement.claims}
    assert verdicts[f"{PREFIX}.switchback.positive.gap_mean"] == "different"
    assert verdicts[f"{PREFIX}.switchback.null.gap_mean"] == "equivalent"
    assert verdicts[f"{PREFIX}.switchback.latency_6ms.gap_mean"] == "different"
    assert verdicts[f"{PREFIX}.join_burst.latency_6ms.join_mean"] == "different"
    assert f"{PREFIX}.switchback.sham.gap_mean" not in verdicts
    # On the first server, six times the same latency costs half as much; its claims are those of its own studies.
    table = compared.table("effects")
    first = table.loc[("Luanti", "switchback", "mean tick gap", "6"), "ratio"]
    assert float(str(first)) == pytest.approx(linear("latency_6ms", 0) / linear("ssd_100us", 0), rel=0.02)


def test_the_longest_pause_of_the_runtime_is_stated(compared: Study[Results]) -> None:
    """Each life of the simulated runs has a pause of 0.1 ms, and a longer one before its first epoch."""
    fact = compared.statement.facts[f"{PREFIX}.switchback.longest_pause"]
    assert (fact.value, fact.unit) == (0.1, "ms")


def test_saves_that_grow_over_a_life_are_counted(compared: Study[Results]) -> None:
    """The last of seven epochs has saves of 70 ms, and the first has saves of 10 ms."""
    grown = compared.statement.facts[f"{PREFIX}.switchback.save_growth_log"]
    assert exp(float(grown.value or 0)) == pytest.approx(7)
    assert set(compared.table("saves").index.get_level_values("server")) == {"Luanti", "Dragonfly"}


@pytest.mark.parametrize(
    ("late", "explained", "blamed", "verdicts"),
    [
        ((15, 20), (14, 15), (0, 20), ("kept", "kept")),
        ((15, 20), (13, 15), (1, 20), ("missed", "missed")),
        ((9, 20), (9, 9), (0, 19), ("not valid", "not valid")),
    ],
)
def test_stalls_decide_whether_blame_explains_what_they_made_slow(
    compared: Study[Results],
    late: tuple[int, int],
    explained: tuple[int, int],
    blamed: tuple[int, int],
    verdicts: tuple[str, str],
) -> None:
    def counted(k: int, n: int) -> blame.Count:
        return blame.count(pd.Series([True] * k + [False] * (n - k)), 0.05)

    made = InjectedStalls(
        "dragonfly", "Dragonfly", pd.DataFrame(), counted(*late), counted(*explained), counted(*blamed), True, ()
    )
    said = state(replace(compared.results, parts=(), stalls=[made]))
    assert tuple(claim.verdict for claim in said.claims) == verdicts
    assert said.facts[f"{PREFIX}.inside_tick.device_stalls.late"].value == late[0]
    assert said.facts[f"{PREFIX}.inside_tick.device_stalls.explained_share"].value == explained[0] / explained[1]
    blind = state(replace(compared.results, parts=(), stalls=[replace(made, knows_files=False)]))
    assert blind.claims[0].verdict == "not valid"
    few = [stats.TooFew(n=explained[1], needed=10, counted="stalls")] if "not valid" in verdicts else []
    assert (said.claims[0].causes, blind.claims[0].causes) == ((*few,), (*few, stats.FilesUnknown()))
    assert blind.claims[1].verdict == verdicts[1]
    assert f"{late[0]} of {late[1]} stalls made something slow, and blame explains {explained[0]}" in said.claims[0].evidence


def test_every_table_and_figure_comes(compared: Study[Results], tmp_path: Path) -> None:
    for name in compared.tables:
        assert len(compared.table(name))
    compared.save(str(tmp_path))
    text = (tmp_path / "figures/paper_servers.svg").read_text()
    assert "Dragonfly" in text
    assert "Luanti" in text
    assert LATENCY_MS["latency_12ms"] == 12


def test_without_another_server_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(TickdiskError, match="no switchback and no join burst of another server than luanti has run"):
        study_of(write_runs(tmp_path, "switchback"))


def test_published_findings_about_one_server_are_tested_on_the_others(compared: Study[Results]) -> None:
    outcomes = {claim.id.removeprefix(f"{PREFIX}."): claim.study for claim in compared.statement.claims if claim.finding}
    assert set(outcomes) == {
        f"{experiment}.latency_{ms}ms.{metric}"
        for experiment, metrics in (("switchback", ("gap_mean", "gap_max")), ("join_burst", ("join_mean", "gap_max")))
        for metric in metrics
        for ms in (1, 6)
    }, "the published study has no slower disk, and says nothing about teleports"
    assert outcomes["switchback.latency_6ms.gap_mean"] == "contradicted"
