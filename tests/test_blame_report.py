"""What an operator and a reader see: the screen, the figures, the study of a run folder that the simulated machine wrote."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from records_of import CAPTURE, LIFE, QUIET, capture_of, changed, manifest_of, plan_of, planned, usual_config
from test_blame_simulation import MAP, MS, PLAYERS, START_NS, Machine, locked, ticking
from typer.testing import CliRunner

from tickdisk import plot
from tickdisk.blame import attribute, load_evidence, stretch
from tickdisk.cli import app
from tickdisk.config import load_arms
from tickdisk.device import DeviceModel
from tickdisk.experiment import Epoch, PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import percent
from tickdisk.manifest import Attempt, write_capture, write_manifest
from tickdisk.project import write_plan
from tickdisk.stats import ClientsSaturated, FilesUnknown, NothingCaptured, TooFew
from tickdisk.studies import Study, inside_tick
from tickdisk.studies.inside_tick import Results

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
        "pauses": pd.DataFrame(columns=table.SCHEMAS["pauses"].names),
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
    capture = CAPTURE.model_copy(update={"lost_events": 3, "started_ns": START_NS, "ended_ns": machine.now_ns})
    attempt = Attempt(started_unix_s=0.0, load=replace(QUIET, other_programs_share=None), reasons=())
    manifest = manifest_of(
        "inside_tick",
        hash=folder.name,
        plan=(PlannedLife("life", "hdd", 0, 1.0, (Epoch("hdd", 0.0, 0.0, 1.0),)),),
        lives={"life": changed(LIFE, captures=(capture,), attempts=(attempt,))},
        models={arm.arm: DISK for arm in load_arms()},
    )
    write_manifest(folder, manifest)
    return folder


@pytest.fixture(scope="module")
def run(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(machine, tmp_path_factory.mktemp("runs") / "abc")


def _plan(folder: Path, *cells: str) -> Path:
    path = folder / "plan.json"
    write_plan(path, plan_of(usual_config(), [planned(cell, "inside_tick") for cell in cells or ("abc",)]))
    return path


@pytest.fixture(scope="module")
def study(run: Path) -> Study[Results]:
    return _study(run)


def _study(run: Path) -> Study[Results]:
    return inside_tick(str(_plan(run.parent)), runs=str(run.parent), bootstrap_samples=200, seed=1)


def _facts(study, prefix):
    return {name: fact.value for name, fact in study.statement.facts.items() if name.startswith(f"inside_tick.{prefix}")}


def _claims(study):
    return {claim.id.removeprefix("inside_tick."): claim for claim in study.statement.claims}


def test_every_injected_stall_is_told_right(study):
    assert _facts(study, "device_stalls.named") == {
        "inside_tick.device_stalls.named": STALLS,
        "inside_tick.device_stalls.named_share": 1.0,
        "inside_tick.device_stalls.named_wilson": 1.0,
    }
    facts, claims = study.statement.facts, _claims(study)
    assert facts["inside_tick.cpu_stalls.blamed"].value == 0
    assert facts["inside_tick.cpu_stalls.felt"].value == STALLS
    # Clopper and Pearson: with none of n the upper end is 1 - 0.025^(1/n).
    assert facts["inside_tick.cpu_stalls.blamed_share"].high == pytest.approx(1 - 0.025 ** (1 / STALLS))
    verdicts = {name: (claim.kind, claim.verdict) for name, claim in claims.items()}
    assert verdicts == {
        "explained": ("comparison", "not valid"),
        "device_stalls": ("bound", "kept"),
        "cpu_stalls": ("bound", "kept"),
    }
    assert claims["device_stalls"].evidence.startswith("blame names 20 of 20 stalls, and 0 of the stalls slowed no tick")
    assert (claims["device_stalls"].n, claims["device_stalls"].counted) == (STALLS, "stalls")
    assert study.table("stalls")["named"].sum() == STALLS


def test_what_is_stated_is_what_the_machine_did(study, machine):
    ticks = study.results.blames[0].ticks
    truth = [
        machine.truth(100, start, start + gap)["storage"] for start, gap in zip(ticks["start_ns"], ticks["gap_ns"], strict=True)
    ]
    assert ticks["storage_ns"].tolist() == truth
    said = study.statement
    assert said["storage.own"].value + said["storage.behind_one_lock"].value == pytest.approx(sum(truth) / 1e9)
    assert said["lost_events"].value == 3
    assert said["ticks"].value == len(ticks)
    assert (said["lives"].text, said["ticks"].source) == ("1 life", "1 captured life")
    parts = _facts(study, "late.cause")
    assert sum(parts.values()) == pytest.approx(1)
    assert _facts(study, "late.file").keys() >= {"inside_tick.late.file.map_sqlite", "inside_tick.late.file.players_sqlite"}
    assert said["late.all.storage"].note.endswith("1 of the 6 lives that an interval over lives needs")
    assert study.table("slow_actions").loc["ping", "slow"] == len(study.results.actions) // 10 + 1
    assert all("tick" in sentence for sentence in study.table("worst_ticks")["what happened"])


def _words(svg):
    return [unescape(text) for text in re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", svg.data)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("timeline", ["Tick gap (ms)", "Server", "Emerge-0", "disk reads", "disk writes", "map.sqlite", "storage behind a lock"]),
        ("worst_tick", ["Around the tick with the most late time", "saves", "Time since the first tick (s)"]),
        ("stalled_tick", ["disk stalled", "shaded: injected stalls", "ms of it in fdatasync of terrain in map.sqlite"]),
        (
            "late_shares",
            [
                "What explains late time",
                "save in the tick thread",
                "read behind a lock",
                "Share of the late time",
                "95% intervals",
            ],
        ),
        (
            "stalls",
            ["Disk stalled, and named with request and file: 20 of 20", "Core kept busy, and storage not blamed: 20 of 20"],
        ),
    ],
)
def test_figures_say_what_they_show(study, name, words):
    texts = _words(study.figure(name))
    for word in words:
        assert any(word in text for text in texts), f"{word!r} is not in {texts}"
    assert not any(text.endswith("…") for text in texts), "a label was cut"
    assert not any(re.search(r"\de[+-]\d|NaN|Infinity|undefined|null", text) for text in texts), texts


def test_a_stretch_of_any_length_has_few_rows_that_do_not_overlap(study):
    one = study.results.blames[0]
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
    blind = _study(run)
    assert _facts(blind, "device_stalls.named")["inside_tick.device_stalls.named"] == 0
    said = _claims(blind)
    assert said["device_stalls"].verdict == "not valid"
    assert "the file of a device's request is not known here" in said["device_stalls"].evidence
    assert said["device_stalls"].causes == (FilesUnknown(),)
    others = {name: claim.verdict for name, claim in said.items() if name != "device_stalls"}
    assert others == {name: claim.verdict for name, claim in _claims(study).items() if name in others}
    assert blind.statement["late.all.storage"].value == study.statement["late.all.storage"].value
    assert all("<svg" in blind.figure(name).data for name in blind.figures)
    assert len(blind.table("stalls")) == 2 * STALLS


def test_where_no_stall_was_injected_none_is_counted_and_the_figures_say_so(machine, tmp_path):
    times = {f"{at}_ns": pd.Series(dtype="int64") for at in ("due", "start", "end")}
    none = pd.DataFrame({"kind": pd.Series(dtype=object), **times})
    bare = _study(_write(machine, tmp_path / "runs" / "abc", injections=none))
    claims = _claims(bare)
    for name in ("device_stalls", "cpu_stalls"):
        assert (claims[name].verdict, claims[name].n) == ("not valid", 0)
        assert claims[name].evidence == "no such stall was injected while ticks were captured; 20 stalls would decide"
        assert claims[name].causes == (TooFew(n=0, needed=20, counted="stalls"),)
    assert len(bare.table("stalls")) == 0
    bare.save(str(tmp_path / "out"))
    reasons = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert {name for name, reason in reasons.items() if reason} == {"stalls", "stalled_tick"}


def test_what_is_stated_does_not_depend_on_what_is_shown(run, study, tmp_path):
    other = _study(run)
    for name in reversed(other.tables):
        other.table(name)
    shown = {name: other.figure(name).data for name in reversed(other.figures)}
    study.save(str(tmp_path / "first"))
    other.save(str(tmp_path / "second"))
    for file in ("facts.json", "claims.json", "figures.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    assert shown == {name: (tmp_path / f"first/figures/{name}.svg").read_text() for name in study.figures}


def test_a_file_is_one_file_in_all_lives_whatever_the_folder_of_their_device(machine, study, tmp_path):
    runs = tmp_path / "runs"
    _write(machine, runs / "abc")
    evidence = machine.evidence()
    moved = {
        name: rows.assign(file=rows["file"].str.replace("/w/", "/run/other/w/", regex=False))
        for name, rows in (("requests", evidence.requests), ("extents", evidence.extents))
    }
    _write(machine, runs / "def", **moved)
    both = inside_tick(str(_plan(runs, "abc", "def")), runs=str(runs), bootstrap_samples=200, seed=1)
    assert (both.statement["lives"].text, both.statement["ticks"].source) == ("2 lives", "2 captured lives")
    shares = _facts(study, "late.file")
    assert _facts(both, "late.file") == pytest.approx(shares)
    assert _claims(both)["device_stalls"].n == 2 * STALLS


def test_an_empty_disk_or_no_stalls_can_be_drawn(study):
    one = study.results.blames[0]
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
    share = study.statement["late.all.storage"].value
    assert f"storage explains {percent(share)} [" in screen
    assert "3 events lost" in screen
    assert (
        "of 20 injected device stalls, 20 are named with request and file; "
        "of 20 injected stalls of the processor, 0 are blamed on storage" in screen
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


def test_the_first_line_is_a_verdict_and_the_page_has_the_same_words_and_figures(run, tmp_path):
    page = tmp_path / "blame.html"
    screen = _blame(run, "--report", str(page)).splitlines()
    counted = re.fullmatch(
        r"LAG: (\d+) of (\d+) ticks of Server were late and lost [\d,.]+ ms; the biggest cause is storage \([\d,.]+ ms\) "
        r"\((\d+) ticks with injected stalls do not count\), and without any wait for storage [\d,.]+ ms would be gone",
        screen[0],
    )
    assert counted, screen[0]
    late, counts, left = map(int, counted.groups())
    blame = attribute(load_evidence(run)[0])
    assert counts + left == len(blame.ticks)
    assert 0 < late < blame.ticks["slow"].sum()
    html = page.read_text()
    assert all(line.strip() in unescape(html) for line in screen)
    assert html.count("<svg") == 2
    assert not re.search(r"(src|href)=[\"']?https?:", html)
    assert all(html.count(f'id="{number}-clip0"') <= 1 for number in (0, 1))


def test_a_figure_of_gaps_shows_each_late_tick_with_its_cause():
    rows = {"at_s": [0.0, 1.0, 2.0], "gap_ms": [50.0, 300.0, 90.0], "cause": [None, "storage", "its own pace"]}
    svg = unescape(plot.to_svg(plot.tick_gaps(pd.DataFrame(rows), budget_ms=50)))
    assert "n = 3 ticks, of which 2 are late; grey: ticks in time; dashed: step of 50 ms" in svg
    assert "its own pace" in svg
    assert "waiting for a core" not in svg


def test_the_screen_of_a_capture_of_any_process(machine, tmp_path):
    evidence = machine.evidence()
    table.write("requests", tmp_path / "requests.parquet", evidence.requests)
    table.write("waits", tmp_path / "waits.parquet", evidence.waits)
    write_capture(tmp_path, capture_of(started_ns=START_NS, ended_ns=machine.now_ns))
    screen = _blame(tmp_path, "--thread", "Emerge-0")
    assert screen.startswith("NO TICKS FOUND: the thread Emerge-0 runs no loop, so seconds are explained\nEmerge-0: ")
    assert "of the time in which it was not asleep" in screen
    assert "in pread64 of terrain in map.sqlite" in screen
    _blame(tmp_path, "--figure", tmp_path / "worst.svg")
    drawn = (tmp_path / "worst.svg").read_text()
    assert all(words in drawn for words in ("Around the worst second", "Each second (ms)", "is a second"))
    (tmp_path / "waits.parquet").unlink()
    with pytest.raises(TickdiskError, match="strace does not capture them; capture with bpftrace"):
        _blame(tmp_path)


def test_an_empty_capture_beside_a_busy_disk_is_not_valid(machine, tmp_path):
    empty = {"requests": machine.evidence().requests.iloc[:0], "waits": machine.waits().iloc[:0]}
    run = _write(machine, tmp_path / "abc", **empty)
    assert load_evidence(run)[0].obstacles == (NothingCaptured(),)
    with pytest.raises(TickdiskError, match="not valid, life: the capture is empty and the device has requests"):
        _blame(run)
    half = _write(machine, tmp_path / "def", requests=empty["requests"])
    assert "NOT VALID: life: the capture is empty and the device has requests" in _blame(half)


def test_lives_that_are_not_valid_decide_nothing(machine, tmp_path):
    run = _write(machine, tmp_path / "runs" / "abc", requests=machine.evidence().requests.iloc[:0])
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["lives"]["life"]["not_valid"] = {"hdd": "client saturated: 9 of 10"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    claims = _claims(_study(run))
    obstacles = (ClientsSaturated(life=None, detail="client saturated: 9 of 10"), NothingCaptured())
    assert claims["cpu_stalls"].causes == obstacles
    assert claims["explained"].causes == (*obstacles, TooFew(n=1, needed=6, counted="lives"))
    words = "client saturated: 9 of 10; the capture is empty and the device has requests; "
    assert all(claim.evidence.startswith(words) for claim in claims.values())


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(TickdiskError, match="is no folder of a run, a server life or a capture"):
        _blame(tmp_path)
    write_manifest(tmp_path, manifest_of("switchback", lives={"life": LIFE}))
    with pytest.raises(TickdiskError, match="no life was captured by bpftrace"):
        _blame(tmp_path)
