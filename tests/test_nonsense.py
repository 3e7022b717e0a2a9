"""Nonsense calls of every command, drawn from its own parameters, end in a sentence and change no file that is there."""

import hashlib
import itertools
import os
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import pytest
import typer
from conftest import ROOT
from forked_calls import BEGAN, Ended, ForkedCalls

from tickdisk.cli import app

NUMBERS = (int, float)
MOST_CALLS = int(os.environ.get("TICKDISK_CALLS", "6"))
"""The number of calls of each command that are drawn, or 0 for all."""
TEXTS = [
    "",
    " ",
    "nonsense",
    "-",
    "--",
    "ü",
    os.fsdecode(b"\xff"),
    "a\nb",
    "../..",
    "x" * 5000,
    "0",
    "nan",
    "[]",
    "{}",
    "{",
    "9" * 30,
]
PLAUSIBLE = {"tier": "hdd", "stack": "kcp", "milliseconds": "5", "cell": "0" * 16, "template": "workflow/paper/paper.typ"}
"""Values of parameters that get a call beyond its first check, by the name of the parameter. Others are made by their types."""
BASES: dict[str, list[list[str]]] = {
    "replay": [["--simulate", "hdd"], ["NEW"]],
    "inspect": [["-o", "NEW.html"]],
    "device profile": [["--no-write"]],
    "checkpoint compare": [["--device", "hdd"]],
    "checkpoint advise": [["--device", "hdd"]],
    "checkpoint crash": [["--cuts"]],
}
"""Words with which a call is tried besides those that it needs, because two of its parameters exclude each other."""


class Leaf(NamedTuple):
    """A command that does something."""

    name: str
    command: Any


def leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """All commands, each with the words that name it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, (*words, name))
        else:
            yield Leaf(" ".join((*words, name)), command)


LEAVES = list(leaves(typer.main.get_command(app)))


def kind_of(parameter: Any) -> Any:
    """The type of a value of a parameter, also of one that takes a list."""
    annotation = parameter.type_descriptor.annotation
    return (get_args(annotation) or (annotation,))[0] if parameter.type_descriptor.is_list else annotation


def is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def files(pool: Path) -> dict[str, str]:
    """What a user may have: files and folders of all kinds, by what is wrong with them. None of them may change."""
    (pool / "folder/below").mkdir(parents=True)
    (pool / "empty_folder").mkdir()
    (pool / "folder.parquet").mkdir()
    (pool / "folder.json").mkdir()
    (pool / "folder.yaml").mkdir()
    contents = {
        "mine.txt": b"my own words\n",
        "empty": b"",
        "zeros": bytes(4096),
        "noise": np.random.default_rng(1).bytes(4096),
        "list.json": b"[]",
        "object.json": b"{}",
        "number.json": b"1",
        "deep.json": b"[" * 100_000,
        "mine.yaml": b"a: [1\n",
        "list.yaml": b"[]\n",
        "mine.parquet": b"PAR1 and no more",
        "mine.npz": b"PK\x03\x04 and no more",
        "mine.svg": b"<svg/>",
        "mine.pdf": b"%PDF",
        "mine.html": b"<p>",
        "mine.csv": b"a,b\n1,2\n",
        "mine.iolog": b"fio version 3 iolog\n1 /w/a add\n1 /w/a open\n2 /w/a read 0 4096\n9 /w/a datasync 0 0\n",
        "folder/mine.json": b"{}",
        "folder/facts.json": b"[]",
        "folder/plan.json": b"{}",
        "folder/manifest.json": b"[1]",
        "folder/capture.json": b"{}",
        "folder/requests.parquet": b"PAR1",
    }
    for name, content in contents.items():
        (pool / name).write_bytes(content)
    (pool / os.fsdecode(b"na\xefve")).write_bytes(b"x")
    pd.DataFrame({"tick": [1], "cell": [2]}).to_parquet(pool / "other.parquet")
    cut = (pool / "other.parquet").read_bytes()
    (pool / "cut.parquet").write_bytes(cut[: len(cut) // 2])
    (pool / "middle.parquet").write_bytes(cut[:8] + bytes(len(cut) - 16) + cut[-8:])
    np.savez(pool / "huge.npz", tick=np.array([0, 10**15]), cell=np.array([0, 1]))
    (pool / "dangling").symlink_to(pool / "nowhere")
    (pool / "loop").symlink_to(pool / "loop")
    below = [str(path) for path in sorted(pool.rglob("*"))]
    nowhere = [pool / "mine.txt/below", pool / "none/below", pool / ("n" * 300), "/proc/none", "/proc/self/mem", "/dev/full"]
    return dict.fromkeys([*below, *map(str, nowhere), "/dev/null", "/sys/none.json", ""])


def digests(pool: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        for path in sorted(pool.rglob("*"))
    }


def wrong(parameter: Any, places: Sequence[str]) -> list[str]:
    """Values that a parameter of this type has to refuse, or that few have thought of."""
    kind = kind_of(parameter)
    if parameter.type_descriptor.is_choice:
        return ["nonsense", ""]
    if kind is bool:
        return []
    if kind in NUMBERS:
        ends = [parameter.min - 1, parameter.max + 1] if None not in (parameter.min, parameter.max) else [-1, 0]
        return [*map(str, ends), *map(str, (parameter.min, parameter.max)), "nan", "inf", "-inf", "9" * 30, "-1", "x", ""]
    return list(places) if issubclass(kind, Path) else TEXTS


def plausible(parameter: Any, pool: Path, new: Path) -> str:
    """A value with which a call can go on to the check of its other parameters."""
    kind = kind_of(parameter)
    if parameter.name in PLAUSIBLE:
        return PLAUSIBLE[parameter.name]
    if kind in NUMBERS:
        return str(parameter.min or 1)
    if not issubclass(kind, Path):
        return "true"
    return str(new) if parameter.name in ("output", "target", "folder") else str(pool / "mine.iolog")


def calls(leaf: Leaf, pool: Path, places: Sequence[str], count: "itertools.count[int]") -> Iterator[list[str]]:
    """Calls of a command in which one value is wrong, and all others are plausible."""
    for base in BASES.get(leaf.name, [[]]):
        for parameter in leaf.command.params:
            for value in wrong(parameter, places) if parameter.name != "help" else []:
                new = pool.parent / f"new{next(count)}"
                options, arguments = list[str](), list[str]()
                for each in leaf.command.params:
                    if each is not parameter and not each.required:
                        continue
                    words = [value if each is parameter else plausible(each, pool, new)]
                    (arguments if is_argument(each) else options).extend(words if is_argument(each) else [each.opts[0], *words])
                extra = [word.replace("NEW", str(new)) for word in base]
                yield [*leaf.name.split(), *extra, *options, "--", *arguments]


def fault(ended: Ended) -> str | None:
    """What is wrong with the end of a call, or None."""
    if "Traceback" in ended.said or "Exception ignored" in ended.said:
        return "traceback"
    if ended.code < 0 or ended.code not in (0, 1, 2, BEGAN):
        return "took too long" if ended.code == -signal.SIGALRM else f"exit code {ended.code}"
    said = [line for line in ended.said.splitlines() if line.startswith("tickdisk: ")]
    is_usage = "Usage: " in ended.said
    if ended.code == 2 and len(said) != 1 and not is_usage:
        return "no sentence"
    return None


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCalls]:
    with ForkedCalls(tmp_path_factory.mktemp("state")) as forked:
        yield forked


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_numbers_have_bounds(leaf: Leaf) -> None:
    numbers = [each for each in leaf.command.params if kind_of(each) in NUMBERS]
    unbounded = [each.name for each in numbers if each.min is None or each.max is None]
    assert not unbounded, f"{leaf.name}: {', '.join(unbounded)} need min and max, so that a wrong number is refused at once"


@pytest.mark.slow
@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.name)
def test_nonsense_ends_in_a_sentence(leaf: Leaf, runner: ForkedCalls, project_folder: Path, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    places = list(files(pool))
    before, tried, faults = digests(pool), 0, list[str]()
    drawn = list(calls(leaf, pool, places, itertools.count()))
    if MOST_CALLS:
        drawn = random.Random(leaf.name).sample(drawn, min(MOST_CALLS, len(drawn)))  # noqa: S311 - nothing secret
    for words in drawn:
        ended, tried = runner.run(project_folder, words), tried + 1
        if (what := fault(ended)) is not None:
            faults.append(f"{what}: tickdisk {' '.join(words)[:300]}\n    {ended.said[-200:]}")
        after = digests(pool)
        changed = [path for path, digest in before.items() if after.get(path) != digest]
        if changed:
            faults.append(f"changed {changed}: tickdisk {' '.join(words)[:300]}")
        before = after
    print(f"{leaf.name}: {tried} calls, {len(faults)} faults")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize(
    "words",
    [["describe"], ["server", "list"], ["device", "status"], ["device", "up", "none"], ["--help"], ["compare"]],
    ids=" ".join,
)
def test_closed_streams_are_no_fault(words: list[str], closed: tuple[int, ...], runner: ForkedCalls) -> None:
    usual, ended = runner.run(ROOT, words), runner.run(ROOT, words, closed=closed)
    assert fault(ended) in (None, "no sentence")
    assert ended.code == usual.code


OUTPUTS = [
    (leaf, parameter)
    for leaf in LEAVES
    for parameter in leaf.command.params
    if kind_of(parameter) is Path and parameter.name in ("output", "figure", "log", "for_fio")
]


@pytest.mark.parametrize(("leaf", "parameter"), OUTPUTS, ids=lambda each: each.name)
def test_a_file_of_the_user_is_not_replaced(
    leaf: Leaf, parameter: Any, runner: ForkedCalls, project_folder: Path, tmp_path: Path
) -> None:
    pool = tmp_path / "pool"
    files(pool)
    before = digests(pool)
    for ending in ("txt", "parquet", "svg", "html", "iolog", "csv", "yaml", "json", "pdf"):
        there = pool / f"mine.{ending}"
        there.touch()
        before |= {str(there): digests(pool)[str(there)]}
        for base in BASES.get(leaf.name, [[]]):
            words = [*leaf.name.split(), *(word.replace("NEW", str(tmp_path / "new.html")) for word in base)]
            words += [parameter.opts[0], str(there)]
            needed = [each for each in leaf.command.params if each.required and each is not parameter]
            words += [
                word
                for each in needed
                if not is_argument(each)
                for word in (each.opts[0], plausible(each, pool, tmp_path / "new"))
            ]
            words += ["--", *(plausible(each, pool, tmp_path / "new") for each in needed if is_argument(each))]
            ended = runner.run(project_folder, words)
            assert fault(ended) is None, ended.said
            assert ended.code == 2, f"it does not refuse at once: tickdisk {' '.join(words)}"
    assert digests(pool) == before


@pytest.mark.parametrize("leaf", [leaf for leaf in LEAVES if any(each.name == "force" for each in leaf.command.params)], ids=str)
def test_no_command_replaces_what_it_reads_even_by_force(leaf: Leaf, runner: ForkedCalls, tmp_path: Path) -> None:
    trace = tmp_path / "folder/requests.iolog"
    trace.parent.mkdir()
    trace.write_bytes(b"fio version 3 iolog\n1 /w/a add\n1 /w/a open\n2 /w/a read 0 4096\n9 /w/a datasync 0 0\n")
    table = trace.with_suffix(".parquet")
    assert runner.run(tmp_path, ["convert", str(trace), "-o", str(table)]).code == 0
    before = digests(tmp_path)
    for read, written in ((trace, trace), (table, table), (trace.parent, table), (trace.parent, trace)):
        words = [*leaf.name.split(), "--force", "-o", str(written), *(["--simulate", "hdd"] if leaf.name == "replay" else [])]
        ended = runner.run(ROOT, [*words, str(read)])
        assert ended.code == 2, ended.said
        assert fault(ended) is None, ended.said
    assert digests(tmp_path) == before
