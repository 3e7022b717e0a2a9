"""States the facts and claims of the study of network stacks."""

from collections.abc import Sequence
from itertools import product
from math import inf, isfinite

import pandas as pd

from tickdisk import stats
from tickdisk.foundation.numbers import joined_list, number, with_interval
from tickdisk.studies.netcode.compute import Results, title
from tickdisk.studies.netcode.crossed import METRIC, Crossed
from tickdisk.studies.netcode.questions import Question, Value, controls, questions
from tickdisk.studies.statement import THIS_PROJECT, MustBe, Statement

NAME = "netcode"
_LIVES = "results/netcode/steps.parquet"
_ADDED_MS, _TRANSPORT_MS, _APPLICATION_MS = 10.0, 0.5, 1.0
"""Time that the positive control adds to a round trip, and how near the transport's and the application's time must come."""
_COLUMNS = {
    "rtt": ("rtt_mean_ms", "ms", "mean round-trip time of the application"),
    "age": ("age_p50_ms", "ms", "median age of an update when a player gets it"),
    "age_p99": ("age_p99_ms", "ms", "99th percentile of that age"),
    "cpu": ("server_share", "share", "processor time of the server, of the cores that it may use"),
    "memory": ("memory_mib", "MiB", "memory of the server"),
    "sent": ("sent_kb_per_player", "kB/s", "bytes that the server sends to a player, with all headers"),
}


def state(results: Results) -> Statement:
    """Returns the facts and claims of the study of network stacks."""
    statement = Statement(NAME)
    lives = results.findings.lives
    statement.fact("all_lives", len(lives), "lives", source="results/netcode/lives.parquet")
    statement.fact("pings", len(results.findings.pings), "pings", source="results/netcode/pings.parquet")
    fewest = results.active_players[0]
    statement.fact("fewest_active", fewest, "players", source="configuration", note="smallest number of players who act")
    words = joined_list([number(limit_ms) for limit_ms in results.published.thresholds_ms])
    statement.word("thresholds", f"{words} ms", source=results.published.source, note="round-trip times that players notice")
    for arm, stack, players in _cells(results):
        cell = f"{arm}.{stack}.p{players}"
        for name, (column, unit, note) in _COLUMNS.items():
            _mean(statement, results, f"{cell}.{name}", _column(results, column, arm, stack, players), unit, note)
    _state_still(statement, results)
    if results.has_far:
        _state_far(statement, results)
    _state_background(statement, results)
    _state_worlds(statement, results)
    _state_added(statement, results)
    null, sham = controls(results)
    control = _state_controls(statement, results, null, sham)
    failed = [control] if isinstance(control, stats.ControlFailed) else []
    undecided = [control] if isinstance(control, stats.ControlUndecided) else []
    _state_questions(statement, results, list(questions(results)), failed, undecided)
    _state_crossings(statement, results, failed)
    for crossed in results.crossed:
        _state_crossed(statement, crossed)
    return statement


def _cells(results: Results) -> list[tuple[str, str, int]]:
    idle = list(product(("idle",), results.stacks, results.idle_players))
    arms = ("active", "far") if results.has_far else ("active",)
    return idle + list(product(arms, results.stacks, results.active_players))


def _column(results: Results, column: str, arm: str, stack: str, players: int) -> pd.Series:
    if column == "memory_mib":
        return results.values("memory_bytes", arm, stack, players) / 2**20
    if column == "sent_kb_per_player":
        return results.values("sent_bytes_per_s", arm, stack, players) / 1e3 / players
    return results.values(column, arm, stack, players)


def _mean(statement: Statement, results: Results, name: str, values: pd.Series, unit: str, note: str) -> None:
    mean = stats.over_lives(values, results.rules.alpha)
    statement.fact(name, mean.value, unit, interval=(mean.low, mean.high), n=mean.n, source=_LIVES, note=note)


def _state_still(statement: Statement, results: Results) -> None:
    most = results.idle_players[-1]
    statement.fact("most_still", most, "players", source="configuration", note="largest number of players who stand still")
    times = {stack: statement[f"idle.{stack}.p{most}.rtt"] for stack in results.stacks}
    known = [f"{time.short} on {title(stack)}" for stack, time in times.items() if time.value is not None]
    if known:
        statement.word("still.rtts", joined_list(known), source=_LIVES, note="mean round-trip times with so many players")


def _state_far(statement: Statement, results: Results) -> None:
    """States with how many players most lives count on the link with a delay and losses."""
    valid = {
        players: sum(int(results.values("age_p99_ms", "far", stack, players).count()) for stack in results.stacks)
        for players in results.active_players
    }
    best = max(valid, key=lambda players: (valid[players], players))
    if valid[best]:
        note = "number of players with whom most lives count on the link with a delay and losses"
        statement.fact("far.players", best, "players", n=valid[best], source=_LIVES, note=note)
        ages = {stack: statement[f"far.{stack}.p{best}.age_p99"] for stack in results.stacks}
        known = [f"{age.short} on {title(stack)}" for stack, age in ages.items() if age.value is not None]
        statement.word("far.ages", joined_list(known), source=_LIVES, note="99th percentile of the age of updates")


def _state_background(statement: Statement, results: Results) -> None:
    for stack in results.stacks:
        for name, column, unit, note in (
            ("datagrams", "sent_datagrams_per_s", "datagrams/s", "datagrams that a server without players sends"),
            ("cpu", "server_share", "share", "processor time of a server without players"),
        ):
            _mean(statement, results, f"background.{stack}.{name}", results.values(column, "idle", stack, 0), unit, note)


def _state_worlds(statement: Statement, results: Results) -> None:
    """States whether a player was lost or a world differed. At least half of the lives need a record to claim that none did."""
    lives = results.findings.lives
    failed = int((lives["failed"] != "").sum())
    lost, differ = int((lives["lost"] != "").sum()), int((~lives["is_equal"]).sum()) - failed - int((lives["lost"] != "").sum())
    note = "a player was lost, or worlds differed at the end"
    statement.fact("not_equal", lost + differ, "lives", n=len(lives), source="results/netcode/lives.parquet", note=note)
    statement.fact("lost", lost, "lives", n=len(lives), source="results/netcode/lives.parquet", note="a player was lost")
    statement.fact(
        "differ", differ, "lives", n=len(lives), source="results/netcode/lives.parquet", note="worlds differed at the end"
    )
    statement.fact("failed", failed, "lives", n=len(lives), source="results/netcode/lives.parquet", note="there is no record")
    reasons = "; ".join(lives["lost"][lives["lost"] != ""].unique())
    recorded, needed = len(lives) - failed, -(-len(lives) // 2)
    causes = list[stats.Cause]()
    if not lost + differ and recorded < needed:
        too_few = stats.TooFew(n=recorded, needed=needed, counted="lives")
        causes.append(too_few if recorded else stats.LivesFailed(n=failed))
    statement.bound(
        "worlds",
        source=THIS_PROJECT,
        statement="No player is lost, and the world of every player is equal to the server's at the end",
        verdict="missed" if lost + differ else "not valid" if causes else "kept",
        causes=causes,
        evidence=f"a player was lost in {number(lost)} of {number(len(lives))} lives, and worlds differed in {number(differ)}"
        + (f" ({reasons})" if reasons else "")
        + (f"; {number(failed)} of the lives failed and have no record" if failed else ""),
        effect="not_equal",
        facts=["lost", "differ", "failed"],
        n=len(lives),
        counted="lives",
    )


def _state_added(statement: Statement, results: Results) -> None:
    """States whether the time that the positive control adds shows in the round-trip times."""
    statement.fact(
        "added.known", _ADDED_MS, "ms", source="configuration", note="time that the positive control adds to a round trip"
    )
    stack, players = results.control, results.active_players[-1]
    added_ms = {}
    for name, column, note in (
        ("transport", "transport_rtt_ms", "what the stack itself tells"),
        ("application", "rtt_mean_ms", "mean of pings"),
    ):
        with_it, without = (results.values(column, arm, stack, players) for arm in ("delayed", "near"))
        added = (with_it - without).dropna()
        added_ms[name] = float(added.mean()) if len(added) else float("nan")
        _mean(
            statement, results, f"added.{name}", added, "ms", f"round-trip time that the link with a delay of 10 ms adds: {note}"
        )
    n, minimum = statement["added.application"].n or 0, results.rules.control_minimum
    is_near = (
        abs(added_ms["transport"] - _ADDED_MS) <= _TRANSPORT_MS and abs(added_ms["application"] - _ADDED_MS) <= _APPLICATION_MS
    )
    causes: list[stats.Cause] = []
    words = f"{statement['added.transport'].text} and {statement['added.application'].text}"
    if n < minimum:
        faults = [*results.faults("near", stack, players), *results.faults("delayed", stack, players)]
        causes = [*faults, stats.TooFew(n=n, needed=minimum, counted="lives")]
        words = "; ".join([*map(_sentence, faults), f"n = {n}, fewer than the {minimum} lives that a control needs"])
    elif not isfinite(added_ms["transport"]):
        causes = [stats.NotMeasured(what=f"the round-trip time of {title(stack)} itself")]
        words = f"{title(stack)} tells no round-trip time"
    statement.bound(
        "added",
        source=THIS_PROJECT,
        statement=f"A link that adds {number(_ADDED_MS)} ms to a round trip shows them within {number(_TRANSPORT_MS)} ms in the "
        f"transport's round-trip time, and within {number(_APPLICATION_MS)} ms in the application's",
        verdict="not valid" if causes else "kept" if is_near else "missed",
        evidence=words,
        causes=causes,
        effect="added.application",
        facts=["added.transport"],
        n=n,
        counted="lives",
    )


def _effect(results: Results, question: Question) -> stats.Contrast:
    above, below = (results.values(one.column, one.arm, one.stack, one.players) for one in (question.above, question.below))
    return results.contrast(above, below)


def _faults(results: Results, *values: Value) -> list[stats.StepsNotValid]:
    """Returns the causes for which steps that a question rests on are not valid."""
    cells = dict.fromkeys((one.arm, one.stack, one.players) for one in values)
    return [fault for cell in cells for fault in results.faults(*cell)]


def _sentence(obstacle: stats.Obstacle) -> str:
    """Returns an obstacle in words. The reason for the verdict on the control is that of another claim of this study."""
    if isinstance(obstacle, stats.ControlFailed):
        return "the same arm differs from itself" if obstacle.verdict == "different" else "the null control is not valid"
    return obstacle.sentence


def _state_controls(
    statement: Statement, results: Results, null: Question, sham: Question
) -> stats.ControlFailed | stats.ControlUndecided | None:
    """States both controls, and returns the null control if it has not passed, because the instrument may then be wrong."""
    effects = [_effect(results, question) for question in (null, sham)]
    ratios = []
    for question, effect in zip((null, sham), effects, strict=True):
        obstacles = _faults(results, question.above, question.below)
        ratios.append(
            _state_ratio(statement, results, question, effect, effect.p, effect.p_equivalent, obstacles, must_be="equivalent")
        )
    return stats.judge_quiet("null", effects[0], ratios[0])


def _state_questions(
    statement: Statement,
    results: Results,
    asked: list[Question],
    obstacles: Sequence[stats.Obstacle],
    undecided: Sequence[stats.ControlUndecided],
) -> None:
    effects = [_effect(results, question) for question in asked]
    p, p_equivalent = (
        stats.adjusted([getattr(effect, test) for effect in effects], "scan").tolist() for test in ("p", "p_equivalent")
    )
    for question, effect, own, equivalent in zip(asked, effects, p, p_equivalent, strict=True):
        causes = [*obstacles, *_faults(results, question.above, question.below)]
        _state_ratio(statement, results, question, effect, own, equivalent, causes, undecided)


def _state_ratio(
    statement: Statement,
    results: Results,
    question: Question,
    effect: stats.Contrast,
    p: float,
    p_equivalent: float,
    obstacles: Sequence[stats.Obstacle],
    undecided: Sequence[stats.ControlUndecided] = (),
    must_be: MustBe = "",
) -> stats.Verdict:
    """States one comparison, and returns its verdict. `must_be` is the verdict that a control must have."""
    rules = results.rules
    verdict = stats.verdict(effect, rules, obstacles=obstacles, undecided=undecided, p=p, p_equivalent=p_equivalent)
    interval = (effect.low, effect.high)
    statement.fact(question.name, effect.ratio, "ratio", interval=interval, n=effect.n, source=_LIVES, note=question.statement)
    tested = f"{question.name}.added" if question.is_added else ""
    if tested:
        above, below = (results.values(one.column, one.arm, one.stack, one.players) for one in (question.above, question.below))
        _mean(statement, results, tested, (above - below).dropna(), "ms", f"{question.statement}: the difference")
    few = [obstacle.would_decide for obstacle in verdict.obstacles if isinstance(obstacle, stats.TooFew)]
    if question.finding is not None and not question.is_same:
        few.append("other numbers of players were published")
    statement.comparison(
        question.name,
        statement=question.statement,
        verdict=verdict.word,
        evidence="; ".join([*([verdict.shown] if verdict.shown else []), *map(_sentence, verdict.obstacles), *few]),
        causes=verdict.obstacles,
        effect=question.name,
        n=effect.n,
        counted="lives",
        finding=question.finding,
        tested=tested,
        is_same=question.is_same,
        must_be=must_be,
    )
    return verdict


def _state_crossings(statement: Statement, results: Results, obstacles: Sequence[stats.Obstacle]) -> None:
    """States with how many players the mean RTT crosses the published limit, which is the finding NC2."""
    limit_ms, tried = results.published.crossed_ms, results.idle_players
    for stack in results.stacks:
        means = {
            players: stats.over_lives(results.values("rtt_mean_ms", "idle", stack, players), results.rules.alpha)
            for players in tried
        }
        crossed = next((players for players, mean in means.items() if mean.low > limit_ms), None)
        below = max(
            (players for players, mean in means.items() if mean.high <= limit_ms and players < (crossed or inf)), default=0
        )
        deciding = crossed or below or tried[0]
        n = means[deciding].n
        note = f"largest number of players tried for whom the interval of the mean is at most {number(limit_ms)} ms"
        statement.fact(f"below.{stack}", below, "players", n=n, source=_LIVES, note=note)
        finding = results.published_findings.get(f"crosses.{stack}")
        if finding is None:
            continue
        words, mean, beyond = f"{number(limit_ms)} ms", means[deciding], inf if crossed is None else crossed
        known = f"it is {with_interval(mean.value, mean.low, mean.high)} ms with {number(deciding)}"
        if crossed:
            evidence = f"the mean crosses {words} at {number(crossed)} players: {known}"
        elif below:
            evidence = f"the mean stays below {words} up to {number(below)} players, the most that are known: {known}"
        else:
            evidence = f"the mean is shown to be below {words} with no number of players: {known}"
        causes = [*obstacles]
        if n < results.rules.minimum:
            causes += _faults(results, Value("rtt_mean_ms", "idle", stack, deciding))
            causes.append(stats.TooFew(n=n, needed=results.rules.minimum, counted="lives"))
        statement.bound(
            f"crosses.{stack}",
            statement=f"The mean RTT on {title(stack)}, with players who stand still, crosses {words} {_where(finding)}",
            verdict="not valid" if causes else stats.BOUND_WORDS[finding.outcome(below + 1, beyond)],
            evidence="; ".join([*map(_sentence, causes), evidence]),
            causes=causes,
            effect=f"below.{stack}",
            n=n,
            counted="lives",
            finding=finding,
            found=(below + 1, beyond),
            here=f"above {number(below)} players" if crossed is None else f"{number(below)} to {number(crossed)} players",
        )


def _where(finding: stats.Finding) -> str:
    """Returns in words with how many players a limit was crossed."""
    return finding.printed if finding.tolerance is None else f"at {finding.printed}, {finding.criterion}"


def _state_crossed(statement: Statement, crossed: Crossed) -> None:
    effects, baseline, name = crossed.effects, crossed.baseline, f"crossed.{crossed.server}"
    source = "run folders of the switchback"
    note = f"mean round-trip time of a ping on {crossed.title}, on the baseline device"
    statement.fact(
        f"{name}.ping", baseline.value, "ms", interval=(baseline.low, baseline.high), n=baseline.n, source=source, note=note
    )
    effect, verdict = effects.outcome.contrasts[METRIC, crossed.arm], effects.verdicts[METRIC, crossed.arm]
    latency = f"{number(effects.data.latency_ms(crossed.arm))} ms"
    question = f"RTT of a ping on {crossed.title} with a storage latency of {latency}, against the baseline"
    interval = (effect.low, effect.high)
    statement.fact(f"{name}.ratio", effect.ratio, "ratio", interval=interval, n=effect.n, source=source, note=question)
    statement.comparison(
        name,
        source=THIS_PROJECT,
        statement=question,
        verdict=verdict.word,
        evidence=verdict.reason,
        causes=verdict.obstacles,
        effect=f"{name}.ratio",
        facts=[f"{name}.ping"],
        n=effect.n,
        counted="lives",
    )
