"""States the facts and claims about the load that a device carries."""

from collections import Counter
from statistics import median_low

from tickdisk import stats
from tickdisk.experiment import LOAD
from tickdisk.foundation.numbers import number
from tickdisk.studies.load.compute import CARRIED, Results, ServerLoad
from tickdisk.studies.statement import THIS_PROJECT, Statement

_UNITS = {
    "late": ("s/min", "time of a minute by which late ticks came too late"),
    "p95": ("ms", "95th percentile of the latency of actions"),
}
_MOST_APART = 1
"""Steps by which the ends of the same search, made twice, may differ."""


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `load.SERVER.`."""
    statement = Statement(LOAD.name)
    first = results.servers[0].design
    source = "fixed beforehand"
    statement.fact(
        "most_late", first.most_late_s_per_min, "s/min", source=source, note="limit of the time by which ticks are late"
    )
    statement.fact("most_p95", first.most_action_p95_ms, "ms", source=source, note="limit of the 95th percentile of actions")
    statement.fact("reference", first.reference_players, "players", source=source, note="players whom the fast device must carry")
    for server in results.servers:
        part = statement.part(server.data.server)
        _state_lives(part, server)
        for arm in server.arms:
            _state_arm(part, server, arm)
        _claim_repeat(part, server)
        _claim_reference(part, server)
        for (_, arm), effect in server.contrasts.items():
            _claim_effect(part, server, arm, effect)
    return statement


def _state_lives(part: Statement, server: ServerLoad) -> None:
    part.word("title", server.title, source="manifests", note="name of the server")
    part.fact("blocks", server.steps["block"].nunique(), "blocks", source="manifests", note="one life on each device")
    part.fact("lives", len(server.data.lives), "lives", source="manifests", note="with the positive control")
    marked = sum(life.marked for life in server.data.lives)
    part.fact("marked", marked, "lives", source="manifests", note="disturbed even in their last replacement; they count")
    reference = server.design.reference_players
    part.fact("reference_players", reference, "players", source="plan", note="players whom the fast device must carry")
    part.fact("most", server.design.players[-1], "players", source="plan", note="players of the last step")


def _state_arm(part: Statement, server: ServerLoad, arm: str) -> None:
    own, latency, label = server.of_arm(arm), f"{number(server.data.latency_ms(arm))} ms", server.data.label(arm)
    carried = sorted(search.carried for search in own)
    middle = median_low(carried) if carried else None
    source = "steps of lives"
    note = f"players that a disk of {latency} carries, median over blocks ({arm})"
    part.fact(f"carried.{label}", middle, "players", n=len(own), source=source, note=note)
    for end, value in (("fewest", carried[0]), ("most", carried[-1])) if carried else ():
        part.fact(f"carried_{end}.{label}", value, "players", n=len(own), source=source, note=f"{end} of a block ({arm})")
    endings = Counter(search.ended_by for search in own)
    for name in ("device", "processor", "clients", "other", "nothing"):
        note = f"searches on a disk of {latency} that were ended by: {name} ({arm})"
        part.fact(f"ended_by.{name}.{label}", endings[name], "searches", n=len(own), source=source, note=note)
    note = f"searches on a disk of {latency} that ended at their first step ({arm})"
    part.fact(f"censored.{label}", carried.count(0), "searches", n=len(own), source=source, note=note)
    for metric, (unit, words) in _UNITS.items():
        for players in server.design.players:
            mean = server.mean(arm, players, metric)
            note = f"{words} with {players} players on a disk of {latency}, mean over blocks ({arm})"
            ends = (mean.low, mean.high)
            part.fact(f"{metric}.{label}.players_{players}", mean.value, unit, interval=ends, n=mean.n, source=source, note=note)


def _claim_repeat(part: Statement, server: ServerLoad) -> None:
    """Claims that the same search, made twice in each block, ends within one step."""
    apart, needed = server.apart, server.plan.control_minimum
    part.fact(
        "apart", max(apart, default=None), "steps", n=len(apart), source="searches", note="between two equal searches, at most"
    )
    is_few = len(apart) < needed
    part.bound(
        "repeat",
        source=THIS_PROJECT,
        statement=f"{server.title}: The same search, made twice, ends at most {_MOST_APART} step apart",
        verdict="not valid" if is_few else "kept" if max(apart) <= _MOST_APART else "missed",
        evidence=f"steps between the ends, by block: {', '.join(map(str, apart)) or 'none'}; "
        "a search that ended at its first step is left out",
        causes=[stats.TooFew(n=len(apart), needed=needed, counted="blocks")] if is_few else (),
        effect="apart",
        n=len(apart),
        counted="blocks",
    )


def _claim_reference(part: Statement, server: ServerLoad) -> None:
    """Claims that the fast device carries the reference number of players, without which the limits would tell nothing."""
    own, reference, needed = (
        server.of_arm(server.data.role("baseline")),
        server.design.reference_players,
        server.plan.control_minimum,
    )
    passed, is_few = sum(search.carried >= reference for search in own), len(own) < needed
    part.fact(
        "reference_carried", passed, "blocks", n=len(own), source="searches", note=f"the fast device carries {reference} players"
    )
    part.bound(
        "reference",
        source=THIS_PROJECT,
        statement=f"{server.title}: The fast disk carries {reference} players in every block",
        verdict="not valid" if is_few else "kept" if passed == len(own) else "missed",
        evidence=f"in {passed} of {len(own)} blocks",
        causes=[stats.TooFew(n=len(own), needed=needed, counted="blocks")] if is_few else (),
        effect="reference_carried",
        n=len(own),
        counted="blocks",
    )


def _causes(
    server: ServerLoad, arm: str, effect: stats.Contrast, verdict: stats.Verdict
) -> tuple[stats.Obstacle | stats.Undecided | stats.Censored, ...]:
    """Returns the causes for which the verdict on an arm leaves its question open."""
    censored = server.censored.get(arm)
    if verdict.word == "inconclusive" and censored is not None:
        return (*verdict.obstacles, censored)
    return stats.causes_of(effect, verdict, server.plan, counted="blocks")


def _claim_effect(part: Statement, server: ServerLoad, arm: str, effect: stats.Contrast) -> None:
    verdict, data = server.decision.verdicts[CARRIED, arm], server.data
    label = data.label(arm)
    fast, latency = number(data.latency_ms(data.role("baseline"))), number(data.latency_ms(arm))
    questions = {
        data.role("null"): "Effect of the same disk under another name on the players that it carries (A/A control)",
        data.positive_for(
            "ticks"
        ): "Effect of known delays on the time by which ticks are late, over its limit (positive control)",
    }
    question = questions.get(
        arm, f"Effect of {latency} ms of storage latency instead of {fast} ms on the players that the disk carries"
    )
    ends, causes = (effect.low, effect.high), _causes(server, arm, effect, verdict)
    part.fact(f"ratio.{label}", effect.ratio, "ratio", interval=ends, n=effect.n, source="log ratios of blocks", note=question)
    part.comparison(
        label,
        source=THIS_PROJECT,
        statement=f"{server.title}: {question}",
        verdict=verdict.word,
        evidence="; ".join([*([verdict.shown] if verdict.shown else []), *(cause.sentence for cause in causes)]),
        causes=causes,
        effect=f"ratio.{label}",
        n=verdict.n,
        counted="blocks",
        must_be="equivalent" if arm == data.role("null") else "different" if arm == data.positive_for("ticks") else "",
    )
