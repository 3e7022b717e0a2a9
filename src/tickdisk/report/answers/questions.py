"""The questions of the paper, and a function for each that answers it in whole English sentences for every outcome."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tickdisk.experiment import JOIN_BURST, Arm
from tickdisk.foundation.numbers import joined_list, number, percent, with_interval
from tickdisk.foundation.record import Record
from tickdisk.project import SizingClass
from tickdisk.report.answers.asked import Asked
from tickdisk.report.answers.classes import ClassRow, class_rows
from tickdisk.report.answers.dose import (
    METRICS,
    PLAY,
    SizingRow,
    largest_dose,
    sentence_of_bounds,
    sentence_of_burst,
    sentence_of_players,
    sentences_of_metrics,
    sentences_of_servers,
    sizing,
)
from tickdisk.report.answers.effect import Effect, ServerResult, sentence_beside, sentences
from tickdisk.report.answers.servers import other_servers
from tickdisk.report.answers.why import has_too_few, reasons
from tickdisk.report.evidence import Evidence
from tickdisk.stats import AnyWord
from tickdisk.studies.statement import count_text
from tickdisk.studies.tiers import tier_name

ANSWERS = "answers.json"


class Answer(Record):
    """An answer to one of the paper's questions."""

    id: str
    """The name of the question, such as `latency`."""
    question: str
    """The question."""
    sentence: str
    """The answer, in one or more sentences."""


class Answers(Record):
    """The content of answers.json: a brief text, advice to an operator, the answer to each question, and the sizing table."""

    headline: str
    """The answer to the question of the title, in one sentence."""
    brief: str
    """The effect of storage latency on ticks, its mechanism, and the latency that is good enough, as in the paper's abstract."""
    advice: str
    """The latency at which a disk is good enough, in one or two sentences."""
    servers: tuple[str, ...] = ()
    """The latencies at which the metrics of steady play are good and at which they suffer, in one sentence for each server."""
    answers: tuple[Answer, ...]
    """The questions of the paper, each with its answer."""
    sizing: tuple[SizingRow, ...]
    """The rows of the table that says which disk is good enough. The list is empty if its experiments did not run."""
    classes: tuple[ClassRow, ...] = ()
    """The classes of disks with the answer on each server. The list is empty if operations were not measured apart."""
    missing: Mapping[str, str]
    """The studies that are missing, as in `missing.json`."""


@dataclass(frozen=True)
class Context:
    """The input of every function of `QUESTIONS`: the evidence of a run, and what its plan asks."""

    evidence: Evidence
    asked: Asked
    server: str
    """Name in prose of the server that the studies are about."""
    tiers: Mapping[str, float]
    """Nominal latency in ms of each class of disks, by its name in prose."""
    sizing: Sequence[SizingRow]
    """Rows of the sizing table about `server`."""
    margin: float
    """Margin of equivalence, as a ratio less 1."""
    others: Mapping[str, str]
    """Names in prose of the other servers that ran, by the beginning of the names of their facts: `other_servers.NAME.`."""

    def verdict(self, claim: str) -> AnyWord | None:
        """Returns the verdict of a claim, or None if no study states the claim."""
        stated = self.evidence.claims.get(claim)
        return None if stated is None else stated.verdict

    def bound(self, claim: str, *, kept: str, missed: str, otherwise: str) -> str:
        """Returns the text for the verdict on a bound. `otherwise` is for one that is not decided, or that no study states."""
        verdict = self.verdict(claim)
        return kept if verdict == "kept" else missed if verdict == "missed" else otherwise

    def unless_valid(self, claim: str, *, few: str, counted: str, other: str) -> str:
        """Returns the text that says why a claim is not valid, or an empty text if it is valid or not stated.

        The text is `few` if fewer things were counted than a verdict needs, and `counted` is the word for them. Otherwise it is
        `other`, in which "{reason}" is replaced.
        """
        stated = self.evidence.claims.get(claim)
        if stated is None or stated.verdict != "not valid":
            return ""
        return few if has_too_few(stated, counted) else other.format(reason=reasons([stated]))

    def told(self, claim: str) -> ServerResult:
        """Returns the result on `server` for a claim. Its outcome is "not run" if no study states the claim."""
        return self._told(self.server, claim)

    def all_told(self, claim: str) -> list[ServerResult]:
        """Returns the results on `server` and on each of the other servers, for a claim given by its id on `server`."""
        return [self.told(claim), *(self._told(server, f"{prefix}{claim}") for prefix, server in self.others.items())]

    def _told(self, server: str, claim: str) -> ServerResult:
        stated = self.evidence.claims.get(claim)
        return ServerResult(server, stated, None if stated is None else self.evidence.facts[stated.effect])

    def latency(self, arm: Arm) -> str:
        """Returns the nominal latency of an arm as text."""
        name, tier = f"{arm.experiment}.latency.{arm.arm}", tier_name(arm.device)
        if name in self.evidence.facts:
            return self.evidence.short(name)
        nominal_ms = self.tiers.get(tier) if arm.latency_us is None else arm.latency_us / 1000
        return f"the latency of {tier}" if nominal_ms is None else f"{number(nominal_ms)} ms"

    @property
    def slower(self) -> str:
        """The cause of the confirmatory effects in words, such as "6 ms of storage latency instead of 0.1 ms"."""
        slow, baseline = self.asked.slow, self.asked.baseline
        if slow is None or baseline is None:
            return "storage latency"
        return f"{self.latency(slow)} of storage latency instead of {self.latency(baseline)}"

    @property
    def confirmatory(self) -> tuple[tuple[Effect, str], tuple[Effect, str]]:
        """The confirmatory effects in words, each with the id of its claim: the one on ticks, and the one on actions."""
        ticks, actions = self.asked.claims
        longest = METRICS.get(f"{PLAY}.{self.asked.ticks}", self.asked.ticks)
        return (
            (Effect(self.slower, f"the {longest}", self.margin), ticks),
            (Effect("the same latency", f"the mean time of a {self.asked.action}", self.margin), actions),
        )


def _device(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("calibration"):
        return "The emulated devices were not calibrated in this run."
    said = []
    for name, title in (("p50", "median"), ("p99", "99th percentile")):
        held, judged = int(evidence.value(f"calibration.faithful.{name}") or 0), evidence.n(f"calibration.faithful.{name}")
        said.append(
            context.bound(
                f"calibration.faithful_{name}",
                kept=f"The emulated devices keep the bound on their {title} at {_all(judged)}.",
                missed=f"The emulated devices keep the bound on their {title} at {held or 'none'} of "
                f"{count_text(judged, 'points')}{' only' if held else ''}.",
                otherwise=f"Whether the emulated devices keep the bound on their {title} could not be judged here.",
            )
        )
    return " ".join(said)


def _all(judged: int) -> str:
    return "the only point that was judged" if judged == 1 else f"all {judged} points that were judged"


def _storage(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("accesses"):
        return f"The accesses of {context.server} to its storage were not captured in this run."
    said = (
        f"{context.server} reads when players come to new ground, {evidence.text('accesses.teleports.per_region')} for each "
        f"region that a player teleports to, and writes in saves of {evidence.text('accesses.save_requests')}. "
        f"Of its reads and writes {evidence.text('accesses.share_4_8_kib')} are of 4 or 8 KiB."
    )
    if evidence.value("accesses.model.held_out_error") is None:
        return said
    return (
        f"{said} A table of what each routine costs predicts the requests per minute of captured lives that it was not fitted to "
        f"with a mean error of {evidence.text('accesses.model.held_out_error')}."
    )


def _effects(context: Context) -> str:
    """Returns the two confirmatory effects in words."""
    ticks, actions = context.confirmatory
    return " ".join(
        sentences(effect, [context.told(claim)], names_servers=is_first)
        for (effect, claim), is_first in ((ticks, True), (actions, False))
    )


def _headline(context: Context) -> str:
    """Returns the answer to the question of the title: the effect on ticks, its bounds, and what other servers do."""
    (effect, claim), _ = context.confirmatory
    title = METRICS.get(f"{PLAY}.{context.asked.ticks}")
    row = next((row for row in context.sizing if row.metric == title), None)
    told = context.told(claim)
    if told.outcome != "longer" or row is None:
        return _joined(sentences(effect, [told]), _beside(context))
    since = "" if row.suffers_from_ms is None else f", from {row.suffers_from} on"
    said = sentences(effect, [told], names_servers=False).removesuffix(".")
    good = "" if row.good_up_to_ms is None else f", while up to {row.good_up_to} it is at most {percent(context.margin)} longer"
    return _joined(f"Yes on {context.server}{since}: {said}{good}.", _beside(context))


def _effect_on_ticks(context: Context) -> str:
    (effect, claim), _ = context.confirmatory
    return sentences(effect, [context.told(claim)])


def _latency(context: Context) -> str:
    evidence, rows = context.evidence, context.sizing
    said = (_effects(context), sentences_of_metrics(evidence, rows, context.margin), sentence_of_players(evidence))
    return _joined(*said, sentence_of_burst(rows), *_improvements(context, context.server, ""))


def _servers(context: Context) -> str:
    if not context.others:
        return "No other server took part in this run."
    burst = context.asked.burst
    arm, latency = ("", "storage latency") if burst is None else (burst.arm, f"{context.latency(burst)} of storage latency")
    joins = Effect(latency, "the mean time of a join in a burst", context.margin)
    told = [*context.confirmatory, (joins, f"{JOIN_BURST.name}.{arm}.join_mean")]
    said = [sentences(effect, context.all_told(claim)) for effect, claim in told]
    return _joined(*said, *(each for prefix, server in context.others.items() for each in _improvements(context, server, prefix)))


def _improvements(context: Context, server: str, prefix: str) -> Iterator[str]:
    """Yields a sentence for each metric that the largest latency makes shorter on a server, whose claims begin with `prefix`."""
    for name, title in METRICS.items():
        study, _, metric = name.partition(".")
        claim = context.evidence.claims.get(f"{prefix}{study}.dose_{metric}")
        if claim is not None and claim.direction == "lower":
            cause = f"{largest_dose(context.evidence, claim.effect)} of storage latency"
            result = ServerResult(server, claim, context.evidence.facts[claim.effect])
            yield sentences(Effect(cause, f"the {title}", context.margin), [result])


def _beside(context: Context) -> str:
    """Returns one sentence with the effect on ticks of the other servers. It is empty if no other server took part."""
    (effect, claim), _ = context.confirmatory
    return sentence_beside(effect, context.all_told(claim)[1:])


def _mechanism(context: Context) -> str:
    """Returns in words what a ms of latency adds, and how much of it the requests are that a saving tick waits for.

    The text is empty if slow operations are not shown to lengthen the longest gap.
    """
    own = f"operations.{context.asked.server}"
    slope, waited = (context.evidence.facts.get(f"{own}.{name}") for name in ("per_ms.gap_max.all", "waited.saving.all"))
    if slope is None or slope.value is None or slope.low is None or slope.low <= 0:
        return ""
    added = f"{with_interval(slope.value, slope.low, slope.high)} ms to the longest gap"
    if waited is None or waited.value is None or waited.value < 1:
        return f"Each ms of latency adds {added} on average."
    waits = f"a tick in which the server saves waits for {waited.short} one after another"
    if slope.low <= waited.value <= (slope.high or math.inf):
        return f"Each ms of latency adds {added} on average, because {waits}."
    if waited.value < slope.low:
        return f"Each ms of latency adds {added} on average, of which {number(waited.value)} ms are explained: {waits}."
    return f"Each ms of latency adds {added} on average, although {waits}."


def _advice(context: Context) -> str:
    evidence, rows = context.evidence, context.sizing
    return _joined(sentence_of_bounds(evidence, rows, context.margin), sentence_of_players(evidence), sentence_of_burst(rows))


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _blame(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("inside_tick"):
        return "No server life was captured in this run, so no late tick was explained."
    share, latency = evidence.text("inside_tick.late.all.storage"), evidence.short("inside_tick.latency")
    lives = evidence.short("inside_tick.lives").replace(" ", " captured ")
    explained = (
        f"In {lives} on a device of {latency}, waits for storage explain {share} of the time by which ticks were late."
        if evidence.value("inside_tick.late.all.storage") is not None
        else f"In {lives} on a device of {latency} no tick was late."
    )
    explained += context.unless_valid(
        "inside_tick.explained",
        few=" So few lives allow no verdict.",
        counted="lives",
        other=" There is no verdict, because {reason}.",
    )
    named = f"{int(evidence.value('inside_tick.device_stalls.named') or 0)} of {evidence.n('inside_tick.device_stalls.named')}"
    traced = f"Of injected stalls of the device, {named} are traced to their request, file and tick"
    open_because = context.unless_valid(
        "inside_tick.device_stalls",
        few="too few to judge",
        counted="stalls",
        other="which is not judged, because {reason}",
    )
    checked = context.bound(
        "inside_tick.device_stalls",
        kept=f"{traced}.",
        missed=f"Of injected stalls of the device, only {named} are traced to their request, file and tick.",
        otherwise=f"{traced}, {open_because or 'which does not settle whether the bound is kept'}.",
    )
    return f"{explained} {checked}"


def _replay(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("replay"):
        return "No captured requests were replayed in this run."
    captured, replayed = evidence.short("replay.captured"), number(evidence.value("replay.replayed"))
    whole = context.bound(
        "replay.nothing_lost",
        kept=f"The replay repeats {replayed} of {captured} that were captured, with the same result, and refuses the others for "
        "a stated reason.",
        missed="The replay leaves out some captured requests, or they move other amounts of data.",
        otherwise="Whether the replay repeats every captured request could not be judged.",
    )
    lag, streams = evidence.short(evidence.claims["replay.lag"].effect), evidence.short("replay.streams")
    on_time = context.bound(
        "replay.lag",
        kept=f"The replayer itself delays 99 % of them by at most {lag}, over {streams}.",
        missed=f"The replay is late: the 99th percentile of its lag is {lag}, over {streams}.",
        otherwise=f"The 99th percentile of their lag is {lag}, which does not settle whether its bound is kept.",
    )
    slower = context.verdict("replay.time_lost_to_the_device")
    delayed = f"On the slower of two devices they are issued {evidence.text('replay.device.delay')} later on average."
    return _joined(whole, on_time, delayed if slower == "different" else "")


def _traces(context: Context) -> str:
    evidence, said = context.evidence, []
    if evidence.has("inspect"):
        keys = [name.split(".")[1] for name in evidence.facts if name.startswith("inspect.") and name.endswith(".title")]
        shares = [f"{evidence.short(f'inspect.{key}.share_reads')} on {evidence.text(f'inspect.{key}.title')}" for key in keys]
        games = evidence.short("inspect.published.games.share_reads")
        said.append(
            f"Reads make up {joined_list(shares)} of the requests for the files of a world. In a published study of games on "
            f"personal computers they made up {games}."
        )
    if evidence.has("pools"):
        tiered, disks = (evidence.short(f"pools.p2.mb_per_s.{name}") for name in ("tiered", "raid6"))
        said.append(
            f"In simulation, the requests of a database run at {tiered} on a pool that puts SSDs in front of hard disks, and "
            f"at {disks} on the same hard disks alone."
        )
    return " ".join(said) or "No load was described in this run."


def _network(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("netcode"):
        return "No network stack was tried in this run."
    most = evidence.short("netcode.most_still")
    answered = (
        f"With {most} who stand still, a ping is answered after {evidence.short('netcode.still.rtts')}."
        if "netcode.still.rtts" in evidence.facts
        else f"With {most} who stand still no measurement counts, which says nothing about the stacks."
    )
    worlds = context.bound(
        "netcode.worlds",
        kept="No player was lost, and the worlds of all players were equal to the server's.",
        missed=f"In {evidence.short('netcode.all_lives')} of a server, a player was lost in {_number_of(evidence, 'lost')}, and "
        f"a player ended with another world than the server in {_number_of(evidence, 'differ')}.",
        otherwise="",
    )
    return _joined(answered, worlds)


def _number_of(evidence: Evidence, name: str) -> str:
    return number(evidence.value(f"netcode.{name}")) if evidence.value(f"netcode.{name}") else "none"


def _saving(context: Context) -> str:
    evidence, said = context.evidence, []
    if evidence.has("checkpoint"):
        updates = evidence.short("checkpoint.half_tick.updates_per_tick")
        later, eager = (evidence.short(f"checkpoint.half_tick.{name}") for name in ("copy_on_update", "eager"))
        said.append(
            f"In simulation, at {updates} per tick, methods that copy an object when it is first updated lengthen no tick by "
            f"more than {later}, while every method that copies at the end of a tick lengthens one by at least {eager}."
        )
    if evidence.has("store"):
        advice = {
            name.removeprefix("store.game.").removesuffix(".advice"): str(fact.word)
            for name, fact in evidence.facts.items()
            if name.startswith("store.game.") and name.endswith(".advice")
        }
        said += [_advised(context, game, word) for game, word in advice.items()]
    return " ".join(said) or "No method of saving was tried in this run."


def _advised(context: Context, game: str, method: str) -> str:
    lives = [
        context.evidence.n(name)
        for name in context.evidence.facts
        if name.startswith(f"store.game.{game}.") and name.endswith(".added")
    ]
    most = max(lives, default=0)
    state = context.evidence.short(f"store.game.{game}.state")
    chosen = (
        f"For a game with {state} of state ({game.replace('_', ' ')}), the rule for choosing a method picks {method} here, from "
        f"{count_text(most, 'lives')} of each method."
    )
    return chosen + context.unless_valid(
        "store.calibrated",
        few=" That is too few lives for a recommendation.",
        counted="lives",
        other=" That is no recommendation, because {reason}.",
    )


QUESTIONS: Mapping[str, tuple[str, Callable[[Context], str]]] = {
    "device": ("Does the emulated device do what it says?", _device),
    "storage": ("What does a server ask of its storage?", _storage),
    "latency": ("Does storage latency reach ticks and players, and from what latency on?", _latency),
    "servers": ("Do other servers suffer from the same disks?", _servers),
    "blame": ("Which request made which tick late?", _blame),
    "replay": ("Do captured requests behave the same elsewhere?", _replay),
    "traces": ("What kind of load is that, and what would a pool of disks do with one?", _traces),
    "saving": ("How should a game save its state?", _saving),
    "network": ("What does the network cost a game?", _network),
}
"""The questions by name, each with the function that answers it, in the order of the paper's sections."""


def answer(
    evidence: Evidence,
    asked: Asked,
    server: str,
    tiers: Mapping[str, float],
    margin: float,
    classes: Mapping[str, SizingClass],
) -> Answers:
    """Answers the questions of the paper from the facts and claims of a run. If a study did not run, its answer says so.

    `asked` says which claims and arms the plan is about, and `server` is the name in prose of its server. `tiers` has the nominal
    latency in ms of each tier, by its name in prose. `margin` is a ratio less 1. `classes` are the classes of disks by name.
    """
    others = other_servers(evidence)
    context = Context(evidence, asked, server, tiers, sizing(evidence, server, asked.server), margin, others)
    rows = [row for prefix, title in others.items() for row in sizing(evidence, title, prefix.split(".")[1], prefix)]
    advice, bounds = _advice(context), sentence_of_bounds(evidence, context.sizing, margin)
    apart = evidence.facts.get(f"operations.{asked.server}.title")
    servers = {asked.server: server, **{prefix.split(".")[1]: title for prefix, title in others.items()}}
    return Answers(
        headline=_headline(context),
        brief=_joined(_effect_on_ticks(context), _mechanism(context), _beside(context), bounds),
        advice=advice,
        servers=sentences_of_servers([*context.sizing, *rows]),
        answers=tuple(Answer(id=name, question=question, sentence=say(context)) for name, (question, say) in QUESTIONS.items()),
        sizing=(*context.sizing, *rows),
        classes=() if apart is None else tuple(class_rows(evidence, classes, servers)),
        missing=dict(evidence.missing),
    )
