"""The loops of servers, in captured lives whose ticks a probe told."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from kept_run import unpack

from tickdisk import check
from tickdisk.blame import CaptureEvidence, load_evidence
from tickdisk.check import FoundServer, Look
from tickdisk.check.explain import explained_of
from tickdisk.manifest import read_manifest


@pytest.mark.parametrize(("server", "found", "false"), [("luanti", 0.9, 1), ("minestom", 1.0, 1)], ids=["luanti", "minestom"])
def test_late_ticks_of_the_kept_run_are_found_without_its_probes(
    server: str, found: float, false: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The probes told the ticks. One of the three late ticks of Minestom was under way when the capture began."""
    counted = [0, 0, 0]
    for own in captured_of(server, tmp_path_factory):
        ticks = own.ticks
        assert ticks is not None
        assert own.budget_ns is not None
        starts_ns = np.sort(ticks["start_ns"].to_numpy(np.int64))
        starts_ns = starts_ns[(starts_ns >= own.captured_ns[0]) & (starts_ns <= own.captured_ns[1])]
        late = [(begin, end) for begin, end in pairwise(starts_ns.tolist()) if end - begin > 1.5 * own.budget_ns]
        bare = replace(own, ticks=None, device=None, extents=None, pauses=None, budget_ns=None, thread=None, window_ns=None)
        pid = int(own.requests["process"].mode().iloc[0])
        kind = next(kind for kind in check.KINDS if kind.name == server)
        looked = Look([replace(bare, parks=False, readers=None)], [], 0)
        [blamed], _ = explained_of(looked.captures, FoundServer(pid, server, server, (), kind), None)
        ticks = blamed.ticks
        slow = ticks[ticks["slow"] & (ticks["start_ns"] + ticks["gap_ns"] > starts_ns[0])]
        told = [(begin, begin + gap) for begin, gap in slow[["start_ns", "gap_ns"]].itertuples(index=False)]
        counted[0] += len(late)
        counted[1] += sum(any(alike(one, other) for other in told) for one in late)
        counted[2] += sum(not any(alike(one, other) for other in late) for one in told)
    assert counted[0] >= 3
    assert counted[1] >= found * counted[0]
    assert counted[2] <= false


def alike(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Returns whether two times overlap for more than half of the shorter one."""
    both_ns = min(one[1], other[1]) - max(one[0], other[0])
    return both_ns > 0.5 * min(one[1] - one[0], other[1] - other[0])


def captured_of(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CaptureEvidence]:
    """Yields the captured lives of a server in the kept run."""
    folder = tmp_path_factory.mktemp("kept")
    unpack(folder)
    for path in sorted((folder / "results/runs").glob("*/*/waits.parquet")):
        if read_manifest(path.parent.parent).server.name == server:
            yield from load_evidence(path.parent)
