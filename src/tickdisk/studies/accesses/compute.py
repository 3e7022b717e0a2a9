"""Computes the results of the study of accesses from the run folders of captured server lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk import accesses, stats
from tickdisk.experiment import ACCESSES
from tickdisk.foundation import table
from tickdisk.studies.published import load_findings
from tickdisk.studies.rules import decide_by
from tickdisk.studies.runs import LifeTables, Runs

LINEAR = {kind: f"linear.{kind}" for kind in accesses.ARRIVALS}
"""Name of the ratio of reads per region, by kind of phase in which players arrive at new places."""
_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S = "server_unload_unused_data_timeout", 29.0
"""Luanti's setting for the age at which unused map blocks are unloaded, and its default."""
_SAVE_PERIOD = "server_map_save_interval"
"""Luanti's setting for the time between saves, in seconds."""
_NAME = "accesses"


@dataclass(frozen=True)
class Excluded:
    """Counts of what the study leaves out, over the captures of all server lives."""

    left_out: Mapping[str, int]
    """Number of calls that are no access to the world's files, by reason. The most frequent reason comes first."""
    lost_events: int
    """Number of events that did not arrive from the kernel."""
    at_end: int
    """Number of accesses after the last save of a life, which the server makes as it ends."""


@dataclass(frozen=True)
class Tested:
    """A ratio that a claim is about, and the verdict on whether it differs from 1. Its p values are adjusted over all ratios."""

    ratio: stats.Contrast
    """Geometric mean of the ratios of server lives, such as writes over reads."""
    verdict: stats.Verdict


@dataclass(frozen=True)
class Results:
    """The results of the study of accesses, from which its tables, figures, facts and claims are made.

    The generative model is fitted to the lives `fitted`, and not to `held_out`, which is the last third of the lives.
    """

    data: Runs
    plan: stats.DecisionPlan
    """Rules that decide the verdicts. They were fixed before the runs, unless the notebook changes them."""
    published: accesses.PublishedAccesses
    """Tables of the published study PokeSto."""
    findings: Mapping[str, stats.Finding]
    """Published findings by name."""
    capture: Excluded
    lives: Sequence[accesses.AccessesOfLife]
    fitted: Sequence[accesses.AccessesOfLife]
    held_out: Sequence[accesses.AccessesOfLife]
    model: accesses.Coefficients
    """Requests that one event of each routine costs."""
    model_bytes: accesses.Coefficients
    """Bytes that one event of each routine costs."""
    errors: pd.DataFrame
    """One row per held-out life, with its observed and predicted requests per minute (`accesses.errors`)."""
    in_turn: pd.DataFrame
    """The same columns with one row per life. Each life is predicted from all others."""
    summary: pd.DataFrame
    """One row per life with the numbers, sizes and sequential shares of its accesses (`accesses.summary`)."""
    means: Mapping[str, stats.Mean]
    """Means over lives by column of `summary`, and `model.held_out_error` and `model.in_turn_error` of absolute errors."""
    points: pd.DataFrame
    """One row per phase in which players arrive at new places, with its regions, requests and terrain reads."""
    lines: Mapping[str, accesses.FittedLine]
    """Line of the reads of terrain over the number of regions, by kind of phase (`joins` or `teleports`)."""
    lines_all: Mapping[str, accesses.FittedLine]
    """Line of all requests over the number of regions, by kind of phase."""
    effects: pd.DataFrame
    """One row per interaction, data type and direction, with the requests that one interaction causes (`accesses.compare`)."""
    tested: Mapping[str, Tested]
    """Ratios that claims are about, by name, such as `writes` for writes over reads."""
    prediction: stats.Contrast
    """Ratio of predicted to observed requests per minute. Each life is predicted from all others."""


def compute(
    plan: str,
    *,
    runs: str,
    published: str,
    margin: float | None,
    bootstrap_samples: int | None,
    seed: int | None,
) -> Results:
    """Analyses the storage accesses of captured server lives, and compares them with published findings.

    `plan`, `runs` and `published` are the paths of plan.json, of the folder of the run folders, and of the YAML file of findings.
    `margin` is a ratio less 1. If `margin`, `bootstrap_samples` or `seed` is None, it is that of the plan. Raises TickdiskError
    if no cell of the experiment has run, or if a capture has no access to terrain or fewer than two saves.
    """
    data = Runs(plan, runs, _NAME)
    decision, tables = data.decision, data.lives
    rules = decide_by(decision, data.design(ACCESSES).lives, margin)
    selected = [accesses.select(_requests(life.folder)) for life in tables]
    lives = [_life(life, chosen.table) for life, chosen in zip(tables, selected, strict=True)]
    fitted, held_out = _split(lives)
    samples = decision.bootstrap_samples if bootstrap_samples is None else bootstrap_samples
    drawn = data.config.seed if seed is None else seed

    def fit(of: Literal["requests", "bytes"]) -> accesses.Coefficients:
        rng = stats.named_generator(drawn, _NAME, f"fit of {of}")
        return accesses.fit(fitted, rng=rng, samples=samples, of=of, alpha=rules.alpha)

    model, theirs = fit("requests"), accesses.load_published(Path(published))
    errors, in_turn = accesses.errors(model.value, held_out), accesses.errors_in_turn(lives)
    summary, points = accesses.summary(lives), accesses.region_points(lives)
    by_kind = {kind: points[points["kind"] == kind] for kind in accesses.ARRIVALS}
    told_s = [float(life.manifest.server.settings[_SAVE_PERIOD]) for life in tables]
    return Results(
        data=data,
        plan=rules,
        published=theirs,
        findings=load_findings(published),
        capture=_capture(tables, selected, lives),
        lives=lives,
        fitted=fitted,
        held_out=held_out,
        model=model,
        model_bytes=fit("bytes"),
        errors=errors,
        in_turn=in_turn,
        summary=summary,
        means=_means(summary, errors, in_turn, rules.alpha),
        points=points,
        lines={kind: accesses.line(own, "reads", alpha=rules.alpha) for kind, own in by_kind.items()},
        lines_all={kind: accesses.line(own, alpha=rules.alpha) for kind, own in by_kind.items()},
        effects=accesses.compare(accesses.effects(lives, rules.alpha), theirs),
        tested=_test(_log_ratios(summary, by_kind, told_s), rules),
        prediction=_contrast(finite_logs(in_turn["predicted"] / in_turn["observed"]), rules),
    )


def finite_logs(ratios: "pd.Series[float]") -> NDArray[np.float64]:
    """Returns the natural logarithms of ratios, without the ratios that are zero, infinite or NaN."""
    values = ratios.to_numpy(dtype=float)
    return np.log(values[np.isfinite(values) & (values > 0)])


def _requests(folder: Path) -> pd.DataFrame:
    needed = ("start_ns", "latency_ns", "thread", "process", "result", "errno")
    return table.need(table.read("requests", folder / "requests.parquet"), needed, task="the study of accesses", level="syscall")


def _life(tables: LifeTables, rows: pd.DataFrame) -> accesses.AccessesOfLife:
    started_ns, settings = tables.manifest.started_ns, tables.manifest.server.settings
    phases = pd.DataFrame(tables.manifest.phases)
    times = {f"{end}_ns": (started_ns + phases[f"{end}_s"] * 1e9).round().astype("int64") for end in ("start", "end")}
    return accesses.life_of(
        tables.title,
        rows,
        tables.actions,
        phases.assign(**times),
        steps_ns=tables.ticks["start_ns"].to_numpy(),
        unload_timeout_s=float(settings.get(_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S)),
    )


def _split(
    lives: Sequence[accesses.AccessesOfLife],
) -> tuple[Sequence[accesses.AccessesOfLife], Sequence[accesses.AccessesOfLife]]:
    """Returns the lives to fit, and the last third, which is held out. It has at least one life, unless there is only one."""
    held_out = max(1, len(lives) // 3) if len(lives) > 1 else 0
    return lives[: len(lives) - held_out], lives[len(lives) - held_out :]


def _capture(
    tables: Sequence[LifeTables], selected: Sequence[accesses.Accesses], lives: Sequence[accesses.AccessesOfLife]
) -> Excluded:
    left_out = pd.DataFrame([chosen.left_out for chosen in selected]).sum().sort_values(ascending=False, kind="stable")
    return Excluded(
        {str(reason): int(count) for reason, count in left_out.items()},
        sum(capture.lost_events for life in tables for capture in life.manifest.captures),
        sum(len(chosen.table) for chosen in selected) - sum(len(life.accesses) for life in lives),
    )


def _means(summary: pd.DataFrame, errors: pd.DataFrame, in_turn: pd.DataFrame, alpha: float) -> dict[str, stats.Mean]:
    """Returns means by name. The ends of intervals are clipped at 0, and for shares at 1."""
    values = {str(name): summary[name] for name in summary.columns}
    values |= {"model.held_out_error": errors["error"].abs(), "model.in_turn_error": in_turn["error"].abs()}
    found = {}
    for name, of in values.items():
        mean, most = stats.over_lives(of, alpha), 1.0 if name.startswith("share_") else inf
        low, high = (float(np.clip(end, 0.0, most)) for end in (mean.low, mean.high))
        found[name] = replace(mean, low=low, high=high)
    return found


def _log_ratios(
    summary: pd.DataFrame, arrivals: Mapping[str, pd.DataFrame], told_s: Sequence[float]
) -> dict[str, NDArray[np.float64]]:
    """Returns the natural logarithms of the tested ratios over lives, by name. `told_s` has the save periods that were set."""
    transfers = summary["reads"] + summary["writes"]
    ratios = {
        "writes": summary["writes"] / summary["reads"],
        "sizes": _odds(summary["share_4_8_kib"], transfers),
        "random.reads": _odds(1 - summary["share_sequential_reads"], summary["reads"]),
        "random.writes": _odds(1 - summary["share_sequential_writes"], summary["writes"]),
        "flush_interval": summary["save_period_s"] / told_s,
    }
    linear = {LINEAR[kind]: accesses.ratio_of_rates(own, "reads") for kind, own in arrivals.items()}
    return linear | {name: finite_logs(of) for name, of in ratios.items()}


def _odds(share: "pd.Series[float]", n: "pd.Series[int]") -> "pd.Series[float]":
    """Returns the odds of a share of n requests, with half a request added to both sides (Haldane 1956), so that none is zero."""
    return (share * n + 0.5) / ((1 - share) * n + 0.5)


def _contrast(log_ratios: NDArray[np.float64], rules: stats.DecisionPlan) -> stats.Contrast:
    return stats.contrast(log_ratios, margin=rules.margin, alpha=rules.alpha)


def _test(log_ratios: Mapping[str, NDArray[np.float64]], rules: stats.DecisionPlan) -> dict[str, Tested]:
    """Tests all ratios. Their p values are adjusted as one scan."""
    ratios = {name: _contrast(values, rules) for name, values in log_ratios.items()}
    p, p_equivalent = (
        stats.adjusted([getattr(ratio, test) for ratio in ratios.values()], "scan").tolist() for test in ("p", "p_equivalent")
    )
    return {
        name: Tested(ratio, stats.verdict(ratio, rules, p=p[index], p_equivalent=p_equivalent[index]))
        for index, (name, ratio) in enumerate(ratios.items())
    }
