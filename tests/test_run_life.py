"""What a life's device draws."""

from pathlib import Path

import numpy as np

from tickdisk import device
from tickdisk.config import Life
from tickdisk.run.life import device_seed

DEVICES = device.load_devices(Path(__file__).parent.parent / "data/devices.yaml")


def test_every_epoch_of_every_block_has_draws_of_its_own() -> None:
    model = DEVICES["sata_ssd_collecting"]
    lives = [Life("life", "ssd", trace_seed, 1.0, ()) for trace_seed in (7, 8)]
    seeds = [device_seed(model.with_seed(own), life, epoch) for own in (0, 1) for life in lives for epoch in range(3)]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [device_seed(model.with_seed(own), life, epoch) for own in (0, 1) for life in lives for epoch in range(3)]
    arrivals_ns = np.arange(2000) * 10**6
    completions = {tuple(device.simulate(model.with_seed(seed), arrivals_ns, 0, 0, 4096).tolist()) for seed in seeds}
    assert len(completions) == len(seeds)


def test_what_draws_nothing_is_the_same_device_in_all() -> None:
    model, arrivals_ns = DEVICES["sata_ssd"], np.arange(100) * 10**6
    other = model.with_seed(device_seed(model, Life("life", "ssd", 7, 1.0, ()), 3))
    assert device.simulate(other, arrivals_ns, 0, 0, 4096).tolist() == device.simulate(model, arrivals_ns, 0, 0, 4096).tolist()
