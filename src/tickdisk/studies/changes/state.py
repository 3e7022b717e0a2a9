"""States the facts and claims about changes: what each does on a slow disk and to the effect of it, and what power cuts lose."""

from collections.abc import Iterator, Mapping
from math import isfinite

from tickdisk import stats
from tickdisk.experiment import AGAIN, DELAYED, UNCHANGED
from tickdisk.foundation.numbers import number, percent
from tickdisk.manifest import CutOutcome
from tickdisk.studies.changes.compute import METRICS, Changed, Results
from tickdisk.studies.changes.lost import KINDS, Losses
from tickdisk.studies.statement import THIS_PROJECT, MustBe, Statement, fact_name

_SCAN = "the claim is one of a scan (Benjamini-Hochberg)"
_CONTROLS: Mapping[str, str] = {
    AGAIN: "Effect of nothing at all on what a slow disk does to the {metric} (A/A control)",
    DELAYED: "Effect of known delays on what a slow disk does to the {metric} (positive control)",
}
_MUST_BE: Mapping[str, MustBe] = {AGAIN: "equivalent", DELAYED: "different"}


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `changes.SERVER.`."""
    statement = Statement("changes")
    statement.fact("servers", len(results.servers), "servers", source="manifests")
    for server in results.servers:
        part = statement.part(server.data.server)
        _state_lives(part, server)
        for life in server.lives:
            part.word(f"title.{life}", server.words(life), source="plan", note="the change in words")
            _state_periods(part, server, life)
            for metric in METRICS:
                _state_values(part, server, metric, life)
        for name in (*server.lives, AGAIN, DELAYED):
            ended, lives = server.ended_on_slow(name)
            note = "lives whose server ended by itself on the slow disk; they count with the worst values"
            part.fact(f"slow_ended.{name}", ended, "lives", n=lives, source="manifests", note=note)
        for metric in METRICS:
            for name in (AGAIN, DELAYED, *server.changes):
                _state_effect(part, server, metric, name)
        for life, lost in server.losses.items():
            state_losses(part, server, life, lost)
    return statement


def _state_lives(part: Statement, server: Changed) -> None:
    data, source = server.data, "manifests"
    part.word("title", server.title, source=source, note="name of the server")
    part.fact("latency", data.latency_ms(server.slow), "ms", source="device models", note="nominal latency of the slow disk")
    fast = data.latency_ms(data.role("baseline"))
    part.fact("fast_latency", fast, "ms", source="device models", note="nominal latency of the fast disk")
    part.fact("blocks", server.rows["block"].nunique(), "blocks", source=source, note="each block has every change once")
    note = "length of the part of an epoch that is analysed, over which the longest tick gap is taken"
    part.fact("analysed", server.design.analysed_s, "s", source="plan", note=note)
    lives = [life for manifest in data.manifests for life in manifest.lives.values()]
    part.fact("lives", len(lives), "lives", source=source)
    again = sum(len(life.attempts) - 1 for life in lives)
    part.fact("replaced_lives", again, "lives", source=source, note="lives that were disturbed from outside and run again")
    marked = sum(bool(life.marked) for life in lives)
    part.fact("marked_lives", marked, "lives", source=source, note="disturbed even in their last replacement; they count")


def _state_periods(part: Statement, server: Changed, life: str) -> None:
    save_s, cut_save_s = server.design.periods_s(life)
    note = f"time between two saves in the lives whose ticks and actions are compared, where {server.words(life)}"
    part.fact(f"save_period.{life}", save_s, "s", source="plan", note=note)
    if life in server.losses:
        note = f"time between two saves in the lives with power cuts, where {server.words(life)}"
        part.fact(f"cut_save_period.{life}", cut_save_s, "s", source="plan", note=note)


def _state_values(part: Statement, server: Changed, metric: str, life: str) -> None:
    for disk in ("slow", "fast"):
        mean = server.mean_ms(metric, life, disk)
        note = f"{METRICS[metric]} on the {disk} disk, where {server.words(life)}"
        name, ends = f"{disk}.{fact_name(metric)}.{life}", (mean.low, mean.high)
        part.fact(name, mean.value, "ms", interval=ends, n=mean.n, source="lives, t interval over blocks", note=note)


def _state_effect(part: Statement, server: Changed, metric: str, name: str) -> None:
    effect, verdict = server.contrasts[metric, name], server.decision.verdicts[metric, name]
    title = f"{METRICS[metric]}"
    control = _CONTROLS.get(name)
    question = (
        f"{server.title}: {control.format(metric=title)}"
        if control
        else f"{server.title}: Effect of a change ({server.words(name)}) on what a slow disk does to the {title}"
    )
    fact = f"{fact_name(metric)}_ratio.{name}"
    note = f"{title}: ratio of the slow to the fast disk with the change, over the same ratio without it"
    ends = (effect.low, effect.high)
    part.fact(fact, effect.ratio, "ratio", interval=ends, n=effect.n, source="log ratios of blocks", note=note)
    plain, beside = server.plain[metric, name], f"{fact_name(metric)}_slow_ratio.{name}"
    note, ends = f"{title}: the slow disk with the change over the slow disk without it", (plain.low, plain.high)
    part.fact(beside, plain.ratio, "ratio", interval=ends, n=plain.n, source="log ratios of blocks", note=note)
    causes = stats.causes_of(effect, verdict, server.plan)
    part.comparison(
        f"{name}.{fact_name(metric)}",
        source=THIS_PROJECT,
        statement=question,
        verdict=verdict.word,
        evidence="; ".join(
            [
                *([verdict.shown] if verdict.shown else []),
                *(cause.sentence for cause in causes),
                *([] if control else [f"on the slow disk alone the ratio is {part[beside].text}", _SCAN, *_period(server, name)]),
                *_ended(server, name),
            ]
        ),
        causes=causes,
        effect=fact,
        facts=[beside, *([] if control else [f"slow.{fact_name(metric)}.{name}", f"slow.{fact_name(metric)}.unchanged"])],
        n=verdict.n,
        counted="blocks",
        must_be=_MUST_BE.get(name, ""),
    )


def _period(server: Changed, name: str) -> list[str]:
    """Returns one sentence if a change alters the time between saves, in a list that may be empty."""
    (own_s, _), (usual_s, _) = (server.design.periods_s(life) for life in (name, UNCHANGED))
    return [] if own_s == usual_s else [f"these lives save every {number(own_s)} s, and the others every {number(usual_s)} s"]


def _ended(server: Changed, name: str) -> list[str]:
    """Returns one sentence if the slow disk ended a server in a life or in one without a change, in a list that may be empty."""
    counts = {life: server.ended_on_slow(life) for life in dict.fromkeys((name, UNCHANGED, AGAIN))}
    said = [f"{ended} of {lives} in {life}" for life, (ended, lives) in counts.items() if ended]
    return [f"servers that the slow disk ended: {', '.join(said)}"] if said else []


def state_losses(part: Statement, server: Changed, life: str, lost: Losses) -> None:
    """States the facts and the claim about the power cuts in the lives with one change, or with none."""
    words, count = server.words(life), len(lost.cuts)
    source = f"{number(count)} planned power cuts, after which players looked"

    def fact(name: str, value: float, unit: str, note: str, n: int | None = None) -> None:
        part.fact(f"{name}.{life}", value, unit, n=n, source=source, note=f"{note} where {words}")

    fact("cuts", count, "power cuts", "planned power cuts")
    fact("opened", lost.opened, "worlds", "worlds that opened after these power cuts", count)
    for outcome in CutOutcome:
        outcomes = int((lost.cuts["outcome"] == outcome).sum())
        if outcomes:
            part.fact(
                f"outcome.{life}.{outcome}", outcomes, "power cuts", source=source, note=f"cuts with this outcome where {words}"
            )
    for kind, title in KINDS.items():
        own = lost.of_kind(kind)
        opened = int((own["outcome"] == CutOutcome.OPENED).sum())
        fact(f"opened_{kind}", opened, "worlds", f"worlds that opened after {title}", len(own))
        edits = int(own.loc[own["outcome"] == CutOutcome.OPENED, "edits"].sum())
        fact(f"lost_edits_{kind}", int(own["lost"].sum()), "edits", f"acknowledged edits lost in {title}", edits)
    mean = lost.seconds
    note = f"acknowledged play that a power cut loses where {words}, mean over lives"
    part.fact(
        f"lost_s.{life}", mean.value, "s", interval=(mean.low, mean.high), n=mean.n, source=f"{source}, t interval", note=note
    )
    share = lost.lost / lost.edits if lost.edits else float("nan")
    fact("lost_edits", lost.lost, "edits", "acknowledged edits lost", lost.edits)
    fact("lost_share", share, "share", "acknowledged edits that are lost, as a share,", lost.edits)
    fact(
        "not_seen", lost.not_seen, "edits", "edits of which no player got an answer, and which do not count as lost,", lost.edits
    )
    fact("absent", lost.absent, "players", "players who were to look at a world that opened and could not join")
    fact("tried_again", lost.tried_again, "power cuts", "cuts after which the first server did not let a player join")
    for name, title, pages in zip(("unflushed", "most_unflushed"), ("median", "largest"), lost.unflushed, strict=True):
        fact(name, pages, "pages", f"{title} number of pages of 4 KiB that the device had not flushed when it was cut,")
    fact("latest_cut", lost.latest_ms, "ms", "longest time by which a cut came after its planned time")
    if isfinite(lost.apart_ms):
        fact("images_apart", lost.apart_ms, "ms", "longest time between the images of the two devices")
    opened_ends = lost.opened_ends(server.plan.alpha)
    note = f"share of worlds that opened where {words}, with the exact interval of a share (Clopper and Pearson)"
    share_opened = lost.opened / count if count else None
    part.fact(f"opened_share.{life}", share_opened, "share", interval=opened_ends, n=count, source=source, note=note)
    verdict: stats.BoundWord = "kept" if lost.opened == count else "missed"
    part.bound(
        f"opens.{life}",
        source=THIS_PROJECT,
        statement=f"{server.title}: The world opens after every power cut ({words})",
        verdict=verdict if count else "not valid",
        evidence="; ".join(_losses_in_words(lost)),
        causes=() if count else (stats.NotMeasured(what="what a power cut leaves"),),
        effect=f"opened.{life}",
        facts=[
            f"{name}.{life}"
            for name in (
                "opened_share",
                *(f"opened_{kind}" for kind in KINDS),
                "lost_s",
                "lost_edits",
                "lost_share",
                "not_seen",
            )
        ],
        n=count,
        counted="power cuts",
    )


def _losses_in_words(lost: Losses) -> Iterator[str]:
    yield f"{number(lost.opened)} of {number(len(lost.cuts))} worlds opened"
    late = int((lost.cuts["outcome"] == CutOutcome.SERVER_HAD_ENDED).sum())
    if late:
        yield f"the server had ended before {number(late)} of the cuts"
    if lost.edits:
        share = percent(lost.lost / lost.edits)
        yield f"{number(lost.lost)} of {number(lost.edits)} acknowledged edits are gone ({share})"
    if lost.not_seen:
        yield f"no player got an answer about {number(lost.not_seen)} of them"
