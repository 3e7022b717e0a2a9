"""The sizing list in Markdown: what our kept runs say about players, joins, servers and memory on a fast and on a slow disk."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tickdisk.compare import KEPT, machine_of, read_about
from tickdisk.experiment import BURSTS, INSTANCES, LOAD, MEMORY
from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.listed import Place
from tickdisk.studies.statement import FACTS, Fact, read_facts

SIZING = Place("<!-- The next lines are printed by `tickdisk sizing`. -->", "<!-- The sizing list ends here. -->")
"""The place of the list in a document."""


@dataclass(frozen=True)
class _Rows:
    """The rows of one study: the facts that each needs, as names after that of the server."""

    ratio: re.Pattern[str]
    """Name of the fact with the ratio of the slow disk to the fast one. A group of it names the condition."""
    fast: str
    """Name of the fact with the value on the fast disk, where {} stands for the condition."""
    slow: str
    words: Callable[[str], str]
    """Returns what the row is about, from the condition."""


_STUDIES: Mapping[str, _Rows] = {
    LOAD.name: _Rows(re.compile(r"ratio\.slow()"), "carried.fast", "carried.slow", lambda _: "players that the disk carries"),
    BURSTS.name: _Rows(
        re.compile(r"gap_max_ratio\.slow\.(regions_\d+)"),
        "gap.fast.{}",
        "gap.slow.{}",
        lambda rate: f"longest tick gap in a burst of {_number(rate)} regions/s",
    ),
    INSTANCES.name: _Rows(
        re.compile(r"ratio\.hard_disk\.(instances_\d+)"),
        "gap.fast.{}",
        "gap.hard_disk.{}",
        lambda servers: f"longest tick gap of servers that share the disk: {_number(servers)}",
    ),
    MEMORY.name: _Rows(
        re.compile(r"gap_max_ratio\.slow\.(warm|cold|half|quarter)"),
        "gap_max.fast.{}",
        "gap_max.slow.{}",
        lambda state: (
            f"longest tick gap with memory that is {state}"
            if state in ("warm", "cold")
            else f"longest tick gap with memory for a {state} of the hot part of the world"
        ),
    ),
}


def sizing_list(kept: Path = KEPT) -> str:
    """Returns the table of all kept runs that answer how much a disk carries, or a sentence that says that there are none.

    `kept` is the folder of the kept studies. The text is Markdown, and ends with a newline. Raises TickdiskError if kept facts
    lack one that the list needs.
    """
    origins, lines = [], []
    for study, rows in _STUDIES.items():
        folder = kept / study
        if (folder / FACTS).exists():
            facts, about = read_facts(folder), read_about(folder)
            origins.append(
                f"`{study}`: our run at {about.scale} scale of {about.date} (commit {about.commit[:12]}) on {machine_of(facts)}, "
                f"with {facts['setup.confidence'].short} intervals."
            )
            try:
                lines += ["| " + " | ".join(row) + " |" for row in _rows(facts, study, rows)]
            except KeyError as error:
                raise TickdiskError(
                    f"{folder / FACTS} lacks the fact {error.args[0]}; run the study again and keep it"
                ) from error
    if not lines:
        return f"There is no sizing list yet, because no run of {', '.join(_STUDIES)} is kept in `{KEPT}`.\n"
    head = ("Server", "Question", "Fast disk", "Slow disk", "Slow over fast", "n")
    table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head))]
    return "\n".join(["These numbers are ours.", *(f"- {origin}" for origin in origins), "", *table, *lines]) + "\n"


def _rows(facts: Mapping[str, Fact], study: str, rows: _Rows) -> Iterator[tuple[str, ...]]:
    named = re.compile(rf"{study}\.([^.]+)\.{rows.ratio.pattern}")
    found = [match for name in facts if (match := named.fullmatch(name))]
    for match in sorted(found, key=lambda match: (match[1], _number(match[2]))):
        server, condition = f"{study}.{match[1]}", match[2]
        fast, slow = (facts[f"{server}.{name.format(condition)}"] for name in (rows.fast, rows.slow))
        ratio = facts[match[0]]
        yield facts[f"{server}.title"].text, rows.words(condition), fast.text, slow.text, ratio.text, str(ratio.n)


def _number(condition: str) -> int:
    """Returns the number at the end of the name of a condition, or 0."""
    digits = re.search(r"\d+$", condition)
    return int(digits[0]) if digits else 0
