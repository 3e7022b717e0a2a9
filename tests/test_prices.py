"""The price list of changes: a table from a kept run, a sentence without one, and its place in the guide for operators."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_changes import study_of, write
from typer.testing import CliRunner

from tickdisk.cli import app
from tickdisk.compare import Reference
from tickdisk.foundation import record
from tickdisk.foundation.errors import TickdiskError
from tickdisk.report import PRICES, SIZING, price_list, sizing_list
from tickdisk.report.listed import Place
from tickdisk.studies.statement import Statement

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/operate.md"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a kept run of the study, in which effects and losses are known (`test_changes`)."""
    folder = tmp_path_factory.mktemp("kept")
    facts = study_of(write(folder / "runs", "luanti")).statement.facts
    setup = Statement("setup")
    setup.fact("confidence", 0.95, "share", source="plan")
    setup.word("processor", "a processor of 1999", source="calibration")
    setup.fact("cores", 2, "cores", source="calibration")
    record.write(folder / "changes/facts.json", {**facts, **setup.facts})
    record.write(folder / "changes/about.json", Reference(commit="0123456789abcdef", date="2026-11-29", scale="paper"))
    return folder


def test_the_table_has_a_row_for_each_change_with_its_gain_and_its_price(kept: Path) -> None:
    lines = price_list(kept).splitlines()
    assert (
        "our run at paper scale of 2026-11-29 (commit 0123456789ab) on a machine with a processor of 1999 and 2 cores" in lines[0]
    )
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    assert len(table) == 2 + 5
    assert {len(row) for row in table} == {6}
    rows = {row[1]: row for row in table[2:]}
    assert table[2][1] == "nothing is changed"
    facts = json.loads((kept / "changes/facts.json").read_text())
    server, _, periods, gap, n, loss = rows["map, players and accounts in LevelDB"]
    ratio = facts["changes.luanti.gap_max_slow_ratio.leveldb"]
    assert (server, periods, gap, n) == ("Luanti", "1.1 s, 5.3 s", f"{ratio['text']} times as long", "6")
    assert ratio["value"] == pytest.approx((100 + 0.5 * 150) / 250, rel=0.04)
    assert loss == f"{facts['changes.luanti.lost_s.leveldb']['text']} of play; 30 of 30 worlds opened"
    assert rows["SQLite never waits for the disk (sqlite_synchronous = 0)"][5].endswith("27 of 30 worlds opened")
    assert rows["saves three times as rare"][2] == "3.3 s, 15.9 s"
    assert rows["nothing is changed"][3].endswith("ms in 3.3 s, at 6 ms")


def test_without_a_kept_run_one_sentence_says_so(tmp_path: Path) -> None:
    said = price_list(tmp_path)
    assert said == "There is no price list yet, because no run of the study `changes` is kept in `data/kept/changes`.\n"


def test_a_kept_run_that_lacks_a_fact_is_named(kept: Path, tmp_path: Path) -> None:
    facts = json.loads((kept / "changes/facts.json").read_text())
    del facts["changes.luanti.analysed"]
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/facts.json").write_text(json.dumps(facts))
    (tmp_path / "changes/about.json").write_text((kept / "changes/about.json").read_text())
    with pytest.raises(TickdiskError, match=r"facts.json lacks the fact changes.luanti.analysed; run the study again"):
        price_list(tmp_path)


def test_the_list_takes_its_place_in_a_document_and_nothing_else_changes(kept: Path, tmp_path: Path) -> None:
    document = tmp_path / "guide.md"
    document.write_text(GUIDE.read_text())
    PRICES.replace(document, price_list(kept))
    before, _, rest = document.read_text().partition(f"{PRICES.begin}\n")
    listed, _, after = rest.partition(PRICES.end)
    assert listed == price_list(kept)
    assert GUIDE.read_text().startswith(before + PRICES.begin)
    assert GUIDE.read_text().endswith(PRICES.end + after)
    PRICES.replace(document, price_list(tmp_path))
    assert document.read_text().split(PRICES.begin)[1].startswith("\nThere is no price list yet")
    mine = tmp_path / "mine.md"
    mine.write_text("my own words\n")
    with pytest.raises(TickdiskError, match=r"mine.md has no place for this list"):
        PRICES.replace(mine, price_list(kept))
    assert mine.read_text() == "my own words\n"


@pytest.mark.parametrize(("command", "place", "listed"), [("prices", PRICES, price_list), ("sizing", SIZING, sizing_list)])
def test_the_guide_for_operators_has_the_lists_of_the_kept_runs(command: str, place: Place, listed: Callable[[], str]) -> None:
    stands = GUIDE.read_text().partition(f"{place.begin}\n")[2].partition(place.end)[0]
    printed = CliRunner().invoke(app, [command])
    assert printed.exit_code == 0
    assert stands == printed.stdout == listed(), f"run `tickdisk {command} --into docs/operate.md`"


def test_the_sizing_list_has_a_row_for_each_ratio_of_a_slow_disk(tmp_path: Path) -> None:
    assert (
        sizing_list(tmp_path)
        == "There is no sizing list yet, because no run of load, bursts, instances, memory is kept in `data/kept`.\n"
    )
    about = Reference(commit="0123456789abcdef", date="2026-11-29", scale="paper")
    own = Statement("instances")
    part = own.part("luanti")
    part.word("title", "Luanti", source="manifests")
    for name, value, unit in (("players", 3, "players"), ("cores", 0.25, "cores"), ("memory", 512, "MiB")):
        part.fact(name, value, unit, source="plan")
    for servers in (10, 2):
        part.fact(f"gap.fast.instances_{servers}", 100.0, "ms", source="epochs")
        part.fact(f"gap.hard_disk.instances_{servers}", 100.0 * servers, "ms", source="epochs")
        part.fact(f"ratio.hard_disk.instances_{servers}", 1.0 * servers, "ratio", n=8, source="epochs")
        part.comparison(
            f"hard_disk.instances_{servers}",
            statement="Effect",
            verdict="different",
            evidence="",
            effect=f"ratio.hard_disk.instances_{servers}",
            n=8,
            counted="blocks",
        )
    setup = Statement("setup")
    setup.fact("confidence", 0.95, "share", source="plan")
    setup.fact("instances.save_period_s", 1.6, "s", source="plan")
    setup.word("processor", "a processor of 1999", source="calibration")
    setup.fact("cores", 2, "cores", source="calibration")
    record.write(tmp_path / "instances/facts.json", {**own.facts, **setup.facts})
    record.write(tmp_path / "instances/about.json", about)
    record.write(tmp_path / "instances/claims.json", own.claims)
    lines = sizing_list(tmp_path).splitlines()
    assert lines[1].startswith("- `instances`: our run at paper scale of 2026-11-29 (commit 0123456789ab)")
    assert "Each server has 3 players, 0.25 cores, 512 MiB of memory, and saves every 1.6 s." in lines[1]
    assert lines[-2:] == [
        f"| Luanti | longest tick gap when {servers} servers share the disk | 100 ms | "
        f"{100 * servers:,} ms | {servers} | different | 8 |"
        for servers in (2, 10)
    ]
    del own.facts["instances.luanti.gap.fast.instances_2"]
    record.write(tmp_path / "instances/facts.json", {**own.facts, **setup.facts})
    with pytest.raises(TickdiskError, match=r"instances lacks instances.luanti.gap.fast.instances_2; run the study again"):
        sizing_list(tmp_path)
