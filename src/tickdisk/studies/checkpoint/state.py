"""States the facts and claims of the checkpoint study: the setting, an anchor per claim, cross-overs, and the game's costs."""

from math import inf, isfinite

from tickdisk import stats
from tickdisk.foundation.numbers import number
from tickdisk.saving import checkpoint
from tickdisk.studies.checkpoint.anchors import ComparedAnchor
from tickdisk.studies.checkpoint.compute import Results
from tickdisk.studies.statement import Fact, Statement

QUANTITIES = ("overhead_ms", "checkpoint_s", "recovery_s")
_FITTED = "a parameter that is not published was chosen so that the number is reached, which leaves the number untested"


def state(results: Results) -> Statement:
    """Returns the facts and claims of the checkpoint study. Each anchor becomes two facts and a claim."""
    statement = Statement("checkpoint")
    source = f"simulation of {number(results.ticks)} ticks for each input"
    _state_setting(statement, results)
    for anchor in results.anchors:
        _state_anchor(statement, results, anchor, source)
    for row in results.game.to_dict("records"):
        for quantity in QUANTITIES:
            word, unit = quantity.rsplit("_", 1)
            statement.fact(f"game.{row['algorithm']}.{word}", row[quantity], unit, n=results.ticks, source=source)
    return statement


def _state_setting(statement: Statement, results: Results) -> None:
    state, costs, source = checkpoint.State(), checkpoint.Costs(), "setting of the simulation, as published"
    statement.fact("state_cells", state.rows * state.columns, "cells", source=source)
    statement.fact("object_bytes", state.object_bytes, "B", source=source)
    statement.fact("disk_bandwidth", costs.disk_bytes_per_s / 1e6, "MB/s", source=source)
    statement.fact("ticks", results.ticks, "ticks", source=source, note="ticks of every input under the stated readings")
    rate = results.published.half_tick.updates_per_tick
    statement.fact("half_tick.updates_per_tick", rate, "updates", source=results.published.source)


def _state_anchor(statement: Statement, results: Results, anchor: ComparedAnchor, source: str) -> None:
    """States both numbers of an anchor, and the claim. It is not valid if the inputs are shorter than the published ones."""
    printed, unit = "the limit is half a tick" if anchor.is_limit else "", anchor.finding.unit
    published = statement.fact(
        f"{anchor.name}.published", anchor.finding.published, unit, source=results.published.source, note=printed
    )
    note = printed or f"published: {published.text}"
    value = statement.fact(anchor.name, anchor.value, unit, n=results.ticks, source=source, note=note)
    needed = results.published.ticks
    few = [] if results.is_long_enough else [stats.TooFew(n=results.ticks, needed=needed, counted="ticks")]
    short = [f"{number(each.n)} ticks were simulated, and {number(each.needed)}, as published, would decide" for each in few]
    statement.bound(
        anchor.name,
        statement=anchor.statement,
        verdict="not valid" if few else "kept" if anchor.is_reached else "missed",
        evidence="; ".join([_evidence(results, anchor, value), *short]),
        causes=few,
        effect=anchor.name,
        facts=[f"{anchor.name}.published"],
        n=results.ticks,
        counted="ticks",
        finding=anchor.finding,
        found=(anchor.value, anchor.value) if isfinite(anchor.value) else (inf, inf),
        is_fitted=anchor.is_fitted,
    )


def _evidence(results: Results, anchor: ComparedAnchor, value: Fact) -> str:
    """Returns the simulated value in words. If it misses the number, the value under the nearest other reading is added.

    Other readings are tried over fewer ticks, so that the value of the stated reading over as many ticks is added, too.
    """
    found = anchor.words.format(value.text) if isfinite(anchor.value) else "the two do not cross at the simulated rates"
    nearest = results.nearest.get(anchor.name)
    if anchor.is_reached and anchor.is_fitted:
        return f"{found}; {_FITTED}"
    if anchor.is_reached or nearest is None:
        return found
    if not nearest.is_nearer:
        return f"{found}; no other reading that was tried comes nearer"
    ticks, other, stated = number(results.tried_ticks), anchor.with_unit(nearest.value), anchor.with_unit(nearest.stated)
    return f"{found}; over {ticks} ticks the nearest other reading ({nearest.reading}) gives {other}, and the stated one {stated}"
