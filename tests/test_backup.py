"""A backup on the same disk: the plan, its commands, and the analysis of lives in which its cost is known."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated_runs import BASE_MS, DELAY_MS, DELAYED, LATENCY_MS, cells_of, config_of, write_runs

from tickdisk.config import load_arms
from tickdisk.experiment import PlannedLife
from tickdisk.run.copying import Backups
from tickdisk.studies import backup
from tickdisk.studies.backup.compute import WAYS, Results
from tickdisk.studies.study import Study

COSTS = {"hdd_tar": 3.0, "hdd_tar_idle": 3.0, "hdd_rsync": 2.0}
"""How many times as long a tick gap is while a backup is made in some ways. All other ways cost nothing."""


def costly(_: PlannedLife) -> Callable[[str, int], float]:
    return lambda arm, block: (BASE_MS + block) * COSTS.get(arm, 1.0) + (DELAY_MS if arm in DELAYED else 0.0)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Study[Results]:
    LATENCY_MS.update({arm.arm: 6.0 if arm.device == "hdd_7200rpm" else 0.1 for arm in load_arms() if arm.experiment == "backup"})
    folder = tmp_path_factory.mktemp("backup")
    path = write_runs(folder, "backup", gap_of=costly)
    return backup(str(path), runs=str(folder), margin=None)


def test_every_disk_has_a_life_in_each_block_with_every_way_once() -> None:
    cells = cells_of(config_of("paper", None), "backup")
    assert len(cells) == 6
    orders: dict[str, list[tuple[str, ...]]] = {}
    for cell in cells:
        assert Counter(life.name for life in cell.lives) == Counter(["sata_ssd", "hdd_7200rpm", "both_delays"])
        for life in cell.lives:
            orders.setdefault(life.name, []).append(tuple(epoch.arm for epoch in life.epochs))
    for disk, prefix in (("sata_ssd", "ssd"), ("hdd_7200rpm", "hdd")):
        expected = {f"{prefix}_{name}" for name in ("alone", "alone_again", *WAYS)}
        assert all(set(order) == expected and len(order) == len(expected) for order in orders[disk])
        assert all(Counter(order[place] for order in orders[disk]) == dict.fromkeys(expected, 1) for place in range(6))


def test_a_backup_costs_what_it_costs_on_each_disk_and_a_limit_helps(known: Study[Results]) -> None:
    facts = known.statement.facts
    found = {claim.id.removeprefix("backup.luanti."): claim.verdict for claim in known.statement.claims}
    assert facts["backup.luanti.gap_max_ratio.tar.hdd_7200rpm"].value == pytest.approx(3.0, rel=0.02)
    assert facts["backup.luanti.gap_max_ratio.tar_limited.hdd_7200rpm"].value == pytest.approx(1.0, rel=0.02)
    assert facts["backup.luanti.gap_max_ratio.tar_limited_over_tar.hdd_7200rpm"].value == pytest.approx(1 / 3, rel=0.02)
    assert (found["gap_max.rsync_over_tar.hdd_7200rpm"], found["gap_max.tar_idle_over_tar.hdd_7200rpm"]) == (
        "different",
        "equivalent",
    )
    assert facts["backup.luanti.gap_max_ratio.tar.sata_ssd"].value == pytest.approx(1.0, rel=0.02)
    for way in WAYS:
        assert found[f"gap_max.{way}.hdd_7200rpm"] == ("different" if f"hdd_{way}" in COSTS else "equivalent")
        assert found[f"gap_max.{way}.sata_ssd"] == "equivalent"
    assert {found[name] for name in ("null.gap_max.sata_ssd", "null.gap_max.hdd_7200rpm")} == {"equivalent"}
    assert found["both_delays.gap_max"] == "different"


@pytest.mark.parametrize("way", ["tar", "tar_idle", "tar_limited", "rsync"])
def test_a_backup_is_made_again_and_again_until_it_is_ended(way: str, tmp_path: Path) -> None:
    source = tmp_path / "disk/copied"
    source.mkdir(parents=True)
    (source / "file").write_bytes(bytes(6 << 20))
    log = tmp_path / "logs/backup0.log"
    with Backups(source, 10.0, tmp_path / "logs", [0]) as backups:
        assert backups.alive()
        began_s = time.monotonic()
        backups.begin(way)  # type: ignore[arg-type]
        while not log.exists() or len(log.read_text().splitlines()) < 2:
            assert time.monotonic() < began_s + 10
            time.sleep(0.02)
        took_s = time.monotonic() - began_s
        assert took_s > 1.0 if way == "tar_limited" else took_s < 8, "a limit is met, which is 12 MiB in 1.2 s"
        assert set(log.read_text().splitlines()) == {"whole"}
        assert backups.alive()
        backups.begin(None)
        assert not (tmp_path / "disk/backup").exists()
        assert (source / "file").exists()
        assert backups.alive()
