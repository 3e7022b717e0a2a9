"""Says why a claim was not decided, in clauses that end a sentence with "because"."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from tickdisk.foundation.numbers import joined_list, number
from tickdisk.stats import (
    BelowFloor,
    Cause,
    Censored,
    ClientsSaturated,
    ControlFailed,
    ControlUndecided,
    FewerThanPlanned,
    FilesUnknown,
    LimitTooNarrow,
    LivesFailed,
    NoInterval,
    NothingCaptured,
    NotMeasured,
    NotSettled,
    NotShown,
    PointsNotJudged,
    StepsNotValid,
    TooFew,
    Undecided,
    WrongTwinNotFound,
)
from tickdisk.studies.statement import Claim, count_text

_TOLD_FIRST = (TooFew, FewerThanPlanned, ControlFailed, ControlUndecided)
"""Causes that are told instead of others of the same claim, in this order."""


def reasons(claims: Iterable[Claim]) -> str:
    """Returns a clause with the main cause of each claim, each once. It is empty if all claims are decided."""
    mains = [_main(claim.causes) for claim in claims if claim.causes]
    few: dict[str, list[int]] = {}
    for cause in mains:
        if isinstance(cause, TooFew | FewerThanPlanned):
            few.setdefault(cause.counted, []).append(cause.n)
    others = [clause(cause) for cause in mains if not isinstance(cause, TooFew | FewerThanPlanned)]
    return joined_list(list(dict.fromkeys([*(_too_few(numbers, counted) for counted, numbers in few.items()), *others])))


def _too_few(numbers: Sequence[int], counted: str) -> str:
    """Returns the clause for one claim or several that lack `counted`, of which they have these numbers."""
    least, most = min(numbers), max(numbers)
    words = count_text(most, counted) if least == most else f"{number(least)} to {count_text(most, counted)}"
    return f"{words} {'is' if most == 1 else 'are'} too few for a verdict"


def has_too_few(claim: Claim, counted: str) -> bool:
    """Returns whether a claim was not decided because too few of certain things, such as "lives", were there."""
    return any(isinstance(cause, TooFew | FewerThanPlanned) and cause.counted == counted for cause in claim.causes)


def _main(causes: tuple[Cause, ...]) -> Cause:
    return next((cause for kind in _TOLD_FIRST for cause in causes if isinstance(cause, kind)), causes[0])


def clause(cause: Cause) -> str:  # noqa: C901, PLR0911, PLR0912 - one clause a kind
    """Returns a cause as a clause that ends a sentence with "because"."""
    match cause:
        case TooFew() | FewerThanPlanned():
            return _too_few([cause.n], cause.counted)
        case NoInterval():
            return f"{count_text(cause.n, cause.counted)} {'gives' if cause.n == 1 else 'give'} no interval"
        case ControlFailed() | ControlUndecided():
            return "a control of the experiment did not come out as it must"
        case ClientsSaturated():
            return "the clients were short of processor time"
        case NothingCaptured():
            return "nothing was captured"
        case FilesUnknown():
            return "the files of the device's requests are not known here"
        case StepsNotValid():
            return f"with {cause.players} players on {cause.stack}, {cause.detail}"
        case NotMeasured():
            return cause.sentence
        case PointsNotJudged():
            return "too few points could be judged"
        case LivesFailed():
            return "no life has a record"
        case BelowFloor():
            return "the disk is faster than the emulator can be"
        case WrongTwinNotFound():
            return "not even a wrong twin was found to differ"
        case Censored():
            return f"{cause.n} of {cause.of} searches ended at their first step or went through all steps"
        case LimitTooNarrow():
            return f"the fast disk carried {cause.players} players in {cause.n} of {cause.of} blocks only"
        case NotSettled():
            return cause.sentence
        case Undecided() | NotShown():
            return f"{count_text(cause.n, cause.counted)} {'is' if cause.n == 1 else 'are'} too few to decide"
        case unknown:
            assert_never(unknown)
