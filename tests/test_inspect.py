"""`tickdisk inspect` as an operator uses it: one page, one sentence, JSON, comparison, and refusals."""

import json
import os
import re

import pytest
from IPython.display import Markdown
from test_accesses_report import plan_of
from test_accesses_simulated import START_NS, play
from typer.testing import CliRunner

from tickdisk import formats, studies
from tickdisk.cli import app
from tickdisk.foundation.errors import TickdiskError

STRACE = "".join(
    f'7 {1_700_000_010 + n / 100:.6f} p{"read" if n % 3 else "write"}64(3</srv/world/map.sqlite>, ""..., 4096, '
    f"{4096 * (n % 50)}) = 4096 <0.{n % 7 + 1:06d}>\n"
    for n in range(900)
)


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["inspect", *words])
    if isinstance(result.exception, TickdiskError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "server.log"
    path.write_text(STRACE)
    return path


def test_a_page_that_loads_nothing_from_elsewhere(trace, tmp_path):
    page = tmp_path / "page.html"
    said = run(str(trace), "-o", str(page))
    assert said.startswith(
        "server.log: This load mostly reads (66.7 % of its requests, 66.7 % of its bytes, 66.6 % of its time): "
    )
    text = page.read_text()
    assert not re.search(r"(src|href)=\"(?!data:|#)", text)
    assert len(re.findall("<svg", text)) >= 8
    ids = re.findall(r'<clipPath id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert "900 requests in 900 lines of strace; 0 lines could not be read" in text
    assert "not in the trace: the sizes of files" in text
    assert "Types of data over time" in text
    with pytest.raises(TickdiskError, match="exists already"):
        run(str(trace), "-o", str(page))
    run(str(trace), "-o", str(page), "--force")


def test_json_has_the_numbers(trace):
    found = json.loads(run(str(trace), "--json"))
    (load,) = found["loads"]
    assert load["numbers"]["reads"] == {"value": 600, "low": None, "high": None, "n": 1}
    # Every fiftieth request goes back to the beginning of the file.
    assert load["numbers"]["share_sequential"]["value"] == pytest.approx(882 / 899)
    assert found["traces"][0]["requests"] == 900
    assert load["share_of_files_touched"] is None
    assert load["locality"]["areas"] == 1


def test_several_traces_are_runs_or_one_run(trace, tmp_path):
    other = tmp_path / "other.log"
    other.write_text(STRACE.replace("pwrite64", "pread64"))
    (load,) = json.loads(run(str(trace), str(other), "--json"))["loads"]
    assert load["runs"] == 2
    assert load["numbers"]["share_reads"]["value"] == pytest.approx((2 / 3 + 1) / 2)
    (load,) = json.loads(run(str(trace), str(other), "--json", "--together"))["loads"]
    assert load["runs"] == 1
    assert load["numbers"]["share_reads"]["value"] == pytest.approx(1500 / 1800)


def test_two_loads_side_by_side(trace, tmp_path):
    other = tmp_path / "other.log"
    other.write_text(STRACE.replace("pwrite64", "pread64"))
    page = tmp_path / "page.html"
    said = run(str(trace), "--compare", str(other), "-o", str(page))
    assert "other.log: This load almost only reads" in said
    assert page.read_text().count("<h1>") == 2


def test_files_and_bandwidth_come_from_options(trace, tmp_path):
    listed = tmp_path / "files"
    listed.write_text("409600 /srv/world/map.sqlite\n100 /srv/world/env_meta.txt\n")
    (load,) = json.loads(run(str(trace), "--files", str(listed), "--peak-mb-per-s", "100", "--json"))["loads"]
    assert load["share_of_files_touched"] == 0.5
    assert load["packing"] == "one huge"
    assert load["tables"]["touched"][0]["share_touched"] == 0.5
    assert load["bandwidth_use"] == pytest.approx(900 * 4096 / 8.99 / 1e8)


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    where = plan_of(tmp_path_factory.mktemp("inspect"), 7, seconds=70.0)
    return studies.inspect(**where, published="data/published.yaml", traces=None, margin=None)


def test_the_study_describes_the_captured_lives(captured):
    played = [play(block, seconds=70.0) for block in range(7)]
    world, moved = ["terrain", "player", "npc"], ["read", "write"]
    own = []
    for rows, _, phases, _ in played:
        stopped_ns = START_NS + max(phase.end_s for phase in phases) * 1e9
        own.append(rows[rows["data"].isin(world) & rows["op"].isin(moved) & (rows["start_ns"] <= stopped_ns)])
    assert sum(map(len, own)) < sum(len(rows[rows["op"].isin(moved)]) for rows, *_ in played), (
        "a server that stops saves once more"
    )
    shares = [float((rows["op"] == "read").mean()) for rows in own]
    said = captured.statement
    assert said["luanti.runs"].value == 7
    assert said["luanti.share_reads"].value == pytest.approx(sum(shares) / 7)
    assert said["luanti.write_period_s"].value == pytest.approx(2, rel=0.05), "the simulated server saves every 2 s"
    claim = {claim.id: claim for claim in said.claims}["inspect.luanti.reads_over_writes"]
    assert (claim.verdict, claim.study, claim.n) == ("different", "contradicted", 7)


def test_the_study_has_tables_and_figures(captured):
    for name in captured.tables:
        assert isinstance(captured.table(name), Markdown) == (name in ("chunks", "storing")), name
    drawn = {name: type(captured.figure(name)) for name in captured.figures}
    assert {name for name, kind in drawn.items() if kind is Markdown} == {"files"}


def test_the_study_takes_traces_instead(trace, tmp_path):
    other = tmp_path / "other.log"
    other.write_text(STRACE.replace("pwrite64", "pread64"))
    study = studies.inspect("no plan", runs="x", published="data/published.yaml", traces=f"{trace}:{other}", margin=None)
    assert study.statement["load_1.runs"].value == 2
    assert not study.statement.claims


def test_one_command_goes_from_a_trace_to_a_replay_on_a_hard_disk(trace, tmp_path):
    page = tmp_path / "page.html"
    said = run(str(trace), "-o", str(page), "--simulate", "hdd")
    assert re.search(r"On hdd: the program would wait [0-9,.]+ ms for its requests instead of [0-9,.]+ ms as captured", said)
    assert "On another disk: hdd" in page.read_text()
    found = json.loads(run(str(trace), "--json", "--simulate", "hdd"))
    assert found["replay"]["costs"]["all"]["requests"] == 900


def test_a_capture_is_described_like_a_trace(trace, tmp_path):
    folder = tmp_path / "capture"
    folder.mkdir()
    formats.convert([trace], folder / "requests.parquet")
    (from_trace,) = json.loads(run(str(trace), "--json"))["loads"]
    for path in (folder, folder / "requests.parquet"):
        (load,) = json.loads(run(str(path), "--json"))["loads"]
        assert load["numbers"] == from_trace["numbers"]


def test_odd_names_and_equal_names_are_shown(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = tmp_path / "a/games", tmp_path / "b/games"
    first.write_text(STRACE.replace("map.sqlite", "m\\33[31m.sqlite"))
    second.write_text(STRACE.replace("pwrite64", "pread64"))
    said = run(str(first), "--compare", str(second), "-o", str(tmp_path / "page.html"))
    assert said.startswith("games (2): This load mostly reads")
    assert "games (3): This load almost only reads" in said
    text = (tmp_path / "page.html").read_text()
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", text)


def test_a_store_that_cannot_be_read_here_has_pages_of_no_known_kind(tmp_path):
    path = tmp_path / "r.0.0.mca"
    path.write_bytes(bytes(12288))
    text = STRACE.replace("/srv/world/map.sqlite", str(path)) + STRACE.replace("/srv/world/map", "/" + "a" * 300)
    trace = tmp_path / "server.log"
    trace.write_text(text)
    (load,) = json.loads(run(str(trace), "--json"))["loads"]
    assert "region files" in load["not_in_the_trace"]["chunks"]
    assert {row["store"] for row in load["tables"]["stores"]} == {"region file", "SQLite"}


def test_a_trace_that_tells_times_only_is_described_by_them(tmp_path):
    trace = tmp_path / "biosnoop.txt"
    lines = [f"{611 + n * 7:<12} 259   0        java             4179  {n % 11:>8}" for n in range(300)]
    trace.write_text(
        "Attached 4 probes\nTIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n"
        + "\n".join(lines)
        + "\n"
    )
    found = json.loads(run(str(trace), "--json"))
    numbers = found["loads"][0]["numbers"]
    assert numbers["p50_ms"]["value"] == 5
    assert numbers["average_iops"]["value"] == pytest.approx(143, rel=0.02)
    unknown = ("reads", "share_reads", "p50_bytes", "share_sequential", "average_mb_per_s", "read_period_s")
    assert [numbers[name]["value"] for name in unknown] == [None] * len(unknown)
    page = tmp_path / "page.html"
    said = run(str(trace), "-o", str(page))
    assert said.startswith("biosnoop.txt: The trace does not tell which of its requests read and which write, and there are 143 ")
    assert "Of the published loads" not in said
    text = page.read_text()
    assert "not in the trace: which requests read and which write" in text
    assert "none found" not in text


def test_the_standard_input_is_read_once(tmp_path):
    page = tmp_path / "page.html"
    for words in (("-", "-"), ("-", "--compare", "-"), ("-", "--simulate", "hdd")):
        with pytest.raises(TickdiskError, match="the standard input can be read only once"):
            run(*words, "-o", str(page))
    assert not page.exists()


def test_a_folder_whose_name_is_not_utf8_is_found_and_another_is_refused(tmp_path):
    trace = tmp_path / "t.iolog"
    trace.write_bytes(b"fio version 3 iolog\n1 /na\xefve/a add\n1 /na\xefve/a open\n1 /b add\n1 /b open\n")
    with trace.open("ab") as file:
        file.write(
            b"".join(b"%d /na\xefve/a read %d 4096\n9 /b read 0 4096\n" % (number, number * 4096) for number in range(2, 9))
        )
    told = json.loads(run(str(trace), "--json", "--only", os.fsdecode(b"/na\xefve")))
    assert told["loads"][0]["operations"]["read"] == 7
    for name in (os.fsdecode(b"\xff"), "", "/na"):
        with pytest.raises(TickdiskError, match="no request of the trace is to a file in"):
            run(str(trace), "--json", "--only", name)


def test_a_list_of_empty_files_and_impossible_sizes(trace, tmp_path):
    listing, page = tmp_path / "files.txt", tmp_path / "page.html"
    listing.write_text("0 /srv/world/a\n0 /srv/world/b\n")
    run(str(trace), "--files", str(listing), "-o", str(page))
    assert "all files are empty, so there is nothing to draw" in page.read_text()
    listing.write_text("9" * 5000 + " /srv/world/a\n")
    with pytest.raises(TickdiskError, match="line 1 is not a size and a path"):
        run(str(trace), "--files", str(listing), "-o", str(page), "--force")


def test_a_format_that_is_named_is_also_that_of_the_simulation(trace, tmp_path):
    page = tmp_path / "page.html"
    run(str(trace), "--format", "strace", "--simulate", "hdd", "-o", str(page))
    with pytest.raises(TickdiskError, match="cannot be read as msr"):
        run(str(trace), "--format", "msr", "--simulate", "hdd", "-o", str(page), "--force")
