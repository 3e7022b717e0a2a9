"""The causes for which a verdict leaves a question open: records that name a kind, with the numbers that a sentence needs.

A cause is made where the verdict is made, and claims.json holds it. Sentences are made from causes, never causes from sentences.
"""

from typing import Annotated, Literal

from pydantic import Field

from tickdisk.foundation.numbers import interval, number, percent
from tickdisk.foundation.record import Record

Word = Literal["different", "equivalent", "inconclusive", "not valid"]
"""The verdicts on a comparison of two conditions."""
BoundWord = Literal["kept", "missed", "inconclusive", "not valid"]
"""The verdicts on a bound, which is a limit or a range."""
AnyWord = Literal["different", "equivalent", "kept", "missed", "inconclusive", "not valid"]


class TooFew(Record):
    """There are fewer lives, or other things, than a verdict needs."""

    kind: Literal["too_few"] = "too_few"
    n: int
    needed: int
    counted: str
    """Plural of the word for what is counted."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"n = {self.n}, fewer than the {self.needed} {self.counted} that a verdict needs"

    @property
    def would_decide(self) -> str:
        """The number in words with which there would be a verdict."""
        return f"{self.needed} {self.counted} would decide"


class FewerThanPlanned(Record):
    """There are fewer lives, or other things, than were planned before the runs."""

    kind: Literal["fewer_than_planned"] = "fewer_than_planned"
    n: int
    planned: int
    counted: str
    """Plural of the word for what is counted."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"{self.n} of {self.planned} planned {self.counted}"


class NoInterval(Record):
    """The lives, or other things, give no interval."""

    kind: Literal["no_interval"] = "no_interval"
    n: int
    counted: str
    """Plural of the word for what is counted."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"n = {self.n}, which gives no interval"


class ControlFailed(Record):
    """A control had another outcome than the one that it has by construction."""

    kind: Literal["control_failed"] = "control_failed"
    control: Literal["positive", "null", "sham"]
    verdict: Word
    """Verdict on the control."""
    reason: str
    """Reason for that verdict, in words."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        match self.control:
            case "positive":
                return f"the positive control was not found slower ({self.verdict}: {self.reason})"
            case "null":
                return f"the null control (A/A) is {self.verdict} ({self.reason})"
            case "sham":
                return f"the sham is {self.verdict} ({self.reason})"


class ControlUndecided(Record):
    """A null control or a sham is neither different nor equivalent. Only effects beyond its interval are then decided."""

    kind: Literal["control_undecided"] = "control_undecided"
    control: Literal["null", "sham"]
    low: float
    high: float
    """Ends of the interval of the control's ratio."""
    n: int
    reason: str
    """Effect of the control in words, with what decided."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        name = "the null control (A/A)" if self.control == "null" else "the sham"
        return f"{name} is undecided ({self.reason}), so that only effects beyond its interval count"


class ClientsSaturated(Record):
    """The clients of a server life were short of processor time in the epoch of an arm."""

    kind: Literal["clients_saturated"] = "clients_saturated"
    life: str | None
    """Title of the life, such as "life 3". It is null where all lives are meant."""
    detail: str
    """The record of the clients in words."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return self.detail if self.life is None else f"{self.life}: {self.detail}"


class NothingCaptured(Record):
    """There is no captured request."""

    kind: Literal["nothing_captured"] = "nothing_captured"

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return "the capture is empty and the device has requests"


class FilesUnknown(Record):
    """The files of the device's requests are not known, so that no file can be named."""

    kind: Literal["files_unknown"] = "files_unknown"

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return "the file of a device's request is not known here, and is known only on ext4 or xfs with the backend fuse"


class StepsNotValid(Record):
    """Steps of a network stack are missing, or say nothing about the stack."""

    kind: Literal["steps_not_valid"] = "steps_not_valid"
    players: int
    stack: str
    """Name of the stack in prose."""
    detail: str
    """The fault of the steps in words."""
    n: int
    """Number of lives with such a step."""
    lives: int
    """Number of lives that have the step in their plan."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"with {self.players} players on {self.stack}, {self.detail} ({self.n} of {self.lives} lives)"


class NotMeasured(Record):
    """An instrument gave no value that could be judged."""

    kind: Literal["not_measured"] = "not_measured"
    what: str
    """The quantity in words."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"{self.what} could not be measured"


class PointsNotJudged(Record):
    """Too many points of a measurement could not be judged."""

    kind: Literal["points_not_judged"] = "points_not_judged"
    judged: int
    untold: int
    """Number of points with too few requests."""
    loaded: int
    """Number of points that were measured under too much load."""


class LivesFailed(Record):
    """Every life failed, so that none has a record."""

    kind: Literal["lives_failed"] = "lives_failed"
    n: int


class Undecided(Record):
    """The lives show neither that two conditions differ nor that they are equivalent. It is known how many would show it."""

    kind: Literal["undecided"] = "undecided"
    n: int
    needed: int | None
    """Number that would decide with 80 % power. It is null if no feasible number would."""
    counted: str
    """Plural of the word for what is counted."""

    @property
    def sentence(self) -> str:
        """The number in words with which there would be a verdict."""
        return f"{self.needed or 'no feasible number of'} {self.counted} would decide"


class NotShown(Record):
    """The lives, or other things, show neither the one nor the other. It is not known how many would show it."""

    kind: Literal["not_shown"] = "not_shown"
    n: int
    counted: str
    """Plural of the word for what is counted."""


class Censored(Record):
    """Searches ended at their first step or went through all steps, so that the true numbers may differ by more."""

    kind: Literal["censored"] = "censored"
    n: int
    """Number of such searches."""
    of: int
    """Number of all searches that were compared."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"{self.n} of {self.of} searches ended at their first step or passed all steps, so the ratio may be further from 1"


class LimitTooNarrow(Record):
    """The fast device did not carry the load that it has to carry, so that the limits say nothing about a slow one."""

    kind: Literal["limit_too_narrow"] = "limit_too_narrow"
    players: int
    n: int
    """Number of blocks in which it carried these players."""
    of: int

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"the fast disk carried {self.players} players in {self.n} of {self.of} blocks only"


class BelowFloor(Record):
    """A real disk is often faster at an operation than the emulator can be, so that no emulated twin stands for it."""

    kind: Literal["below_floor"] = "below_floor"
    operation: str
    """The operation: read, write or flush."""
    latency_ns: int
    """Median latency of the operation by the profile of the disk."""
    floor_ns: int
    """Floor of the twin."""
    share: float
    """Share of the disk's operations, by the profile, that take at most as long as the floor."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        latency_us, floor_us = (number(ns / 1e3) for ns in (self.latency_ns, self.floor_ns))
        return (
            f"a {self.operation} of the disk takes {latency_us} us at the median, and {percent(self.share)} of these requests "
            f"take at most {floor_us} us, which the emulator alone takes"
        )


class WrongTwinNotFound(Record):
    """Not even a device that is wrong on purpose was found to differ from the real disk, so that equality says nothing."""

    kind: Literal["wrong_twin_not_found"] = "wrong_twin_not_found"
    n: int
    """Number of blocks."""
    low: float | None
    high: float | None
    """Ends of the interval of the wrong twin's ratio to the disk. They are null without an interval."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"the wrong twin was not found different either (ratio {interval(self.low, self.high)}), so nobody can tell"


class NotSettled(Record):
    """Predictions are the last of many rounds that do not agree, so that they may be far off."""

    kind: Literal["not_settled"] = "not_settled"
    n: int
    """Number of such predictions."""
    predictions: int
    """Number of all predictions."""

    @property
    def sentence(self) -> str:
        """The cause in words."""
        return f"{self.n} of {self.predictions} predictions did not settle"


Obstacle = (
    TooFew
    | FewerThanPlanned
    | NoInterval
    | ControlFailed
    | ControlUndecided
    | ClientsSaturated
    | NothingCaptured
    | FilesUnknown
    | StepsNotValid
    | LimitTooNarrow
)
"""A cause for which `verdict` can say nothing, or for which a test that succeeds decides nothing."""
Cause = Annotated[
    Obstacle
    | NotMeasured
    | PointsNotJudged
    | LivesFailed
    | Undecided
    | NotShown
    | BelowFloor
    | WrongTwinNotFound
    | NotSettled
    | Censored,
    Field(discriminator="kind"),
]
"""A cause for which a claim is not decided, as claims.json holds it."""
