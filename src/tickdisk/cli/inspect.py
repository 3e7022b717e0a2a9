"""The command `tickdisk inspect`, which describes the load of traces in one page."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tickdisk.cli.places import check_new_folder, in_project
from tickdisk.cli.progress import ReadingProgress
from tickdisk.errors import TickdiskError

_TEMPLATE, _PUBLISHED = Path("workflow/paper/load.html.j2"), Path("data/published.yaml")


def inspect(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Trace files, plain or compressed with gzip, zstd or xz, or folders of them. - is the standard input. "
            "Several traces are runs of the same kind of load."
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")] = Path("inspect.html"),
    compare: Annotated[
        list[Path] | None, typer.Option("--compare", help="Traces of another load, which is put beside. Can be repeated.")
    ] = None,
    together: Annotated[
        bool, typer.Option("--together", help="The traces are parts of one run, such as the volumes of one machine.")
    ] = False,
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format of the traces. By default it is recognised from the content.")
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(help="Folder of the files that the program reads, or a list of them from find -type f -printf '%s %p\\n'."),
    ] = None,
    peak_mb_per_s: Annotated[float | None, typer.Option(help="Bandwidth of the disk in MB/s.", min=0.001)] = None,
    most_rejected: Annotated[
        float | None,
        typer.Option(help="Largest share of the lines of a trace that may be impossible to read. [default: 0.001]", min=0, max=1),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the description as JSON, and write no page.")] = False,
) -> None:
    """Describes what traces read and write, how fast, when and where, in one sentence and on one HTML page.

    The traces may be in any format that `tickdisk convert` reads. The page puts their load beside published loads, and says "not
    in the trace" for what a trace does not tell.
    """
    from tickdisk import formats, report

    if not as_json:
        check_new_folder(output)
        if output.exists() and not force:
            raise TickdiskError(f"{output} exists already; name another file by -o, or replace it with --force")
    most = formats.MOST_REJECTED if most_rejected is None else most_rejected

    def given(paths: list[Path], name: str) -> report.Given:
        return report.Given(
            formats.traces_of(paths),
            format_name,
            is_one_run=together,
            files=files,
            peak_mb_per_s=peak_mb_per_s,
            most_rejected=most,
            rejects=None if as_json else output.with_name(f"{output.name}.{name}rejects"),
        )

    loads = [given(traces, ""), *([given(compare, "compare.")] if compare else [])]
    results, counts = report.describe_traces(loads, published=in_project(_PUBLISHED), progress=ReadingProgress())
    if as_json:
        print(json.dumps(report.inspected_as_json(results, counts), indent=2))
        return
    report.write_inspected(results, counts, in_project(_TEMPLATE), output)
    for description in results.descriptions:
        print(f"{description.title}: {description.kind.sentence}")
    print(f"written to {output}")
