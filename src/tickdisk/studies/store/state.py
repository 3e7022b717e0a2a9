"""States the facts and claims of the store study: the errors and bounds of both models, and the costs of every algorithm."""

from tickdisk import stats
from tickdisk.foundation.numbers import number, percent
from tickdisk.saving import store
from tickdisk.studies.algorithms import NAMES
from tickdisk.studies.statement import THIS_PROJECT, Statement, count_text
from tickdisk.studies.store.compute import VARIES, Results

_RANKS = 0.9
"""Rank correlation that every judged algorithm must exceed."""
_SOURCE = "lives of the store on this machine"
_SUMMARY = ("model_least", "model_most", "calibrated_least", "calibrated_most", "time_least", "time_most")
"""Columns of the summary that become facts of each algorithm."""


def state(results: Results) -> Statement:
    """Returns the facts and claims: the errors of both cost models, and the costs and the advice for each game."""
    statement = Statement("store")
    _state_lives(statement, results)
    _state_models(statement, results)
    _state_shadow(statement, results)
    _claim_paper(statement, results)
    _claim_within(statement, results)
    _claim_ranks(statement, results)
    _state_games(statement, results)
    return statement


def _state_lives(statement: Statement, results: Results) -> None:
    points = results.points
    statement.fact("lives", results.lives, "lives", source=_SOURCE, note="lives that the models are compared with")
    note = "lives of the point that has the fewest"
    statement.fact("lives_at_a_point", int(points["lives"].min()), "lives", n=len(points), source=_SOURCE, note=note)
    statement.fact("rates", int(points["rate"].nunique()), "update rates", source=_SOURCE)
    fit_rates = int(results.comparison.fitted["rate"].nunique())
    statement.fact("fit_rates", fit_rates, "update rates", source=_SOURCE, note="rates that the calibrated model was fitted to")


def _state_models(statement: Statement, results: Results) -> None:
    for row in results.summary.to_dict("records"):
        name, rates = row["algorithm"], int(row["rates"])
        note = "rank correlation of real and calibrated overhead over update rates"
        statement.fact(f"{name}.ranks", float(row["ranks"]), "", n=rates, source=_SOURCE, note=note)
        for column in _SUMMARY:
            what = "time of a checkpoint, calibrated" if column.startswith("time") else f"overhead, {_model(column)}"
            end = "smallest" if column.endswith("least") else "largest"
            note = f"{what} over real, {end} over update rates"
            statement.fact(f"{name}.{column}", float(row[column]), "ratio", n=rates, source=_SOURCE, note=note)
    points, known = len(results.points), len(results.known)
    statement.fact("points", points, "points", source=_SOURCE, note="a point is an algorithm at an update rate")
    note = f"points with a real overhead of at least {number(store.LEAST_MS)} ms"
    statement.fact("points.told", known, "points", n=points, source=_SOURCE, note=note)
    for kind in ("model", "calibrated"):
        note = f"factor by which the overhead of {_model(kind)} is above or below the real overhead, at the worst point"
        statement.fact(f"{kind}.most_off", results.most_off(kind), "ratio", n=known, source=_SOURCE, note=note)
    bound = f"calibrated over real is off by at most {percent(store.WITHIN)}"
    within = int((abs(results.known["calibrated"] - 1) <= store.WITHIN).sum())
    ends = percent(results.bound_confidence)
    for name, count, note in (
        ("within", within, f"points at which {bound}"),
        ("surely", int(results.is_inside.sum()), f"points at which the whole {ends} interval says that {bound}"),
        ("surely_not", int(results.is_outside.sum()), f"points at which no part of the {ends} interval says that {bound}"),
    ):
        statement.fact(f"calibrated.{name}", count, "points", n=known, source=_SOURCE, note=note)


def _model(column: str) -> str:
    return "the calibrated model" if column.startswith("calibrated") else "the paper's model"


def _state_shadow(statement: Statement, results: Results) -> None:
    """States the times of the shadow, which is a second state that gets the same updates and that no algorithm keeps."""
    share = results.comparison.slower(results.alpha)
    ends = (100 * share.low, 100 * share.high)
    note = "share by which updates of a state that no algorithm keeps take longer while a checkpoint is written; "
    note += f"{percent(1 - results.alpha)} over lives"
    statement.fact("slower", 100 * share.value, "%", interval=ends, n=share.n, source=_SOURCE, note=note)
    tested = results.comparison.tested
    null = tested.loc[tested["algorithm"] == "naive_snapshot", "null_ms"].dropna()
    note = (
        "time by which Naive-Snapshot's updates take longer between checkpoints than those of a state that no algorithm keeps, "
        "because each is handed over by itself"
    )
    statement.fact("null", float(null.mean()), "ms", n=len(null), source=_SOURCE, note=note)


def _few(results: Results) -> list[str]:
    """Returns in words that there are too few update rates, or too few lives at a point."""
    return [
        f"{count_text(each.n, each.counted)}{' at a point' if each.counted == 'lives' else ''}, "
        f"fewer than the {each.needed} that a verdict needs"
        for each in results.few
    ]


def _causes(results: Results, what: str, *, is_known: bool) -> list[stats.Cause]:
    """Returns the causes for which there is no verdict on `what`, which says in words what has to be known."""
    return [*results.few, *([] if is_known else [stats.NotMeasured(what=what)])]


def _claim_paper(statement: Statement, results: Results) -> None:
    own = results.points[results.points["algorithm"] == "copy_on_update"]
    ratios, finding = results.real_over_model("copy_on_update"), results.finding
    worst = ratios.nlargest(1, "ratio")
    value, low, high = (float(worst[name].max()) for name in ("ratio", "low", "high"))
    note = (
        f"real overhead over that of the paper's model, largest over update rates, {percent(results.bound_confidence)} interval"
    )
    most = statement.fact(
        "copy_on_update.real_over_model", value, "ratio", interval=(low, high), n=len(ratios), source=_SOURCE, note=note
    )
    measured = f"the largest real overhead is {most.text} times the model's" if len(ratios) else _unknown("of Copy-on-Update")
    causes = _causes(results, "the real overhead of Copy-on-Update", is_known=len(ratios) > 0)
    statement.bound(
        "paper_model",
        statement=f"{finding.said[0].upper()}{finding.said[1:]}, {finding.criterion}",
        verdict="not valid" if causes else stats.BOUND_WORDS[finding.outcome(low, high)],
        evidence="; ".join([measured, *_few(results)]),
        causes=causes,
        effect="copy_on_update.real_over_model",
        n=int(own["lives"].sum()),
        counted="lives",
        finding=finding,
    )


def _claim_within(statement: Statement, results: Results) -> None:
    known, left_out = len(results.known), len(results.points) - len(results.known)
    within, surely, surely_not = (number(statement[f"calibrated.{name}"].value) for name in ("within", "surely", "surely_not"))
    measured = [
        f"the model is off by at most {percent(store.WITHIN)} at {within} of {statement['points.told'].text}",
        f"at the worst point it is off by a factor of {statement['calibrated.most_off'].text}",
        f"the whole {percent(results.bound_confidence)} interval keeps the bound at {surely} and misses it at {surely_not}",
    ]
    if left_out:
        measured.append(f"{number(left_out)} more had no real overhead of at least {number(store.LEAST_MS)} ms")
    verdict: stats.BoundWord
    verdict = "kept" if results.is_inside.all() else "missed" if results.is_outside.any() else "inconclusive"
    causes = _causes(results, "the real overhead of the algorithms", is_known=known > 0)
    statement.bound(
        "calibrated",
        source=THIS_PROJECT,
        statement=(
            f"The calibrated model is off by at most {percent(store.WITHIN)} of the real overhead, "
            "at update rates that it was not fitted to"
        ),
        verdict="not valid" if causes else verdict,
        evidence="; ".join([*(measured if known else [_unknown("of any algorithm")]), *_few(results)]),
        causes=causes,
        effect="calibrated.most_off",
        facts=["calibrated.within", "calibrated.surely", "calibrated.surely_not", "points.told"],
        n=results.lives,
        counted="lives",
    )


def _claim_ranks(statement: Statement, results: Results) -> None:
    ranks, rates = results.ranks, int(results.points["rate"].nunique())
    statement.fact("ranks.least", ranks.least, "", n=rates, source=_SOURCE, note=ranks.algorithm)
    found = statement["ranks.least"].text
    if ranks.judged == 0:
        measured = f"no algorithm has a real overhead that is known to change {number(VARIES)}-fold over the update rates"
    elif ranks.judged == 1:
        measured = f"the correlation of {ranks.algorithm} is {found}"
    else:
        measured = f"the lowest correlation of {ranks.judged} algorithms is {found} ({ranks.algorithm})"
    if ranks.judged and ranks.left_out:
        measured += (
            f"; others are not judged, because their overhead is not known to change {number(VARIES)}-fold: "
            f"{', '.join(ranks.left_out)}"
        )
    causes = _causes(results, "the change of the real overhead over the update rates", is_known=ranks.judged > 0)
    is_alike = ranks.least is not None and ranks.least > _RANKS
    statement.bound(
        "ranks",
        source=THIS_PROJECT,
        statement=(
            "Real and calibrated overhead rank alike over update rates: the rank correlation of every algorithm "
            f"is above {number(_RANKS)}"
        ),
        verdict="not valid" if causes else "kept" if is_alike else "missed",
        evidence="; ".join([measured, *_few(results)]),
        causes=causes,
        effect="ranks.least",
        facts=["rates"],
        n=results.lives,
        counted="lives",
    )


def _unknown(whose: str) -> str:
    return f"no real overhead {whose} is at least {number(store.LEAST_MS)} ms, and less cannot be told from none"


def _state_games(statement: Statement, results: Results) -> None:
    for game in results.games:
        name, rows = f"game.{game.name}", game.algorithms
        statement.fact(f"{name}.state", game.state_bytes / 1e6, "MB", source="plan")
        note = f"algorithms that made no tick longer by more than half a tick ({number(game.limit_ms)} ms)"
        statement.fact(f"{name}.kept", game.kept, "algorithms", n=len(rows), source=_SOURCE, note=note)
        for row in rows.to_dict("records"):
            for column in ("added_ms", "longest_ms", "checkpoint_s", "recovery_s"):
                word, unit = column.rsplit("_", 1)
                statement.fact(f"{name}.{row['algorithm']}.{word}", row[column], unit, n=int(row["lives"]), source=_SOURCE)
        statement.word(f"{name}.advice", NAMES[game.advice.algorithm], source=_SOURCE, note=game.advice.why)
