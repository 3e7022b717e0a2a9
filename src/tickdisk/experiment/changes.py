"""Changes of a server: lives with one change of a setting beside lives without, on a fast and a slow device, and power cuts."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from tickdisk.experiment.entry import Block, Card, Count, Experiment, Roaming, Seconds
from tickdisk.experiment.life import Epoch, PlannedLife, delays_of, epochs_of

UNCHANGED, AGAIN, DELAYED = "unchanged", "unchanged_again", "delayed"
"""Names of the lives without a change: the reference, the same again (A/A), and one with known delays on the slow device."""
CUT = "cut_"
"""Beginning of the names of the lives in which images of power cuts are taken."""
KEPT_SHARE = 0.5
"""Share of the unflushed pages that survives half of the power cuts of a life. None survives the others."""
SAVE_PERIODS = {"rare_saves": 3.0}
"""Changes of the time between two periodic saves, as a multiple of the usual one."""


class Changes(Roaming):
    """Server lives with one change each. Without blocks, a scale has no life of them."""

    blocks: Annotated[int, Field(ge=0)] = 0
    """Number of blocks, in each of which every change has one life. `blocks` on the command line replaces it, but not 0, with
    which the experiment does not run."""
    changes: tuple[str, ...] = ()
    """Names of the changes that are tried on the server. `tickdisk server list` shows which there are."""
    save_period_s: Seconds = 1.1
    """Time between two periodic saves of the server's world, if the change does not alter it."""
    warm_up_s: Seconds = 1.5
    """Time from the last join to the first epoch."""
    epoch_save_periods: Annotated[float, Field(ge=4)] = 4.0
    """Length of an epoch in save periods, of which the first is cut. If a change makes saves rarer, its longer period is cut
    instead in every life, and epochs are so much longer. The rest has a save even if saves are three times as rare."""
    players: Count = 5
    teleport_period_s: Seconds = 2.0
    edit_period_s: Seconds = 1.0
    ping_period_s: Seconds = 1.0
    cut_lives: Annotated[int, Field(ge=0)] = 0
    """Number of blocks that also have a life with power cuts for each change, and one without a change."""
    cuts: Annotated[int, Field(ge=0)] = 10
    """Number of power cuts in such a life, at random times in one save period. After half of them, drawn at random, half of the
    unflushed pages are on the disk, as if it had written them in another order."""
    cut_hold_s: Seconds = 35.0
    """Time from the warm-up to that save period. Linux writes what a program left to it after 30 s, and looks every 5 s, so that
    the loss would still grow before."""
    cut_save_period_s: Seconds = 5.3
    """Time between two saves in a life with power cuts, if the change does not alter it. It is Luanti's own."""

    @property
    def tau_ns(self) -> int:
        """Latency that an action counts with if it failed, timed out or took longer. It is the usual save period."""
        return round(self.save_period_s * 1e9)

    @property
    def cut_s(self) -> float:
        """Time at the beginning of each epoch that is not analysed: the longest save period of all lives of a block."""
        return max(self.periods_s(name)[0] for name in (UNCHANGED, *self.changes))

    @property
    def analysed_s(self) -> float:
        """Length of the part of each epoch that is analysed. It is the same in all lives, however often they save."""
        return (self.epoch_save_periods - 1) * self.save_period_s

    def periods_s(self, name: str) -> tuple[float, float]:
        """Returns the times in s between two saves with a change: in the lives that are compared, and in those with power cuts.

        `name` is that of the change, or of lives without one.
        """
        times = SAVE_PERIODS.get(name, 1.0)
        return self.save_period_s * times, self.cut_save_period_s * times


def _lives(block: Block[Changes]) -> tuple[PlannedLife, ...]:
    design = block.design
    arms: dict[str, str] = {arm.role: arm.arm for arm in block.arms}
    lives = [_compared(block, name, arms) for name in (UNCHANGED, AGAIN, DELAYED, *design.changes)]
    if block.number < design.cut_lives:
        lives += [_cut(block, name, arms) for name in (UNCHANGED, *design.changes)]
    return tuple(lives[place] for place in block.rng("lives", block.number).permutation(len(lives)).tolist())


def _compared(block: Block[Changes], name: str, arms: Mapping[str, str]) -> PlannedLife:
    """Returns a life with an epoch on the fast device and one on the slow device, in the same order as all lives of its block."""
    design = block.design
    slow = arms["delay" if name == DELAYED else "dose"]
    order = (block.baseline, slow) if block.number % 2 == 0 else (slow, block.baseline)
    epochs = epochs_of(order, design.warm_up_s, length_s=design.cut_s + design.analysed_s, cut_s=design.cut_s)
    return PlannedLife(
        name,
        order[0],
        block.trace_seed,
        epochs[-1].end_s,
        epochs,
        delays_of(block.arms, epochs),
        change=_change(name),
        save_period_s=design.periods_s(name)[0],
    )


def _cut(block: Block[Changes], name: str, arms: Mapping[str, str]) -> PlannedLife:
    """Returns a life on the slow device with power cuts at random times, which differ from change to change."""
    design, slow = block.design, arms["dose"]
    _, period_s = design.periods_s(name)
    first_s = design.warm_up_s + design.cut_hold_s
    end_s = first_s + period_s
    # A time is rounded to ms, and no cut comes at the end of the epoch, when none is made any more.
    times_s = sorted(block.rng(f"cuts {name}", block.number).uniform(first_s, end_s - 0.001, design.cuts).round(3).tolist())
    shares = [KEPT_SHARE if number % 2 else 0.0 for number in range(design.cuts)]
    kept = block.rng(f"kept {name}", block.number).permutation(shares).tolist()
    return PlannedLife(
        f"{CUT}{name}",
        slow,
        block.trace_seed,
        end_s,
        (Epoch(slow, design.warm_up_s, design.warm_up_s, end_s),),
        change=_change(name),
        cuts_s=tuple(times_s),
        keep_shares=tuple(kept),
        save_period_s=period_s,
    )


def _change(name: str) -> str | None:
    return None if name in (UNCHANGED, AGAIN, DELAYED) else name


CHANGES = Experiment(
    "changes",
    Changes,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "A setting is changed: the gain, and the price of a power cut",
        "Lives with one change run beside lives without, on a fast and on a slow disk, and servers start again after power cuts.",
        "paper_changes",
        "Effect of a slow disk with each change, as a share of the effect without it, and play that a power cut loses, by server",
    ),
    stated={"blocks": "blocks", "players": "players", "cuts": "cuts", "cut_lives": "lives"},
    compares=("changes",),
    runs_alone=True,
    lives=_lives,
    behaviour="build",
    repeats="blocks",
    # The lives without a change are the controls, which are the same on every device.
    controls=("baseline",),
    positive=("ticks", "actions"),
)
