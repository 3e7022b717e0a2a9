"""Evidence as studies state it, with every verdict that a test asks for."""

from collections.abc import Sequence
from pathlib import Path

from tickdisk.foundation import record
from tickdisk.project import KeptPlan
from tickdisk.report.answers import Asked
from tickdisk.report.evidence import Evidence
from tickdisk.stats import BoundWord, Cause, TooFew, Word
from tickdisk.studies.statement import THIS_PROJECT, VERDICTS, Statement

STUDIES = ("calibration", "accesses", "switchback", "join_burst", "players", "inside_tick", "replay", "checkpoint", "store")
_BELOW_THE_BURST = 1.02
"""A latency that the switchback tries and the burst of joins does not."""
PLAN = record.read(KeptPlan, Path(__file__).resolve().parent.parent / "data/reference/paper/plan.json")
"""Parts of the plan of our run at paper scale."""
ASKED = Asked.of(PLAN)


def _comparison(said: Statement, name: str, verdict: Word, effect: str, n: int = 8) -> None:
    causes: list[Cause] = [TooFew(n=n, needed=10, counted="lives")] if verdict == "not valid" else []
    said.comparison(
        name,
        source=THIS_PROJECT,
        statement="Effect of x on y",
        verdict=verdict,
        evidence=f"ratio, n = {n}",
        causes=causes,
        effect=effect,
        n=n,
        counted="lives",
    )


def _bound(said: Statement, name: str, verdict: BoundWord, effect: str) -> None:
    said.bound(
        name,
        source=THIS_PROJECT,
        statement="x is at most y",
        verdict=verdict,
        evidence="z",
        causes=[TooFew(n=20, needed=40, counted="stalls")] if verdict == "not valid" else [],
        effect=effect,
        n=20,
        counted="stalls",
    )


def _switchback(verdict: Word, ratio: float, *, good: float | None, hurts: float | None) -> Statement:
    said = Statement("switchback")
    for arm, latency in (("ssd_100us", 0.1), ("latency_1ms", 1.0), ("latency_6ms", 6.0), ("latency_12ms", 12.0)):
        said.fact(f"latency.{arm}", latency, "ms", source="model")
        said.fact(f"dose.{arm}", latency + 0.01, "ms", source="calibration")
    _effects(said, ("gap_mean", "gap_max", "teleport_mean"), verdict, ratio, good=good, hurts=hurts)
    return said


def _join_burst(verdict: Word, ratio: float, *, good: float | None, hurts: float | None) -> Statement:
    said = Statement("join_burst")
    for arm, latency in (("ssd_100us", 0.1), ("latency_6ms", 6.0), ("latency_12ms", 12.0)):
        said.fact(f"latency.{arm}", latency, "ms", source="model")
        said.fact(f"dose.{arm}", latency + 0.01, "ms", source="calibration")
    _effects(said, ("join_mean", "gap_mean", "gap_max"), verdict, ratio, good=good, hurts=hurts)
    return said


def _players(verdict: Word) -> Statement:
    said = Statement("players")
    for part, title, each in ((said, "Luanti", 9.1), (said.part("minestom"), "Minestom", -0.1)):
        part.word("title", title, source="manifests")
        for name, value, unit in (
            ("fewest", 2, "players"),
            ("most", 20, "players"),
            ("latency", 6.0, "ms"),
            ("lives", 24, "lives"),
        ):
            part.fact(name, value, unit, source="plan")
        part.fact("saturated_lives", 1, "lives", source="manifests")
        for name, value in (("per_player", each), ("at_none", 2.0)):
            part.fact(name, value, "ms per ms", interval=(value - 0.3, value + 0.3), n=6, source="lines")
        _comparison(part, "per_player", verdict, "per_player", n=6)
    for name, value, unit in (("flushes", 3.0, "flushes"), ("requests", 11.0, "requests"), ("in_series", 9.03, "requests")):
        said.fact(f"save.{name}", value, unit, n=73, source="captures")
    return said


def _effects(
    said: Statement, metrics: Sequence[str], verdict: Word, ratio: float, *, good: float | None, hurts: float | None
) -> None:
    for metric in metrics:
        for arm in ("latency_6ms", "latency_12ms"):
            name = f"{metric}_ratio.{arm}"
            said.fact(name, ratio, "ratio", interval=(ratio / 1.1, ratio * 1.1), n=8, source="lives")
            _comparison(said, f"{arm}.{metric}", verdict, name, n=4 if verdict == "not valid" else 8)
        said.fact(f"{metric}_least_dose", 6.0, "ms", source="model")
        said.fact(f"{metric}_least_dose_ratio", ratio, "ratio", interval=(ratio / 1.1, ratio * 1.1), n=8, source="lives")
        said.fact(f"{metric}_baseline", 113.0, "ms", interval=(109.0, 117.0), n=8, source="lives")
        for key, value in (("good_up_to", good), ("hurts_from", hurts)):
            said.fact(f"{metric}_{key}", value, "ms", n=8, source="tests of doses")
        decided: Word = verdict if verdict == "not valid" else "different" if hurts is not None else "inconclusive"
        _comparison(said, f"dose_{metric}", decided, f"{metric}_ratio.latency_12ms")


def evidence_of(
    *,
    comparison: Word = "different",
    bound: BoundWord = "kept",
    ratio: float = 2.0,
    good: float | None = 1.02,
    hurts: float | None = 6.01,
    without: Sequence[str] = (),
) -> Evidence:
    """Returns the evidence of a run in which every comparison and every bound has the given verdict."""
    assert comparison in VERDICTS["comparison"]
    assert bound in VERDICTS["bound"]
    calibration, accesses, inside, replay = (Statement(name) for name in ("calibration", "accesses", "inside_tick", "replay"))
    for name in ("p50", "p99"):
        calibration.fact(f"faithful.{name}", 38, "points", n=40, source="fio")
        _bound(calibration, f"faithful_{name}", bound, f"faithful.{name}")
    for name, value, unit in (
        ("teleports.per_region", 12.3, "requests"),
        ("save_requests", 41.0, "requests"),
        ("share_4_8_kib", 0.93, "share"),
        ("model.held_out_error", 0.07, "share"),
    ):
        accesses.fact(name, value, unit, interval=(value * 0.9, value * 1.1), n=6, source="captures")
    inside.fact("lives", 1, "lives", source="manifests")
    inside.fact("latency", 3.0, "ms", source="model")
    inside.fact("late.all.storage", 0.4, "share", interval=(0.3, 0.5), n=900, source="captures")
    inside.fact("device_stalls.named", 19, "stalls", n=20, source="injections")
    _bound(inside, "device_stalls", bound, "device_stalls.named")
    replay.fact("streams", 6, "streams", source="capture")
    replay.fact("captured", 9400, "requests", source="capture")
    replay.fact("replayed", 9000, "requests", source="plan")
    replay.fact("device.delay", 74.4, "ms", interval=(51.4, 101.0), n=9000, source="replay")
    _comparison(replay, "time_lost_to_the_device", comparison, "device.delay")
    replay.fact("nvme_ssd.lag_p99", 0.02, "ms", interval=(0.01, 0.03), n=9000, source="replay")
    _bound(replay, "nothing_lost", bound, "streams")
    _bound(replay, "lag", bound, "nvme_ssd.lag_p99")
    checkpoint, store = Statement("checkpoint"), Statement("store")
    checkpoint.fact("half_tick.updates_per_tick", 64000, "updates", source="published")
    checkpoint.fact("half_tick.copy_on_update", 11.2, "ms", source="simulation")
    checkpoint.fact("half_tick.eager", 17.0, "ms", source="simulation")
    store.fact("game.usual.state", 40.0, "MB", source="plan")
    store.fact("game.usual.copy_on_update.added", 0.2, "ms", n=8, source="lives")
    store.word("game.usual.advice", "Copy-on-Update", source="lives")
    switchback = _switchback(comparison, ratio, good=good, hurts=hurts)
    burst = _join_burst(comparison, ratio, good=good if good != _BELOW_THE_BURST else None, hurts=hurts)
    made = (calibration, accesses, switchback, burst, _players(comparison), inside, replay, checkpoint, store)
    every = [said for said in made if said.name not in without]
    facts = {name: fact for said in every for name, fact in said.facts.items()}
    claims = {claim.id: claim for said in every for claim in said.claims}
    return Evidence(facts, claims, {said.name: {} for said in every}, dict.fromkeys(without, "it was left out"))
