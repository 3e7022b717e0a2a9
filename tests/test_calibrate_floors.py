"""Floors in depth, mended by looks at a machine that answers them as it is told to."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from tickdisk import calibrate
from tickdisk.calibrate.floors import Floors

if TYPE_CHECKING:
    from tickdisk.calibrate.bench import Measured

_LOOKS, _MOST_NS = 9, 400_000.0


def _mended(found_ns: int, missed_ns: Callable[[int, int], float], looks: int = _LOOKS) -> int:
    floors = Floors.of(calibrate.Settled(5_000, [(2, 9_000), (28, found_ns)], 1, cast("Measured", None)))
    for number in range(looks):
        floors.learn(28, missed_ns(number, dict(floors.in_force)[28]), _MOST_NS)
        assert floors.learn(64, 10_000, _MOST_NS) == 0
    floors.end()
    assert [depth for depth, _ in floors.in_force] == [2, 28], "none is made where none was found"
    assert floors.in_force[0] == (2, 9_000), "where nothing was looked at"
    return dict(floors.in_force)[28]


@pytest.mark.parametrize("found_ns", [1, 26_000, 57_500])
@pytest.mark.parametrize("seed", range(4))
def test_what_one_minute_found_is_mended(found_ns: int, seed: int) -> None:
    errors_ns = np.random.default_rng(seed).normal(0, 2_000, _LOOKS)
    assert _mended(found_ns, lambda number, floor_ns: 25_000 - floor_ns + errors_ns[number]) == pytest.approx(25_000, abs=3_000)


def test_a_minority_decides_nothing() -> None:
    bursts = {0: 200_000, 3: 300_000, 4: -100_000}
    found_ns = _mended(25_000, lambda number, floor_ns: 25_000 - floor_ns + bursts.get(number, 0))
    assert found_ns == pytest.approx(25_000, abs=1_000)


def test_a_busy_machine_of_which_floors_take_nothing_back_keeps_them() -> None:
    assert _mended(30_000, lambda *_: 40_000) == 30_000
    assert _mended(30_000, lambda _, floor_ns: 40_000 - 0.1 * (floor_ns - 30_000)) == 30_000


@pytest.mark.parametrize("looks", [0, 1, 2])
def test_hardly_any_looks_mend_nothing(looks: int) -> None:
    assert _mended(30_000, lambda _, floor_ns: 60_000 - floor_ns, looks) == 30_000


def test_floors_have_bounds() -> None:
    assert _mended(30_000, lambda _, floor_ns: -20_000 - floor_ns) == 1
    assert _mended(30_000, lambda _, floor_ns: 2 * _MOST_NS - floor_ns) == _MOST_NS
