"""What is told of an emulated disk beside its own: an interval over rounds, against one that is known."""

import numpy as np
import pytest

from benchmarks.emulated_profile import _decides, _interval, stretched
from tickdisk import device
from tickdisk.profile.measure import Sample

_ROUNDS, _REQUESTS = 36, 2000


def _sample(median_ns: float, seed: int, spread: float = 0.1, requests: int = _REQUESTS) -> Sample:
    """Rounds that are apart by so much, of requests that all take what their round does."""
    of_rounds = median_ns * np.exp(np.random.default_rng(seed).normal(0, spread, _ROUNDS))
    return Sample("read", 2, tuple(np.full(requests, round(ns)) for ns in of_rounds))


@pytest.mark.parametrize(("share", "apart"), [(0.5, 0.0), (0.5, 0.2), (0.99, -0.3)])
def test_an_interval_holds_what_is_known_and_is_as_wide_as_rounds_are_apart(share: float, apart: float) -> None:
    pairs = [(_sample(1e6, seed), _sample(1e6 * (1 + apart), 1000 + seed)) for seed in range(30)]
    found = [interval for disk, other in pairs if (interval := _interval(disk, other, share))]
    assert len(found) == len(pairs)
    assert sum(low <= apart <= high for low, high in found) >= 25, "95 of 100"
    # The median of 36 rounds: 1.25 standard errors of a mean; of two, and to both sides.
    expected = 2 * 1.96 * 1.25 * 0.1 * np.sqrt(2 / _ROUNDS) * (1 + apart)
    assert np.mean([high - low for low, high in found]) == pytest.approx(expected, rel=0.25)


def test_rounds_that_do_not_tell_a_percentile_give_no_interval() -> None:
    assert _interval(_sample(1e6, 1, requests=999), _sample(1e6, 2), 0.99) is None
    assert _interval(_sample(1e6, 1, requests=999), _sample(1e6, 2), 0.5) is not None


@pytest.mark.parametrize(
    ("interval", "tells"),
    [((-0.1, 0.1), True), ((-0.1, 0.11), False), ((0.11, 0.3), True), ((0.1, 0.3), False), ((-0.3, -0.11), True), (None, False)],
)
def test_an_interval_tells_when_it_is_on_one_side_of_the_limit(interval: tuple[float, float] | None, tells: bool) -> None:
    assert _decides(interval, 0.1) == tells


def test_a_stretched_volume_is_slower_by_all_its_latencies() -> None:
    table = {"quantiles": [[0, 100], [0.5, 333], [1, 1000]]}
    model = device.DeviceModel.model_validate(
        {"name": "one", "read_latency_ns": table, "write_latency_ns": table, "flush_latency_ns": 7, "bandwidth_bytes_per_s": 4096}
    )
    longer = stretched(model, 1.5)
    assert longer.read_latency_ns == device.Quantiles(quantiles=((0, 150), (0.5, 500), (1, 1500))) == longer.write_latency_ns
    tables = {f"{op}_latency_ns": getattr(model, f"{op}_latency_ns") for op in ("read", "write")}
    assert longer.model_copy(update=tables) == model, "all else is as it was"
    assert stretched(model, 1) == model
