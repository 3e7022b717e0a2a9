"""The sizing table, which says up to which storage latency each metric is good and which disk is enough, and its sentences."""

import math
from collections.abc import Sequence

from tickdisk.foundation.numbers import joined_list, number, percent, with_interval
from tickdisk.foundation.record import Record
from tickdisk.report.answers.why import has_too_few, reasons
from tickdisk.report.evidence import Evidence
from tickdisk.studies.statement import count_text
from tickdisk.studies.tiers import tier_name

METRICS = {
    "switchback.gap_mean": "mean tick gap",
    "switchback.gap_max": "longest tick gap of an epoch",
    "switchback.teleport_mean": "mean teleport latency",
    "join_burst.join_mean": "mean join time of a burst",
    "join_burst.gap_mean": "mean tick gap of a join burst",
    "join_burst.gap_max": "longest tick gap of a join burst",
}
"""The metrics of the table, as `STUDY.METRIC`, with their names in prose. The metrics of steady play come first."""
PLAY = "switchback"
"""The study of steady play."""
_BY_PLAYERS = f"{PLAY}.gap_max"
"""The metric that was measured with several numbers of players."""
NOT_DECIDED = "not decided"
_NONE = "no latency tried"
_NO_CLASS = "none is shown to be"
_NOT_APART = "not measured"


class SizingRow(Record):
    """A row of the sizing table, which says for one metric on one server which storage latency and which disk are good enough."""

    server: str
    """The name of the game server."""
    study: str
    """The experiment that measures the metric."""
    players: int | None
    """The number of players for which the row holds. It is null if the run does not state it."""
    metric: str
    """The metric of ticks or of actions."""
    good_up_to: str
    """The highest latency at which the metric is shown to be as good as at the baseline, with two digits."""
    suffers_from: str
    """The lowest latency from which the metric is shown to be worse, with two digits."""
    disk: str
    """The slowest class of disks that is shown to be good enough, if all faster classes are, too. It follows from the effects of
    reads, writes and flushes, and is known only where these were measured apart."""
    baseline: str
    """The metric at the baseline's latency."""
    effect: str
    """The effect of the largest dose, with its interval."""
    least: str
    """The effect of the smallest dose, with its interval."""
    per_player: str
    """The cost of each further player: ms of the longest tick gap for each ms of latency. It is empty for a metric that was not
    measured with several numbers of players."""
    good_up_to_ms: float | None
    """The latency of `good_up_to` as a number. It is null if no latency is shown to be good, or if nothing is decided."""
    suffers_from_ms: float | None
    """The latency of `suffers_from` as a number. It is null if no latency is shown to be worse, or if nothing is decided."""
    is_decided: bool
    """Whether this run could decide about the metric."""


def sizing(evidence: Evidence, server: str, key: str, prefix: str = "") -> list[SizingRow]:
    """Returns a row of the sizing table for each metric of `METRICS` whose experiment ran on one server.

    `server` is the server's name in prose, and `key` its name in the names of facts. `prefix` is the beginning of the names of
    the server's facts, and empty for the server that the studies are about.
    """
    return [
        _row(evidence, server, key, prefix, name, title)
        for name, title in METRICS.items()
        if f"{prefix}{name}_baseline" in evidence.facts
    ]


def _row(evidence: Evidence, server: str, key: str, prefix: str, name: str, title: str) -> SizingRow:
    study, _, metric = name.partition(".")
    disk = _disk(evidence, key, metric) if study == PLAY else _NOT_APART
    per_player = _per_player(evidence, prefix) if name == _BY_PLAYERS else ""
    name, own = f"{prefix}{name}", f"{prefix}{study}"
    players = evidence.facts.get(f"setup.{own}.players")
    claim = evidence.claims[f"{own}.dose_{metric}"]
    effect = f"{evidence.facts[claim.effect].text} at {largest_dose(evidence, claim.effect)}"
    least = f"{evidence.text(f'{name}_least_dose_ratio')} times as long at {evidence.short(f'{name}_least_dose')}"
    is_decided = claim.verdict != "not valid"
    good, hurts = (evidence.value(f"{name}_{bound}") if is_decided else None for bound in ("good_up_to", "hurts_from"))
    nothing = _NONE if is_decided else NOT_DECIDED
    return SizingRow(
        server=server,
        study=study,
        players=None if players is None or players.value is None else int(players.value),
        metric=title,
        good_up_to=nothing if good is None else _latency(good),
        suffers_from=nothing if hurts is None else _latency(hurts),
        disk=disk,
        baseline=evidence.short(f"{name}_baseline"),
        effect=effect,
        least=least,
        per_player=per_player,
        good_up_to_ms=good,
        suffers_from_ms=hurts,
        is_decided=is_decided,
    )


def _latency(latency_ms: float) -> str:
    """Writes a latency that a device realised with two digits, because the third one says nothing to somebody who buys a disk."""
    return f"{number(float(f'{latency_ms:.2g}'))} ms"


def _per_player(evidence: Evidence, prefix: str) -> str:
    """Returns in words what each further player costs, or an empty text if it was not measured."""
    name = f"players.{prefix.removeprefix('other_servers.')}per_player"
    if name not in evidence.claims:
        return ""
    match evidence.claims[name].verdict:
        case "not valid":
            return NOT_DECIDED
        case "inconclusive":
            return f"not known ({evidence.text(name)})"
        case "equivalent":
            return f"within the margin ({evidence.text(name)})"
        case _:
            return evidence.text(name)


def sentence_of_players(evidence: Evidence) -> str:
    """Returns one sentence with what each further player costs on the server of the studies. It is empty if that is not shown."""
    claim = evidence.claims.get("players.per_player")
    if claim is None or claim.verdict != "different" or claim.direction != "higher":
        return ""
    fact = evidence.facts[claim.effect]
    added = with_interval(fact.value, fact.low, fact.high)
    return f"Each further player adds {added} ms to the longest tick gap for each ms of latency."


def largest_dose(evidence: Evidence, effect: str) -> str:
    """Returns the nominal latency, as text, of the arm whose ratio the fact `effect` holds."""
    ratio, _, arm = effect.rpartition(".")
    return evidence.short(f"{ratio.rpartition('.')[0]}.latency.{arm}")


def _disk(evidence: Evidence, server: str, metric: str) -> str:
    """Returns the slowest class of disks that is good enough for a metric of steady play, in words."""
    names = (f"classes_good.{metric}", f"slowest_class.{metric}", "title")
    good, slowest, ran = (evidence.facts.get(f"operations.{server}.{name}") for name in names)
    if slowest is not None:
        return tier_name(slowest.text)
    if good is not None:
        return _NO_CLASS
    return _NOT_APART if ran is None else NOT_DECIDED


def sentences_of_metrics(evidence: Evidence, rows: Sequence[SizingRow], margin: float) -> str:
    """Returns one sentence for each metric of steady play, or a sentence that says why none is decided.

    A metric is good while its ratio to the baseline is shown to be less than 1 + `margin`.
    """
    play = [row for row in rows if row.study == PLAY]
    return _undecided(evidence, play) or " ".join(_said(row, percent(margin)) for row in play)


def sentence_of_bounds(evidence: Evidence, rows: Sequence[SizingRow], margin: float) -> str:
    """Returns one sentence with the latency up to which all metrics of steady play are good, and from which one of them suffers.

    If no row of steady play is decided, the sentence says why.
    """
    play = [row for row in rows if row.study == PLAY]
    undecided = _undecided(evidence, play)
    if undecided:
        return undecided
    decided = [row for row in play if row.is_decided]
    good = min(decided, key=lambda row: row.good_up_to_ms or 0.0)
    hurt = min(decided, key=lambda row: math.inf if row.suffers_from_ms is None else row.suffers_from_ms)
    none = "no metric of play" if decided == play else f"none of these metrics: {_metrics(decided)}"
    first = (
        f"no latency that was tried is shown to lengthen the {good.metric} by at most {percent(margin)}"
        if good.good_up_to_ms is None
        else f"storage latencies of up to {good.good_up_to} are shown to lengthen {none} by more than {percent(margin)}"
    )
    second = (
        "and no metric is shown to be lengthened by more at any latency"
        if hurt.suffers_from_ms is None
        else f"and from {hurt.suffers_from} on the {hurt.metric} is shown to be lengthened by more"
    )
    players = "" if good.players is None else f" with {count_text(good.players, 'players')}"
    return f"On {good.server}{players}, {first}, {second}."


def sentences_of_servers(rows: Sequence[SizingRow]) -> tuple[str, ...]:
    """Returns one sentence for each server: the latencies up to which its metrics of steady play are good, and from which one
    suffers.
    """
    servers = dict.fromkeys(row.server for row in rows if row.study == PLAY)
    return tuple(
        _sentence_of_server(server, [row for row in rows if (row.server, row.study) == (server, PLAY)]) for server in servers
    )


def _sentence_of_server(server: str, rows: Sequence[SizingRow]) -> str:
    groups: dict[tuple[float, float], list[SizingRow]] = {}
    for row in rows:
        bounds = (row.good_up_to_ms or math.inf, row.suffers_from_ms or math.inf)
        groups.setdefault(bounds, []).append(row)
    return f"On {server}, {'; '.join(_clause(groups[bounds]) for bounds in sorted(groups))}."


def _clause(rows: Sequence[SizingRow]) -> str:
    """Returns what is known of some metrics that have the same bounds."""
    are, suffer = ("is", "suffers") if len(rows) == 1 else ("are", "suffer")
    known = [] if rows[0].good_up_to_ms is None else [f"{are} good up to {rows[0].good_up_to}"]
    known += [] if rows[0].suffers_from_ms is None else [f"{suffer} from {rows[0].suffers_from} on"]
    return f"{_metrics(rows)} {' and '.join(known)}" if known else f"nothing is decided about {_metrics(rows)}"


def sentence_of_burst(rows: Sequence[SizingRow]) -> str:
    """Returns one sentence about a burst of joins, for the metric that suffers from the lowest latency.

    The text is empty if no metric is shown to suffer. If the join burst did not run, the sentence says so.
    """
    burst = [row for row in rows if row.study != PLAY]
    if not burst:
        return "A burst of joins was not measured in this run."
    hurt = [row for row in burst if row.suffers_from_ms is not None]
    if not hurt:
        return ""
    first = min(hurt, key=lambda row: row.suffers_from_ms or 0.0)
    return (
        f"When all players join at once, the {first.metric} suffers from {first.suffers_from} on: it is {first.least}, the least "
        "latency that was tried there."
    )


def _metrics(rows: Sequence[SizingRow]) -> str:
    return joined_list([f"the {row.metric}" for row in rows])


def _undecided(evidence: Evidence, play: Sequence[SizingRow]) -> str:
    """Returns a sentence that says why nothing is decided about steady play, or an empty text if something is."""
    if not play:
        return "The experiment that decides which disk is good enough did not run."
    if any(row.is_decided for row in play):
        return ""
    own = [f"{PLAY}.dose_{name.removeprefix(f'{PLAY}.')}" for name in METRICS if name.startswith(f"{PLAY}.")]
    claims = [evidence.claims[name] for name in own if name in evidence.claims]
    if all(has_too_few(claim, "lives") for claim in claims):
        return "Which disk is good enough is not decided at this scale, which has too few server lives."
    return f"Which disk is good enough is not decided, because {reasons(claims)}."


def _said(row: SizingRow, margin: str) -> str:
    if not row.is_decided:
        return f"The effect of storage latency on the {row.metric} is {NOT_DECIDED}."
    good = (
        f"is not shown to stay at most {margin} above its baseline at any latency tried"
        if row.good_up_to_ms is None
        else f"is shown to stay at most {margin} above its baseline up to {row.good_up_to}"
    )
    hurts = (
        "and is not shown to exceed that at any latency"
        if row.suffers_from_ms is None
        else f"and exceeds that from {row.suffers_from} on"
    )
    return f"The {row.metric} {good}, {hurts}."
