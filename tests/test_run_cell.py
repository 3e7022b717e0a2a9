"""How often a life is played: again when something outside disturbed it, never more often than the scale allows."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from records_of import changed
from test_run_judge import GOOD, LIMITS, actions, load

from tickdisk.manifest import LifeRecord, PlayedLife
from tickdisk.run import cell
from tickdisk.run.judge import InstrumentError

STOLEN = changed(GOOD, **load(steal_share=0.5))
BROKEN = InstrumentError("the device's emulator ended in the middle of the run; run the same command again")


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plays a life whose attempts come out as told; returns its record and what was said."""

    def played(
        *outcomes: LifeRecord | InstrumentError, replacements: int, players: int | None = None
    ) -> tuple[LifeRecord, list[str]]:
        left, said = list(outcomes), list[str]()

        def run_life(stage: Any) -> PlayedLife:
            stage.folder.mkdir()  # which must not be there any more
            outcome = left.pop(0)
            if isinstance(outcome, InstrumentError):
                raise outcome
            return PlayedLife(**{name: getattr(outcome, name) for name in PlayedLife.model_fields})

        monkeypatch.setattr(cell, "run_life", run_life)
        arms = [SimpleNamespace(experiment="switchback", arm=arm, role=role) for arm, role in ROLES.items()]
        config = SimpleNamespace(limits=LIMITS, chosen=SimpleNamespace(replacements=replacements))
        stage = SimpleNamespace(
            project=SimpleNamespace(config=config, arms=arms),
            cell=SimpleNamespace(title="switchback block 1", experiment="switchback"),
            life=SimpleNamespace(name="life", players=players),
            folder=tmp_path / "life",
        )
        life = cell.undisturbed(cast("Any", stage), said.append)
        assert left == []
        return life, said

    return played


ROLES = {"ssd": "baseline", "ssd_again": "null", "hdd": "dose"}


def test_an_undisturbed_life_is_played_once(play: Any) -> None:
    life, said = play(GOOD, replacements=2)
    assert [attempt.reasons for attempt in life.attempts] == [()]
    assert (life.marked, life.not_valid, life.noted, said) == ((), {}, (), [])
    assert life.attempts[0].load == GOOD.load


def test_a_disturbed_life_is_replaced_and_that_is_told(play: Any) -> None:
    life, said = play(STOLEN, GOOD, replacements=2)
    assert [attempt.reasons for attempt in life.attempts] == [("steal 50.0% above 10%",), ()]
    assert life.marked == ()
    assert said == ["switchback block 1, life: replaced (1 of at most 2), steal 50.0% above 10%"]


@pytest.mark.parametrize("replacements", [0, 1, 2])
def test_the_last_attempt_is_kept_and_marked(play: Any, replacements: int) -> None:
    life, said = play(*[STOLEN] * (replacements + 1), replacements=replacements)
    assert len(life.attempts) == replacements + 1
    assert life.marked == ("steal 50.0% above 10%",)
    assert said[-1] == "switchback block 1, life: kept and marked, steal 50.0% above 10%"


def test_a_life_in_which_an_instrument_failed_is_replaced(play: Any) -> None:
    life, _ = play(BROKEN, GOOD, replacements=1)
    assert [attempt.reasons for attempt in life.attempts] == [(str(BROKEN),), ()]
    assert life.attempts[0].load.steal_share < 1
    assert life.marked == ()


@pytest.mark.parametrize("before", [[], [STOLEN], [BROKEN]])
def test_where_an_instrument_fails_to_the_last_there_is_nothing_to_keep(play: Any, before: list[Any]) -> None:
    with pytest.raises(InstrumentError, match="the device's emulator ended"):
        play(*before, BROKEN, replacements=len(before))


def test_what_a_slow_disk_may_cause_is_told_and_kept(play: Any) -> None:
    failed = changed(GOOD, **actions(join={"offered": 9, "failed": 9}))
    life, said = play(failed, replacements=2)
    assert (life.marked, life.noted) == ((), ("9 of 9 actions failed: 9 join",))
    assert said == ["switchback block 1, life: 9 of 9 actions failed: 9 join"]


def test_saturated_clients_replace_a_life_only_if_they_were_so_at_the_baseline(play: Any) -> None:
    life, _ = play(changed(GOOD, saturated={"hdd": "client saturated"}), replacements=2)
    assert (life.marked, life.not_valid) == ((), {"hdd": "client saturated"})
    life, _ = play(changed(GOOD, saturated={"hdd": "client saturated", "ssd_again": "client saturated"}), replacements=0)
    assert (life.marked, life.not_valid) == (("client saturated (at ssd_again)",), {})
    tried, _ = play(changed(GOOD, saturated={"ssd_again": "client saturated"}), replacements=2, players=20)
    assert (len(tried.attempts), tried.marked, tried.not_valid) == (1, (), {"ssd_again": "client saturated"})
