"""Says for each class of disks on which servers it is good enough, from the facts of reads, writes and flushes apart."""

from collections.abc import Mapping

from tickdisk.foundation.numbers import joined_list
from tickdisk.foundation.record import Record
from tickdisk.project import SizingClass
from tickdisk.report.answers.dose import METRICS, PLAY
from tickdisk.report.evidence import Evidence
from tickdisk.studies.tiers import tier_name

_WORDS = {
    "slow": "too slow",
    "outside": "slower than every dose",
    "open": "not decided",
    "not valid": "not valid",
    "good": "good enough",
}
"""The answers in words, with the one first that decides about a server if its metrics have several answers."""


class ServerAnswer(Record):
    """The answer about a class of disks on one server."""

    server: str
    """The name of the server."""
    answer: str
    """The worst answer of any metric, in words."""
    text: str
    """The same, with the metrics that have it unless all of them do."""


class ClassRow(Record):
    """A row of the table of classes of disks."""

    name: str
    """The name of the class."""
    description: str
    """A description of the class."""
    source: str
    """The source of its latencies."""
    read_ms: float
    """The mean time in ms that a read of 4 KiB takes."""
    write_ms: float
    """The mean time by which a write of 4 KiB lengthens a sequence of writes and a flush."""
    flush_ms: float
    """The mean time by which the flush lengthens it."""
    servers: tuple[ServerAnswer, ...]
    """The answer on each server on which reads, writes and flushes were measured apart. It is empty if there is none."""
    is_measured: bool
    """Whether servers ran on the class, so that the answer is no prediction."""


def class_rows(evidence: Evidence, classes: Mapping[str, SizingClass], servers: Mapping[str, str]) -> list[ClassRow]:
    """Returns a row for each class of disks, from the fastest to the slowest.

    `servers` has the names of the servers in prose, by their names in the names of facts.
    """
    asked = {key: title for key, title in servers.items() if f"operations.{key}.title" in evidence.facts}
    return [
        ClassRow(
            name=tier_name(name),
            description=one.description,
            source=one.source,
            read_ms=one.read_latency_ns / 1e6,
            write_ms=one.write_latency_ns / 1e6,
            flush_ms=one.flush_latency_ns / 1e6,
            servers=tuple(_answer(evidence, key, title, name) for key, title in asked.items()),
            is_measured=any(f"operations.{key}.class_live.gap_max.{name}" in evidence.facts for key in asked),
        )
        for name, one in sorted(classes.items(), key=lambda item: sum(item[1].latencies_ns))
    ]


def _answer(evidence: Evidence, server: str, title: str, name: str) -> ServerAnswer:
    """Returns the worst answer about a class on a server, which is called `title` in prose. It is empty without any."""
    titles = {metric.removeprefix(f"{PLAY}."): title for metric, title in METRICS.items() if metric.startswith(f"{PLAY}.")}
    facts = {metric: evidence.facts.get(f"operations.{server}.class_answer.{metric}.{name}") for metric in titles}
    answers = {metric: fact.text for metric, fact in facts.items() if fact is not None}
    for answer, words in _WORDS.items():
        own = [titles[metric] for metric, found in answers.items() if found == answer]
        if own:
            text = words if len(own) == len(answers) else f"{words}: {joined_list(own)}"
            return ServerAnswer(server=title, answer=words, text=text)
    return ServerAnswer(server=title, answer="", text="")
