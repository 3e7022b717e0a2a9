"""The questions of the paper, and a function for each that answers it in whole English sentences for every outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tickdisk.foundation.numbers import number
from tickdisk.report.answers.dose import Row, sentence_of_bounds, sentence_of_burst, sentences_of_metrics, sizing
from tickdisk.report.answers.effect import Effect, ServerResult, sentences
from tickdisk.report.answers.servers import other_servers
from tickdisk.report.evidence import Evidence


@dataclass(frozen=True)
class Answer:
    """An answer to one of the paper's questions."""

    id: str
    """The name of the question, such as `latency`."""
    question: str
    """The question."""
    sentence: str
    """The answer, in one or more sentences."""


@dataclass(frozen=True)
class Answers:
    """The content of answers.json: a brief text, advice to an operator, the answer to each question, and the sizing table."""

    brief: str
    """The effects of storage latency and the advice, as the paper's abstract has them."""
    advice: str
    """The latency at which a disk is good enough, in one or two sentences."""
    answers: Sequence[Answer]
    """The questions of the paper, each with its answer."""
    sizing: Sequence[Row]
    """The rows of the table that says which disk is good enough. The list is empty if its experiments did not run."""
    missing: Mapping[str, str]
    """The studies that are missing, as in `missing.json`."""


@dataclass(frozen=True)
class Context:
    """The input of every function of `QUESTIONS`: the evidence of a run, and the server that the studies are about."""

    evidence: Evidence
    server: str
    sizing: Sequence[Row]
    """Rows of the sizing table about `server`."""
    margin: float
    """Margin of equivalence, as a ratio less 1."""
    others: Mapping[str, str]
    """Names in prose of the other servers that ran, by the beginning of the names of their facts: `other_servers.NAME.`."""

    def verdict(self, claim: str) -> str:
        """Returns the verdict of a claim, or an empty text if no study states the claim."""
        found = self.evidence.claims.get(claim)
        return "" if found is None else str(found["verdict"])

    def told(self, claim: str) -> ServerResult:
        """Returns the result on `server` for a claim. Its outcome is "not run" if no study states the claim."""
        return self._told(self.server, claim)

    def all_told(self, claim: str) -> list[ServerResult]:
        """Returns the results on `server` and on each of the other servers, for a claim given by its id on `server`."""
        return [self.told(claim), *(self._told(server, f"{prefix}{claim}") for prefix, server in self.others.items())]

    def _told(self, server: str, claim: str) -> ServerResult:
        found = self.evidence.claims.get(claim)
        return ServerResult(server, found, None if found is None else self.evidence.facts[found["effect"]])

    def latency(self, arm: str) -> str:
        """Returns the nominal latency of an arm of the switchback as text, or an empty text if the switchback did not run."""
        name = f"switchback.latency.{arm}"
        return self.evidence.short(name) if name in self.evidence.facts else ""


def _device(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("calibration"):
        return "The emulated devices were not calibrated in this run."
    said = []
    for name, title in (("p50", "median"), ("p99", "99th percentile")):
        verdict = context.verdict(f"calibration.faithful_{name}")
        held, judged = int(evidence.value(f"calibration.faithful.{name}") or 0), evidence.n(f"calibration.faithful.{name}")
        said.append(
            {
                "kept": f"The emulated devices keep the bound on their {title} at all of the {judged} points judged.",
                "missed": f"The emulated devices keep the bound on their {title} at {held} of {judged} points only.",
            }.get(verdict, f"Whether the emulated devices keep the bound on their {title} could not be judged here.")
        )
    return " ".join(said)


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
    """Returns the two confirmatory effects of the switchback in words."""
    long = f"{context.latency('latency_6ms') or '6 ms'} of storage latency instead of {context.latency('ssd_100us') or '0.1 ms'}"
    return " ".join(
        sentences(Effect(cause, quantity, context.margin), [context.told(claim)], names_servers=is_first)
        for cause, quantity, claim, is_first in (
            (long, "the longest tick gap of an epoch", "switchback.latency_6ms.gap_max", True),
            ("the same latency", "the mean time of a teleport", "switchback.latency_6ms.teleport_mean", False),
        )
    )


def _latency(context: Context) -> str:
    return _joined(_effects(context), sentences_of_metrics(context.sizing, context.margin), sentence_of_burst(context.sizing))


def _servers(context: Context) -> str:
    if not context.others:
        return "No other server took part in this run."
    long = f"{context.latency('latency_6ms') or '6 ms'} of storage latency instead of {context.latency('ssd_100us') or '0.1 ms'}"
    slow = f"{context.latency('latency_12ms') or '12 ms'} of storage latency"
    return " ".join(
        sentences(Effect(cause, quantity, context.margin), context.all_told(claim))
        for cause, quantity, claim in (
            (long, "the longest tick gap of an epoch", "switchback.latency_6ms.gap_max"),
            ("the same latency", "the mean time of a teleport", "switchback.latency_6ms.teleport_mean"),
            (slow, "the mean time of a join in a burst", "join_burst.positive.join_mean"),
        )
    )


def _advice(context: Context) -> str:
    return _joined(sentence_of_bounds(context.sizing, context.margin), sentence_of_burst(context.sizing))


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
    if context.verdict("inside_tick.explained") == "not valid":
        explained += " That is too few lives for a verdict."
    named = f"{int(evidence.value('inside_tick.device_stalls.named') or 0)} of {evidence.n('inside_tick.device_stalls.named')}"
    checked = {
        "kept": f"Of injected stalls of the device, {named} are traced to their request, file and tick.",
        "missed": f"Of injected stalls of the device, only {named} are traced to their request, file and tick.",
    }.get(
        context.verdict("inside_tick.device_stalls"),
        f"Of injected stalls of the device, {named} are traced to their request, file and tick, too few to judge.",
    )
    return f"{explained} {checked}"


def _replay(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("replay"):
        return "No captured requests were replayed in this run."
    captured, replayed = evidence.short("replay.captured"), number(evidence.value("replay.replayed"))
    whole = {
        "kept": f"Of {captured} captured, {replayed} are made again with the same result, and the others are refused for a "
        "stated reason.",
        "missed": "Some captured requests are not made again, or move other amounts of data.",
    }.get(context.verdict("replay.nothing_lost"), "Whether every captured request is made again could not be judged.")
    claim = evidence.claims["replay.lag"]
    lag, streams = evidence.short(claim["effect"]), evidence.short("replay.streams")
    on_time = {
        "kept": f"The replayer itself delays 99 % of them by at most {lag}, over {streams}.",
        "missed": f"The replay is late: the 99th percentile of its lag is {lag}, over {streams}.",
    }.get(str(claim["verdict"]), f"The 99th percentile of their lag is {lag}, which does not settle whether its bound is kept.")
    slower = context.verdict("replay.time_lost_to_the_device")
    delayed = f"On the slower of two devices they are issued {evidence.text('replay.device.delay')} later on average."
    return _joined(whole, on_time, delayed if slower == "different" else "")


def _traces(context: Context) -> str:
    evidence, said = context.evidence, []
    if evidence.has("inspect"):
        keys = [name.split(".")[1] for name in evidence.facts if name.startswith("inspect.") and name.endswith(".title")]
        shares = [f"{evidence.text(f'inspect.{key}.title')} {evidence.short(f'inspect.{key}.share_reads')}" for key in keys]
        games = evidence.short("inspect.published.games.share_reads")
        said.append(
            f"The share of reads among requests for the files of a world is {', '.join(shares)}; in games it was {games}."
        )
    if evidence.has("pools"):
        tiered, disks = (evidence.short(f"pools.p2.mb_per_s.{name}") for name in ("tiered", "raid6"))
        said.append(
            f"In simulation, the requests of a database run at {tiered} on SSDs before hard disks, and at {disks} on the "
            "same hard disks alone."
        )
    return " ".join(said) or "No load was described in this run."


def _network(context: Context) -> str:
    evidence = context.evidence
    if not evidence.has("netcode"):
        return "No network stack was tried in this run."
    most = evidence.short("netcode.most_still")
    answered = (
        f"With {most} who stand still, the server's next update brings the answer to a question after "
        f"{evidence.short('netcode.still.rtts')}."
        if "netcode.still.rtts" in evidence.facts
        else f"With {most} who stand still no measurement counts, which says nothing about the stacks."
    )
    worlds = {
        "kept": "No player was lost, and the worlds of all players were equal to the server's.",
        "missed": f"Of {evidence.short('netcode.all_lives')} of a server, a player was lost in {evidence.short('netcode.lost')}, "
        f"and saw another world than the server in {evidence.short('netcode.differ')}.",
    }.get(context.verdict("netcode.worlds"), "")
    return _joined(answered, worlds)


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
            name.removeprefix("store.game.").removesuffix(".advice"): fact["word"]
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
    chosen = (
        f"For the game called {game}, the rule for choosing a method picks {method} here, from {most} "
        f"{'life' if most == 1 else 'lives'} of each method."
    )
    few = " That is too few lives for a recommendation." if context.verdict("store.calibrated") == "not valid" else ""
    return chosen + few


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


def answer(evidence: Evidence, server: str, tiers: Mapping[str, float], margin: float) -> Answers:
    """Answers the questions of the paper from the facts and claims of a run. If a study did not run, its answer says so.

    `tiers` has the nominal latency in ms of each class of disks, by its name in prose. `margin` is a ratio less 1.
    """
    others = other_servers(evidence)
    context = Context(evidence, server, sizing(evidence, server, tiers), margin, others)
    rows = [row for prefix, title in others.items() for row in sizing(evidence, title, tiers, prefix)]
    advice = _advice(context)
    return Answers(
        brief=f"{_effects(context)} {advice}",
        advice=advice,
        answers=[Answer(name, question, say(context)) for name, (question, say) in QUESTIONS.items()],
        sizing=[*context.sizing, *rows],
        missing=dict(evidence.missing),
    )
