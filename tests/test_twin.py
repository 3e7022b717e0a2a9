"""A real disk beside its emulated twin: the plan, the study on lives whose ratios are known, and the reader of block requests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from records_of import LIFE, changed, usual_config
from simulated_runs import SECOND, config_of, write_runs

from tickdisk import device, studies
from tickdisk.config import Cell, arms_of_run, load_arms, parse_config, plan
from tickdisk.experiment import REAL, STUDIES, TWIN, TWIN_ARM, WRONG
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.table import SCHEMAS
from tickdisk.manifest import BlocksTraced, LifeRecord
from tickdisk.profile import DiskTruth, read_truth, write_truth
from tickdisk.project.project import left_out
from tickdisk.run.judge import reasons_to_replace
from tickdisk.studies.study import Study
from tickdisk.studies.twin.compute import METRICS, Results, _limited, latencies
from tickdisk.trace.blocks import read_blocks
from tickdisk.trace.process import Finished

DISK = "/var/tmp"
REQUEST_MS = {"read": 1.0, "write": 2.0, "flush": 5.0}
"""Latencies of requests on the real disk."""
REQUESTS = 40
Factor = Callable[[str, str], float]


def twin_config(**values: Any) -> Any:
    return parse_config(usual_config().model_dump(mode="json") | {"study": "twin", "disk": DISK} | values)


def right(arm: str, _: str) -> float:
    """Returns the factor of a latency where the twin is right and the wrong twin three times as slow."""
    return 3.0 if arm == WRONG else 1.0


def blind(arm: str, op: str) -> float:
    """Returns the factor where the wrong twin differs in its reads alone."""
    return 3.0 if arm == WRONG and op == "read" else 1.0


def slow(arm: str, _: str) -> float:
    """Returns the factor where the twin is half as slow again as the disk."""
    return {REAL: 1.0, TWIN_ARM: 1.5, WRONG: 3.0}[arm]


def blocks_of(arm: str, start_ns: int, end_ns: int, factor: Factor, rng: np.random.Generator) -> pd.DataFrame:
    rows = []
    for op, latency_ms in REQUEST_MS.items():
        noise = rng.normal(1, 0.02)
        for issued_ns in np.linspace(start_ns, end_ns - SECOND, REQUESTS).astype(int).tolist():
            took_ns = round(latency_ms * 1e6 * factor(arm, op) * noise)
            rows.append((op, 8, 0 if op == "flush" else 4096, issued_ns, issued_ns + took_ns))
    # A large write takes longer everywhere, and does not count.
    rows.append(("write", 8, 1 << 20, start_ns, start_ns + SECOND))
    return pd.DataFrame(rows, columns=SCHEMAS["blocks"].names)


def written(folder: Path, factor: Factor, *, blocks: int | None = None, floor_ns: int = 25_000) -> Study[Results]:
    """Returns the study of lives whose latencies are those of the disk by a factor. Ticks and actions feel reads."""
    config, rng = twin_config(scale="paper", blocks=blocks), np.random.default_rng(5)

    def tables(_: int, made: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        (epoch,) = made["epochs"].to_dict("records")
        blocks = blocks_of(epoch["arm"], SECOND, epoch["end_ns"], factor, rng)
        return made | {"blocks": blocks}

    floors = {arm: 0 if arm == REAL else floor_ns for arm in (REAL, TWIN_ARM, WRONG)}
    traced = BlocksTraced(requests=3 * REQUESTS + 1, unpaired=1, lost=0)
    values = {
        (block, arm): {"floors_ns": {arm: floors[arm]}, "blocks": traced, "started_ns": SECOND}
        for block in range(6)
        for arm in floors
    }
    path = write_runs(
        folder, "twin", config=config, gap_ms=lambda arm, block: 100 * factor(arm, "read") + block, values=values, tables=tables
    )
    return studies.twin(str(path), runs=str(folder), margin=None)


def outcomes(study: Study[Results]) -> dict[str, str]:
    return {compared.metric.name: compared.outcome for compared in study.results.compared}


def verdicts(study: Study[Results]) -> dict[str, str]:
    return {claim.id.partition(".")[2]: claim.verdict for claim in study.statement.claims}


# The plan


def cells(**values: Any) -> list[Cell]:
    arms = arms_of_run(load_arms(), "twin")
    models = {(arm.experiment, arm.arm): device.NO_DELAY for arm in arms}
    return plan(twin_config(**values), arms, models, {("twin", "luanti"): {}})


def test_each_block_has_a_life_on_each_disk_with_the_same_players_and_every_place_in_the_order_equally_often() -> None:
    planned = cells(scale="paper")
    assert len(planned) == 6
    places: dict[str, list[int]] = {arm: [] for arm in (REAL, TWIN_ARM, WRONG)}
    for cell in planned:
        assert len({life.trace_seed for life in cell.lives}) == 1
        for place, life in enumerate(cell.lives):
            places[life.first_arm].append(place)
            assert [epoch.arm for epoch in life.epochs] == [life.first_arm]
            assert (life.epochs[0].end_s - life.epochs[0].steady_s) / TWIN.design().save_period_s >= 2
    assert all(sorted(own) == [0, 0, 1, 1, 2, 2] for own in places.values())


def test_another_disk_and_another_size_are_other_cells_and_the_time_of_the_profile_is_not() -> None:
    first = [cell.hash for cell in cells(scale="smoke")]
    assert [cell.hash for cell in cells(scale="smoke", disk="/srv/other")] != first
    assert [cell.resolved.disk for cell in cells(scale="smoke")] == [DISK]
    assert {cell.resolved.device_size_mib for cell in cells(scale="smoke")} == {256}
    assert [cell.hash for cell in cells(scale="smoke", disk_name="usual")] == first, "a name changes nothing that is measured"


def test_two_disks_fit_into_forty_minutes() -> None:
    """A profile took 6 minutes at the paper's size, and each life 8 s beside its time, on a disk with a delay of 6 ms."""
    lives_s = sum(life.seconds + 8 + TWIN.design().settle_s for cell in cells(scale="paper") for life in cell.lives)
    assert 2 * (lives_s + 6 * 60) < 40 * 60


def test_the_study_runs_only_where_it_is_asked_for() -> None:
    config, arms = usual_config(), load_arms()
    usual = arms_of_run(arms, None)
    assert "twin" not in {arm.experiment for arm in usual}
    assert left_out(config, usual, {})["twin"]
    assert {arm.experiment for arm in arms_of_run(arms, "twin")} == {"twin"}
    alone = left_out(twin_config(), arms_of_run(arms, "twin"), {})
    assert set(STUDIES) - set(alone) == {"twin"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"study": "twin"}, r"study twin needs a folder on the disk; give one, such as disk=/srv/minecraft"),
        ({"disk": DISK}, r"only the study twin uses disk; give study=twin, too, or leave disk out"),
        ({"disk": DISK, "study": "switchback"}, r"only the study twin uses disk"),
        ({"disk": "minecraft", "study": "twin"}, r"config.yaml: disk = 'minecraft' is not acceptable"),
        ({"disk": 3, "study": "twin"}, r"config.yaml: disk = 3 is not acceptable"),
        (
            {"disk": DISK, "study": "twin", "disk_name": "Slow disk"},
            r"config.yaml: disk_name = 'Slow disk' is not acceptable.*lower-case letters, digits and hyphens, such as slow-ssd",
        ),
        ({"disk": DISK, "study": "twin", "disk_name": "../x"}, r"config.yaml: disk_name = '../x' is not acceptable"),
        ({"disk": DISK, "study": "twin", "disk_name": ""}, r"config.yaml: disk_name = '' is not acceptable"),
        ({"disk_name": "slow"}, r"disk_name names a disk, and there is none; give disk, too, or leave disk_name out"),
    ],
)
def test_wrong_words_are_refused_in_one_sentence(values: dict[str, Any], words: str) -> None:
    with pytest.raises(TickdiskError, match=words) as error:
        parse_config(usual_config().model_dump(mode="json") | values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (Path("/nowhere/at/all"), "/nowhere/at/all is no folder; give a folder on the disk"),
        (Path("/dev/shm"), r"/dev/shm is in memory \(tmpfs\); give a folder on a disk"),
        (None, "backend folder needs a folder on the disk"),
    ],
)
def test_a_folder_that_cannot_be_a_disk_is_refused(folder: Path | None, words: str) -> None:
    with pytest.raises(TickdiskError, match=words):
        device.check_folder(folder, 1 << 20)


def test_a_disk_without_room_is_refused_before_anything_is_written() -> None:
    with pytest.raises(TickdiskError, match=r"MiB free, but a file of \d+ MiB and 256 MiB to spare do not fit"):
        device.check_folder(Path(DISK), 1 << 60)


# The analysis


@pytest.fixture(scope="module")
def right_study(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    return written(tmp_path_factory.mktemp("right"), right)


@pytest.fixture(scope="module")
def blind_study(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    return written(tmp_path_factory.mktemp("blind"), blind)


def test_a_right_twin_is_equivalent_where_a_wrong_twin_is_found(right_study: Study[Results]) -> None:
    study = right_study
    found = outcomes(study)
    assert found == dict.fromkeys((metric.name for metric in METRICS), "equivalent")
    assert verdicts(study) == found
    facts = study.statement.facts
    for name in ("read_p50", "write_mean", "flush_p50", "gap_max"):
        assert facts[f"twin.{name}.ratio"].value == pytest.approx(1, abs=0.05)
        assert facts[f"twin.{name}.wrong_ratio"].value == pytest.approx(3, rel=0.05)
    assert facts["twin.read_p50.real_disk"].value == pytest.approx(REQUEST_MS["read"], rel=0.05)
    assert facts["twin.write_p50.twin"].value == pytest.approx(REQUEST_MS["write"], rel=0.05)
    assert facts["twin.limited"].word == "none"
    assert facts["twin.disk_name"].word == "without a name"


def test_a_wrong_twin_that_is_not_found_leaves_open_whether_the_twin_is_right(blind_study: Study[Results]) -> None:
    study = blind_study
    found = outcomes(study)
    assert {found["write_p50"], found["write_mean"], found["flush_p50"], found["flush_mean"]} == {"cannot tell"}
    assert {found["read_p50"], found["read_mean"], found["gap_max"], found["teleport_mean"]} == {"equivalent"}
    (claim,) = [claim for claim in study.statement.claims if claim.id == "twin.flush_p50"]
    assert (claim.verdict, [cause.kind for cause in claim.causes]) == ("inconclusive", ["wrong_twin_not_found"])
    assert "the wrong twin was not found different either" in claim.evidence


def test_a_twin_that_differs_is_found(tmp_path: Path) -> None:
    study = written(tmp_path, slow)
    assert set(outcomes(study).values()) == {"different"}
    assert {claim.direction for claim in study.statement.claims} == {"higher"}


def test_too_few_blocks_decide_nothing(tmp_path: Path) -> None:
    study = written(tmp_path, right, blocks=2)
    assert set(outcomes(study).values()) == {"not valid"}
    assert {cause.kind for claim in study.statement.claims for cause in claim.causes} == {"too_few"}
    assert {claim.counted for claim in study.statement.claims} == {"blocks"}


@pytest.mark.parametrize("factor", [right, slow])
def test_a_kind_of_request_that_is_too_fast_for_the_emulator_is_named_and_its_rows_cannot_tell(
    factor: Factor, tmp_path: Path
) -> None:
    """The models of these lives have writes and flushes of the SATA tier, 0.1 ms, and reads of 1 ms."""
    study = written(tmp_path, factor, floor_ns=100_000)
    found, said = outcomes(study), {claim.id: claim for claim in study.statement.claims}
    too_fast = {"write_p50", "write_mean", "flush_p50", "flush_mean"}
    assert {name for name, word in found.items() if word == "cannot tell"} == too_fast
    assert {found[name] for name in found.keys() - too_fast} == {"equivalent" if factor is right else "different"}
    assert {(said[f"twin.{name}"].verdict, said[f"twin.{name}"].causes[-1].kind) for name in too_fast} == {
        ("inconclusive", "below_floor")
    }
    assert "100 % of these requests take at most 100 us, which the emulator alone takes" in said["twin.flush_mean"].evidence
    assert study.statement.facts["twin.limited"].word == "write, flush"
    table = study.tables["disk"](study.results)
    assert table["the twin can be as fast"].to_dict() == {"read": "yes", "write": "no", "flush": "no"}
    assert table["at most the floor"].to_dict() == {"read": "0 %", "write": "100 %", "flush": "100 %"}


def test_too_few_blocks_are_told_also_of_a_kind_that_is_too_fast(tmp_path: Path) -> None:
    study = written(tmp_path, right, blocks=2, floor_ns=100_000)
    assert set(outcomes(study).values()) == {"not valid"}
    (claim,) = [claim for claim in study.statement.claims if claim.id == "twin.flush_p50"]
    assert [cause.kind for cause in claim.causes] == ["too_few", "below_floor"]


def test_a_median_above_the_floor_does_not_hide_requests_below_it() -> None:
    """The oracle: the device's own draws."""
    own = device.QuantilesByInflight(
        inflight=(1, 8), quantiles=((0, 10_000, 1), (0.2, 20_000, 2), (0.5, 60_000, 3), (1, 90_000, 4))
    )
    model = device.DeviceModel(
        name="disk",
        read_latency_ns=own,
        write_latency_ns=device.Quantiles(quantiles=((0, 30_000), (0.4, 30_000), (1, 40_000))),
        flush_latency_ns=device.Lognormal(median_ns=40_000, sigma=0.5),
    )
    for longest_ns in (5_000, 20_000, 25_000, 30_000, 40_000, 95_000):
        for op, share in enumerate(model.shares_up_to(longest_ns)):
            arrivals_ns, completions_ns = device.simulate_closed(model, 1, np.full(4000, op), 0, 4096 if op < 2 else 0)
            drawn_ns = completions_ns - arrivals_ns
            assert share == pytest.approx(float(np.mean(drawn_ns <= longest_ns)), abs=0.03), (longest_ns, op)
    assert model.latency_ns[0] > 25_000
    assert [cause.operation for cause in _limited(model, 25_000)] == ["read", "flush"]
    assert device.DeviceModel(name="x", read_latency_ns=5, write_latency_ns=6, flush_latency_ns=7).shares_up_to(6) == (1, 1, 0)


def test_every_table_and_figure_comes(blind_study: Study[Results], tmp_path: Path) -> None:
    study = blind_study
    study.save(str(tmp_path))
    text = (tmp_path / "figures/paper_twin.svg").read_text()
    assert "longest tick gap" in text
    assert "Ratio to the real disk" in text
    effects = study.tables["effects"](study.results)
    assert effects.loc["median latency of flushes", "outcome"] == "cannot tell"
    assert len(study.tables["runs"](study.results)) == 6
    with pytest.raises(TickdiskError, match="nobody knows the true speed"):
        study.tables["truth"](study.results)


def test_the_truth_about_a_slow_disk_stands_beside_the_twin(right_study: Study[Results], tmp_path: Path) -> None:
    study = right_study
    assert read_truth(tmp_path) is None
    told = DiskTruth(read_ms=1, write_ms=2, bandwidth_bytes_per_s=1 << 20)
    write_truth(tmp_path, told)
    results = Results(**{**vars(study.results), "truth": read_truth(tmp_path)})
    table = study.tables["truth"](results)
    assert table["true delay (ms)"].tolist() == ["1", "2"]
    assert float(str(table.loc["read", "twin less the delay (ms)"])) == pytest.approx(0, abs=0.05)


def test_a_life_with_few_requests_of_a_kind_says_nothing_about_them() -> None:
    blocks = blocks_of(REAL, 0, 10 * SECOND, right, np.random.default_rng(1))
    few = pd.concat([blocks[blocks["op"] == "read"].head(9), blocks[blocks["op"] == "write"]])
    found = latencies(few, 0, 10 * SECOND)
    assert np.isnan(found["read_p50"])
    assert np.isnan(found["flush_mean"])
    assert found["write_p50"] == pytest.approx(2, rel=0.1)


# The reader of block requests


def raw(*lines: str) -> bytes:
    return "\n".join(["Attaching 3 probes...", *lines, "beat 0 0 900 0 0 0 0", ""]).encode()


FINISHED = Finished(ended_ns=900, clock_offset_ns=100, lost_printed=0)


def test_requests_are_paired_with_their_completions_in_ns_of_one_clock() -> None:
    found = read_blocks(
        raw(
            "i 200 8 4096 R",
            "i 210 16 8192 WS",
            "c 300 16 8192 WS",
            "i 305 0 0 FF",
            "c 320 8 4096 R",
            "i 330 8 4096 R",
            "c 340 -1 0 FF",
            "c 345 0 0 WS",
            "c 360 8 4096 R",
            "i 400 24 4096 DS",
            "c 410 24 4096 DS",
        ),
        FINISHED,
    )
    assert found.requests.to_numpy().tolist() == [
        ["read", 8, 4096, 100, 220],
        ["write", 16, 8192, 110, 200],
        ["flush", 0, 0, 205, 240],
        ["read", 8, 4096, 230, 260],
        ["discard", 24, 4096, 300, 310],
    ]
    assert (found.unpaired, found.lost) == (0, 0)


def test_what_was_under_way_at_an_end_is_counted_and_a_write_with_a_flush_is_a_write() -> None:
    found = read_blocks(raw("c 150 8 4096 W", "i 200 16 4096 FWFS", "c 250 16 4096 FWFS", "i 800 24 4096 R"), FINISHED)
    assert found.requests["op"].tolist() == ["write"]
    assert found.unpaired == 2


def test_a_lost_completion_shifts_no_later_one() -> None:
    found = read_blocks(
        raw(
            "i 200 0 0 F",
            "i 300 0 0 F",
            "c 310 -1 0 F",
            "i 400 0 0 F",
            "c 420 -1 0 F",
            "i 500 8 8192 W",
            "i 510 8 4096 W",
            "c 530 8 8192 W",
        ),
        FINISHED,
    )
    assert (found.requests["completed_ns"] - found.requests["issued_ns"]).tolist() == [10, 20, 30]
    assert found.unpaired == 2


def test_lines_of_several_cores_may_be_out_of_order() -> None:
    found = read_blocks(raw("c 300 8 4096 R", "i 200 8 4096 R"), FINISHED)
    assert found.requests[["issued_ns", "completed_ns"]].to_numpy().tolist() == [[100, 200]]
    assert found.unpaired == 0


def test_a_disk_without_a_log_has_one_from_its_requests() -> None:
    found = read_blocks(
        raw("i 200 8 4096 R", "i 250 16 4096 W", "c 300 8 4096 R", "i 350 24 4096 R", "c 400 16 4096 W", "c 420 24 4096 R"),
        FINISHED,
    )
    log = found.as_device_log()
    assert log["inflight"].tolist() == [1, 2, 2]
    assert log["offset"].tolist() == [8 * 512, 16 * 512, 24 * 512]
    assert log["replied_ns"].tolist() == [200, 300, 320]
    assert list(log.columns) == SCHEMAS["device"].names


# The record of a life


def test_the_status_of_a_real_disk_lacks_what_an_emulator_knows_and_is_read_as_it_was_written() -> None:
    status = device.DeviceStatus(
        device="real_disk", description="", setting=1, floor_ns=0, requests={"read": 1}, bytes={"read": 4096}, stalls=()
    )
    limits = usual_config().limits
    for own in (status, LIFE.device):
        life = changed(LIFE, device=own)
        again = LifeRecord.model_validate_json(life.model_dump_json())
        assert type(again.device) is type(own)
        assert again == life
        assert reasons_to_replace(limits, again, ()) == []
    lossy = changed(LIFE, device=status, blocks=BlocksTraced(requests=5, unpaired=0, lost=2))
    assert reasons_to_replace(limits, lossy, ()) == ["the trace of the block device lost 2 events"]


# The wrong twin


def test_a_wrong_twin_has_slower_reads_and_writes_and_longer_flushes() -> None:
    table = device.QuantilesByInflight(inflight=(1, 4), quantiles=((0, 100, 300), (1, 200, 600)))
    flush = device.Quantiles(quantiles=((0, 1000), (1, 3000)))
    model = device.DeviceModel(name="disk", read_latency_ns=table, write_latency_ns=50, flush_latency_ns=flush)
    wrong = device.slower(model, 3, 10_000)
    assert wrong.latency_ns[:3] == (450, 150, 12_000)
    assert wrong.read_latency_ns == device.QuantilesByInflight(inflight=(1, 4), quantiles=((0, 300, 900), (1, 600, 1800)))
    assert wrong.name != model.name
    assert model.latency_ns[:3] == (150, 50, 2000)
    drawn = model.model_copy(update={"read_latency_ns": device.Lognormal(median_ns=5, sigma=0.1)})
    with pytest.raises(TickdiskError, match="give a profiled device"):
        device.slower(drawn, 3, 0)


def test_a_real_disk_takes_no_model_that_slows_it() -> None:
    backend = device.BACKENDS["folder"]
    backend.check_model(device.REAL_DISK)
    backend.check_model(device.REAL_DISK.unlimited())
    with pytest.raises(TickdiskError, match="a real disk, whose speed cannot be set"):
        backend.check_model(device.NO_DELAY.with_latency(1000))


def test_the_configuration_of_the_paper_plans_six_blocks() -> None:
    assert config_of("paper", None).chosen.design(TWIN).blocks == 6
