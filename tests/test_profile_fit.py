"""The fit finds devices whose parameters are known again; they are measured here by a queue of its own, not by the model."""

import heapq
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from tickdisk import device
from tickdisk.device import DeviceModel
from tickdisk.foundation.errors import TickdiskError
from tickdisk.profile import FIT_DEPTHS, HELD_OUT_DEPTHS, Measurements, Sample, evidence, fit, screen, simulated_ns, text, verdict
from tickdisk.profile.evidence import SIMULATED, again
from tickdisk.profile.measure import Op

REQUESTS = 24_000


def lognormal(rng: np.random.Generator, median_ns: float, sigma: float, count: int = REQUESTS) -> np.ndarray:
    return median_ns * np.exp(sigma * rng.standard_normal(count))


def loop(service_ns: np.ndarray, channels: int | None, depth: int) -> np.ndarray:
    """Latencies of a closed loop: who comes takes the channel that is free first; a completion brings the next request."""
    free, pending, found = [0.0] * (channels or depth), [0.0] * depth, []
    for service in service_ns:
        at = heapq.heappop(pending)
        done = max(at, heapq.heappop(free)) + service
        heapq.heappush(free, done)
        heapq.heappush(pending, done)
        found.append(done - at)
    return np.array(found[10 * depth :]).round().astype(np.int64)


def sample(op: Op, depth: int, latency_ns: np.ndarray) -> Sample:
    return Sample(op, depth, tuple(np.array_split(latency_ns, 3)))


def measured(channels: int | None, median_ns: float, sigma: float, *, growth: float = 0.0, seed: int = 1) -> Measurements:
    """`growth`: by how much the service of each further request in flight is longer."""
    rng = np.random.default_rng(seed)
    depths = sorted((*FIT_DEPTHS, *HELD_OUT_DEPTHS))
    reads = {depth: loop(lognormal(rng, median_ns, sigma) * (1 + growth * (depth - 1)), channels, depth) for depth in depths}
    return Measurements(tuple(sample("read", depth, latency_ns) for depth, latency_ns in reads.items()), 2e9, 1, 1)


def held_out(model: DeviceModel, measurements: Measurements) -> list[tuple[float, float]]:
    """Errors of p50 and p99, computed once more from the latencies."""
    found = []
    for one in measurements.samples:
        if one.queue_depth in HELD_OUT_DEPTHS:
            made = simulated_ns(model, one.op, one.queue_depth, SIMULATED)
            wanted = [np.median([np.quantile(latency_ns, share) for latency_ns in one.rounds]) for share in (0.5, 0.99)]
            found.append(tuple(np.quantile(made, [0.5, 0.99]) / wanted - 1))
    return found


@pytest.mark.parametrize(
    ("channels", "sigma", "growth"),
    [(8, 0.4, 0.0), (1, 0.2, 0.0), (None, 0.3, 0.03), (6, 0.3, 0.01)],
)
def test_a_known_device_is_found_again(channels: int | None, sigma: float, growth: float) -> None:
    measurements = measured(channels, 400_000, sigma, growth=growth)
    model = fit(measurements, "known")
    if channels is not None and growth == 0:
        assert model.channels == channels
    read = model.read_latency_ns
    assert isinstance(read, device.QuantilesByInflight)
    assert read.inflight == FIT_DEPTHS
    assert model.latency_ns[0] == pytest.approx(400_000, rel=0.02)
    table = dict(read.table(0).quantiles)
    assert table[0.99] == pytest.approx(400_000 * np.exp(2.3263 * sigma), rel=0.05)
    for p50, p99 in held_out(model, measurements):
        assert abs(p50) <= 0.05
        assert abs(p99) <= 0.10


@settings(max_examples=1, deadline=None)
@given(st.integers(1, 40), st.integers(20_000, 5_000_000), st.floats(0.05, 0.9), st.integers(0, 1000))
@example(33, 20_000, 0.875, 280)  # between the numbers that are tried first, and one more than a depth that is held out
@example(5, 20_000, 0.0546875, 5)  # nearly equal service times, which wait in a pattern just above the number of channels
def test_any_number_of_channels_is_foretold(channels: int, median_ns: int, sigma: float, seed: int) -> None:
    measurements = measured(channels, median_ns, sigma, seed=seed)
    for p50, p99 in held_out(fit(measurements, "any"), measurements):
        assert abs(p50) <= 0.05
        assert abs(p99) <= 0.12  # two simulations of a long tail differ by some percent


@pytest.fixture(scope="module")
def known() -> tuple[Measurements, DeviceModel]:
    measurements = measured(8, 300_000, 0.4)
    return measurements, fit(measurements, "known")


def test_depths_that_are_held_out_are_not_looked_at(known: tuple[Measurements, DeviceModel]) -> None:
    measurements, _ = known
    few = (1, 8, 96)
    spoilt = tuple(
        one if one.queue_depth in few else sample("read", one.queue_depth, one.latency_ns * 7) for one in measurements.samples
    )
    assert fit(Measurements(spoilt, 2e9, 1, 1), "known", fit_depths=few) == fit(measurements, "known", fit_depths=few)


def test_the_evidence_is_that_of_the_latencies(known: tuple[Measurements, DeviceModel]) -> None:
    measurements, model = known
    lines = evidence(model, measurements, FIT_DEPTHS)
    assert [(line.queue_depth, line.used) for line in lines] == [
        (depth, "fit" if depth in FIT_DEPTHS else "held_out") for depth in (1, 2, 3, 6, 8, 12, 20, 28, 32, 36, 48, 64, 96)
    ]
    kept = [line for line in lines if line.used == "held_out"]
    for line, (p50, p99) in zip(kept, held_out(model, measurements), strict=True):
        assert line.p50_error == pytest.approx(p50, abs=2e-3)
        assert line.p99_error == pytest.approx(p99, abs=5e-3)
        one = next(one for one in measurements.samples if one.queue_depth == line.queue_depth)
        made = simulated_ns(model, "read", line.queue_depth, SIMULATED)
        assert line.ks_distance == pytest.approx(stats.ks_2samp(made, one.latency_ns, method="asymp").statistic, abs=1e-4)
        rounds = [np.quantile(latency_ns, 0.5) for latency_ns in one.rounds]
        assert line.p50_ns == round(np.median(rounds))
        assert line.p50_repeat == pytest.approx(np.abs(np.array(rounds) / line.p50_ns - 1).max(), abs=2e-3)
    assert "as close as 5% and 20%" in verdict(model.model_copy(update={"fit": lines}))
    off = tuple(line.model_copy(update={"p50_error": 0.06}) for line in lines)
    assert "p50 is within 6.0%" in verdict(model.model_copy(update={"fit": off}))
    assert "not as close as" in verdict(model.model_copy(update={"fit": off}))
    assert len(screen(model.model_copy(update={"fit": lines})).splitlines()) == 4 + len(lines)
    busy = tuple(line.model_copy(update={"client_cpu_share": line.queue_depth / 100}) for line in lines)
    assert "for up to 96% of the time (read, depth 96), where requests waited" in screen(model.model_copy(update={"fit": busy}))
    assert "requests waited" not in screen(model.model_copy(update={"fit": lines}))


def test_how_often_a_place_was_asked_for_is_said(known: tuple[Measurements, DeviceModel]) -> None:
    often, seldom = (replace(known[0], size_bytes=1 << 30, asked_bytes=times << 27) for times in (20, 4))
    assert again(often).startswith(
        "each place of the 1,024 MiB was asked for 2.5 times on average, so a cache of that size may have"
    )
    assert again(seldom) == "each place of the 1,024 MiB was asked for 0.5 times on average"


def test_a_round_that_was_disturbed_does_not_count(known: tuple[Measurements, DeviceModel]) -> None:
    measurements, model = known
    rng = np.random.default_rng(9)
    disturbed = tuple(
        replace(one, rounds=(*one.rounds[:2], np.where(rng.random(len(one.rounds[2])) < 0.05, 10**8, one.rounds[2])))
        for one in measurements.samples
    )
    refitted = fit(Measurements(disturbed, 2e9, 1, 1), "known")
    assert refitted.channels == model.channels
    assert evidence(refitted, Measurements(disturbed, 2e9, 1, 1), FIT_DEPTHS)[0].p99_repeat > 1
    for p50, p99 in held_out(refitted, measurements):
        assert abs(p50) <= 0.06
        assert abs(p99) <= 0.12


def test_shares_that_a_round_cannot_tell_are_of_all_rounds() -> None:
    one = Sample("read", 1, tuple(np.arange(400, dtype=np.int64) * 1000 + shift for shift in (0, 50, 900)))
    assert one.quantiles([0.5, 0.99]).tolist() == [199_550, np.quantile(one.latency_ns, 0.99)]


def test_writes_and_flushes_have_their_own() -> None:
    rng = np.random.default_rng(4)
    reads = measured(4, 200_000, 0.3)
    writes = [
        sample("write", depth, loop(lognormal(rng, 90_000, 0.2), 4, depth)) for depth in sorted((*FIT_DEPTHS, *HELD_OUT_DEPTHS))
    ]
    flushed = sample("write_flush", 1, (lognormal(rng, 90_000, 0.2) + 1_500_000).astype(np.int64))
    model = fit(Measurements((*reads.samples, *writes, flushed), 2e9, 1, 1), "both")
    assert model.channels == 4
    assert model.latency_ns[:3] == pytest.approx((200_000, 90_000, 1_500_000), rel=0.02)
    lines = evidence(model, Measurements((*reads.samples, *writes, flushed), 2e9, 1, 1), FIT_DEPTHS)
    assert {line.op for line in lines} == {"read", "write", "write_flush"}
    assert max(abs(line.p50_error) for line in lines) <= 0.05
    only_reads = fit(reads, "reads", fit_depths=(1, 96))
    assert only_reads.write_latency_ns == only_reads.read_latency_ns
    assert only_reads.latency_ns[2] == pytest.approx(200_000, rel=0.02)


def test_the_pipe_is_as_wide_as_what_passed() -> None:
    narrow = measured(None, 100_000, 0.1)
    model = fit(narrow, "wide", fit_depths=(1, 96))
    assert model.bandwidth_bytes_per_s == pytest.approx(96 * 4096 / 100e-6 * 1.25, rel=0.02)
    assert fit(Measurements(narrow.samples, 9e9, 1, 1), "wide", fit_depths=(1, 96)).bandwidth_bytes_per_s == 9_000_000_000


def test_the_file_is_the_device(tmp_path: Path, known: tuple[Measurements, DeviceModel]) -> None:
    measurements, model = known
    model = model.model_copy(update={"fit": evidence(model, measurements, FIT_DEPTHS), "description": "known"})
    path = tmp_path / "mydisk.yaml"
    path.write_text(text(model))
    assert device.load_device(path) == model
    assert "fit" not in model.as_dict()
    written = path.read_text()
    assert max(len(line) for line in written.splitlines()) <= 180
    assert len(written.splitlines()) < 150
    path.write_text(written.replace("used: fit", "used: maybe", 1))
    with pytest.raises(TickdiskError, match=r"device known: fit.0.used = 'maybe' is not acceptable: .*the keys are op"):
        device.load_device(path)


def test_a_fit_needs_reads() -> None:
    with pytest.raises(TickdiskError, match="no reads were measured at queue depths 5, 7"):
        fit(measured(8, 300_000, 0.4), "none", fit_depths=(5, 7))


@pytest.mark.parametrize("tail", [0.002, 0.02])
def test_a_tail_that_is_long_is_no_reason_to_fail(tail: float) -> None:
    rng = np.random.default_rng(1)

    def service_ns(depth: int) -> np.ndarray:
        return np.where(rng.random(REQUESTS) < (0.002 if depth < 8 else tail), 20_000_000, lognormal(rng, 100_000, 0.1))

    reads = tuple(sample("read", depth, loop(service_ns(depth), None, depth)) for depth in (*FIT_DEPTHS, *HELD_OUT_DEPTHS))
    assert isinstance(fit(Measurements(reads, 2e9, 1, 1), "long").read_latency_ns, device.QuantilesByInflight)
