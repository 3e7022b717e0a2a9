"""The plan, and the manifest of a cell."""

from tickdisk.config import AnyScale, Config, Limits, Resolved, World
from tickdisk.describe.entry import Entry, Section, blocks_of
from tickdisk.device import DeviceModel
from tickdisk.foundation.host import HostFacts, MachineLoad
from tickdisk.manifest import Manifest
from tickdisk.project import Plan

_ARM = {
    "role": (
        "The role of the arm: the baseline, null (the baseline again), sham (the processor time of the slowest arm at the "
        "latency of the baseline), a dose, a treatment, held_out (a disk that tests a prediction), or delay (of ticks or of "
        "answers, for a known time)."
    ),
    "latency_us": "The latency of every operation instead of that of the device. It is null for an arm that keeps that.",
    "read_us": "The latency of reads, if reads, writes and flushes have latencies of their own.",
    "write_us": "The latency of writes, likewise.",
    "flush_us": "The latency of flushes, likewise.",
    "tick_delay_ms": "The time for which the probe keeps the tick thread busy, again and again; null for an arm without it.",
    "action_delay_ms": "The time for which the server holds back its answers to actions; null for an arm without it.",
}

PLAN = Section(
    "The plan",
    "The plan is made from the configuration before anything runs.",
    (
        Entry(
            "results/plan.json",
            "This file holds the configuration, the arms and all cells of a run.",
            tuple(blocks_of(Plan, elsewhere=(Config, AnyScale, Resolved), words={"arms": _ARM})),
        ),
    ),
)

SECTION = Section(
    "A cell",
    "A cell is a block of an experiment. Its folder is named after all that decides its outcome, appears when the "
    "cell is whole, and is never changed.",
    (
        Entry(
            "results/runs/CELL/manifest.json",
            "This file records how a cell was made and what happened in its server lives.",
            tuple(blocks_of(Manifest, elsewhere=(DeviceModel, HostFacts, MachineLoad, Limits, World))),
        ),
    ),
)
