"""The command `tickdisk analyse`, which computes the paper from the raw lives of an archive."""

from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.places import PROJECT, check_new_folder
from tickdisk.cli.progress import say
from tickdisk.foundation.errors import TickdiskError

_MOST_NAMED = 5


def analyse(
    archive: Annotated[Path, typer.Argument(help="Archive that `make artifact` wrote.")],
    folder: Annotated[Path, typer.Argument(help="New folder for the results.")],
) -> None:
    """Makes notebooks, paper, companion and page from the raw lives of an archive, without root and without a server.

    It compares facts and claims with those of the archive, and ends with exit code 1 if one of them is another. A number may
    differ by 1e-12 of it.
    """
    from tickdisk.report.analyse import Analysed
    from tickdisk.report.analyse import analyse as analysed

    check_new_folder(folder)
    if folder.exists():
        raise TickdiskError(f"{folder} exists already; name a new folder")
    for done in analysed(archive.resolve(), folder.resolve(), PROJECT):
        if not isinstance(done, Analysed):
            say(f"{done}: rendered")
            continue
        print(f"{folder}/results/index.html and {folder}/results/paper.pdf are whole.")
        if done.other:
            named = ", ".join(done.other[:_MOST_NAMED]) + (" and others" if len(done.other) > _MOST_NAMED else "")
            print(f"{len(done.other)} of {done.facts} facts and {done.claims} claims are not those of the archive: {named}.")
            raise typer.Exit(1)
        print(f"All {done.facts} facts and {done.claims} claims of {len(done.studies)} studies are those of the archive.")
