"""The commands `tickdisk server list`, `world`, `check` and `traffic`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.server import PORT

app = typer.Typer(
    no_args_is_help=True,
    help="Lists the game servers, makes worlds, checks that a server works as experiments need it, and measures its traffic.",
)


@app.command("list")
def list_servers() -> None:
    """Lists the kinds of game server that experiments can run, and whether each can run on this machine.

    It prints the length of a server's ticks, how it saves its world, which actions its players can do, and which changes of it
    the study `changes` can try.
    """
    from tickdisk import server
    from tickdisk.foundation.errors import TickdiskError

    for kind in server.SERVERS.values():
        try:
            here = f"version {kind.check().version}"
        except TickdiskError as error:
            here = f"cannot run here: {error}"
        print(f"{kind.name}: {kind.title}, {here}")
        print(f"  ticks: every {kind.ticking.budget_ns / 1e6:g} ms, seen in {kind.ticking.source}")
        print(f"  saves: {kind.saving.policy}, decided by {kind.saving.decided_by}. {kind.saving.note}")
        print(f"  players can {', '.join(sorted(kind.capabilities))}")
        for name, change in kind.changes.items():
            print(f"  change {name}: {change.title}")


@app.command()
def world(
    name: Annotated[str, typer.Argument(help="Name of the server, as `tickdisk server list` shows it.")],
    output: Annotated[Path, typer.Argument(help="Folder of the new world.")],
    edge_blocks: Annotated[
        int, typer.Option(min=5, max=1000, help="Edge of the world's square in blocks of 16 nodes; each 5 by 5 have a place.")
    ] = 45,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Number from which all terrain follows.")] = 42,
) -> None:
    """Makes a world for a server, with places for players. A world of the same options that is there already is kept."""
    from tickdisk import server
    from tickdisk.foundation import temporary

    kind = server.named(name)
    with temporary.folder() as logs:
        facts = kind.make_world(output, server.WorldSpec(seed, edge_blocks), logs)
    print(f"{output}: a world of {kind.title} with {facts.blocks_stored} pieces of terrain and {len(facts.places)} places")


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="Name of the server, as `tickdisk server list` shows it.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the server on 127.0.0.1.")] = PORT,
    players: Annotated[int, typer.Option(min=2, max=12, help="Number of players that join.")] = 10,
) -> None:
    """Starts a server with real players and checks each clause of the contract that every server keeps, in about a minute.

    The exit code is 0 if the server kept all clauses, and 1 otherwise.
    """
    from tickdisk import server
    from tickdisk.foundation import process, temporary
    from tickdisk.run import check_server

    process.follow_owner()
    broken = 0
    with temporary.folder() as folder:
        for clause in check_server(server.named(name), folder, port=port, players=players):
            print(f"{'ok    ' if clause.kept else 'BROKEN'}  {clause.name}: {clause.detail}", flush=True)
            broken += not clause.kept
    print(f"{server.named(name).title} " + (f"broke {broken} clauses" if broken else "kept all clauses"))
    if broken:
        raise typer.Exit(1)


@app.command()
def traffic(
    name: Annotated[str, typer.Argument(help="Name of the server, as `tickdisk server list` shows it.")],
    players: Annotated[int, typer.Option(min=1, max=20, help="Number of players that join.")] = 10,
    seconds: Annotated[float, typer.Option(min=2, max=600, help="Time in s that is measured with the players.")] = 10,
) -> None:
    """Counts the bytes and datagrams between a server and players who stand still, and measures the round-trip time of pings.

    Server and players are alone in a network namespace of their own, which nothing outside can reach. It needs root. The
    first row is measured without players, and the second with them. Bytes are those of both directions, with all headers.
    """
    import numpy as np

    from tickdisk import server
    from tickdisk.foundation import process, temporary
    from tickdisk.run import measure_traffic

    process.follow_owner()
    with temporary.folder() as folder:
        rows = measure_traffic(
            server.named(name),
            folder,
            players=players,
            seconds=seconds,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    print("Bytes and datagrams are those of both directions, with the headers of IP and of UDP or TCP.")
    head = ("players", "kB/s", "datagrams/s", "kB/s a player", "server core", "pings", "RTT ms", "p50 ms", "p99 ms", "unanswered")
    print("".join(f"{word:>14}" for word in head))
    for row in rows:
        each = f"{row.bytes_per_s / 1e3 / row.players:14.2f}" if row.players else f"{'':14}"
        rtt = (
            "".join(f"{value:14.2f}" for value in (np.mean(row.rtt_ms), *np.quantile(row.rtt_ms, [0.5, 0.99])))
            if row.rtt_ms
            else ""
        )
        pings = f"{len(row.rtt_ms):14}{rtt}{row.unanswered:14}" if row.players else ""
        print(f"{row.players:14}{row.bytes_per_s / 1e3:14.2f}{row.datagrams_per_s:14.1f}{each}{row.server_share:14.1%}{pings}")
