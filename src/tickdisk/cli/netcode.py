"""The commands `tickdisk netcode ...`, which measure what a network stack costs a game."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli import step
from tickdisk.cli.parts import WHOLE, part_of
from tickdisk.cli.places import PLAN_PATH, check_output_folder
from tickdisk.foundation import process
from tickdisk.foundation.errors import TickdiskError

if TYPE_CHECKING:
    import pandas as pd

_MOST_PLAYERS, _LONGEST_S, _LONGEST_DELAY_MS = 1000, 3600, 60_000
app = typer.Typer(no_args_is_help=True, help="Network stacks under a prototype of a game.")


@app.command("list")
def list_() -> None:
    """Lists the network stacks, and the prototypes of games."""
    from tickdisk import netcode

    for title, known in (("stacks", netcode.stacks()), ("prototypes", netcode.prototypes())):
        print(f"{title}:")
        for name, about in known.items():
            print(f"  {name:12}{about}")


@app.command("run")
def run(
    stack: Annotated[str, typer.Argument(help="Network stack, as `tickdisk netcode list` lists them.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="New folder for the tables.")],
    prototype: Annotated[str, typer.Option(help="Prototype of a game.")] = "voxel",
    players: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of players of a step; can be repeated, from few to many. By default 20.", min=0, max=_MOST_PLAYERS
        ),
    ] = None,
    blocks: Annotated[
        int,
        typer.Option(help="Blocks that each player places in each step. Without any, players stand still.", min=0, max=100_000),
    ] = 0,
    steady_s: Annotated[
        float, typer.Option(help="Time in s for which the number of players is steady in each step.", min=0.5, max=_LONGEST_S)
    ] = 4.0,
    ramp_s: Annotated[
        float, typer.Option(help="Time in s at the start of each step, in which players come.", min=0.5, max=_LONGEST_S)
    ] = 2.0,
    delay_ms: Annotated[
        float, typer.Option(help="Delay in ms that is added to each packet in each direction.", min=0, max=_LONGEST_DELAY_MS)
    ] = 0.0,
    jitter_ms: Annotated[
        float,
        typer.Option(
            help="Largest time in ms by which a packet arrives earlier or later than the delay says.",
            min=0,
            max=_LONGEST_DELAY_MS,
        ),
    ] = 0.0,
    loss: Annotated[float, typer.Option(help="Share of packets that are lost in each direction.", min=0, max=1)] = 0.0,
    reordered: Annotated[
        float, typer.Option(help="Share of packets that skip the delay and so overtake others.", min=0, max=1)
    ] = 0.0,
    mbit_per_s: Annotated[float | None, typer.Option(help="Bandwidth of each direction in Mbit/s.", min=0.001, max=1e6)] = None,
    has_link: Annotated[
        bool,
        typer.Option(
            "--link", help="Carry packets by our link program even without a delay or losses, to see what the program costs."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of all choices.", min=0, max=(1 << 63) - 1)] = 1,
) -> None:
    """Serves a prototype on a network stack, lets players play on it, and prints a table with a row for each number of players.

    Server and players are in network namespaces of their own, which nothing outside can reach. With a delay, a loss or another
    condition, a program carries the packets between them. The folder gets the table of the steps, all pings, and both in the
    layout of the published study.
    """
    from tickdisk import netcode

    if output.exists():
        raise TickdiskError(f"{output} exists already; remove it or name another folder")
    check_output_folder(output)
    process.follow_owner()
    conditions = netcode.Conditions(delay_ms, jitter_ms, loss, reordered, mbit_per_s, seed)
    is_plain = conditions == netcode.Conditions(seed=seed) and not has_link
    attendance = netcode.Attendance(tuple(players or (20,)), blocks=blocks, ramp_s=ramp_s, steady_s=steady_s, seed=seed)
    setting = netcode.Setting(stack, attendance, prototype, None if is_plain else conditions)
    life = netcode.live(setting, output / "logs")
    steps, pings = netcode.describe_steps(life), netcode.steady_pings(life)
    steps.to_csv(output / "steps.csv", index=False)
    pings.to_csv(output / "pings.csv", index=False)
    netcode.write_published(life, output / "published")
    for line in _screen(steps):
        print(line)
    for message in life.lost:
        print(f"a player was lost: {message}")
    print(_worlds(life.is_equal, bool(life.lost)))


def _worlds(is_equal: bool, is_lost: bool) -> str:
    if is_equal:
        return "the worlds of all players were equal to the server's"
    return (
        "the worlds of the players who were lost are not known" if is_lost else "the world of a player differed from the server's"
    )


def _screen(steps: "pd.DataFrame") -> list[str]:
    head = (
        "players",
        "RTT ms",
        "p99 ms",
        "age ms",
        "late updates",
        "server cores",
        "clients cores",
        "sent kB/s",
        "kB/s a player",
    )
    lines = ["".join(f"{word:>14}" for word in head)]
    for row in steps.to_dict("records"):
        sent = row["sent_bytes_per_s"] / 1e3
        share = sent / row["players"] if row["players"] else float("nan")
        lines.append(
            f"{row['players']:14}{row['rtt_mean_ms']:14.2f}{row['rtt_p99_ms']:14.2f}{row['age_p50_ms']:14.2f}"
            f"{row['late_updates']:14.1%}{row['server_share']:14.1%}{row['clients_share']:14.1%}{sent:14.1f}{share:14.2f}"
        )
        if row["reason"]:
            lines.append(f"{'':14}not valid, because {row['reason']}")
    return lines


@app.command("study")
def study(
    plan: Annotated[Path, typer.Option(help="The plan that `tickdisk plan` wrote.")] = PLAN_PATH,
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/netcode"),
    part: Annotated[
        str, typer.Option(help="Part of the runs to make, such as 2/6. `tickdisk netcode gather` puts all parts together.")
    ] = WHOLE,
) -> None:
    """Runs the study of network stacks, whose sizes the plan says, and writes the tables that its notebook reads."""
    from tickdisk import netcode
    from tickdisk.experiment import NETCODE
    from tickdisk.project import read_plan

    check_output_folder(output)
    number, parts = part_of(part)
    step.begin(output)
    config = read_plan(plan).config
    design = netcode.StackSizes(**config.chosen.design(NETCODE).model_dump())
    findings = netcode.study(design, config.seed, output, lambda line: print(line, flush=True), part=number, parts=parts)
    netcode.write_study(findings, output)


@app.command("gather")
def gather(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of all parts, into which `tickdisk netcode study --part` wrote.")
    ],
    output: Annotated[Path, typer.Option(help="Folder to write the tables to.")] = Path("results/netcode"),
) -> None:
    """Puts the parts of the study together, which several jobs have run at the same time."""
    from tickdisk import netcode

    check_output_folder(output)
    netcode.write_study(netcode.gather(folders), output)
