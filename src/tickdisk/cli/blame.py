"""The command `tickdisk blame`."""

from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.places import EXPLAINED, check_output, in_project


def blame(
    run: Annotated[Path, typer.Argument(help="Run folder, folder of one server life, or folder of a capture.")],
    *,
    life: Annotated[
        str | None, typer.Option(help="Name of the only server life to explain. By default, all captured lives of RUN.")
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            help="Thread to explain. By default, the thread that ticks, or in a capture the busiest thread that runs a loop."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=10_000, help="Number of ticks to explain, the worst first.")] = 5,
    figure: Annotated[
        Path | None,
        typer.Option(help="SVG file to write, with a figure of the time around the worst tick: threads, files, disk and saves."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="HTML page to write, with the same words and with figures.")] = None,
) -> None:
    """Explains late ticks: which request to which file delayed them, behind which lock, and how long the disk took.

    The folder must have a capture by bpftrace, because strace does not see for what threads wait. The explanation is printed, and
    no file is written without --figure or --report.
    """
    import numpy as np

    from tickdisk import blame as room
    from tickdisk.foundation.errors import TickdiskError
    from tickdisk.stats import ALPHA

    for output in (figure, report):
        if output is not None:
            check_output(output)
    lives = [evidence for evidence in room.load_evidence(run) if life in (None, evidence.name)]
    if not lives:
        raise TickdiskError(f"{run} has no captured life {life}; leave --life out to see all")
    reasons = [f"{evidence.name}: {obstacle.sentence}" for evidence in lives for obstacle in evidence.obstacles]
    blames = [room.attribute(evidence, thread=thread) for evidence in lives if len(evidence.waits)]
    if not blames:
        raise TickdiskError(f"{run}: not valid, {'; '.join(reasons) or 'the capture is empty'}; run it again")
    actions = [room.blame_actions(explained) for explained in blames if explained.evidence.actions is not None]
    injected = [explained.evidence.injections for explained in blames]
    table = room.shares(blames, rng=np.random.default_rng(np.random.SeedSequence(0)), alpha=ALPHA, without=injected)
    lines = list(room.screen(blames, table, actions, alpha=ALPHA, top=top, reasons=reasons))
    for line in lines:
        print(line)
    if report is not None:
        from tickdisk import studies

        studies.write_explained(f"The late ticks of {run}", lines, blames, in_project(EXPLAINED), report)
    if figure is not None:
        from tickdisk import plot, studies

        worst = max(blames, key=lambda explained: int(explained.ticks["late_ns"].max()))
        row = int(worst.ticks.index[int(worst.ticks["late_ns"].to_numpy().argmax())])
        ticked = worst.evidence.ticks is not None
        plot.save_svg(studies.around_tick(worst, row, f"Around the worst {'tick' if ticked else 'second'} of {run}"), figure)
