"""The commands `tickdisk compare` and `tickdisk reference`, which tell whether two runs agree."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.places import check_output, in_project

_Run = Annotated[Path, typer.Argument(help="A folder with facts.json and claims.json, such as results or data/reference/paper.")]


def compare(
    first: _Run,
    second: _Run,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole comparison as JSON.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="List every claim, not only those that disagree.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with code 1 if a claim has another verdict, or if two intervals are further apart than the margin.",
        ),
    ] = False,
) -> None:
    """Compares two runs claim by claim: the verdicts, and whether the intervals of the effects overlap.

    Claims of a study are compared only if its plan is the same in both runs. A claim that is open in one run does not disagree.
    """
    from tickdisk import compare as room
    from tickdisk.foundation.record import plain

    comparison = room.compare(room.load(first), room.load(second))
    if as_json:
        print(json.dumps(plain(comparison), indent=2))
    else:
        for line in room.lines(comparison, all_rows=show_all):
            print(line)
    if strict and not comparison.agrees:
        raise typer.Exit(1)


def compare_reference(
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    output: Annotated[Path, typer.Option(help="JSON file to write.")] = Path("results/comparison.json"),
) -> None:
    """Compares a run with the reference of the same scale in data/reference, and prints the comparison in a few sentences.

    It writes the whole comparison as JSON, which the paper and the page quote. If there is no reference, it says so.
    """
    from tickdisk import compare as room

    check_output(output)
    print(room.compare_with_reference(results, output))


def prices(
    into: Annotated[
        Path | None, typer.Option(help="Markdown file in which the table is replaced, such as docs/operate.md.")
    ] = None,
) -> None:
    """Prints what changes of a server's settings do to the longest tick gap on a slow disk, and what a power cut then loses.

    The numbers come from our run of the study `changes` in data/kept. With `--into` the table is written into a document, between
    the two comments that mark its place.
    """
    from tickdisk import report
    from tickdisk.compare import KEPT

    if into is None:
        print(report.price_list(in_project(KEPT)), end="")
    else:
        report.PRICES.replace(into, report.price_list(in_project(KEPT)))


def sizing(
    into: Annotated[
        Path | None, typer.Option(help="Markdown file in which the table is replaced, such as docs/operate.md.")
    ] = None,
) -> None:
    """Prints how many players, joins and servers a fast and a slow disk carry, and what memory changes.

    The numbers come from our runs of the studies `load`, `bursts`, `instances` and `memory` in data/kept. With `--into` the table
    is written into a document, between the two comments that mark its place.
    """
    from tickdisk import report
    from tickdisk.compare import KEPT

    listed = report.sizing_list(in_project(KEPT))
    if into is None:
        print(listed, end="")
    else:
        report.SIZING.replace(into, listed)


def reference(results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results")) -> None:
    """Keeps a run as the reference of its scale, with which later runs are compared.

    It writes the facts, the claims and the main parts of the plan of the run to data/reference/SCALE, together with the commit of
    the project. A study that runs alone is kept in data/kept/STUDY, with its figure, or in data/kept/STUDY-NAME if the run names
    its disk. An older reference of the same name is replaced. It needs a checkout without changes that are not committed.
    """
    from tickdisk import compare as room
    from tickdisk.foundation.machine import Machine
    from tickdisk.project import left_out, read_plan, unable
    from tickdisk.rights import lacking

    plan = read_plan(results / "plan.json")
    without = left_out(plan.config, plan.arms, plan.missing_servers) | unable(plan.arms, lacking(Machine()))
    print(room.write_reference(results, left_out=without))
