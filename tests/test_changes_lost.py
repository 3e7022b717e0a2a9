"""The losses of power cuts, from made tables of cuts and remains whose outcomes are known, with the facts and the claim."""

from math import comb, pi, tan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from tickdisk.foundation import table
from tickdisk.studies.changes.lost import Losses, losses
from tickdisk.studies.changes.state import state_losses
from tickdisk.studies.statement import Statement

S = 1_000_000_000
Edit = tuple[float, str | None]
"""The time in s at which a block was acknowledged, and what was seen there after the cut."""


def cut(number: int, at_s: float | None, outcome: str, share: float, **values: Any) -> dict[str, Any]:
    """Returns a row of the cuts table. Cuts come 1 ms after their planned times, unless `values` say otherwise."""
    late_ns = None if at_s is None else values.pop("late_ns", 1_000_000)
    cut_ns = None if at_s is None else round(at_s * S)
    row = {"cut": number, "cut_ns": cut_ns, "late_ns": late_ns, "due_ns": 0, "keep_share": share, "outcome": outcome}
    pages = {"pages_dropped": None if at_s is None else number + 2, "pages_kept": None if at_s is None else 1}
    return row | pages | {"tries": 1, "absent": 0, "detail": ""} | values


def remains(edits: dict[int, list[Edit]]) -> pd.DataFrame:
    """Returns the remains table of a life with edits before each cut."""
    rows = [
        {"cut": number, "player": "p000", "x": place, "y": 1, "z": 2, "issued_ns": 0, "seen": seen}
        | {"acknowledged_ns": round(at_s * S)}
        for number, own in edits.items()
        for place, (at_s, seen) in enumerate(own)
    ]
    return pd.DataFrame(rows, columns=table.SCHEMAS["remains"].names)


BLOCKS = [
    (
        [
            cut(0, 10, "opened", 0.0, late_ns=2_000_000, apart_ns=40_000),
            cut(1, 12, "opened", 0.5, tries=2, absent=1, apart_ns=70_000),
            cut(2, 13, "not_mounted", 0.0, apart_ns=50_000),
            cut(3, None, "server_had_ended", 0.5, tries=0),
        ],
        {
            0: [(9.0, "placed"), (9.5, "air"), (9.8, "other")],
            1: [(11.0, "refused"), (10.5, None), (11.9, "placed")],
            2: [(11.0, None), (12.0, None)],
        },
    ),
    (
        [cut(0, 10, "opened", 0.0, apart_ns=10_000), cut(1, 11, "opened", 0.5, apart_ns=10_000)],
        {0: [(9.0, "placed"), (9.9, "placed")]},
    ),
]


@pytest.fixture
def lost(tmp_path: Path) -> Losses:
    lives = []
    for block, (cuts, edits) in enumerate(BLOCKS):
        frames = {"cuts": pd.DataFrame(cuts, columns=table.SCHEMAS["cuts"].names, dtype=object), "remains": remains(edits)}
        for name, frame in frames.items():
            table.write(name, tmp_path / f"{name}.parquet", frame)
        lives.append((block, *(table.read(name, tmp_path / f"{name}.parquet") for name in frames)))
    return losses(lives, 0.05)


def stated(lost: Losses) -> Statement:
    statement = Statement("changes")
    server = SimpleNamespace(title="Luanti", words=lambda _: "nothing is changed", plan=SimpleNamespace(alpha=0.05))
    state_losses(statement, cast("Any", server), "unchanged", lost)
    return statement


def test_each_cut_has_the_known_losses(lost: Losses) -> None:
    rows = lost.cuts.set_index(["life", "cut"])
    assert rows["kind"].tolist() == ["dropped", "reordered", "dropped", "reordered", "dropped", "reordered"]
    assert rows["edits"].tolist() == [3, 3, 2, 0, 2, 0]
    # Worlds that did not open have lost nothing that could be counted.
    assert rows["lost"].fillna(-1).tolist() == [2, 1, -1, -1, 0, 0]
    assert rows["not_seen"].fillna(-1).tolist() == [0, 1, -1, -1, 0, 0]
    assert rows["lost_s"].fillna(-1).tolist() == [0.5, 1.0, -1, -1, 0.0, 0.0]


def test_every_fact_about_losses_is_the_known_one(lost: Losses) -> None:
    facts = {name.removeprefix("changes."): fact for name, fact in stated(lost).facts.items()}
    known = {
        "cuts": (6, None),
        "opened": (4, 6),
        "opened_dropped": (2, 3),
        "opened_reordered": (2, 3),
        "lost_edits": (3, 8),
        "lost_edits_dropped": (2, 5),
        "lost_edits_reordered": (1, 3),
        "lost_share": (3 / 8, 8),
        "not_seen": (1, 8),
        "absent": (1, None),
        "tried_again": (1, None),
        "unflushed": (4.0, None),
        "most_unflushed": (5.0, None),
        "latest_cut": (2.0, None),
        "images_apart": (0.07, None),
        "lost_s": (0.375, 2),
        "opened_share": (4 / 6, 6),
    }
    outcomes = {"outcome.unchanged.opened": 4, "outcome.unchanged.not_mounted": 1, "outcome.unchanged.server_had_ended": 1}
    assert set(facts) == {*(f"{name}.unchanged" for name in known), *outcomes}
    assert {name: (facts[f"{name}.unchanged"].value, facts[f"{name}.unchanged"].n) for name in known} == known
    assert {name: facts[name].value for name in outcomes} == outcomes
    seconds, share = facts["lost_s.unchanged"], facts["opened_share.unchanged"]
    # The lives have means of 0.75 and 0 s, whose standard error is 0.375 s, and t is tan(0.475 pi) with one degree of freedom.
    half_s = 0.375 * tan(0.475 * pi)
    assert (seconds.low, seconds.high) == (pytest.approx(0.375 - half_s), pytest.approx(0.375 + half_s))
    # At either end, 4 of 6 worlds or a count farther from the end have a probability of 0.025 (Clopper and Pearson).
    low, high = cast("tuple[float, float]", (share.low, share.high))
    assert sum(comb(6, k) * low**k * (1 - low) ** (6 - k) for k in (4, 5, 6)) == pytest.approx(0.025)
    assert sum(comb(6, k) * high**k * (1 - high) ** (6 - k) for k in range(5)) == pytest.approx(0.025)


def test_the_claim_counts_all_planned_cuts(lost: Losses) -> None:
    (claim,) = stated(lost).claims
    assert (claim.verdict, claim.n) == ("missed", 6)
    assert claim.evidence == (
        "4 of 6 worlds opened; the server had ended before 1 of the cuts; 3 of 8 acknowledged edits are gone (37.5 %); "
        "no player got an answer about 1 of them"
    )


def test_a_life_with_one_device_has_no_time_between_its_images(tmp_path: Path) -> None:
    frame = pd.DataFrame([cut(0, 10, "opened", 0.0)], columns=table.SCHEMAS["cuts"].names, dtype=object)
    table.write("cuts", tmp_path / "cuts.parquet", frame)
    one = losses([(0, table.read("cuts", tmp_path / "cuts.parquet"), remains({}))], 0.05)
    facts = stated(one).facts
    assert "changes.images_apart.unchanged" not in facts
    assert (facts["changes.opened.unchanged"].value, facts["changes.lost_edits.unchanged"].n) == (1, 0)
    assert stated(one).claims[0].verdict == "kept"
