"""The analysis of switchback and join burst, on run folders in which every effect is known."""

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from records_of import CAPTURE, usual_config
from simulated_runs import (
    BASE_MS,
    DELAY_MS,
    DELAYED,
    LATENCY_MS,
    PER_MS,
    REALISED_MS,
    REQUESTS,
    SECOND,
    cells_of,
    config_of,
    linear,
    write_runs,
)

from tickdisk import stats
from tickdisk.experiment import CAPTURE_COST, JOIN_BURST, SWITCHBACK
from tickdisk.foundation import table
from tickdisk.manifest import Ended
from tickdisk.studies import capture_cost, join_burst, switchback
from tickdisk.studies.join_burst import Results as JoinBurst
from tickdisk.studies.study import Study
from tickdisk.studies.switchback import Results as Switchback


def _switchback(path: Path) -> Study[Switchback]:
    own = {"tick_metric": "gap_max_ms", "action": "teleport", "margin": None, "seed": 1}
    return switchback(str(path), runs=str(path.parent), **own)


def _join_burst(path: Path) -> Study[JoinBurst]:
    own = {"tick_metric": "gap_max_ms", "margin": None, "seed": 1}
    return join_burst(str(path), runs=str(path.parent), **own)


def _verdicts(study: Study[Any]) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.verdict for claim in study.statement.claims}


def _evidence(study: Study[Any]) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.evidence for claim in study.statement.claims}


def _causes(study: Study[Any]) -> dict[str, tuple[stats.Cause, ...]]:
    return {claim.id.partition(".")[2]: claim.causes for claim in study.statement.claims}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Study[Switchback]:
    return _switchback(write_runs(tmp_path_factory.mktemp("runs"), "switchback"))


def test_a_known_effect_is_found_and_none_where_there_is_none(planned: Study[Switchback]) -> None:
    verdicts = _verdicts(planned)
    controls = {role: verdicts[f"{role}.gap_mean"] for role in ("positive", "null", "sham")}
    assert controls == {"positive": "different", "null": "equivalent", "sham": "equivalent"}
    assert verdicts["positive.teleport_mean"] == "different"
    assert (verdicts["latency_6ms.gap_mean"], verdicts["latency_1ms.gap_mean"]) == ("different", "equivalent")
    found = planned.statement.facts["switchback.gap_mean_ratio.latency_6ms"]
    assert found.value == pytest.approx(linear("latency_6ms", 0) / linear("ssd_100us", 0), rel=0.02)
    assert (
        found.n
        == planned.statement.facts["switchback.planned_lives"].value
        == planned.statement.facts["switchback.contrasts"].value
    )


def test_the_few_confirmatory_claims_are_the_configuration_s_and_all_others_say_that_they_are_a_scan(
    planned: Study[Switchback],
) -> None:
    fixed = planned.results.contrasts.data.decision.confirmatory
    families = {key: verdict.family for key, verdict in planned.results.contrasts.verdicts.items()}
    confirmatory = {key for key, family in families.items() if family == "confirmatory"}
    assert confirmatory == {(fixed.tick_metric, fixed.arm), (f"{fixed.action}_mean_ms", fixed.arm)}
    said = {name for name, evidence in _evidence(planned).items() if "one of a scan" in evidence}
    scan = {(metric.removesuffix("_ms"), arm) for (metric, arm), family in families.items() if family == "scan"}
    assert said == {f"{arm.replace('action_delay', 'apart')}.{metric}" for metric, arm in scan}
    # The delay of answers is the positive control of actions, and must not reach ticks.
    assert families["teleport_mean_ms", "action_delay"] == "control"
    assert families["gap_max_ms", "action_delay"] == "scan"
    assert families["teleport_mean_ms", "latency_12ms"] == "scan"


def test_doses_are_those_that_calibration_realised_and_the_slope_is_the_server_s(planned: Study[Switchback]) -> None:
    facts = {name.removeprefix("switchback."): fact for name, fact in planned.statement.facts.items()}
    assert facts["dose.latency_6ms"].value == pytest.approx(6 + REALISED_MS)
    assert facts["gap_mean_slope"].value == pytest.approx(PER_MS, rel=0.1)
    # 20 % more than 100.5 ms: 3 ms of latency cost 14.5 %, 6 ms 29.5 %.
    assert facts["gap_mean_good_up_to"].value == pytest.approx(3 + REALISED_MS)
    assert facts["gap_mean_hurts_from"].value == pytest.approx(6 + REALISED_MS)
    assert _verdicts(planned)["dose_gap_mean"] == "different"
    assert "the mean of 9 lives' lines" in unescape(planned.figure("dose_gap_mean").data)


def test_a_latency_that_does_nothing_is_good_as_far_as_it_was_tried(tmp_path: Path) -> None:
    def flat(arm: str, _: int) -> float:
        return BASE_MS + (DELAY_MS if arm in DELAYED else 0.0)

    study = _switchback(write_runs(tmp_path, "switchback", gap_ms=flat))
    assert study.statement.facts["switchback.gap_mean_good_up_to"].value == pytest.approx(12 + REALISED_MS)
    assert study.statement.facts["switchback.gap_mean_hurts_from"].value is None
    verdicts = _verdicts(study)
    assert verdicts["dose_gap_mean"] == "equivalent"
    assert verdicts["dose_teleport_mean"] == "equivalent", "the control of actions is no latency, so that none need reach them"
    assert verdicts["positive.teleport_mean"] == "different"
    assert verdicts["apart.gap_mean"] == verdicts["apart.gap_max"] == "equivalent"


def test_replaced_marked_and_ended_lives_are_counted_and_all_count(tmp_path: Path) -> None:
    changed = {(1, "life"): {"marked": ("other programs used 40 % of the cores",)}}
    study = _switchback(write_runs(tmp_path, "switchback", values=changed))
    facts = {
        name: study.statement.facts[f"switchback.{name}"].value
        for name in ("cells", "lives", "replaced_lives", "marked_lives", "ended_lives", "calibrations")
    }
    assert facts == {"cells": 9, "lives": 9, "replaced_lives": 1, "marked_lives": 1, "ended_lives": 0, "calibrations": 2}
    assert _verdicts(study)["latency_6ms.gap_max"] == "different"
    assert study.results.contrasts.outcome.contrasts["gap_max_ms", "latency_6ms"].n == 9
    assert "without marked lives" in _evidence(study)["latency_6ms.gap_max"]
    assert "n = 8" in study.table("effects").loc[("mean tick gap", "latency_6ms"), "without marked lives"]


def test_an_action_that_fails_on_the_slow_arm_stays_in_and_counts_as_the_worst(tmp_path: Path) -> None:
    tau_ms = 1000 * usual_config().scales["paper"].design(SWITCHBACK).save_period_s

    def failing(block: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        epochs, actions = made["epochs"], made["actions"]
        slow = epochs[epochs["arm"] == "latency_6ms"].iloc[0]
        if block == 3:
            due = actions["due_ns"].between(slow["steady_ns"], slow["end_ns"]) & (actions["action"] == "teleport")
            actions.loc[due, "outcome"] = "failed"
            actions["completed_ns"] = actions["completed_ns"].mask(due)
        return made

    study = _switchback(write_runs(tmp_path, "switchback", tables=failing))
    row = study.results.contrasts.table[
        (study.results.contrasts.table["life"] == 3) & (study.results.contrasts.table["arm"] == "latency_6ms")
    ].iloc[0]
    assert row["teleport_mean_ms"] == tau_ms
    assert row["teleport_failed"] == row["teleport_at_tau"] == row["teleport_offered"] > 0
    assert study.results.contrasts.outcome.contrasts["teleport_mean_ms", "latency_6ms"].n == 9
    at_tau = study.statement.facts["switchback.teleport_at_tau.latency_6ms"]
    assert at_tau.value == row["teleport_offered"]
    assert (
        study.results.contrasts.outcome.logs["teleport_mean_ms", "latency_6ms"][3]
        == study.results.contrasts.outcome.logs["teleport_mean_ms", "latency_6ms"].max()
    )


def test_a_server_that_ends_on_the_slow_arm_counts_as_the_worst_there(tmp_path: Path) -> None:
    ended_in: list[int] = []
    orders = {
        cell.block: [each.arm for each in cell.lives[0].epochs] for cell in cells_of(config_of("paper", None), "switchback")
    }
    ended_block = next(
        block for block, order in orders.items() if order.index("ssd_100us") < order.index("latency_6ms") < len(order) - 1
    )

    def ending(block: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        epochs = made["epochs"]
        if block == ended_block:
            slow = epochs[epochs["arm"] == "latency_6ms"].iloc[0]
            ended_in.append(int(slow["epoch"]))
            made["epochs"] = epochs[epochs["epoch"] <= slow["epoch"]]
            made["ticks"] = made["ticks"][made["ticks"]["start_ns"] < slow["steady_ns"]]
        return made

    epoch = orders[ended_block].index("latency_6ms")
    ended = Ended(epoch=epoch, arm="latency_6ms", at_ns=1, said="killed")
    study = _switchback(write_runs(tmp_path, "switchback", tables=ending, values={(ended_block, "life"): {"ended": ended}}))
    assert ended_in == [epoch]
    rows = study.results.contrasts.table[study.results.contrasts.table["life"] == ended_block].set_index("arm")
    steady_ms = (rows.loc["latency_6ms", "end_ns"] - rows.loc["latency_6ms", "steady_ns"]) / 1e6
    assert rows.loc["latency_6ms", "gap_max_ms"] == rows.loc["latency_6ms", "gap_mean_ms"] == steady_ms
    assert study.statement.facts["switchback.ended_lives"].value == 1
    assert study.results.contrasts.outcome.contrasts["gap_max_ms", "latency_6ms"].n == 9
    assert (
        study.results.contrasts.outcome.logs["gap_max_ms", "latency_6ms"][ended_block]
        == study.results.contrasts.outcome.logs["gap_max_ms", "latency_6ms"].max()
    )
    unreached = set(study.results.contrasts.arms) - set(rows.index)
    assert unreached
    verdicts = _verdicts(study)
    # One life that is a hundred times worse than the others makes the t interval wide, and is no proof by itself.
    assert verdicts["latency_6ms.gap_max"] == "inconclusive"
    (cause,) = _causes(study)["latency_6ms.gap_max"]
    assert isinstance(cause, stats.Undecided)
    assert cause.sentence in _evidence(study)["latency_6ms.gap_max"]
    assert float(study.table("effects").loc[("longest tick gap of an epoch", "latency_6ms"), "p sign flip"]) < 0.01
    for arm in unreached & set(study.results.doses):
        assert study.results.contrasts.outcome.contrasts["gap_max_ms", arm].n == 8
        assert verdicts[f"{arm}.gap_max"] != "not valid", "the order is drawn, so the other lives speak for this one"


def test_clients_short_of_cpu_on_one_arm_only_make_that_arm_not_valid(tmp_path: Path) -> None:
    changed = {(2, "life"): {"not_valid": {"latency_3ms": "client saturated: 3 % of its steps were late"}}}
    verdicts = _verdicts(study := _switchback(write_runs(tmp_path, "switchback", values=changed)))
    assert (verdicts["latency_3ms.gap_max"], verdicts["latency_6ms.gap_max"]) == ("not valid", "different")
    assert "life 3: client saturated" in _evidence(study)["latency_3ms.gap_max"]
    assert verdicts["dose_gap_max"] == "not valid"
    saturated = stats.ClientsSaturated(life="life 3", detail="client saturated: 3 % of its steps were late")
    assert _causes(study)["latency_3ms.gap_max"] == _causes(study)["dose_gap_max"] == (saturated,)
    assert _causes(study)["latency_6ms.gap_max"] == ()


def test_an_arm_whose_latency_hardly_any_request_met_says_so(tmp_path: Path) -> None:
    def idle(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        slow = made["epochs"][made["epochs"]["arm"] == "latency_1ms"].iloc[0]
        device = made["device"]
        inside = device["arrival_ns"].between(slow["start_ns"], slow["end_ns"], inclusive="left")
        made["device"] = device[~inside | (device["arrival_ns"] < slow["start_ns"] + 3000)]
        return made

    study = _switchback(write_runs(tmp_path, "switchback", tables=idle))
    assert study.statement.facts["switchback.requests.latency_1ms"].value == 3
    assert study.statement.facts["switchback.requests.latency_6ms"].value == REQUESTS
    assert study.statement.facts["switchback.request_latency.latency_6ms"].value == pytest.approx(6)
    said = "in the median epoch the server made 3 requests, fewer than the 20"
    assert said in _evidence(study)["latency_1ms.gap_max"]
    assert said not in _evidence(study)["latency_6ms.gap_max"]
    assert study.table("manipulation").loc["latency_6ms", "tried"] == "yes"


def test_reads_are_counted_for_each_action_and_late_replies_are_told(tmp_path: Path) -> None:
    def late(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        epochs, device = made["epochs"], made["device"]
        cut_ns = np.repeat((epochs["steady_ns"] - epochs["start_ns"]).to_numpy(), REQUESTS)
        device = device.assign(op=["read", "write"] * (len(device) // 2), arrival_ns=device["arrival_ns"] + cut_ns)
        made["device"] = device.assign(replied_ns=device["nominal_ns"] + 2_000_000)
        return made

    study = _switchback(write_runs(tmp_path, "switchback", tables=late))
    life = study.results.lives[0]
    analysed_s = (life.epochs["end_ns"] - life.epochs["steady_ns"]) / SECOND
    # Half of the requests are reads. A teleport is due every half second of the analysed part, but for its last half.
    teleports = int(np.ceil(analysed_s / 0.5 - 1).sum())
    assert study.statement["reads_per_teleport"].value == pytest.approx(REQUESTS / 2 * len(life.epochs) / teleports)
    assert study.statement["reads_per_teleport"].n == len(study.results.lives)
    assert study.statement["request_late_p99"].value == pytest.approx(2.0)


def test_a_burst_of_joins_has_its_place_in_the_sizing_table(tmp_path: Path) -> None:
    study = _join_burst(write_runs(tmp_path, "join_burst"))
    # The baseline takes 100.5 ms, 6 ms of latency take about 30 % more, and 12 ms about 60 %.
    assert study.statement["gap_mean_good_up_to"].value is None
    assert study.statement["gap_mean_hurts_from"].value == pytest.approx(6.0 + REALISED_MS)
    assert _verdicts(study)["dose_gap_mean"] == "different"


def test_a_latency_that_makes_a_metric_shorter_is_different_and_lower_and_no_equivalence(tmp_path: Path) -> None:
    def shorter(arm: str, _: int) -> float:
        return BASE_MS - 2 * LATENCY_MS[arm] + (DELAY_MS if arm in DELAYED else 0.0)

    study = _join_burst(write_runs(tmp_path, "join_burst", gap_ms=shorter))
    claims = {claim.id: claim for claim in study.statement.claims}
    for name in ("dose_gap_mean", "latency_12ms.gap_mean"):
        assert (claims[f"join_burst.{name}"].verdict, claims[f"join_burst.{name}"].direction) == ("different", "lower")
    assert "the largest makes it shorter" in claims["join_burst.dose_gap_mean"].evidence
    assert study.statement["gap_mean_good_up_to"].value == pytest.approx(12.0 + REALISED_MS)
    assert study.verdicts().loc[claims["join_burst.dose_gap_mean"].statement, "verdict"] == "different, lower"


def test_lives_that_respond_differently_widen_the_interval(tmp_path: Path) -> None:
    nearest_device = _switchback(write_runs(tmp_path / "alike", "switchback"))
    differ = _switchback(
        write_runs(tmp_path / "differ", "switchback", gap_ms=lambda arm, block: linear(arm, block) + 3 * block * LATENCY_MS[arm])
    )
    widths = [study.results.contrasts.outcome.contrasts["gap_mean_ms", "latency_6ms"] for study in (nearest_device, differ)]
    assert np.log(widths[1].high / widths[1].low) > 5 * np.log(widths[0].high / widths[0].low)


def test_smoke_decides_the_positive_controls_only(tmp_path: Path) -> None:
    verdicts = _verdicts(_switchback(write_runs(tmp_path, "switchback", scale="smoke")))
    decided = {name for name, word in verdicts.items() if word != "not valid"}
    assert decided == {"positive.gap_mean", "positive.gap_max", "positive.teleport_mean"}


def test_more_lives_than_planned_say_so_and_fewer_decide_nothing(tmp_path: Path) -> None:
    planned = usual_config().scales["paper"].design(JOIN_BURST).blocks
    more = _join_burst(write_runs(tmp_path / "more", "join_burst", blocks=planned + 1))
    assert (more.statement.facts["join_burst.planned_lives"].value, more.statement.facts["join_burst.contrasts"].value) == (
        planned,
        planned + 1,
    )
    claim = next(claim for claim in more.statement.claims if claim.id == "join_burst.hdd.gap_mean")
    assert claim.verdict == "different"
    said = f"{planned} lives were planned, so claims are confirmatory only if BLOCKS was set before the first run"
    assert said in claim.evidence
    fewer = _join_burst(write_runs(tmp_path / "fewer", "join_burst", blocks=planned - 1))
    assert _verdicts(fewer)["hdd.gap_mean"] == "not valid"
    assert _causes(fewer)["positive.gap_mean"] == (stats.FewerThanPlanned(n=planned - 1, planned=planned, counted="lives"),)
    assert _causes(fewer)["dose_gap_mean"] == (stats.TooFew(n=planned - 1, needed=planned, counted="lives"),)
    assert _evidence(fewer)["dose_gap_mean"] == f"{planned - 1} lives of the {planned} that a verdict needs"
    assert fewer.statement.facts["join_burst.planned_lives"].value == planned


def test_every_table_and_figure_comes_at_the_smallest_scale(tmp_path: Path) -> None:
    study = _join_burst(write_runs(tmp_path, "join_burst", scale="smoke"))
    assert "baseline" in unescape(study.figure("gap_tail").data)
    assert all(len(study.table(name)) for name in study.tables)
    assert f"{len(study.figures)} figures" in study.save(str(tmp_path / "out"))
    assert set(json.loads((tmp_path / "out" / "figures.json").read_text()).values()) == {None}


def test_every_arm_has_a_row_of_its_own_in_the_paper_s_figure(planned: Study[Switchback]) -> None:
    text = unescape(planned.figure("paper_effects").data)
    latencies = ["1 ms", "3 ms", "6 ms", "12 ms"]
    assert [words for words in ("A/A", "sham", *latencies, "tick delay", "answer delay") if f">{words}</text>" not in text] == []


def test_what_a_capture_costs_is_told_over_lives(tmp_path: Path) -> None:
    costs = {"bpftrace": 1.1, "strace_positioned": 1.3, "strace": 1.5}
    used_by = costs | {"tick_delay": 3.0}

    def captured(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        at, used, rows = 0, 0.0, []
        for epoch in made["epochs"].to_dict("records"):
            for at in range(int(epoch["start_ns"]), int(epoch["end_ns"]), SECOND // 4):
                rows.append({"monotonic_ns": at, "process": "tick thread", "cpu_ns": round(used)})
                used += 1e7 * used_by.get(epoch["arm"], 1.0)
        return made | {"load": pd.DataFrame([*rows, {"monotonic_ns": at + SECOND, "process": "server", "cpu_ns": 0}])}

    captures = tuple(CAPTURE.model_copy(update={"arm": arm, "requests": 9, "events": 9}) for arm in costs)
    lives = usual_config().scales["paper"].design(CAPTURE_COST).lives
    changed = {(block, "life"): {"captures": captures} for block in range(lives)}
    path = write_runs(tmp_path, "capture_cost", values=changed, tables=captured)
    micro = [{"round": turn, "tool": tool, "preads": 9} for turn in range(9) for tool in ("none", *costs)]
    rows = pd.DataFrame(micro).assign(events=9, lost_events=0)
    rows["ns_per_pread"] = rows["tool"].map({"none": 100.0, "bpftrace": 400.0, "strace_positioned": 4000.0, "strace": 5000.0})
    table.write("micro", tmp_path / "micro.parquet", rows)
    own = {"micro": str(tmp_path / "micro.parquet"), "margin": None, "seed": 1}
    study = capture_cost(str(path), runs=str(path.parent), **own)
    verdicts = _verdicts(study)
    busy = {role: verdicts[f"{role}.busy"] for role in ("positive", "null", "bpftrace", "strace_positioned")}
    assert busy == {"positive": "different", "null": "equivalent", "bpftrace": "equivalent", "strace_positioned": "different"}
    # Ticks show the delay, and no capture: a step's slack hides it.
    assert (verdicts["positive.gap_mean"], verdicts["strace.gap_mean"]) == ("different", "equivalent")
    assert study.results.contrasts.outcome.contrasts["busy_ms", "strace"].ratio == pytest.approx(1.5, rel=0.05)
    assert study.statement.facts["capture_cost.captured_requests.strace"].value == 9 * lives
    assert all(hasattr(study.figure(name), "data") for name in study.figures)


def test_what_is_stated_does_not_depend_on_what_is_shown(tmp_path: Path) -> None:
    path = write_runs(tmp_path, "switchback")
    first, second = _switchback(path), _switchback(path)
    for name in reversed(second.tables):
        second.table(name)
    shown = {name: second.figure(name).data for name in reversed(second.figures)}
    first.save(str(tmp_path / "first"))
    second.save(str(tmp_path / "second"))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    assert shown == {name: (tmp_path / f"first/figures/{name}.svg").read_text() for name in first.figures}
    assert first.table("effects").equals(second.table("effects"))
