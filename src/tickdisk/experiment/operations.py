"""Reads, writes and flushes apart: a switchback whose arms make one kind of operation slow, or all of them."""

from typing import Annotated

from pydantic import Field

from tickdisk.experiment.entry import Card, Experiment
from tickdisk.experiment.switchback import Switchback, lives_of_block


class Operations(Switchback):
    """One server life in which reads, writes, flushes or all of them are slow in turn."""

    lives: Annotated[int, Field(ge=0)]
    """Number of server lives. The arms fill a Williams square if it is a multiple of their number. With 0 the experiment does not
    run on the server. `blocks` on the command line replaces it."""


OPERATIONS = Experiment(
    "operations",
    Operations,
    evidence=(),
    parameters={"plan": "results/plan.json"},
    card=Card(
        "Reads, writes and flushes apart",
        "One kind of operation is slow at a time, and the sum of the effects is compared with all of them slow together.",
        "paper_operations",
        "Time that slow reads, writes and flushes add to the longest tick gap, to the mean gap and to a teleport, by server",
    ),
    stated={"lives": "lives", "players": "players", "warm_up_s": "s", "save_period_s": "s"},
    needs=("switchback",),
    # The positive controls and the sham are those of the switchback, whose server, players and instruments are the same.
    compares=("operations", "switchback", "inside_tick"),
    lives=lives_of_block,
    behaviour="roam",
    controls=("baseline", "null"),
    positive=(),
)
