"""Judges a life: finds the reasons to replace it, the arms for which it is not valid, and what a slow disk may have caused."""

from collections.abc import Collection, Iterator

from tickdisk.config import Limits
from tickdisk.device import EmulatorStatus
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import PlayedLife

CLOCKS_AGREE_NS = 1_000_000
"""Largest time by which players, probe and device may contradict the causal order of a marker."""
LATE_SWITCH_NS = 200_000_000
"""Longest time from the planned start of an epoch to the time at which its device is in force."""


class InstrumentError(TickdiskError):
    """An instrument (emulator, clients, probe, captures, logs) failed in the middle of a server life.

    Nothing of the life can be kept. It is run again as often as the scale permits.
    """


def not_judged() -> list[str]:
    """Returns a sentence for each limit of `Limits` that cannot be judged here, because the needed counts are hidden."""
    lacks = {
        "memory pressure is not judged: the kernel keeps no pressure accounts": host.keeps_pressure(),
        "other programs are not judged: the threads of the kernel cannot be seen from here": host.shows_kernel_threads(),
    }
    return [sentence for sentence, can in lacks.items() if not can]


def reasons_to_replace(limits: Limits, life: PlayedLife, controls: Collection[str]) -> list[str]:
    """Returns in words how a server life was disturbed from outside the system under test, or an empty list if it was not.

    Nothing that a slow disk may cause is a reason. `controls` are the arms with the device of the baseline: clients that were
    short of processor time there (saturated) are a reason.
    """
    saturated = [f"{reason} (at {arm})" for arm, reason in life.saturated.items() if arm in controls]
    return [*_of_load(limits, life), *saturated, *_of_probe(life), *_of_clocks(life), *_of_device(life)]


def arms_not_valid(life: PlayedLife, controls: Collection[str]) -> dict[str, str]:
    """Returns the arms for which a server life has no valid result because the clients were saturated, each with the reason.

    If the clients were saturated in one of `controls`, too, the result is empty, because the whole life is then replaced or
    marked.
    """
    return {} if set(life.saturated) & set(controls) else dict(life.saturated)


def noted(life: PlayedLife) -> list[str]:
    """Returns sentences about events in a server life that a slow disk may have caused, such as failed actions.

    They do not replace the life: they stay in the results and are told beside them.
    """
    return [*_of_ending(life), *_of_actions(life), *_of_ticks(life)]


def _of_load(limits: Limits, life: PlayedLife) -> Iterator[str]:
    load = life.load
    # Where the memory of a server is limited on purpose, its waits for memory are an outcome.
    is_limited = life.quota is not None and life.quota.memory_bytes is not None
    for what, share, limit in (
        ("steal", load.steal_share, limits.steal_share),
        ("memory pressure", None if is_limited else load.pressure_memory_share, limits.pressure_memory_share),
        ("other programs on the cores", load.other_programs_share, limits.other_programs_share),
    ):
        if share is not None and share > limit:
            yield f"{what} {share:.1%} above {limit:.0%}"


def _of_probe(life: PlayedLife) -> Iterator[str]:
    for neighbour in life.neighbours:
        counts = neighbour.ticks
        if not neighbour.server_problems and (counts.rejected or counts.backwards or not counts.complete):
            yield f"the tick probe's file of server {neighbour.instance} is damaged: {counts.rejected} lines rejected"
        if counts.blocks_generated > 0:
            yield f"{counts.blocks_generated} pieces of terrain were generated on server {neighbour.instance}"
    ticks = life.ticks
    cut_off = 0 if life.server_ended_in_order else 1
    if ticks.rejected > cut_off or ticks.backwards or (life.server_ended_in_order and not ticks.complete):
        end = "" if ticks.complete else ", its end is missing"
        yield f"the tick probe's file is damaged: {ticks.rejected} lines rejected, {ticks.backwards} ticks backwards{end}"
    if ticks.blocks_generated > 0:
        yield f"{ticks.blocks_generated} pieces of terrain were generated: players left the stored terrain"


def _of_clocks(life: PlayedLife) -> Iterator[str]:
    if life.markers_unseen:
        yield f"{life.markers_unseen} markers were answered and not seen by probe and device alike"
    if (apart_ns := life.clock_disagreement_ns or 0) > CLOCKS_AGREE_NS:
        yield f"the clocks of players, probe and device disagree by {apart_ns / 1e6:.2f} ms"


def _of_device(life: PlayedLife) -> Iterator[str]:
    if life.latest_switch_ns > LATE_SWITCH_NS:
        yield f"the device was switched {life.latest_switch_ns / 1e6:.0f} ms late"
    if life.requests == 0:
        yield "the device saw no request"
    for status in (life.device, life.device_apart):
        if isinstance(status, EmulatorStatus):
            yield from _of_emulator(life, status)
    if life.blocks is not None and life.blocks.lost > 0:
        yield f"the trace of the block device lost {life.blocks.lost} events"
    # A capture that had just begun when the server ended may have had nothing to see.
    captures = life.captures if life.ended is None else life.captures[:-1]
    if life.requests > 0 and any(capture.requests == 0 for capture in captures):
        yield "the capture saw no request, and the device did"


def _of_emulator(life: PlayedLife, status: EmulatorStatus) -> Iterator[str]:
    if status.log_overflow > 0:
        yield f"the device's log lost {status.log_overflow} requests"
    if bool(status.arrivals_lack) != bool(life.calibrated_lack):
        told = status.arrivals_lack or "now it says so"
        yield f"floors were measured while the kernel said otherwise when requests arrive ({told}); calibrate again"


def _of_ending(life: PlayedLife) -> Iterator[str]:
    ended, problems = life.ended, life.server_problems
    if ended is not None:
        yield f"the server ended in the middle of the life, at {ended.arm}: {ended.said}"
    if problems:
        yield f"the server reported {len(problems)} {'error' if len(problems) == 1 else 'errors'}, the first: {problems[0]}"


def _of_actions(life: PlayedLife) -> Iterator[str]:
    client = life.client
    offered = sum(count.offered for count in client.actions.values())
    failed = {kind: count.failed for kind, count in client.actions.items() if count.failed}
    timed_out = {kind: count.timed_out for kind, count in client.actions.items() if count.timed_out}
    for lost, outcome in ((failed, "failed"), (timed_out, "timed out")):
        if lost:
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(lost.items()))
            yield f"{sum(lost.values())} of {offered} actions {outcome}: {kinds}"
    if client.interrupted and life.ended is None:
        yield "the players were interrupted before all of their actions had ended"


def _of_ticks(life: PlayedLife) -> Iterator[str]:
    ticks = life.ticks
    if ticks.missing:
        yield f"{ticks.missing} of {ticks.ticks + ticks.missing} ticks missing"
    if not ticks.complete and not life.server_ended_in_order:
        yield "the tick probe's last records are missing because the server did not end in order"
