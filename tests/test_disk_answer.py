"""A measured disk has a nearest device, and our reference says which metrics such a latency harms."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickdisk.cli.device import _answer
from tickdisk.device import DeviceModel, load_devices
from tickdisk.device.parts import FitLine
from tickdisk.profile import nearest_device
from tickdisk.report.answers import effects_of_disk
from tickdisk.studies import Statement

CATALOGUE = {name: model for name, model in load_devices(Path("data/devices.yaml")).items() if model.tier}


def measured(read_us: float, flushed_us: float | None) -> DeviceModel:
    def line(op: str, depth: int, us: float) -> FitLine:
        shares = dict.fromkeys(("steal_share", "pressure_cpu_share", "pressure_io_share", "pressure_memory_share"), 0.0)
        return FitLine(
            op=op,  # type: ignore[arg-type]
            queue_depth=depth,
            used="fit",
            requests=1000,
            p50_ns=round(us * 1000),
            p99_ns=None,
            p50_error=0.0,
            p99_error=None,
            ks_distance=0.0,
            p50_repeat=0.0,
            p99_repeat=None,
            repeats=0,
            too_loaded=False,
            **shares,
        )

    lines = [line("read", 4, 3 * read_us), line("read", 1, read_us)]
    lines += [] if flushed_us is None else [line("write_flush", 1, flushed_us)]
    return DeviceModel(name="mine", read_latency_ns=1, write_latency_ns=1, flush_latency_ns=1, fit=tuple(lines))


@pytest.mark.parametrize(
    ("read_us", "flushed_us", "nearest", "slowest_ms"),
    [(95, None, "sata_ssd", 0.095), (52, 110, "nvme_ssd", 0.11), (5_000, 14_000, "hdd", 14.0), (300, 2_600, "cloud_volume", 2.6)],
)
def test_the_nearest_device_is_so_in_reads_and_flushes(
    read_us: float, flushed_us: float | None, nearest: str, slowest_ms: float
) -> None:
    found = nearest_device(measured(read_us, flushed_us), CATALOGUE)
    assert found.nearest == nearest
    assert found.slowest_ms == pytest.approx(slowest_ms)


@given(st.sampled_from(sorted(set(CATALOGUE) - {"memory"})))
def test_a_device_is_nearest_to_itself(name: str) -> None:
    read, write, flush, _ = CATALOGUE[name].latency_ns
    assert nearest_device(measured(read / 1000, (write + flush) / 1000), CATALOGUE).nearest == name


def test_without_flushes_no_class_is_named_for_saves() -> None:
    lines = list(_answer(measured(95, None)))
    assert lines[1].startswith("the device of data/devices.yaml whose reads are nearest: sata_ssd")
    assert lines[2:] == ["writes and flushes were not measured, so nothing is known about saves; measure them by --write"]
    assert "the nearest device of data/devices.yaml: nvme_ssd" in "\n".join(_answer(measured(52, 110)))


def test_each_metric_is_good_suffers_or_is_not_decided() -> None:
    bounds = {"gap_mean": (6.0, 12.0), "gap_max": (1.0, 3.0), "teleport_mean": (None, 1.0)}
    said = Statement("switchback")
    for metric, values in bounds.items():
        for key, value in zip(("good_up_to", "hurts_from"), values, strict=True):
            said.fact(f"{metric}_{key}", value, "ms", source="runs")
    assert list(effects_of_disk(2.0, said.facts, "our run")) == [
        "A disk of 2 ms has these effects on a server, by the tests of our run:",
        "  the mean tick gap is shown to exceed its baseline by at most the margin (up to 6 ms)",
        "  the longest tick gap of an epoch is not decided: the latency lies above 1 ms, below 3 ms, where nothing was shown",
        "  the mean teleport latency is shown to suffer (from 1 ms on)",
    ]
    assert list(effects_of_disk(2.0, {}, "our run")) == []
