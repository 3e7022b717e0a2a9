"""`tickdisk checkpoint ...`: how a game's state is saved, in simulation."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tickdisk import process
from tickdisk.project import PLAN_PATH

app = typer.Typer(no_args_is_help=True, help="Algorithms that save a game's state, simulated.")


@app.command("sweep")
def sweep(
    plan: Annotated[Path, typer.Option(help="The plan that `tickdisk plan` wrote.")] = PLAN_PATH,
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/checkpoint"),
) -> None:
    """Simulates the six algorithms over update rates, over skews and for Knights and Archers."""
    from tickdisk import checkpoint
    from tickdisk.config import parse_config
    from tickdisk.files import read_json

    process.follow_owner()
    config = parse_config(read_json(plan)["config"])
    design, published = config.chosen.checkpoint, checkpoint.load_published()
    made = checkpoint.cases(
        rates=design.updates_per_tick,
        skews=design.skews,
        units=published.game.units,
        ticks=design.ticks,
        readings_ticks=design.readings_ticks,
        anchors=checkpoint.anchor_rates(published),
        seed=config.seed,
    )
    found = checkpoint.sweep(made, cores=len(os.sched_getaffinity(0)), say=lambda line: print(line, flush=True))
    checkpoint.write_sweep(found, output)


@app.command("simulate")
def simulate(
    trace: Annotated[Path, typer.Argument(help="Parquet or .npz file of tick and cell; or a captured life of a run folder.")],
    *,
    rows: Annotated[int | None, typer.Option(help="Rows of the state; empty: as many as the trace needs.", min=1)] = None,
    columns: Annotated[int, typer.Option(help="Columns of the state.", min=1)] = 10,
    ticks: Annotated[int, typer.Option(help="Ticks to simulate at the most.", min=1)] = 1_000_000,
    tick_hz: Annotated[float, typer.Option(help="Ticks per second.", min=0.001)] = 30,
    disk_mb_per_s: Annotated[float, typer.Option(help="What the disk writes, in MB/s.", min=0.001)] = 60,
    memory_gb_per_s: Annotated[float, typer.Option(help="What memory copies, in GB/s.", min=0.001)] = 2.36,
    full_every: Annotated[int, typer.Option(help="Of the log-based checkpoints every so many is a full one.", min=1)] = 10,
) -> None:
    """Simulates the six algorithms on recorded updates and prints a table: overhead, longest overhead, checkpoint, recovery."""
    from tickdisk import checkpoint

    state = checkpoint.State(rows=rows, columns=columns) if rows is not None else None
    source = checkpoint.trace_of_life(trace) if trace.is_dir() else checkpoint.load_trace(trace, state)
    costs = checkpoint.Costs(tick_hz=tick_hz, disk_bandwidth=disk_mb_per_s, memory_bandwidth=memory_gb_per_s, memory_unit="GB/s")
    runs = [checkpoint.Run(name, costs, checkpoint.Readings(full_every=full_every)) for name in checkpoint.ALGORITHMS]
    outcomes = checkpoint.simulate(source, runs, ticks=ticks)
    print(f"{len(outcomes[0].ticks)} ticks, {outcomes[0].updates} updates, {source.state.objects} objects")
    print(f"{'algorithm':28} {'overhead/tick':>14} {'longest':>10} {'checkpoint':>11} {'recovery':>10}")
    for name, found in zip(checkpoint.ALGORITHMS, outcomes, strict=True):
        longest = found.ticks["overhead_ms"].max()
        print(f"{name:28} {found.overhead_ms:11.4f} ms {longest:7.2f} ms {found.checkpoint_s:9.4f} s {found.recovery_s:8.4f} s")
