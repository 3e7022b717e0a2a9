"""The commands `tickdisk checkpoint ...`, which save a game's state under several algorithms, simulated and for real.

A life is one process that plays the ticks of a game and saves its state into a folder. No game server runs in it.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli import step
from tickdisk.cli.parts import WHOLE, part_of
from tickdisk.cli.places import DEVICES, PLAN_PATH, check_new_folder, check_output_folder, in_project
from tickdisk.cli.progress import say
from tickdisk.foundation import cluster
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.numbers import percent

_MOST_CELLS, _MOST_UPDATES, _LONGEST_SEED = (1 << 32) - 1, 100_000_000, (1 << 63) - 1
_MOST_ROWS, _LEAST_HZ = _MOST_CELLS // 10, 0.001
_Rows = Annotated[int, typer.Option(help="Size of the state in rows of ten cells of 4 bytes.", min=1, max=_MOST_ROWS)]
_OwnRows = Annotated[
    int | None,
    typer.Option(
        help="Size of the state in rows of ten cells of 4 bytes. By default, the store's checkpoints say it.",
        min=1,
        max=_MOST_ROWS,
    ),
]
_Folder = Annotated[Path | None, typer.Argument(help="Folder on the disk to try. It is left out with --device.")]
_DeviceName = Annotated[
    str | None,
    typer.Option("--device", help="Emulated device to try instead: a name in data/devices.yaml, or a file with one device."),
]
_SaveSeconds = Annotated[
    float,
    typer.Option(
        help="Length of the two parts of a life in which checkpoints are made, in seconds. A rest of a third of it follows each.",
        min=1,
        max=3600,
    ),
]
_Skew = Annotated[float, typer.Option(help="Skew of the Zipf distribution that chooses the cells.", min=0, max=0.99)]
_UpdatesPerTick = Annotated[int, typer.Option(help="Cells that change in a tick.", min=1, max=_MOST_UPDATES)]
_OneByOne = Annotated[
    bool,
    typer.Option("--one-by-one/--at-once", help="Hand every update to the store by itself, or all updates of a tick at its end."),
]
_Algorithms = Annotated[
    list[str] | None, typer.Option("--algorithm", help="Algorithm to try; can be repeated. By default, all are tried.")
]
_Store = Annotated[Path, typer.Argument(help="Folder of the store, into which `tickdisk checkpoint run` has saved a state.")]
app = typer.Typer(no_args_is_help=True, help="Algorithms that save a game's state, simulated and for real.")


@app.command("sweep")
def sweep(
    plan: Annotated[Path, typer.Option(help="The plan that `tickdisk plan` wrote.")] = PLAN_PATH,
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/checkpoint"),
    part: Annotated[
        str,
        typer.Option(help="Part of the simulations to run, such as 2/8. `tickdisk checkpoint gather` puts all parts together."),
    ] = WHOLE,
) -> None:
    """Simulates the six algorithms of the published cost model over update rates and skews, and for the game Knights and Archers.

    The plan says the rates, the skews and the number of ticks. The study of checkpoints reads the tables that are written.
    """
    from tickdisk.experiment import CHECKPOINT
    from tickdisk.project import read_plan
    from tickdisk.saving import checkpoint

    check_output_folder(output)
    number, parts = part_of(part)
    step.begin(output)
    config = read_plan(plan).config
    design, published = config.chosen.design(CHECKPOINT), checkpoint.load_published()
    cases = checkpoint.cases(
        rates=design.updates_per_tick,
        skews=design.skews,
        units=published.game_units,
        ticks=design.ticks,
        readings_ticks=design.readings_ticks,
        anchors=published.rates,
        seed=config.seed,
    )
    tables = checkpoint.sweep(cases, cores=cluster.cores(), say=say, part=number, parts=parts)
    checkpoint.write_sweep(tables, output)


@app.command("gather")
def gather(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of all parts, into which `tickdisk checkpoint sweep --part` wrote.")
    ],
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/checkpoint"),
) -> None:
    """Puts the parts of the simulations together, which several jobs have run at the same time."""
    from tickdisk.saving import checkpoint

    check_output_folder(output)
    checkpoint.write_sweep(checkpoint.gather(folders), output)


@app.command("simulate")
def simulate(
    trace: Annotated[
        Path,
        typer.Argument(help="Parquet or .npz file with tick and cell of every update, or the folder of a captured server life."),
    ],
    *,
    rows: Annotated[
        int | None, typer.Option(help="Rows of the state. By default, as many as the trace needs.", min=1, max=_MOST_CELLS)
    ] = None,
    columns: Annotated[int, typer.Option(help="Columns of the state.", min=1, max=_MOST_CELLS)] = 10,
    ticks: Annotated[int, typer.Option(help="Largest number of ticks to simulate.", min=1, max=10_000_000)] = 1_000_000,
    tick_hz: Annotated[float, typer.Option(help="Ticks per second.", min=_LEAST_HZ, max=1e6)] = 30,
    disk_mb_per_s: Annotated[float, typer.Option(help="Write bandwidth of the disk in MB/s.", min=0.001, max=1e6)] = 60,
    memory_gb_per_s: Annotated[float, typer.Option(help="Copy bandwidth of memory in GB/s.", min=0.001, max=1e6)] = 2.36,
    full_every: Annotated[
        int, typer.Option(help="Number of checkpoints per full one, for the algorithms that write a log.", min=1, max=1_000_000)
    ] = 10,
) -> None:
    """Simulates the six algorithms of the published cost model on recorded updates of a game, and prints what each would cost.

    The costs are the mean and longest time added to a tick, the time of a checkpoint, and that of a recovery after a crash.
    """
    from tickdisk.saving import checkpoint

    state = checkpoint.State(rows=rows, columns=columns) if rows is not None else None
    source = checkpoint.trace_of_life(trace) if trace.is_dir() else checkpoint.load_trace(trace, state)
    costs = checkpoint.Costs(tick_hz=tick_hz, disk_bandwidth=disk_mb_per_s, memory_bandwidth=memory_gb_per_s, memory_unit="GB/s")
    runs = [checkpoint.Simulation(name, costs, checkpoint.Readings(full_every=full_every)) for name in checkpoint.ALGORITHMS]
    outcomes = checkpoint.simulate(source, runs, ticks=ticks)
    print(f"{len(outcomes[0].ticks)} ticks, {outcomes[0].updates} updates, {source.state.objects} objects")
    if len(source.counts) > ticks:
        print(f"the trace has {len(source.counts)} ticks with {len(source.cells)} updates; more --ticks simulate the rest, too")
    for word, count in source.stored.items():
        print(f"{count} captured writes with {word} count as updates in memory; that they wait for the device is in no number")
    print(f"{'algorithm':28} {'overhead/tick':>14} {'longest':>10} {'checkpoint':>11} {'recovery':>10}")
    for name, outcome in zip(checkpoint.ALGORITHMS, outcomes, strict=True):
        longest = outcome.ticks["overhead_ms"].max()
        print(
            f"{name:28} {outcome.overhead_ms:11.4f} ms {longest:7.2f} ms {outcome.checkpoint_s:9.4f} s "
            f"{outcome.recovery_s:8.4f} s"
        )


@app.command("run")
def run(
    folder: Annotated[
        Path,
        typer.Argument(help="Folder of the store, on the disk to try. If it holds a state already, the life goes on from there."),
    ],
    *,
    algorithm: Annotated[str, typer.Option(help="Algorithm to use. An unknown name lists all.")] = "copy_on_update",
    updates_per_tick: _UpdatesPerTick = 64_000,
    skew: _Skew = 0.8,
    rows: _Rows = 1_000_000,
    ticks: Annotated[int, typer.Option(help="Number of ticks to play.", min=1, max=100_000_000)] = 300,
    tick_hz: Annotated[
        float, typer.Option(help="Ticks per second. With 0, ticks follow each other without a pause.", min=0, max=1e6)
    ] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the random updates.", min=0, max=_LONGEST_SEED)] = 42,
) -> None:
    """Plays ticks of a game with random updates, and saves its state for real under one algorithm, one checkpoint after another.

    It prints how much longer ticks become, how long checkpoints take, and how much is written. The folder keeps the saved state.
    """
    from tickdisk.saving import checkpoint, store

    check_new_folder(folder)
    if 0 < tick_hz < _LEAST_HZ:
        raise TickdiskError(f"--tick-hz {tick_hz:g} is too slow; give 0, or at least {_LEAST_HZ:g}")
    updates = checkpoint.ZipfTrace(updates_per_tick, skew, seed, state=checkpoint.State(rows=rows))
    life = store.live(store.Setting(algorithm, folder, updates, ticks=ticks, tick_hz=tick_hz))
    checkpoints, added_ms = life.checkpoints, (life.ticks["update_ns"] + life.ticks["log_ns"] + life.ticks["pause_ns"]) / 1e6
    size_mb, memory_mb = updates.state.objects * updates.state.object_bytes / 1e6, life.memory_bytes / 1e6
    print(f"{algorithm}: ticks {life.found + 1} to {life.last}, state {size_mb:,.0f} MB, memory {memory_mb:,.0f} MB at the most")
    print(f"update, log and pause of a tick: mean {added_ms.mean():.3f} ms, longest {added_ms.max():.3f} ms")
    print(f"longest pause of a checkpoint: {life.ticks['pause_ns'].max() / 1e6:.3f} ms")
    if len(checkpoints):
        took_s = (checkpoints["end_ns"] - checkpoints["begin_ns"]).mean() / 1e9
        written = checkpoints["objects"].mean() * updates.state.object_bytes / 1e6
        print(f"{len(checkpoints)} checkpoints of {took_s:.3f} s and {written:,.1f} MB on average")


@app.command("recover")
def recover(
    folder: _Store,
    *,
    rows: _OwnRows = None,
) -> None:
    """Recovers the state of a game at its last committed tick from a store, as a server would after a crash.

    It prints which checkpoint and how many ticks the state comes from, how long that took, and what is damaged in the folder.
    """
    from tickdisk.saving import store

    recovery = store.recover(folder, store.cells_in(folder, None if rows is None else rows * 10))
    how = "the server was stopped" if recovery.was_stopped else "the server crashed"
    again = recovery.tick - recovery.image_tick
    print(f"tick {recovery.tick}: checkpoint {recovery.number} of tick {recovery.image_tick}, and {again} ticks again; {how}")
    times = f"restored in {1e3 * recovery.restore_s:.3g} ms, replayed in {1e3 * recovery.replay_s:.3g} ms"
    print(f"{times}, digest {recovery.digest:016x}")
    for finding in recovery.findings:
        print(f"found: {finding}")


@app.command("verify")
def verify(
    folder: _Store,
    *,
    rows: _OwnRows = None,
) -> None:
    """Reads everything in a store's folder and says what is damaged or incomplete, and whether its state can be recovered.

    The exit code is 0 if the state at the last committed tick can be recovered, as after a crash, and 1 otherwise.
    """
    from tickdisk.saving import store

    cells = store.cells_in(folder, None if rows is None else rows * 10)
    findings = store.verify(folder, cells)
    print("\n".join(findings) or f"{folder}: nothing is damaged")
    try:
        recovery = store.recover(folder, cells)
    except store.StoreRefused as error:
        print(f"the state cannot be recovered: {error}")
        raise typer.Exit(1) from error
    if findings:
        how = "the server was stopped" if recovery.was_stopped else "the server crashed"
        print(f"the state at tick {recovery.tick:,} can be recovered; {how}")


@app.command("crash")
def crash(
    folder: Annotated[Path | None, typer.Argument(help="Folder for the saved states. It is left out with --cuts.")] = None,
    *,
    algorithms: _Algorithms = None,
    crashes: Annotated[int, typer.Option(help="Number of crashes for each algorithm.", min=1, max=1_000_000)] = 84,
    cuts: Annotated[bool, typer.Option(help="Cut the power of an emulated device instead of killing the process.")] = False,
    rows: _Rows = 1_000_000,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.", min=0, max=_LONGEST_SEED)] = 1,
) -> None:
    """Tests the recovery of every algorithm: crashes a game that saves its state at random times, and recovers the state.

    Each recovered state is compared with one that was computed without a crash. A line for each algorithm says how many crashes
    its state survived. The exit code is 1 if a committed state was lost or is wrong, and 0 otherwise.
    """
    from collections import Counter
    from contextlib import ExitStack

    from tickdisk.saving import checkpoint, store

    if cuts == (folder is not None):
        raise TickdiskError("give a folder for the saved states, or --cuts, which keeps them on an emulated device")
    place = folder or Path()
    check_new_folder(place)
    lost = 0
    for algorithm in algorithms or store.ALGORITHMS:
        updates = checkpoint.ZipfTrace(8_000, state=checkpoint.State(rows=rows))
        setting = store.Setting(algorithm, place, updates, ticks=1_000_000, tick_hz=100, full_every=3)
        with ExitStack() as stack:
            way = stack.enter_context(store.cutter()) if cuts else store.ProcessKill(place / algorithm)
            trials = list(store.campaign(setting, way, crashes, seed=seed))
        failed = [trial for trial in trials if not trial.is_survived]
        lost += len(failed)
        phases = Counter(phase for trial in trials for phase in trial.phases if phase not in {"idle", "update"})
        spread = ", ".join(f"{phase} {phases[phase]}" for phase in ("copy", "write", "sync", "switch", "commit"))
        ways = ", ".join(f"{count} {how}s" for how, count in Counter(trial.how for trial in trials).items())
        print(f"{algorithm:28} {len(trials) - len(failed)} of {len(trials)} survived: {ways}; crashes in {spread}", flush=True)
        for trial in failed[:5]:
            print(f"  {trial}")
    raise typer.Exit(1 if lost else 0)


@app.command("compare")
def compare(
    folder: _Folder = None,
    *,
    device_name: _DeviceName = None,
    rates: Annotated[
        list[int] | None,
        typer.Option(
            "--rate",
            help="Updates per tick to compare at; can be repeated. By default, rates from 1,000 to 256,000.",
            min=1,
            max=_MOST_UPDATES,
        ),
    ] = None,
    fit_rates: Annotated[
        list[int] | None,
        typer.Option(
            "--fit-rate",
            help="Updates per tick at which the model is calibrated; can be repeated. By default, five other rates.",
            min=1,
            max=_MOST_UPDATES,
        ),
    ] = None,
    one_by_one: _OneByOne = True,
    later: Annotated[bool, typer.Option(help="Play also the six later algorithms, which the cost model does not cover.")] = False,
    rows: _Rows = 1_000_000,
    save_seconds: _SaveSeconds = 2.4,
    lives: Annotated[int, typer.Option(help="Number of lives of each algorithm at each rate.", min=1, max=1000)] = 1,
    output: Annotated[Path | None, typer.Option(help="Folder to write the tables to.")] = None,
) -> None:
    """Measures how much the real algorithms lengthen ticks over update rates, and compares that with a cost model.

    The model is the published one, with its own parameters and calibrated on this machine. Each life is a process that plays a
    game and saves its state under one algorithm. The comparison is printed, and written as tables with --output.
    """
    from tickdisk.saving import checkpoint, store
    from tickdisk.stats import ALPHA

    if output is not None:
        check_output_folder(output)
    with _place(folder, device_name, rows) as place:
        design = store.TrialDesign(
            folder=place,
            state=checkpoint.State(rows=rows),
            rates=rates or store.RATES,
            algorithms=store.ALGORITHMS if later else checkpoint.ALGORITHMS,
            one_by_one=one_by_one,
            save_s=save_seconds,
            rest_s=save_seconds / 3,
            lives=lives,
        )
        comparison = store.compare(design, fit_rates=fit_rates or store.FIT_RATES, say=say)
    for line in store.lines(comparison, ALPHA):
        print(line)
    if output is not None:
        store.write_comparison(comparison, output)


@app.command("study")
def study(
    plan: Annotated[Path, typer.Option(help="The plan that `tickdisk plan` wrote.")] = PLAN_PATH,
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/store"),
) -> None:
    """Measures the real algorithms for the study of the store: against the cost models, and all of them on several games.

    The plan says the update rates, the games, and the emulated devices that the games save to. It writes tables, which the
    notebook of the study reads.
    """
    from tickdisk import device
    from tickdisk.experiment import STORE
    from tickdisk.project import read_plan
    from tickdisk.saving import checkpoint, store

    check_output_folder(output)
    step.begin(output)
    config = read_plan(plan).config
    settings = config.chosen.design(STORE)
    design = store.TrialDesign(
        folder=output,
        state=checkpoint.State(rows=settings.rows),
        rates=settings.updates_per_tick,
        algorithms=checkpoint.ALGORITHMS,
        tick_hz=settings.tick_hz,
        warm_up_s=settings.warm_up_s,
        save_s=settings.save_s,
        rest_s=settings.rest_s,
        cycles=settings.cycles,
        lives=settings.lives,
        seed=config.seed,
    )
    games = [
        store.Game(
            game.name,
            game.rows,
            game.updates_per_tick,
            game.skew,
            game.save_s,
            device.named(game.device, in_project(DEVICES)),
        )
        for game in settings.games
    ]
    disk = device.named(settings.device, in_project(DEVICES))
    findings = store.study(design, disk, fit_rates=settings.fit_updates_per_tick, games=games, say=say)
    store.write_study(findings, output)


@app.command("advise")
def advise(
    folder: _Folder = None,
    *,
    device_name: _DeviceName = None,
    algorithms: _Algorithms = None,
    updates_per_tick: _UpdatesPerTick = 64_000,
    skew: _Skew = 0.8,
    rows: _Rows = 1_000_000,
    tick_hz: Annotated[float, typer.Option(help="Ticks per second.", min=1, max=1e6)] = 30,
    limit_ms: Annotated[
        float | None,
        typer.Option(
            help="Time in milliseconds by which a checkpoint may lengthen a tick. By default, half of a tick.", min=0, max=3.6e6
        ),
    ] = None,
    memory_mb: Annotated[
        float | None, typer.Option(help="Memory in MB that the process may use. By default, there is no limit.", min=1, max=1e9)
    ] = None,
    one_by_one: _OneByOne = False,
    save_seconds: _SaveSeconds = 2.4,
    lives: Annotated[
        int, typer.Option(help="Number of lives of each algorithm. A life takes some ten seconds.", min=1, max=1000)
    ] = 3,
) -> None:
    """Tries the algorithms on a game like yours, on this machine and disk, and recommends one with the reason.

    Each algorithm saves the state of a made-up game with the given size, updates and tick rate, in several lives. A table of the
    costs is printed, with intervals over the lives. If the lives disagree about the algorithm, the advice is undecided.
    """
    from tickdisk.saving import checkpoint, store
    from tickdisk.stats import ALPHA, over_lives

    state = checkpoint.State(rows=rows)
    with _place(folder, device_name, rows) as place:
        design = store.TrialDesign(
            folder=place,
            state=state,
            rates=[updates_per_tick],
            algorithms=algorithms or store.ALGORITHMS,
            skew=skew,
            tick_hz=tick_hz,
            one_by_one=one_by_one,
            save_s=save_seconds,
            rest_s=save_seconds / 3,
            lives=lives,
        )
        trials = store.trials(design, lambda _: print(".", end="", flush=True))
    limit = 500 / tick_hz if limit_ms is None else limit_ms
    print(f"\nstate {state.objects * state.object_bytes / 1e6:,.0f} MB, {updates_per_tick:,} updates per tick, skew {skew:g}:")
    print(f"{'':28} {'added/tick':>26} {'longest':>10} {'checkpoint':>11} {'recovery':>11} {'written':>10} {'memory':>10}")
    for row in store.costs_over_lives(trials).sort_values("added_ms").to_dict("records"):
        if math.isnan(row["longest_ms"]):
            print(f"{row['algorithm']:28} is not judged: {save_seconds:g} s had too few checkpoints; give more --save-seconds")
            continue
        mark = " " if row["longest_ms"] <= limit else "!"
        added = over_lives(trials.loc[trials["algorithm"] == row["algorithm"], "added_ms"], ALPHA)
        ends = "" if math.isnan(added.low) else f"[{added.low:.3f}, {added.high:.3f}]"
        print(
            f"{row['algorithm']:28} {row['added_ms']:7.3f} {ends:>15} ms {row['longest_ms']:6.2f} ms{mark} "
            f"{row['checkpoint_s']:8.3f} s {1e3 * row['recovery_s']:8.3g} ms {row['bytes'] / 1e6:7,.1f} MB "
            f"{row['memory_bytes'] / 1e6:7,.0f} MB"
        )
    advice = store.advise(trials, limit_ms=limit, memory_bytes=None if memory_mb is None else 1e6 * memory_mb)
    print(
        f"!: longer than {limit:.1f} ms, at least once. Number of lives of each: {lives}; intervals have confidence "
        f"{percent(1 - ALPHA)}. Other work on the machine makes ticks longer, too."
    )
    if advice.is_decided:
        print(f"take {advice.algorithm}: {advice.why}")
        return
    each = ", ".join(f"{name} by {count}" for name, count in advice.by_lives.items())
    print(f"undecided: the lives disagree ({each}). Together they are for {advice.algorithm}: {advice.why}. Try more --lives.")


@contextmanager
def _place(folder: Path | None, device_name: str | None, rows: int) -> Iterator[Path]:
    """Yields the folder to try: the given one, or the mount point of a new emulated device."""
    from tickdisk import device
    from tickdisk.saving import checkpoint, store

    if device_name is None:
        if folder is None:
            raise TickdiskError("give the folder to try, or an emulated device by --device")
        if not folder.is_dir():
            raise TickdiskError(f"{folder} does not exist; create a folder on the disk that you want to try, and name it")
        yield folder
        return
    size_bytes = store.device_bytes(checkpoint.State(rows=rows))
    with device.up(device.named(device_name, in_project(DEVICES)), size_bytes=size_bytes) as disk:
        yield disk.mount_point
