"""The command `tickdisk sweep`, which runs an experiment at several points."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.progress import say
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import write_text

_List = "with commas between them"


def sweep(
    experiment: Annotated[str, typer.Argument(help="The experiment, which is switchback.")],
    players: Annotated[str, typer.Option(help=f"Numbers of players, {_List}.")] = "",
    latency: Annotated[str, typer.Option(help=f"Latencies of the dose in ms, {_List}.")] = "",
    save_period: Annotated[str, typer.Option(help=f"Times between two saves in s, {_List}.")] = "",
    device: Annotated[str, typer.Option(help=f"Devices of the dose, as data/devices.yaml names them, {_List}.")] = "",
    on: Annotated[str, typer.Option("--server", help=f"Servers, {_List}.")] = "",
    lives: Annotated[int | None, typer.Option(help="Number of server lives at each point.", min=1, max=1000)] = None,
    table: Annotated[Path | None, typer.Option(help="Table of the points, instead of the options above.")] = None,
    name: Annotated[str, typer.Option(help="Name of the sweep, and of its folder in results/sweeps.")] = "",
    scale: Annotated[str, typer.Option(help="Scale of everything that is not varied.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, and run nothing.")] = False,
) -> None:
    """Runs the switchback at several points through Snakemake, and renders a notebook for each and one for the whole.

    Every combination of the values of the options is a point. A table has a row for each point, and some of the columns players,
    latency_ms, save_period_s, device, server and lives, with tabs between them. Each point has the controls of the experiment and
    one dose. The notebooks are results/sweeps/NAME/POINT.html and results/sweeps/NAME/sweep.html. The same command continues a
    sweep that was interrupted, and cells that exist already are not run again.
    """
    from tickdisk.experiment import SWITCHBACK
    from tickdisk.project import POINTS, SWEEPS, read_points

    if experiment != SWITCHBACK.name:
        raise TickdiskError(f"{experiment} cannot be swept; take {SWITCHBACK.name}")
    axes = {"players": players, "latency_ms": latency, "save_period_s": save_period, "device": device, "server": on}
    varied = {column: [word.strip() for word in words.split(",")] for column, words in axes.items() if words}
    if bool(varied) == (table is not None):
        raise TickdiskError("a sweep needs either values, such as --players 5,10, or a table of points")
    if table is not None and lives is not None:
        raise TickdiskError("--lives belongs to the options; give the table a column lives")
    name = name or (table.stem if table is not None else "_".join([experiment, *varied]))
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise TickdiskError(f"a sweep cannot be called {name!r}; give --name letters, digits, _ and -")
    folder = SWEEPS / name
    if table is not None:
        read_points(table)
        text = table.read_text(encoding="utf-8-sig")
    else:
        varied |= {} if lives is None else {"lives": [str(lives)]}
        text = "\n".join("\t".join(row) for row in [tuple(varied), *itertools.product(*varied.values())]) + "\n"
    before = folder / POINTS
    is_new = not folder.exists()
    if before.exists() and before.read_text(encoding="utf-8-sig") != text:
        raise TickdiskError(f"{before} has other points; give this sweep another --name, or remove the folder")
    write_text(before, text)
    for point in read_points(folder / POINTS):
        say(f"{folder}/{point.name}.html")
    beside = Path(sys.executable).parent
    words = ["snakemake", "--cores", "all", *(["--dry-run"] if dry_run else []), "--config", f"sweep={folder.name}"]
    words += [f"scale={scale}"] if scale else []
    environment = {**os.environ, "PATH": f"{beside}:{os.environ.get('PATH', os.defpath)}"}
    sys.stdout.flush()
    if dry_run and is_new:
        try:
            code = subprocess.run([beside / "snakemake", *words[1:]], env=environment, check=False).returncode  # noqa: S603
        finally:
            shutil.rmtree(folder)  # the points are not decided yet
        sys.exit(code)
    os.execve(beside / "snakemake", words, environment)  # noqa: S606 - signals reach the workflow itself
