"""The sizing list in Markdown: what our kept runs say about players, joins, servers and memory on a fast and on a slow disk."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tickdisk.compare import KEPT, machine_of, read_about
from tickdisk.experiment import BURSTS, INSTANCES, LOAD, MEMORY
from tickdisk.foundation.errors import TickdiskError
from tickdisk.report.listed import Place
from tickdisk.studies.statement import FACTS, Fact, read_claims, read_facts

SIZING = Place("<!-- The next lines are printed by `tickdisk sizing`. -->", "<!-- The sizing list ends here. -->")
"""The place of the list in a document."""


@dataclass(frozen=True)
class _Rows:
    """Rows of one study about one metric: the facts that each needs, as names after that of the server."""

    ratio: re.Pattern[str]
    """Name of the fact with the ratio of the slow disk to the fast one. A group of it names the condition."""
    fast: str
    """Name of the fact with the value on the fast disk, where {} stands for the condition."""
    slow: str
    words: Callable[[str], str]
    """Returns what the row is about, from the condition."""
    ended: str = ""
    """Beginning of the names of facts that count what ended a search, or an empty text if nothing is searched."""


_ENDED = {
    "device": "the disk",
    "processor": "the processor",
    "clients": "our clients",
    "other": "something else",
    "nothing": "nothing",
}
_ABOUT: Mapping[str, str] = {
    LOAD.name: "The slow disk is the fast one with the latency of the hard disk tier. A step is carried if late ticks come too "
    "late by at most {load.most_late} in all and if the 95th percentile of the latency of actions is at most {load.most_p95}. It "
    "is measured for one save period of {setup.load.save_period_s}.",
    BURSTS.name: "The slow disk is the hard disk tier, with {bursts.SERVER.latency} for each request and any number of requests "
    "at once. A burst has {bursts.SERVER.players}, rates are planned ones, and nothing is saved meanwhile.",
    INSTANCES.name: "The slow disk is the model of a hard disk that seeks, has a write cache, and serves one request after "
    "another. Each server has {instances.SERVER.players}, {instances.SERVER.cores}, {instances.SERVER.memory} of memory, and "
    "saves every {setup.instances.save_period_s}. Usual servers save less often.",
    MEMORY.name: "The slow disk is the fast one with {memory.SERVER.latency} for each request. A server has "
    "{setup.memory.players}, who go to {memory.SERVER.hot_places} again and again, and saves every "
    "{setup.memory.save_period_s}. With warm memory, the page cache has the whole world. With cold memory it has nothing of it. "
    "Half and quarter are the share of the visited part for which there is room.",
}
"""Sentences about the slow disk and the sizes of each study, in which {} around the name of a fact stands for its value.

SERVER in a name is the first server that has the fact.
"""
_STUDIES: Mapping[str, tuple[_Rows, ...]] = {
    LOAD.name: (
        _Rows(
            re.compile(r"ratio\.slow()"),
            "carried.fast",
            "carried.slow",
            lambda _: "players of the largest step that is carried, and what ended the searches",
            "ended_by",
        ),
    ),
    BURSTS.name: (
        _Rows(
            re.compile(r"gap_max_ratio\.slow\.(regions_\d+)"),
            "gap.fast.{}",
            "gap.slow.{}",
            lambda rate: f"longest tick gap in a burst of joins at {_number(rate)} regions/s",
        ),
    ),
    INSTANCES.name: (
        _Rows(
            re.compile(r"ratio\.hard_disk\.(instances_\d+)"),
            "gap.fast.{}",
            "gap.hard_disk.{}",
            lambda servers: (
                "longest tick gap of one server"
                if _number(servers) == 1
                else f"longest tick gap when {_number(servers)} servers share the disk"
            ),
        ),
    ),
    MEMORY.name: tuple(
        _Rows(
            re.compile(rf"{metric}_ratio\.slow\.(warm|cold|half|quarter)"),
            metric + ".fast.{}",
            metric + ".slow.{}",
            partial("{} with {} memory".format, words),
        )
        for metric, words in (("gap_max", "longest tick gap"), ("teleport_mean", "mean latency of teleports"))
    ),
}


_FACT = re.compile(r"\{([^}]+)\}")
_WORDS = (
    "These numbers are ours, and they are from our machine. The fast disk is the SATA SSD tier. The slow disk is not the same in "
    "all studies, so compare rows of one study only. n is the number of blocks, and each disk has one part of a life in each "
    "block. Numbers of players are medians over blocks, and times are means over blocks. A ratio is the "
    "geometric mean of the ratios of the blocks, so that it can differ from the ratio of the numbers beside it. Where the "
    "processor ended the searches on the fast disk, that disk may carry more players, and the ratio may be further from 1."
)


def sizing_list(kept: Path = KEPT) -> str:
    """Returns the table of all kept runs that answer how much a disk carries, or a sentence that says that there are none.

    `kept` is the folder of the kept studies. The text is Markdown, and ends with a newline. Raises TickdiskError if a kept study
    lacks a fact or a claim that the list needs.
    """
    origins, lines = list[str](), list[str]()
    for study, all_rows in _STUDIES.items():
        folder = kept / study
        if (folder / FACTS).exists():
            facts, claims, about = read_facts(folder), read_claims(folder), read_about(folder)
            verdicts = {claim.effect: claim.verdict for claim in claims.values()}
            try:
                origins.append(
                    f"`{study}`: our run at {about.scale} scale of {about.date} (commit {about.commit[:12]}) on "
                    f"{machine_of(facts)}, with {facts['setup.confidence'].short} intervals. {_filled(_ABOUT[study], facts)}"
                )
                for rows in all_rows:
                    lines += ["| " + " | ".join(row) + " |" for row in _rows(facts, verdicts, study, rows)]
            except KeyError as error:
                raise TickdiskError(f"{folder} lacks {error.args[0]}; run the study again and keep it") from error
    if not lines:
        return f"There is no sizing list yet, because no run of {', '.join(_STUDIES)} is kept in `{KEPT}`.\n"
    head = ("Server", "Question", "Fast disk", "Slow disk", "Slow over fast", "Verdict", "n")
    table = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head))]
    return "\n".join([_WORDS, *(f"- {origin}" for origin in origins), "", *table, *lines]) + "\n"


def _filled(text: str, facts: Mapping[str, Fact]) -> str:
    def short(asked: re.Match[str]) -> str:
        pattern = re.compile(re.escape(asked[1]).replace("SERVER", r"[^.]+"))
        return facts[next((name for name in facts if pattern.fullmatch(name)), asked[1])].short

    return _FACT.sub(short, text)


def _rows(facts: Mapping[str, Fact], verdicts: Mapping[str, str], study: str, rows: _Rows) -> Iterator[tuple[str, ...]]:
    named = re.compile(rf"{study}\.([^.]+)\.{rows.ratio.pattern}")
    found = [match for name in facts if (match := named.fullmatch(name))]
    for match in sorted(found, key=lambda match: (match[1], _number(match[2]))):
        server, condition = f"{study}.{match[1]}", match[2]
        values = [
            facts[f"{server}.{name.format(condition)}"].text + _ended(facts, f"{server}.{rows.ended}", disk)
            for disk, name in (("fast", rows.fast), ("slow", rows.slow))
        ]
        ratio = facts[match[0]]
        yield facts[f"{server}.title"].text, rows.words(condition), *values, ratio.text, verdicts[match[0]], str(ratio.n)


def _ended(facts: Mapping[str, Fact], name: str, disk: str) -> str:
    """Returns in words what ended the searches on a disk, or nothing if there were none."""
    counts = {words: facts.get(f"{name}.{cause}.{disk}") for cause, words in _ENDED.items()}
    words = [f"{words} in {fact.value} of {fact.n}" for words, fact in counts.items() if fact is not None and fact.value]
    return f" ({', '.join(words)})" if words else ""


def _number(condition: str) -> int:
    """Returns the number at the end of the name of a condition, or 0."""
    digits = re.search(r"\d+$", condition)
    return int(digits[0]) if digits else 0
