"""What an operator and a reader see: the screen, the figures, the study of a run folder that the simulated machine wrote."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_blame_simulation import MAP, MS, PLAYERS, START_NS, Machine, locked, ticking
from typer.testing import CliRunner

from tickdisk import plot, table
from tickdisk.blame import attribute, load_evidence, stretch
from tickdisk.cli import app
from tickdisk.config import load_arms, load_config
from tickdisk.device import DeviceModel
from tickdisk.errors import TickdiskError
from tickdisk.report import inside_tick

STALLS, TICKS = 20, 200
DISK = DeviceModel(name="disk", read_latency_ns=3 * MS, write_latency_ns=3 * MS, flush_latency_ns=3 * MS)
SAVE = [("sync", MAP), ("sync", PLAYERS)]


@pytest.fixture(scope="module")
def machine() -> Machine:
    """A server that saves every tenth tick, a reader behind its lock; twenty stalls of the disk, then twenty of the processor."""
    bodies = []
    for tick in range(TICKS):
        body = [("run", 2 * MS), *locked("env", ("run", MS)), *(3 * SAVE if tick % 10 == 0 else [])]
        burnt = tick > TICKS // 2 and tick % 4 == 1 and tick < TICKS // 2 + 4 * STALLS
        bodies.append([*body, ("burn", 500 * MS)] if burnt else body)
    reads = [op for page in range(3000) for op in (*locked("env", ("read", MAP, page % 900 * 4096)), ("sleep", 3 * MS))]
    stalls = [(START_NS + begin * MS, START_NS + (begin + 300) * MS) for begin in range(200, 200 + 400 * STALLS, 400)]
    made = Machine({"Server": ticking(*bodies), "Emerge-0": reads}, cores=2, read_ns=6 * MS, stalls=stalls)
    made.stalls = stalls
    return made


def _write(machine: Machine, folder: Path, **more: object) -> Path:
    """Writes the run folder of one life and returns it."""
    evidence, life = machine.evidence(), folder / "life"
    ends = machine.ticks[-1]
    injections = [("device_stall", begin, begin, end) for begin, end in machine.stalls]
    injections += [("cpu_stall", begin, begin, end) for begin, end in machine.burns]
    every = np.arange(START_NS + 100 * MS, ends - 2000 * MS, 100 * MS)
    actions = pd.DataFrame(
        {"player": "p000", "action": "ping", "due_ns": every, "issued_ns": every, "outcome": "completed", "detail": ""}
    )
    actions["completed_ns"] = every + np.where(np.arange(every.size) % 10 == 0, 900 * MS, 40 * MS)
    epochs = pd.DataFrame([{"epoch": 0, "arm": "hdd", "device": "hdd", "setting": 1, "start_ns": START_NS}])
    tables = {
        "requests": evidence.requests,
        "waits": evidence.waits,
        "ticks": evidence.ticks.assign(end_ns=pd.array([pd.NA] * len(evidence.ticks), dtype="Int64")),
        "device": evidence.device,
        "extents": evidence.extents,
        "actions": actions,
        "epochs": epochs.assign(steady_ns=START_NS, end_ns=ends),
        "injections": pd.DataFrame(injections, columns=["kind", "due_ns", "start_ns", "end_ns"]),
    }
    life.mkdir(parents=True)
    for name, rows in (tables | more).items():
        table.write(name, life / f"{name}.parquet", rows)
    capture = {"arm": "hdd", "lost_events": 3, "requests": 1, "started_ns": START_NS, "ended_ns": machine.now_ns}
    load = {"steal_share": 0.0, "pressure_cpu_share": 0.0, "other_programs_share": None}
    described = {"captures": [capture], "ticks": {"ticks": 9, "missing": 0}, "trace_events": 1, "requests": 1}
    described |= {"attempts": [{"load": load, "reasons": []}], "marked": [], "not_valid": {}, "noted": [], "ended": None}
    manifest = {
        "hash": folder.name,
        "block": 0,
        "experiment": "inside_tick",
        "plan": [{"name": "life", "epochs": [{"arm": "hdd"}]}],
        "lives": {"life": described},
        "machine": {},
        "calibration": "one",
        "models": {arm.arm: DISK.as_dict() for arm in load_arms()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture(scope="module")
def run(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(machine, tmp_path_factory.mktemp("runs") / "abc")


def _plan(folder: Path) -> Path:
    arms = [arm.model_dump(mode="json") for arm in load_arms()]
    plan = {
        "config": load_config().model_dump(mode="json"),
        "arms": arms,
        "cells": [{"experiment": "inside_tick", "hash": "abc"}],
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    return path


@pytest.fixture(scope="module")
def study(run: Path) -> inside_tick:
    path = _plan(run.parent)
    return inside_tick(str(path), runs=str(run.parent), output=str(run.parent / "out"), bootstrap_samples=200, seed=1)


def _facts(study, prefix):
    return {name: fact.value for name, fact in study.facts.items() if name.startswith(f"inside_tick.{prefix}")}


def test_every_injected_stall_is_told_right(study):
    assert _facts(study, "device_stalls.named") == {
        "inside_tick.device_stalls.named": STALLS,
        "inside_tick.device_stalls.named_share": 1.0,
        "inside_tick.device_stalls.named_wilson": 1.0,
    }
    assert study.facts["inside_tick.cpu_stalls.blamed"].value == 0
    assert study.facts["inside_tick.cpu_stalls.felt"].value == STALLS
    # Clopper and Pearson: with none of n the upper end is 1 - 0.025^(1/n).
    assert study.facts["inside_tick.cpu_stalls.blamed_share"].high == pytest.approx(1 - 0.025 ** (1 / STALLS))
    verdicts = {claim.id.rsplit(".", 1)[-1]: claim.verdict for claim in study.claims}
    assert verdicts == {"explained": "not valid", "device_stalls": "equivalent", "cpu_stalls": "equivalent"}
    assert study.stalls_table()["named"].sum() == STALLS


def test_what_is_stated_is_what_the_machine_did(study, machine):
    ticks = study.blames[0].ticks
    truth = [
        machine.truth(100, start, start + gap)["storage"] for start, gap in zip(ticks["start_ns"], ticks["gap_ns"], strict=True)
    ]
    assert ticks["storage_ns"].tolist() == truth
    assert study.facts["inside_tick.storage.own"].value + study.facts["inside_tick.storage.behind_one_lock"].value == (
        pytest.approx(sum(truth) / 1e9)
    )
    assert study.facts["inside_tick.lost_events"].value == 3
    assert study.facts["inside_tick.ticks"].value == len(ticks)
    parts = _facts(study, "late.cause")
    assert sum(parts.values()) == pytest.approx(1)
    assert _facts(study, "late.file").keys() >= {"inside_tick.late.file.map_sqlite", "inside_tick.late.file.players_sqlite"}
    assert study.facts["inside_tick.late.all.storage"].note.endswith("1 of the 6 lives that an interval over lives needs")
    assert study.slow_actions().loc["ping", "slow"] == len(study.actions) // 10 + 1
    assert all("tick" in sentence for sentence in study.worst_ticks()["what happened"])


def _words(svg):
    return [unescape(text) for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg.data)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("timeline", ["Tick gap (ms)", "Server", "Emerge-0", "disk reads", "disk writes", "map.sqlite", "storage behind a lock"]),
        ("worst_tick", ["Around the latest tick", "saves", "Time since the first tick (s)"]),
        ("stalled_tick", ["disk stalled", "shaded: injected stalls", "ms of it in fdatasync of terrain in map.sqlite"]),
        (
            "late_shares",
            ["What explains late time", "save in the tick thread", "read behind a lock", "Share of late time, 95 % interval"],
        ),
        (
            "stalls",
            ["Disk stalled, and named with request and file: 20 of 20", "Core kept busy, and storage not blamed: 20 of 20"],
        ),
    ],
)
def test_figures_say_what_they_show(study, name, words):
    texts = _words(getattr(study, name)())
    for word in words:
        assert any(word in text for text in texts), f"{word!r} is not in {texts}"
    assert not any(text.endswith("…") for text in texts), "a label was cut"
    assert not any(re.search(r"\de[+-]\d|NaN|Infinity|undefined|null", text) for text in texts), texts


def test_a_stretch_of_any_length_has_few_rows_that_do_not_overlap(study):
    one = study.blames[0]
    for seconds in (1, 10, 1000):
        shown = stretch(one, START_NS, START_NS + seconds * 1000 * MS)
        for rows in (shown.states, shown.calls, shown.service):
            assert len(rows) <= 5 * 600
            for _, own in rows.groupby("row"):
                assert (own["start_s"].to_numpy()[1:] >= own["end_s"].to_numpy()[:-1] - 1e-9).all()
        # What a state covers of the drawn time is what the tick thread spent in it, to a column.
        states = shown.states[shown.states["row"] == "Server"]
        assert (states["end_s"] - states["start_s"]).sum() == pytest.approx(seconds)
    columns = one.ticks[one.ticks["start_ns"] < START_NS + 10_000 * MS]
    shown = stretch(one, START_NS, START_NS + 10_000 * MS)
    drawn = shown.ticks[shown.ticks["state"] == "storage"]
    assert (drawn["high_ms"] - drawn["low_ms"]).sum() == pytest.approx(columns["io_ns"].sum() / 1e6)


def test_where_requests_are_of_no_known_file_no_stall_is_named(machine, study, tmp_path):
    """As on btrfs, or on a tree."""
    run = _write(machine, tmp_path / "runs" / "abc")
    (run / "life" / "extents.parquet").unlink()
    blind = inside_tick(str(_plan(tmp_path)), runs=str(run.parent), output=str(tmp_path / "out"), bootstrap_samples=200, seed=1)
    assert _facts(blind, "device_stalls.named")["inside_tick.device_stalls.named"] == 0
    said = {claim.id: (claim.verdict, claim.evidence) for claim in blind.claims}
    verdict, evidence = said["inside_tick.device_stalls"]
    assert verdict == "not valid"
    assert "nothing says of which file a device's request is" in evidence
    others = {name: verdict for name, (verdict, _) in said.items() if name != "inside_tick.device_stalls"}
    assert others == {claim.id: claim.verdict for claim in study.claims if claim.id in others}
    assert blind.facts["inside_tick.late.all.storage"].value == study.facts["inside_tick.late.all.storage"].value
    for draw in (blind.timeline, blind.worst_tick, blind.stalled_tick, blind.stalls, blind.late_shares):
        assert "<svg" in draw().data
    assert len(blind.stalls_table()) == 2 * STALLS


def test_an_empty_disk_or_no_stalls_can_be_drawn(study):
    one = study.blames[0]
    bare = replace(one.evidence, device=None, extents=None, injections=None)
    blame = attribute(bare, budget_ns=90 * MS, thread="Server")
    shown = stretch(blame, START_NS, START_NS + 500 * MS)
    tables = {part: getattr(shown, part) for part in ("ticks", "states", "calls", "service", "stalls")}
    svg = plot.to_svg(plot.tick_timeline(tables, span_s=shown.span_s, saves_s=(), budget_ms=None, heading="x", notes=[]))
    assert "disk reads" not in svg


def _blame(*words):
    result = CliRunner().invoke(app, ["blame", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_the_screen_of_a_run_and_of_a_life(run, study):
    screen = _blame(run)
    share = study.facts["inside_tick.late.all.storage"].value
    assert f"storage explains {share:.0%} [" in screen
    assert "3 events lost" in screen
    assert (
        "of 20 injected device stalls 20 are named with request and file; of 20 of the processor 0 are blamed on storage"
        in screen
    )
    assert re.search(r"tick \d+ took \d+ ms, \d+ ms of it in fdatasync of terrain in map.sqlite \(\d waits, the longest", screen)
    behind = r"\d+ ms of it waiting for a lock held by Emerge-0 while it read terrain in map.sqlite at [\d,]+ \(the"
    assert re.search(behind, _blame(run, "--top", "100"))
    assert "slow actions" in screen
    assert _blame(run / "life") == screen == _blame(run, "--life", "life")
    assert len(screen.splitlines()) < 35
    _blame(run, "--figure", run / "worst.svg")
    drawn = (run / "worst.svg").read_text()
    assert all(words in drawn for words in ("Tick gap (ms)", "Around the worst tick", "saves"))
    assert max(map(len, _blame(run, "--top", "1").splitlines())) < 250
    with pytest.raises(TickdiskError, match="no captured life other"):
        _blame(run, "--life", "other")


def test_the_screen_of_a_capture_of_any_process(machine, tmp_path):
    evidence = machine.evidence()
    table.write("requests", tmp_path / "requests.parquet", evidence.requests)
    table.write("waits", tmp_path / "waits.parquet", evidence.waits)
    summary = {"lost_events": 0, "started_ns": START_NS, "ended_ns": machine.now_ns}
    (tmp_path / "capture.json").write_text(json.dumps(summary))
    screen = _blame(tmp_path, "--thread", "Emerge-0")
    assert screen.startswith("Emerge-0: ")
    assert "of the time in which it was not asleep" in screen
    assert "in pread64 of terrain in map.sqlite" in screen
    _blame(tmp_path, "--figure", tmp_path / "worst.svg")
    drawn = (tmp_path / "worst.svg").read_text()
    assert all(words in drawn for words in ("Around the worst second", "Each second (ms)", "is a second"))
    (tmp_path / "waits.parquet").unlink()
    with pytest.raises(TickdiskError, match="strace sees none; capture with bpftrace"):
        _blame(tmp_path)


def test_an_empty_capture_beside_a_busy_disk_is_not_valid(machine, tmp_path):
    empty = {"requests": machine.evidence().requests.iloc[:0], "waits": machine.waits().iloc[:0]}
    run = _write(machine, tmp_path / "abc", **empty)
    assert load_evidence(run)[0].reasons == ("the capture is empty and the device has requests",)
    with pytest.raises(TickdiskError, match="not valid, life: the capture is empty and the device has requests"):
        _blame(run)
    half = _write(machine, tmp_path / "def", requests=empty["requests"])
    assert "NOT VALID: life: the capture is empty and the device has requests" in _blame(half)


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(TickdiskError, match="is no run, no life and no capture"):
        _blame(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"lives": {"life": {}}}))
    with pytest.raises(TickdiskError, match="no life was captured by bpftrace"):
        _blame(tmp_path)
