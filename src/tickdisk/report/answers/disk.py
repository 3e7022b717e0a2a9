"""A disk whose latency is known, held against a run: some metrics are shown to be good on it, and others to suffer."""

from collections.abc import Iterator, Mapping
from typing import Any

from tickdisk.numbers import number
from tickdisk.report.answers.dose import METRICS


def of_disk(latency_ms: float, facts: Mapping[str, Mapping[str, Any]], source: str) -> Iterator[str]:
    """Yields a sentence for each metric that the facts of a run decide; none if they decide nothing.

    Parameters
    ----------
    latency_ms
        The latency of the disk's slowest kind of request.
    facts
        The facts of a run by name.
    source
        The run, in words.

    """
    found = {title: (_value(facts, f"{name}_good_up_to"), _value(facts, f"{name}_hurts_from")) for name, title in METRICS.items()}
    decided = {title: bounds for title, bounds in found.items() if bounds != (None, None)}
    if not decided:
        return
    yield f"What {number(latency_ms)} ms does to a server, by the tests of {source}:"
    for title, (good, hurts) in decided.items():
        if good is not None and latency_ms <= good:
            said = f"is shown to stay within the margin (up to {number(good)} ms)"
        elif hurts is not None and latency_ms >= hurts:
            said = f"is shown to suffer (from {number(hurts)} ms on)"
        else:
            below = "" if good is None else f"above {number(good)} ms, "
            above = "" if hurts is None else f"below {number(hurts)} ms, "
            said = f"is not decided: it lies {below}{above}where nothing was shown"
        yield f"  the {title} {said}"


def _value(facts: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    value = facts.get(name, {"value": None})["value"]
    return None if value is None else float(value)
