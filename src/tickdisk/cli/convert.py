"""The command `tickdisk convert`, which reads trace files of other tools and writes them in another format."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli.places import check_output
from tickdisk.cli.reading import ReadingProgress, say_first

if TYPE_CHECKING:
    from tickdisk.formats import Counts

_CALL = "call "
"""Beginning of the kind of a system call that makes no request, before its name."""
_CALLS_SHOWN = 8


def convert(
    traces: Annotated[
        list[Path],
        typer.Argument(
            help="Trace files, plain or compressed with gzip, zstd or xz, or folders of them. - is the standard input."
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .parquet, .iolog (fio's format, with a job file), or .csv (like MSR Cambridge's).",
        ),
    ],
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format of the traces. By default it is recognised from the content.")
    ] = None,
    most_rejected: Annotated[
        float | None,
        typer.Option(help="Largest share of the lines of a trace that may be impossible to read. [default: 0.001]", min=0, max=1),
    ] = None,
    anonymise: Annotated[
        bool, typer.Option("--anonymise", help="Replace names of files, volumes and hosts. Rejected lines are kept as they are.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Reads traces that other tools wrote, and writes their requests in another format.

    It knows the output of strace, biosnoop and blkparse, fio's trace files and latency logs, and the published traces of MSR
    Cambridge, Alibaba and others. It prints how many requests it found, and counts what is no request and what cannot be read.
    """
    from tickdisk import formats

    most = formats.MOST_REJECTED if most_rejected is None else most_rejected
    paths = formats.traces_of(traces)
    for path in formats.outputs_of(output):
        check_output(path, force=force, inputs=traces)
    counts, left_out = formats.convert(
        paths, output, format_name, anonymise=anonymise, most_rejected=most, progress=ReadingProgress()
    )
    if as_json:
        about = [{"trace": str(path), **each.as_json()} for path, each in zip(paths, counts, strict=True)]
        print(json.dumps({"output": str(output), "traces": about, "left_out": left_out}, indent=2))
        return
    say_first(paths, counts)
    for path, each in zip(paths, counts, strict=True):
        print("\n".join(_screen(path, each, output)))
    for reason, count in left_out.items():
        print(f"  left out    {count} {reason}")
    print(f"written to {output}")


def _screen(path: Path, counts: "Counts", output: Path) -> list[str]:
    about = counts.as_json()
    lines = [f"{path}: {counts.requests} requests in {counts.lines} lines of {counts.format}"]
    lines += [
        f"  {op:12}{count['requests']:>12} requests {count['bytes']:>18} bytes"
        for op, count in sorted(about["operations"].items())
    ]
    if counts.unfinished:
        lines.append(f"  unfinished  {counts.unfinished} requests, which had not ended when the trace ended")
    lines.append(f"  times       {counts.facts.get('clock', 'not known')}")
    lines.append(f"  not in the trace: {', '.join(about['not_in_the_trace'])}")
    calls = {kind.removeprefix(_CALL): count for kind, count in counts.skipped.items() if kind.startswith(_CALL)}
    others = sorted((kind, count) for kind, count in counts.skipped.items() if not kind.startswith(_CALL))
    lines += [f"  skipped     {count} {kind}" for kind, count in others if kind not in counts.lacks]
    if calls:
        most = sorted(calls.items(), key=lambda call: -call[1])
        named = ", ".join(f"{name} {count}" for name, count in most[:_CALLS_SHOWN])
        more = f" and {len(most) - _CALLS_SHOWN} more names" if len(most) > _CALLS_SHOWN else ""
        lines.append(f"  skipped     {sum(calls.values())} calls that make no request: {named}{more}")
    lines += [
        f"  rejected    {count} lines; line {line} {reason}; see {output}.rejects"
        for reason, (count, line) in counts.rejected.items()
    ]
    return lines
