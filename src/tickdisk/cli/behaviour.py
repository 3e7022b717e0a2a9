"""The commands `tickdisk behaviour list`, `make`, `play` and `provision`."""

from pathlib import Path
from typing import Annotated

import typer

from tickdisk.server import PORT

app = typer.Typer(
    no_args_is_help=True,
    help="Lists behaviours of players, makes player traces of them, and lets players act out a trace on a server.",
)


@app.command("list")
def list_behaviours() -> None:
    """Lists the behaviours, how often players act in which unit, and the servers on which they can be played."""
    from tickdisk import player, server

    for name, behaviour in player.GENERATED.items():
        print(f"{name}: {behaviour.title}")
        print(f"  unit: {behaviour.unit}; typical of: {behaviour.typical_of}")
        for kind in server.SERVERS.values():
            lacking = sorted(behaviour.needs - kind.capabilities)
            limit = kind.limits.get(name)
            can = f"cannot be played, because players cannot {', '.join(lacking)}" if lacking else "can be played"
            print(f"  {kind.title}: {can}{'' if lacking or limit is None else f', but {limit}'}")
    print("instance_start: servers start and stop, which `tickdisk behaviour provision` does")
    print("  unit: starts, each with a stop, per second; typical of: starting a server when somebody wants to play")
    print("  every server can be started and stopped")


@app.command()
def make(
    name: Annotated[str, typer.Argument(help="Name of the behaviour, as `tickdisk behaviour list` shows it.")],
    world: Annotated[Path, typer.Option(help="Folder of a world, which `tickdisk server world` made. Its places are used.")],
    output: Annotated[Path, typer.Option(help="File to write the player trace to.")],
    players: Annotated[int, typer.Option(min=1, max=1000, help="Number of players.")] = 5,
    per_player_hz: Annotated[
        float, typer.Option(min=0.001, max=100, help="How often each player acts, in the unit of the behaviour.")
    ] = 0.5,
    regions: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Number of regions in which the players are. By default one for each.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, max=86400, help="Length of the trace in s.")] = 60,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Number from which all that is random follows.")] = 42,
) -> None:
    """Makes the player trace of a behaviour: a file with one action of one player in each line.

    The same options and the same world give the same file.
    """
    from tickdisk import player, server

    places = server.read_world(world).places
    workload = player.Workload(places, players, per_player_hz, regions or players, seconds, seed)
    count = player.write_trace(output, player.make(name, workload))
    print(f"{output}: {count} actions of {players} players in {seconds:g} s")


@app.command()
def play(
    trace: Annotated[Path, typer.Argument(help="Player trace, as `tickdisk behaviour make` or a recorder wrote it.")],
    world: Annotated[Path, typer.Option(help="Folder of the world. The server runs on a copy of it.")],
    keep: Annotated[Path | None, typer.Option(help="Folder that takes the world as the players left it.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="File that takes a player trace of what the server saw the players do (Luanti only).")
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server on 127.0.0.1.")] = PORT,
) -> None:
    """Starts a server on a copy of a world, and lets players act out a player trace.

    With `--keep`, the trace is a set-up trace, which builds a world. `tickdisk server world` makes
    worlds. The exit code is 1 if an action was not completed, or if the server reported a problem.
    """
    from tickdisk import server
    from tickdisk.foundation import process, temporary
    from tickdisk.run import act_out

    process.follow_owner()
    kind = server.named(server.read_world(world).server)
    with temporary.folder() as folder:
        acted = act_out(kind, world, trace, folder, port=port, keep=keep, record=record)
    for (action, outcome), count in sorted(acted.outcomes.items()):
        print(f"{action}: {count} {outcome.replace('_', ' ')}")
    for problem in acted.problems:
        print(f"{kind.title}: {problem}")
    if acted.problems or any(outcome != "completed" for _, outcome in acted.outcomes):
        raise typer.Exit(1)


@app.command()
def provision(
    world: Annotated[Path, typer.Option(help="Folder of the world. Each server runs on a copy of it.")],
    disk: Annotated[Path, typer.Option(help="Folder on the disk in question, which takes the copies. They are removed again.")],
    per_s: Annotated[float, typer.Option(min=0.01, max=10, help="Number of servers that are started in a second.")] = 0.5,
    instances: Annotated[int, typer.Option(min=1, max=32, help="Number of servers that are started in all.")] = 4,
    stay_s: Annotated[float, typer.Option(min=0, max=3600, help="Time in s from a server's start to its end.")] = 2,
    port: Annotated[int, typer.Option(min=1, max=65000, help="Port of the first server on 127.0.0.1. The others follow.")] = PORT,
) -> None:
    """Starts servers at a rate and stops them again, and prints how long each start and each stop took.

    The copies are dropped from memory before the first start, so that each start reads its world from the disk. `tickdisk device
    up` emulates a disk, whose folder can be given. The exit code is 1 if a server reported a problem.
    """
    from tickdisk import server
    from tickdisk.foundation import memory, process, temporary
    from tickdisk.run import provision as start_and_stop

    process.follow_owner()
    kind = server.named(server.read_world(world).server)
    with temporary.folder(disk) as folder, memory.folder() as fast:
        started = start_and_stop(kind, world, folder, fast, port=port, per_s=per_s, instances=instances, stay_s=stay_s)
    print(f"{'server':>8}{'due s':>10}{'start s':>10}{'stop s':>10}")
    for one in started:
        print(f"{one.instance:8}{one.due_s:10.2f}{one.start_s:10.2f}{one.stop_s:10.2f}")
        for problem in one.problems:
            print(f"{kind.title} {one.instance}: {problem}")
    if any(one.problems for one in started):
        raise typer.Exit(1)
