"""The store on a real file system on a device whose power is cut."""

from pathlib import Path

import pytest

from tickdisk.saving.checkpoint import State, ZipfTrace
from tickdisk.saving.store import Setting, campaign, cutter

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("own_state")]


@pytest.mark.parametrize("algorithm", ["atomic_copy_dirty_objects", "partial_redo", "fork"])
def test_what_was_committed_survives_a_power_cut(algorithm: str, tmp_path: Path) -> None:
    trace = ZipfTrace(2_000, 0.8, state=State(rows=100_000, columns=10))
    setting = Setting(algorithm, tmp_path, trace, ticks=1_000_000, tick_hz=100, full_every=3)
    with cutter(size_bytes=256 << 20) as power:
        crashes = list(campaign(setting, power, 4))
    assert [crash for crash in crashes if not crash.is_survived] == []
    assert [crash.how for crash in crashes] == ["cut", "kill", "cut", "cut"]
    assert all(crash.committed > 0 for crash in crashes)
