"""dd as the oracle of how writes are stored: what it takes on a device, its capture, its replay and its simulation take, too."""

import os
import re
import subprocess
from pathlib import Path
from statistics import median

import pytest
from conftest import for_release

from tickdisk import device, replay, trace
from tickdisk.foundation import clock, memory

pytestmark = [
    pytest.mark.live,
    for_release,
    pytest.mark.skipif(trace.unavailable() is not None, reason=f"bpftrace: {trace.unavailable()}"),
]
DEVICES = Path(__file__).parent.parent / "data/devices.yaml"
COUNT, SIZE, ROUNDS = 100, 4096, 3
WAYS = {"": "buffered", "oflag=dsync": "O_DSYNC", "oflag=sync": "O_SYNC", "oflag=direct": "O_DIRECT"}
BUFFERED_MS = 5.0
"""So many writes into the page cache take much less than this, whatever the disk."""


def settle(folder: Path) -> None:
    """Writes out what earlier steps left, so that the file system's own commit does not share the disk with the next one."""
    subprocess.run(["sync", "-f", folder], check=True)


def dd_ms(words: list[str], folder: Path) -> float:
    """How long dd says that its copy took."""
    said = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder, env=os.environ | {"LC_ALL": "C"}).stderr
    return 1e3 * float(re.findall(r"copied, ([0-9.e-]+) s", said)[0])


def captured(words: list[str], folder: Path, logs: Path) -> trace.ParsedCapture:
    with memory.folder() as fast, clock.Sampler() as clocks:
        command = trace.Command(words, cwd=folder)
        with trace.start("bpftrace", target=command, folder=fast / "capture", logs=logs) as recording:
            assert recording.command is not None
            assert recording.command.wait(60) == 0
            raw = recording.stop()
        return trace.parse(raw, clocks.table())


def median_ms(folder: Path, model: device.DeviceModel, way: tuple[str, str], logs: Path) -> list[float]:
    """Times of dd, of its captured writes, of their replay and of their simulation: medians of some rounds, as the floor
    that the device subtracts is a median, too.
    """
    flag, how = way
    rounds = []
    for number in range(ROUNDS):
        words = ["dd", "if=/dev/zero", f"bs={SIZE}", f"count={COUNT}", *([flag] if flag else [])]
        own, target = folder / f"own_{how}_{number}", folder / f"replay_{how}_{number}"
        settle(folder)
        alone_ms = dd_ms([*words, f"of=alone_{how}_{number}"], folder)
        settle(folder)
        requests = captured([*words, f"of={own.name}"], folder, logs).requests
        requests = requests[requests["file"] == str(own)]
        writes = requests[requests["op"] == "write"]
        assert writes["storing"].tolist() == [how] * COUNT
        planned = replay.plan(requests, root=str(folder))
        replay.prepare(planned, target)
        settle(folder)
        made = [replay.issue(planned, target), replay.issue_simulated(planned, model)]
        costs = [float(replay.costs(one.timings).loc["write", "here_total_ms"]) for one in made]
        rounds.append((alone_ms, float(writes["latency_ns"].sum()) / 1e6, *costs))
    return [median(times) for times in zip(*rounds, strict=True)]


@pytest.mark.parametrize("name", ["hdd", "sata_ssd"])
def test_dd_its_replay_and_its_simulation_take_the_same_time(name: str, tmp_path: Path) -> None:
    model = device.named(name, DEVICES)
    with device.up(model, size_bytes=256 << 20) as disk:
        rows = [(how, *median_ms(disk.mount_point, model, (flag, how), tmp_path)) for flag, how in WAYS.items()]
    shown = "\n".join(f"{name} {how:10}" + "".join(f"{ms:10.2f}" for ms in times) for how, *times in rows)
    print(f"\n{'':14}{'dd':>12}{'captured':>10}{'replayed':>10}{'simulated':>10} ms\n{shown}")
    for how, alone_ms, *others in rows:
        for other in others:
            assert other == pytest.approx(alone_ms, rel=0.15) or (how == "buffered" and max(alone_ms, other) < BUFFERED_MS), shown
