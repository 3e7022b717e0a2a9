"""Computes the results of the study of accesses from the run folders of captured server lives.

The results include the generative model, which has the requests that one event of each routine costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tickdisk import accesses, stats, table
from tickdisk.experiment import ACCESSES
from tickdisk.report.runs import LifeTables, Runs

LINEAR = {kind: f"linear.{kind}" for kind in accesses.ARRIVALS}
"""Name of the ratio of reads per region, by kind of phase in which players arrive at new places."""
_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S = "server_unload_unused_data_timeout", 29.0
"""Luanti's setting for the age at which unused map blocks are unloaded, and its default."""
_SAVE_PERIOD = "server_map_save_interval"
"""Luanti's setting for the time between saves, in seconds."""
_NAME = "accesses"


@dataclass(frozen=True)
class Capture:
    """Numbers of the calls, events and accesses that the study leaves out, over the captures of all server lives."""

    left_out: Mapping[str, int]
    """Number of calls that are no access to the world's files, by reason. The most frequent reason comes first."""
    lost_events: int
    """Number of events that did not arrive from the kernel."""
    at_end: int
    """Number of accesses after the last save of a life, which the server makes as it ends."""


@dataclass(frozen=True)
class Tested:
    """A ratio that a claim of the study is about, such as writes over reads, and the verdict on whether it differs from 1.

    The p values behind the verdict are adjusted over all ratios of the study together.
    """

    ratio: stats.Contrast
    """Geometric mean of the ratios of server lives, with its interval and p values."""
    verdict: stats.Verdict


@dataclass(frozen=True)
class Results:
    """The results of the study of accesses, from which its tables, figures, facts and claims are made.

    The generative model says what one event of each routine of the server costs. It is not fitted to the last third of the lives.
    """

    data: Runs
    """Cells of the experiment that have run."""
    plan: stats.Plan
    """Rules that decide the verdicts, such as the margin. They were fixed before the runs, unless the notebook changes them."""
    published: accesses.Published
    """Findings of the published study PokeSto, which the results are compared with."""
    capture: Capture
    """Numbers of what is left out of the captures."""
    lives: Sequence[accesses.Life]
    """All captured server lives, in the order of the plan."""
    fitted: Sequence[accesses.Life]
    """Lives that the model is fitted to."""
    held_out: Sequence[accesses.Life]
    """Lives that the model is not fitted to."""
    model: accesses.Coefficients
    """Requests that one event of each routine costs."""
    model_bytes: accesses.Coefficients
    """Bytes that one event of each routine costs."""
    errors: pd.DataFrame
    """One row per held-out life, with its observed and predicted requests per minute, as `accesses.errors` returns them."""
    in_turn: pd.DataFrame
    """One row per life, with the same columns as `errors`. Each life is predicted from all others."""
    summary: pd.DataFrame
    """One row per life with the numbers, sizes and sequential shares of its accesses, as `accesses.summary` returns them."""
    means: Mapping[str, stats.Mean]
    """Means over lives of the columns of `summary`, by column, and of the absolute errors of the model.

    The errors are named `model.held_out_error` and `model.in_turn_error`.
    """
    points: pd.DataFrame
    """One row per phase in which players arrive at new places, with the numbers of regions, of requests and of terrain reads.

    A region is the terrain around such a place.
    """
    lines: Mapping[str, accesses.Line]
    """Line of the reads of terrain over the number of regions, by kind of phase (`joins` or `teleports`)."""
    lines_all: Mapping[str, accesses.Line]
    """Line of all requests over the number of regions, by kind of phase."""
    effects: pd.DataFrame
    """One row per interaction, data type and direction, with the requests that one interaction causes.

    `accesses.compare` describes the columns. They include whether such accesses were published.
    """
    tested: Mapping[str, Tested]
    """Ratios that claims are about, by name, such as `writes` for writes over reads."""
    prediction: stats.Contrast
    """Ratio of predicted to observed requests per minute, over lives. Each life is predicted from all others."""


def compute(
    plan: str,
    *,
    runs: str,
    published: str,
    margin: float | None,
    bootstrap_samples: int | None,
    seed: int | None,
) -> Results:
    """Computes the results of the study of accesses from the captured server lives and the file of published findings.

    `tickdisk.report.accesses.study` describes the parameters.
    """
    data = Runs(plan, runs, _NAME)
    decision, tables = data.decision, list(data.lives())
    rules = stats.Plan(
        data.design(ACCESSES).lives,
        decision.minimum_lives,
        decision.control_minimum_lives,
        decision.margin if margin is None else margin,
        decision.alpha,
    )
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
    told_s = [float(life.manifest["server"]["settings"][_SAVE_PERIOD]) for life in tables]
    return Results(
        data=data,
        plan=rules,
        published=theirs,
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
    """Returns the natural logarithms of ratios, one per server life, as a test over lives needs them.

    A ratio that is zero, infinite or NaN is left out, so that the result can be shorter than `ratios`.
    """
    values = ratios.to_numpy(dtype=float)
    return np.log(values[np.isfinite(values) & (values > 0)])


def _requests(folder: Path) -> pd.DataFrame:
    needed = ("start_ns", "latency_ns", "thread", "process", "result", "errno")
    return table.need(table.read("requests", folder / "requests.parquet"), needed, task="the study of accesses", level="syscall")


def _life(tables: LifeTables, rows: pd.DataFrame) -> accesses.Life:
    """Makes the life that the accesses in `rows` belong to. Phases of the manifest are turned from seconds into times."""
    started_ns, settings = tables.manifest["started_ns"], tables.manifest["server"]["settings"]
    phases = pd.DataFrame(tables.manifest["phases"])
    times = {f"{end}_ns": (started_ns + phases[f"{end}_s"] * 1e9).round().astype("int64") for end in ("start", "end")}
    return accesses.life_of(
        tables.title,
        rows,
        tables.actions,
        phases.assign(**times),
        steps_ns=tables.ticks["start_ns"].to_numpy(),
        unload_timeout_s=float(settings.get(_UNLOAD_TIMEOUT, _UNLOAD_DEFAULT_S)),
    )


def _split(lives: Sequence[accesses.Life]) -> tuple[Sequence[accesses.Life], Sequence[accesses.Life]]:
    """Returns the lives that the model is fitted to, and the last third of the lives, which are held out.

    At least one life is held out, unless there is only a single life.
    """
    held_out = max(1, len(lives) // 3) if len(lives) > 1 else 0
    return lives[: len(lives) - held_out], lives[len(lives) - held_out :]


def _capture(tables: Sequence[LifeTables], selected: Sequence[accesses.Accesses], lives: Sequence[accesses.Life]) -> Capture:
    left_out = pd.DataFrame([chosen.left_out for chosen in selected]).sum().sort_values(ascending=False, kind="stable")
    return Capture(
        {str(reason): int(count) for reason, count in left_out.items()},
        sum(capture["lost_events"] for life in tables for capture in life.manifest["captures"]),
        sum(len(chosen.table) for chosen in selected) - sum(len(life.accesses) for life in lives),
    )


def _means(summary: pd.DataFrame, errors: pd.DataFrame, in_turn: pd.DataFrame, alpha: float) -> dict[str, stats.Mean]:
    """Returns the mean of each column of `summary` and of the absolute errors of the model, by name.

    The ends of intervals are clipped at 0, and for shares at 1, because no value can lie beyond.
    """
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
    """Returns the natural logarithms of the tested ratios, by name, with one value per life that has the ratio.

    `told_s` has the save period of each life in seconds, as it is set in the server.
    """
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
    """Returns the odds of a share of n requests.

    Half a request is added to both sides, so that neither is zero (Haldane 1956).
    """
    return (share * n + 0.5) / ((1 - share) * n + 0.5)


def _contrast(log_ratios: NDArray[np.float64], rules: stats.Plan) -> stats.Contrast:
    return stats.contrast(log_ratios, margin=rules.margin, alpha=rules.alpha)


def _test(log_ratios: Mapping[str, NDArray[np.float64]], rules: stats.Plan) -> dict[str, Tested]:
    """Tests all ratios. Their p values are adjusted as one scan."""
    ratios = {name: _contrast(values, rules) for name, values in log_ratios.items()}
    p, p_equivalent = (
        stats.adjusted([getattr(ratio, test) for ratio in ratios.values()], "scan").tolist() for test in ("p", "p_equivalent")
    )
    return {
        name: Tested(ratio, stats.verdict(ratio, rules, p=p[index], p_equivalent=p_equivalent[index]))
        for index, (name, ratio) in enumerate(ratios.items())
    }
