"""States the facts and claims about players: the effect with each number of players, and what each further player costs."""

from tickdisk import stats
from tickdisk.accesses import PlayerSaves
from tickdisk.foundation.numbers import p_value, with_interval
from tickdisk.studies.players.compute import GAP, Results, ServerPlayers, arm_of
from tickdisk.studies.statement import THIS_PROJECT, Statement, fact_name

NAME = "players"
_METRIC = fact_name(GAP)
_SCAN = "the claim is one of a scan (Benjamini-Hochberg)"


def state(results: Results) -> Statement:
    """Returns the facts and claims about every server. Names begin with `players.`, and with `players.SERVER.` for others than
    the server of the studies.
    """
    statement = Statement(NAME)
    p, p_equivalent = (
        stats.adjusted([getattr(server.line, test) for server in results.servers], "scan").tolist()
        for test in ("p", "p_equivalent")
    )
    for place, server in enumerate(results.servers):
        part = statement if server.data.server == results.main else statement.part(server.data.server)
        _state_lives(part, server)
        _state_effects(part, server)
        _state_slope(part, server, p[place], p_equivalent[place])
    if results.captured is not None:
        _state_captured(statement, results.captured)
    return statement


def _state_lives(part: Statement, server: ServerPlayers) -> None:
    data, source = server.data, "manifests"
    part.word("title", server.title, source=source, note="name of the server")
    part.fact("latency", data.latency_ms(server.slow), "ms", source="device models", note="nominal latency of the slow device")
    part.fact("latency_added", server.latency_ms, "ms", source="calibration", note="realised, beyond that of the baseline")
    part.fact("fewest", server.numbers[0], "players", source="plan", note="smallest number of players that was planned")
    part.fact("most", server.numbers[-1], "players", source="plan", note="largest number of players that was planned")
    part.fact("blocks", server.lives["block"].nunique(), "blocks", source=source, note="every number of players once")
    part.fact("lives", len(server.lives), "lives", source=source)
    saturated = len(server.lives) - len(server.counting)
    part.fact(
        "saturated_lives", saturated, "lives", source=source, note="their clients were short of processor time: not counted"
    )
    attempts = sum(len(life.attempts) - 1 for manifest in data.manifests for life in manifest.lives.values())
    part.fact("replaced_lives", attempts, "lives", source=source, note="lives that were disturbed from outside and run again")
    marked = int(server.lives["marked"].sum())
    part.fact("marked_lives", marked, "lives", source=source, note="disturbed even in their last replacement; they count")


def _state_effects(part: Statement, server: ServerPlayers) -> None:
    null = server.data.role("null")
    latency = f"{server.data.latency_ms(server.slow):g} ms of storage latency instead of {server.data.latency_ms(null):g} ms"
    arms = {null: f"{server.title}: Effect of the same device under another name on the longest tick gap (A/A control)"}
    for players in server.numbers:
        arms[arm_of(players)] = f"{server.title}: Effect of {latency} on the longest tick gap with {players} players"
        own, added = server.counting, server.added[players]
        own = own[own["players"] == players]
        source = f"{len(own)} lives, longest gap less the mean of both baselines"
        ends, note = (added.low, added.high), f"what {latency} add to the longest tick gap with {players} players"
        part.fact(f"added.{arm_of(players)}", added.value, "ms", interval=ends, n=added.n, source=source, note=note)
        base = stats.over_lives(own["base_ms"], server.plan.alpha)
        note = f"longest tick gap at the baseline with {players} players"
        part.fact(
            f"baseline.{arm_of(players)}", base.value, "ms", interval=(base.low, base.high), n=base.n, source=source, note=note
        )
        note = f"requests in the epoch of the slow device with {players} players, median over lives, from the device's log"
        part.fact(
            f"requests.{arm_of(players)}", _requests(server, arm_of(players)), "requests", n=len(own), source=source, note=note
        )
    for arm, question in arms.items():
        effect, verdict = server.contrasts[GAP, arm], server.decision.verdicts[GAP, arm]
        ends, source = (effect.low, effect.high), "log ratios of lives"
        part.fact(f"{_METRIC}_ratio.{arm}", effect.ratio, "ratio", interval=ends, n=effect.n, source=source, note=question)
        causes = stats.causes_of(effect, verdict, server.plan)
        part.comparison(
            "null" if arm == null else arm,
            source=THIS_PROJECT,
            statement=question,
            verdict=verdict.word,
            evidence="; ".join(
                [
                    *([verdict.shown] if verdict.shown else []),
                    *(cause.sentence for cause in causes),
                    *([] if arm == null else [_SCAN, *_untested(server, arm)]),
                ]
            ),
            causes=causes,
            effect=f"{_METRIC}_ratio.{arm}",
            facts=[] if arm == null else [f"added.{arm}", f"requests.{arm}"],
            n=verdict.n,
            counted="lives",
            must_be="equivalent" if arm == null else "",
        )


def _requests(server: ServerPlayers, arm: str) -> float:
    own = server.counting
    return float(own.loc[own["players"].map(arm_of) == arm, "requests"].median())


def _untested(server: ServerPlayers, arm: str) -> list[str]:
    """Returns one sentence if the server made too few requests to put the latency to the test, in a list that may be empty."""
    median, enough = _requests(server, arm), server.data.decision.enough_requests
    few = f"in the median epoch the server made {median:g} requests, fewer than the {enough} that put a latency to the test"
    return [few] if median < enough else []


def _state_slope(part: Statement, server: ServerPlayers, p: float, p_equivalent: float) -> None:
    fits = {
        "per_player": (None, "rise with each player of what a ms of storage latency adds to the longest tick gap"),
        "at_none": (0.0, "the same line at no player: what a ms of latency adds whatever the number of players"),
    }
    for name, (at, note) in fits.items():
        mean, source = server.over_blocks(at), "a line within each block, t interval over blocks"
        part.fact(name, mean.value, "ms per ms", interval=(mean.low, mean.high), n=mean.n, source=source, note=note)
    controls = server.decision.controls[GAP]
    failed = controls.failed if server.line.n >= server.plan.minimum else ()
    found = stats.verdict(
        server.line,
        server.plan,
        obstacles=failed,
        undecided=controls.undecided,
        p=p,
        p_equivalent=p_equivalent,
        counted="blocks",
    )
    mean = server.over_blocks()
    shown = f"{with_interval(mean.value, mean.low, mean.high)} ms per ms and player, adjusted {p_value(p)}"
    if found.word == "equivalent":
        shown += f"; from the fewest players to the most the added gap changes by less than {server.plan.margin:.0%} of the gap"
    part.comparison(
        "per_player",
        source=THIS_PROJECT,
        statement=f"{server.title}: Effect of each further player on what 1 ms of storage latency adds to the longest tick gap",
        verdict=found.word,
        evidence="; ".join([shown if found.shown else found.reason, _SCAN]),
        causes=found.obstacles,
        effect="per_player",
        facts=["at_none"],
        n=server.line.n,
        counted="blocks",
    )


def _state_captured(statement: Statement, counts: PlayerSaves) -> None:
    source, n = "captured lives of inside_tick", counts.players
    statement.fact(
        "save.players", counts.players / counts.saves, "players", n=counts.saves, source=source, note="saved in a save"
    )
    for name, unit, note in (
        ("flushes", "flushes", "flushes of the database of players and of its journal"),
        ("requests", "requests", "writes and flushes that reach the device during these flushes"),
        ("in_series", "requests", "requests among these that began when no earlier one was under way"),
    ):
        value = getattr(counts, name) / counts.players
        statement.fact(f"save.{name}", value, unit, n=n, source=source, note=f"{note}, for each player in a save")
