"""`tickdisk blame`."""

from pathlib import Path
from typing import Annotated

import typer


def blame(
    run: Annotated[Path, typer.Argument(help="Folder of a run, of one of its lives, or of a capture.")],
    *,
    life: Annotated[str | None, typer.Option(help="Only this life of the run.")] = None,
    thread: Annotated[
        str | None, typer.Option(help="Thread to explain; empty: the server's, or the busiest that runs a loop.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the worst ticks to explain.")] = 5,
    figure: Annotated[
        Path | None, typer.Option(help="SVG file to draw the time around the worst tick to: threads, files, disk, saves.")
    ] = None,
) -> None:
    """Says where the time of late ticks went: which request, in which file, behind which lock, and what the disk took."""
    import numpy as np

    from tickdisk import blame as room
    from tickdisk import server
    from tickdisk.errors import TickdiskError

    found = [evidence for evidence in room.load_evidence(run) if life in (None, evidence.name)]
    if not found:
        raise TickdiskError(f"{run} has no captured life {life}; leave --life out to see all")
    ticked = found[0].ticks is not None
    budget_ns = server.BUDGET_NS if ticked else None
    name = thread or (server.TICK_THREAD if ticked else None)
    reasons = [f"{evidence.name}: {reason}" for evidence in found for reason in evidence.reasons]
    blames = [room.attribute(evidence, budget_ns=budget_ns, thread=name) for evidence in found if len(evidence.waits)]
    if not blames:
        raise TickdiskError(f"{run}: not valid, {'; '.join(reasons) or 'the capture is empty'}; run it again")
    actions = [room.blame_actions(one) for one in blames if one.evidence.actions is not None]
    injected = [one.evidence.injections for one in blames]
    table = room.shares(blames, rng=np.random.default_rng(np.random.SeedSequence(0)), without=injected)
    for line in room.screen(blames, table, actions, top=top, reasons=reasons):
        print(line)
    if figure is not None:
        from tickdisk import plot, report

        worst = max(blames, key=lambda one: int(one.ticks["late_ns"].max()))
        row = int(worst.ticks.index[int(worst.ticks["late_ns"].to_numpy().argmax())])
        plot.save_svg(report.around_tick(worst, row, f"Around the worst {'tick' if ticked else 'second'} of {run}"), figure)
