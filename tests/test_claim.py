"""`tickdisk claim` shows a claim with what it rests on, and the commands that compute it again."""

from pathlib import Path

import pytest

from tickdisk.cli.claim import claim
from tickdisk.foundation.errors import TickdiskError

REFERENCE = Path("data/reference/paper")


def test_a_claim_has_its_evidence_its_figure_and_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    claim("switchback.latency_6ms.gap_max", REFERENCE)
    said = capsys.readouterr().out
    assert said.startswith(
        "Effect of 6 ms of storage latency instead of 0.1 ms on the longest tick gap of an epoch: different, n = "
    )
    assert "\nfact switchback.gap_max_ratio.latency_6ms: " in said
    assert "\nfigure: none; data/reference/paper has no notebooks/switchback/figures/paper_effects.svg\n" in said
    again = "papermill notebooks/switchback.ipynb build/switchback.ipynb -p plan results/plan.json -p output build/switchback"
    assert f"\nanalyse again: {again}\n" in said
    assert said.endswith("\nrun again: make paper STUDY=switchback SCALE=paper\n")


def test_a_claim_that_is_not_there_is_named_with_the_nearest() -> None:
    with pytest.raises(
        TickdiskError, match=r"has no claim switchback.6ms.gap_max; the nearest are .*switchback.latency_6ms.gap_max"
    ):
        claim("switchback.6ms.gap_max", REFERENCE)
