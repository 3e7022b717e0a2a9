"""The comparisons that the study of network stacks makes, with the findings of Net-Celerity where there are some."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tickdisk.foundation.numbers import number
from tickdisk.stats import Finding
from tickdisk.studies.netcode.compute import Results, title


@dataclass(frozen=True)
class Value:
    """A column of the steps of one arm, stack and number of players."""

    column: str
    arm: str
    stack: str
    players: int


@dataclass(frozen=True)
class Question:
    """A comparison of two values, `above` and `below` the line of a ratio that each run has."""

    name: str
    statement: str
    """The question in neutral words."""
    above: Value
    below: Value
    finding: Finding | None = None
    """Published finding that the question comes from, or None."""
    is_same: bool = True
    """Whether the numbers of players are the published ones, so that the finding can be decided."""
    is_added: bool = False
    """Whether the published quantity is the difference of the two values, and not their ratio."""


def controls(results: Results) -> tuple[Question, Question]:
    """Returns the null control, which is the same arm twice, and the sham, which is the link of a program without a delay."""
    stack, players = results.control, results.active_players[-1]
    same = Value("rtt_mean_ms", "active", stack, players)
    again, near = (Value("rtt_mean_ms", arm, stack, players) for arm in ("again", "near"))
    words = f"RTT on {title(stack)} with {number(players)} players who act"
    return (
        Question("null", f"{words}, against the same arm a second time", again, same),
        Question("sham", f"{words}, on our link without a delay against the plain pair", near, same),
    )


def questions(results: Results) -> Iterator[Question]:
    """Yields the comparisons of stacks, of numbers of players, and of activity.

    NC1: RTT rises with players, least for snapshots, then KCP, then TCP. NC3: snapshots cost more processor time and memory, and
    fewer bytes. NC4: activity adds to the RTT of state synchronisation and not to that of snapshots.
    """
    fewest, most = results.idle_players[0], results.idle_players[-1]
    findings = results.published_findings
    if fewest < most:
        for stack in results.stacks:
            above, below = (Value("rtt_mean_ms", "idle", stack, players) for players in (most, fewest))
            statement = (
                f"RTT on {title(stack)} with {number(most)} players who stand still, against {number(fewest)} such players"
            )
            is_same = (fewest, most) == results.published.players
            yield Question(f"rises.{stack}", statement, above, below, findings.get(f"rises.{stack}"), is_same=is_same)
    for worse, better in (("tcp", "kcp"), ("kcp", "snapshots")):
        if {worse, better} <= {*results.stacks}:
            above, below = (Value("rtt_mean_ms", "idle", stack, most) for stack in (worse, better))
            statement = f"RTT with {number(most)} players who stand still, on {title(worse)} against {title(better)}"
            name = f"order.{worse}_{better}"
            yield Question(name, statement, above, below, findings[name])
    for other in ("tcp", "kcp"):
        if {"snapshots", other} <= {*results.stacks}:
            for name, column, what in (
                ("cpu", "server_share", "Processor time of the server"),
                ("memory", "memory_bytes", "Memory of the server"),
            ):
                above, below = (Value(column, "idle", stack, most) for stack in ("snapshots", other))
                statement = f"{what} with {number(most)} players who stand still, on snapshots against {title(other)}"
                tested = findings[name].about(f"{what.lower()}, snapshots over {title(other)}")
                yield Question(f"{name}.snapshots_{other}", statement, above, below, tested)
            above, below = (Value("sent_bytes_per_s", "idle", stack, most) for stack in (other, "snapshots"))
            statement = (
                f"Bytes that the server sends to {number(most)} players who stand still, on {title(other)} against snapshots"
            )
            tested = findings["bytes"].about(f"bytes that the server sends, {title(other)} over snapshots")
            yield Question(f"bytes.{other}_snapshots", statement, above, below, tested)
    both = [players for players in results.active_players if players in results.idle_players]
    for players, stack in product(both, results.stacks):
        above, below = (Value("rtt_mean_ms", arm, stack, players) for arm in ("active", "idle"))
        statement = f"RTT on {title(stack)} with {number(players)} players who act, against as many who stand still"
        # The publication has one statement about snapshots, and one for each of two numbers of players about the others.
        kind = "snapshots" if stack == "snapshots" else f"p{players}"
        finding = None if results.published.library(stack) is None else findings.get(f"activity.{kind}")
        if finding is not None:
            finding = finding.about(f"RTT on {title(stack)}, {number(players)} players who act less as many who stand still")
        yield Question(f"activity.{stack}.p{players}", statement, above, below, finding, is_added=True)
