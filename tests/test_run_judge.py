"""What is said of a life, on records made by hand: why it is replaced, where it is not valid, what is only told."""

from dataclasses import replace
from typing import Any

import pytest
from records_of import CAPTURE, CLIENT, LIFE, TICKS, actions_of, changed

from tickdisk.config import load_config
from tickdisk.manifest import Ended
from tickdisk.player import ClientStatus
from tickdisk.player.status import LagSecond
from tickdisk.run.judge import arms_not_valid, noted, reasons_to_replace
from tickdisk.run.play import PlayedEpoch
from tickdisk.run.saturation import saturated_arms

MS, S = 1_000_000, 1_000_000_000
LIMITS = load_config().limits
CONTROLS = ("ssd", "ssd_again")
GOOD = changed(
    LIFE,
    ticks=TICKS.model_copy(update={"ticks": 1000}),
    client=CLIENT.model_copy(update={"actions": actions_of(ping={"offered": 990})}),
    requests=10,
    captures=(CAPTURE,),
)
ENDED = Ended(epoch=3, arm="hdd", at_ns=5, said="no space left")
SAW_NOTHING = {"captures": (CAPTURE, CAPTURE.model_copy(update={"requests": 0}))}


def load(**shares: float | None) -> dict[str, Any]:
    return {"load": replace(GOOD.load, **shares)}  # type: ignore[arg-type]


def ticks(**counts: Any) -> dict[str, Any]:
    return {"ticks": GOOD.ticks.model_copy(update=counts)}


def actions(**counts: dict[str, int]) -> dict[str, Any]:
    return {"client": GOOD.client.model_copy(update={"actions": actions_of(**counts)})}


def disk(**values: Any) -> dict[str, Any]:
    return {"device": GOOD.device.model_copy(update=values)}


def test_a_good_life_is_kept_and_nothing_is_told() -> None:
    assert reasons_to_replace(LIMITS, GOOD, CONTROLS) == []
    assert arms_not_valid(GOOD, CONTROLS) == {}
    assert noted(GOOD) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (load(steal_share=0.2), "steal 20.0% above 10%"),
        (load(pressure_memory_share=0.2), "memory pressure 20.0% above 5%"),
        (load(other_programs_share=0.5), "other programs on the cores 50.0% above"),
        ({"saturated": {"ssd": "client saturated: 9 of 10"}}, "client saturated: 9 of 10 (at ssd)"),
        ({"saturated": {"ssd_again": "client saturated: 9 of 10", "hdd": "client saturated"}}, "9 of 10 (at ssd_again)"),
        (ticks(blocks_generated=7), "7 pieces of terrain were generated"),
        (ticks(complete=False), "the tick probe's file is damaged: 0 lines rejected, 0 ticks backwards, its end is missing"),
        (ticks(rejected=1), "the tick probe's file is damaged: 1 lines rejected"),
        (ticks(backwards=1), "1 ticks backwards"),
        ({"latest_switch_ns": 300 * MS}, "switched 300 ms late"),
        ({"clock_disagreement_ns": 2 * MS}, "disagree by 2.00 ms"),
        ({"clock_disagreement_ns": None, "markers_unseen": 1}, "1 markers were answered and not seen"),
        ({"requests": 0}, "the device saw no request"),
        (SAW_NOTHING, "the capture saw no request, and the device did"),
        (disk(log_overflow=3), "lost 3 requests"),
        ({"device_apart": disk(log_overflow=4)["device"]}, "lost 4 requests"),
        (disk(arrivals_lack="no BPF"), "the kernel said otherwise when requests arrive (no BPF)"),
        ({"calibrated_lack": "no BPF"}, "now it says so"),
    ],
)
def test_what_disturbed_a_life_from_outside_is_a_reason_and_no_note(change: dict[str, Any], reason: str) -> None:
    life = changed(GOOD, **change)
    found = reasons_to_replace(LIMITS, life, CONTROLS)
    assert len(found) == 1
    assert reason in found[0]
    assert noted(life) == []


CUT_OFF = {**ticks(complete=False, rejected=1), "server_ended_in_order": False}


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (actions(join={"offered": 500, "failed": 1, "timed_out": 0}), "1 of 500 actions failed: 1 join"),
        (
            actions(ping={"offered": 100, "failed": 40, "timed_out": 0}, dig={"offered": 20, "failed": 2, "timed_out": 0}),
            "42 of 120 actions failed: 2 dig, 40 ping",
        ),
        (actions(teleport={"offered": 10, "failed": 0, "timed_out": 10}), "10 of 10 actions timed out: 10 teleport"),
        ({"client": GOOD.client.model_copy(update={"interrupted": True})}, "were interrupted"),
        (ticks(ticks=500, missing=500), "500 of 1000 ticks missing"),
        ({"server_problems": ("ERROR[Main]: broken",)}, "the server reported 1 error, the first: ERROR[Main]: broken"),
        ({"clock_disagreement_ns": None} | actions(marker={"offered": 2, "failed": 2, "timed_out": 0}), "2 marker"),
        (CUT_OFF, "last records are missing because the server did not end in order"),
        (CUT_OFF | {"ended": ENDED}, "the server ended in the middle of the life, at hdd: no space left"),
        (SAW_NOTHING | {"ended": ENDED}, "at hdd: no space left"),
    ],
)
def test_what_a_slow_disk_may_cause_is_told_and_no_reason(change: dict[str, Any], note: str) -> None:
    life = changed(GOOD, **change)
    assert any(note in sentence for sentence in noted(life))
    assert reasons_to_replace(LIMITS, life, CONTROLS) == []


def test_a_server_that_did_not_end_in_order_may_leave_one_line_cut_off_and_no_more() -> None:
    [reason] = reasons_to_replace(LIMITS, changed(GOOD, **CUT_OFF | ticks(complete=False, rejected=2)), CONTROLS)
    assert reason.startswith("the tick probe's file is damaged: 2 lines rejected")


def test_other_programs_that_cannot_be_told_are_no_reason() -> None:
    assert reasons_to_replace(LIMITS, changed(GOOD, **load(other_programs_share=None)), CONTROLS) == []


def test_clients_that_were_saturated_elsewhere_only_make_these_arms_not_valid() -> None:
    life = changed(GOOD, saturated={"hdd": "client saturated: 9 of 10"})
    assert arms_not_valid(life, CONTROLS) == {"hdd": "client saturated: 9 of 10"}
    assert reasons_to_replace(LIMITS, life, CONTROLS) == []
    # Where the baseline had the same it was the machine: the life is replaced, and its arms are not judged one by one.
    everywhere = changed(GOOD, saturated={"hdd": "client saturated", "ssd": "client saturated"})
    assert arms_not_valid(everywhere, CONTROLS) == {}


def seconds(**over_of: tuple[int, int]) -> ClientStatus:
    counts = [LagSecond(second=int(name[1:]), samples=samples, over=over) for name, (over, samples) in over_of.items()]
    return CLIENT.model_copy(update={"lag_seconds": tuple(counts)})


EPOCHS = [
    PlayedEpoch(0, "ssd", "ssd", 1, 100 * S, 100 * S + 2 * S, 100 * S + 4 * S),
    PlayedEpoch(1, "hdd", "hdd", 2, 100 * S + 4 * S, 100 * S + 5 * S + S // 5, 100 * S + 7 * S),
]


@pytest.mark.parametrize(
    ("client", "arms"),
    [
        (seconds(s2=(1, 50), s3=(0, 50), s5=(0, 200)), []),  # exactly 1 %: p99 is at the limit
        (seconds(s2=(1, 50), s3=(1, 50), s5=(0, 200)), ["ssd"]),
        (seconds(s2=(0, 50), s3=(0, 49), s5=(1, 99)), ["hdd"]),  # too few for a p99: one is too many
        (seconds(s0=(40, 50), s1=(50, 50), s4=(9, 9), s7=(50, 50)), []),  # outside of all steady parts
        (seconds(s2=(9, 50), s6=(9, 50)), ["ssd", "hdd"]),
        (seconds(), []),
    ],
)
def test_an_arm_is_saturated_by_what_happened_in_its_steady_part(client: ClientStatus, arms: list[str]) -> None:
    assert list(saturated_arms([client], EPOCHS, ["ssd", "hdd"], 100 * S)) == arms


def test_a_life_of_one_arm_is_judged_as_a_whole() -> None:
    client = seconds(s0=(2, 100), s9=(0, 50))
    assert saturated_arms([client], EPOCHS[:1], ["ssd"], 100 * S) == {
        "ssd": "client saturated: 2 of 150 of its timers fired more than 20 ms late"
    }
    assert saturated_arms([seconds(s0=(1, 100), s9=(0, 50))], EPOCHS[:1], ["ssd"], 100 * S) == {}
