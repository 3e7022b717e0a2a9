"""Agreement of clocks, on markers made by hand."""

import pandas as pd
import pytest

from tickdisk.run.clocks import Agreement, clock_agreement


def agreement(*markers: tuple[int, int, int, int, int], outcomes: list[str] | None = None) -> Agreement:
    """Of markers: issued by a player, before and after the probe's reading, the device's read between them, answer to the player.

    The columns in between are issued, before, read, after, completed.
    """
    actions = pd.DataFrame(
        [
            {"action": "marker", "outcome": outcome, "due_ns": times[0], "issued_ns": times[0], "completed_ns": times[4]}
            for times, outcome in zip(markers, outcomes or ["completed"] * len(markers), strict=True)
        ]
    )
    readings = pd.DataFrame(
        [{"name": f"read{number}", "before_ns": times[1], "after_ns": times[3]} for number, times in enumerate(markers)]
    )
    return clock_agreement(actions, readings, pd.DataFrame([{"op": "read", "arrival_ns": times[2]} for times in markers]))


def test_causal_order_is_agreement() -> None:
    assert agreement((0, 10, 20, 30, 40)) == Agreement(0, 0)


@pytest.mark.parametrize(
    ("times", "by"),
    [((10, 4, 20, 30, 40), 6), ((0, 10, 33, 30, 40), 3), ((0, 10, 8, 30, 40), 2), ((0, 10, 20, 30, 21), 9)],
    ids=["probe before players", "device after probe", "device before probe", "players before probe"],
)
def test_what_sticks_out_is_disagreement(times: tuple[int, int, int, int, int], by: int) -> None:
    assert agreement(times) == Agreement(by, 0)


def test_the_worst_of_two_markers_counts() -> None:
    assert agreement((0, 10, 20, 30, 40), (100, 110, 135, 130, 140)) == Agreement(5, 0)
    assert agreement((0, 10, 35, 30, 40), (100, 110, 120, 130, 140)) == Agreement(5, 0)


def test_a_marker_without_an_answer_says_nothing() -> None:
    assert agreement((0, 10, 20, 30, 40), outcomes=["timed_out"]) == Agreement(None, 0)
    # The first answer did not arrive: what the probe did for it is not taken for the second marker.
    markers = ((0, 10, 20, 30, 40), (100, 110, 120, 130, 140))
    assert agreement(*markers, outcomes=["failed", "completed"]) == Agreement(0, 0)


def test_a_marker_that_was_answered_and_not_seen_is_counted() -> None:
    actions = pd.DataFrame([{"action": "marker", "outcome": "completed", "due_ns": 0, "issued_ns": 0, "completed_ns": 9}])
    read, nothing = pd.DataFrame([{"op": "read", "arrival_ns": 2}]), pd.DataFrame({"op": [], "arrival_ns": []})
    probe = pd.DataFrame([{"name": "read0", "before_ns": 1, "after_ns": 3}])
    assert clock_agreement(actions, probe, read) == Agreement(0, 0)
    assert clock_agreement(actions, probe.iloc[:0], read) == Agreement(None, 1)
    assert clock_agreement(actions, probe, nothing) == Agreement(None, 1)
