"""Compares a disk of known latency with the facts of a run, and says which metrics are good on it and which suffer."""

from collections.abc import Iterator, Mapping

from tickdisk.foundation.numbers import number
from tickdisk.report.answers.dose import METRICS
from tickdisk.studies.statement import Fact


def effects_of_disk(latency_ms: float, facts: Mapping[str, Fact], source: str) -> Iterator[str]:
    """Yields a heading and a line for each metric that the facts of a run decide about, or nothing if they decide about none.

    `latency_ms` is that of the slowest kind of request of the disk, and `source` is the run in words, as a part of a sentence.
    """
    bounds_of = {
        title: (_value(facts, f"{name}_good_up_to"), _value(facts, f"{name}_hurts_from")) for name, title in METRICS.items()
    }
    decided = {title: bounds for title, bounds in bounds_of.items() if bounds != (None, None)}
    if not decided:
        return
    yield f"A disk of {number(latency_ms)} ms has these effects on a server, by the tests of {source}:"
    for title, (good, hurts) in decided.items():
        if good is not None and latency_ms <= good:
            said = f"is shown to exceed its baseline by at most the margin (up to {number(good)} ms)"
        elif hurts is not None and latency_ms >= hurts:
            said = f"is shown to suffer (from {number(hurts)} ms on)"
        else:
            below = "" if good is None else f"above {number(good)} ms, "
            above = "" if hurts is None else f"below {number(hurts)} ms, "
            said = f"is not decided: the latency lies {below}{above}where nothing was shown"
        yield f"  the {title} {said}"


def _value(facts: Mapping[str, Fact], name: str) -> float | None:
    value = facts[name].value if name in facts else None
    return None if value is None else float(value)
