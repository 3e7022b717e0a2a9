"""A captured server life, small: stalls that were injected are found, requests of the server and of the device agree."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BIN

from tickdisk import blame, trace
from tickdisk.foundation import table

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace cannot capture here: {trace.unavailable()}"),
]
_LIMIT_S = 180


@pytest.fixture(scope="module")
def inside_tick(small_project: Path) -> Path:
    """The small cell of the experiment inside_tick, run by plain snakemake."""
    plan = json.loads((small_project / "results/plan.json").read_text())
    first = ("inside_tick", plan["config"]["server"])
    [cell] = [cell["hash"] for cell in plan["cells"] if (cell["experiment"], cell["server"]) == first]
    done = subprocess.run(
        [BIN / "snakemake", "--cores", "16", f"results/runs/{cell}/manifest.json"],
        cwd=small_project,
        check=False,
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return small_project / "results/runs" / cell


def test_blame_names_injected_stalls_of_the_device_and_none_of_the_processor(inside_tick: Path) -> None:
    said = subprocess.run([BIN / "tickdisk", "blame", inside_tick], check=True, capture_output=True, text=True).stdout
    stalls, named, burns, blamed = map(
        int,
        re.findall(
            r"of (\d+) injected device stalls, (\d+) are named .* of (\d+) injected stalls of the processor, (\d+) are blamed",
            said,
        )[0],
    )
    assert (stalls, burns) == (2, 2)
    assert blamed == 0
    # A stall begins with the device's next request, whoever made it: one that held nobody who ticks names itself to nobody.
    [evidence] = blame.load_evidence(inside_tick)
    life = blame.attribute(evidence)
    checked = blame.check_injections(life)
    held = checked[(checked["kind"] == "device_stall") & (checked["waited_ns"] > (checked["end_ns"] - checked["start_ns"]) / 2)]
    assert len(held) >= 1
    assert held["named"].all(), held.T.to_string(max_colwidth=200)
    assert len(held) <= named <= stalls


def test_every_marker_that_the_probe_read_was_captured_with_its_file_and_reached_the_device(inside_tick: Path) -> None:
    """The oracle: the probe's own stamps around its read of a file that nothing else reads."""
    life = inside_tick / "life"
    manifest = json.loads((inside_tick / "manifest.json").read_text())["lives"]["life"]
    requests, device = table.read("requests", life / "requests.parquet"), table.read("device", life / "device.parquet")
    extents = table.read("extents", life / "extents.parquet")
    markers = [marker for marker in manifest["markers"] if marker["name"].startswith("read")]
    assert len(markers) == 2
    for marker in markers:
        number = marker["name"].removeprefix("read")
        inside = requests["start_ns"].between(marker["before_ns"], marker["after_ns"]) & (requests["op"] == "read")
        [file] = requests.loc[inside & requests["file"].fillna("").str.contains("/markers/"), "file"].unique()
        assert file.endswith(f"/markers/{number}")
        physical = extents.loc[extents["file"] == file, "physical"].iloc[0]
        reads = device[(device["op"] == "read") & device["arrival_ns"].between(marker["before_ns"], marker["after_ns"])]
        assert ((reads["offset"] <= physical) & (physical < reads["offset"] + reads["length"])).any()
    assert manifest["captures"][0]["lost_events"] == 0
    assert manifest["captures"][0]["rejected"] == 0
