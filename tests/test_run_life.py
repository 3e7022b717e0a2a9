"""What a life's device draws, and the ticks of a server that did not end in order."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tickdisk import device
from tickdisk.experiment import PlannedLife
from tickdisk.foundation import table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.run.stage import device_seed
from tickdisk.run.write import ticks_of
from tickdisk.server import TickCounts

DEVICES = device.load_devices(Path(__file__).parent.parent / "data/devices.yaml")


def test_every_epoch_of_every_block_has_draws_of_its_own() -> None:
    model = DEVICES["sata_ssd_collecting"]
    lives = [PlannedLife("life", "ssd", trace_seed, 1.0, ()) for trace_seed in (7, 8)]
    seeds = [device_seed(model.with_seed(own), life, epoch) for own in (0, 1) for life in lives for epoch in range(3)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [device_seed(model.with_seed(own), life, epoch) for own in (0, 1) for life in lives for epoch in range(3)]
    arrivals_ns = np.arange(2000) * 10**6
    completions = {tuple(device.simulate(model.with_seed(seed), arrivals_ns, 0, 0, 4096).tolist()) for seed in seeds}
    assert len(completions) == len(seeds)


def test_what_draws_nothing_is_the_same_device_in_all() -> None:
    model, arrivals_ns = DEVICES["sata_ssd"], np.arange(100) * 10**6
    other = model.with_seed(device_seed(model, PlannedLife("life", "ssd", 7, 1.0, ()), 3))
    assert device.simulate(other, arrivals_ns, 0, 0, 4096).tolist() == device.simulate(model, arrivals_ns, 0, 0, 4096).tolist()


SAMPLES = pd.DataFrame(
    {"monotonic_ns": [0, 10**9], "monotonic_raw_ns": [0, 10**9], "realtime_ns": [0, 10**9], "uncertainty_ns": [1, 1]}
)


def test_a_server_that_did_not_end_in_order_leaves_the_ticks_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text("tickdisk_probe,2,monotonic_raw,us\nt,1,100000,,0,90000,\nt,2,190000,,2,90000,\nt,3,28")
    ticks = ticks_of(path, SAMPLES, 90_000_000, in_order=False)
    assert ticks.table["start_ns"].tolist() == [100_000_000, 190_000_000]
    assert (ticks.counts.complete, ticks.counts.rejected, ticks.counts.missing) == (False, 1, 0)


@pytest.mark.parametrize("text", [None, "", "tickdisk_probe,2,monotonic_raw,us\n"])
def test_a_server_that_ended_before_its_first_tick_leaves_empty_tables(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "ticks.csv"
    if text is not None:
        path.write_text(text)
    ticks = ticks_of(path, SAMPLES, 90_000_000, in_order=False)
    table.write("ticks", tmp_path / "ticks.parquet", ticks.table)
    assert len(table.read("ticks", tmp_path / "ticks.parquet")) == 0
    table.write("epochs", tmp_path / "epochs.parquet", pd.DataFrame([], columns=table.SCHEMAS["epochs"].names))
    assert len(table.read("epochs", tmp_path / "epochs.parquet")) == 0
    # Of a server that went on to its end it is an error: the probe did not do its work.
    with pytest.raises(TickdiskError, match=r"ticks\.csv"):
        ticks_of(path, SAMPLES, 90_000_000, in_order=True)


def test_the_counts_of_no_ticks_are_0(tmp_path: Path) -> None:
    counts = ticks_of(tmp_path / "none", SAMPLES, 90_000_000, in_order=False).counts
    assert dict(counts) == dict.fromkeys(TickCounts.model_fields, 0) | {"complete": False}
