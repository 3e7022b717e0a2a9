"""Snakemake in forks of a process that has imported everything and read all sources, which takes most of the time of a dry run.

`python forked_snakemake.py` is that process. It reads from standard input a line for each run.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml
from snakemake.cli import main

from tickdisk.project.identity import PRODUCTS
from tickdisk.project.project import Project


class ForkedSnakemake:
    """Runs snakemake in any folder whose workflow is that of `folder`, as a process of its own would do it."""

    def __init__(self, folder: Path) -> None:
        self._server = subprocess.Popen(
            [sys.executable, __file__], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.communicate()

    def run(self, folder: Path, *words: str) -> tuple[int, str]:
        """Returns the exit code of `snakemake WORDS...` in a folder, and all that it prints."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps([str(folder), ["--cores", "all", *words]]), file=self._server.stdin, flush=True)
        code, said = json.loads(self._server.stdout.readline())
        return code, said


def _read_everything() -> None:
    """Computes every digest of the workflow once. What was read is kept by its text, so a file that changes is read again."""
    own = Project.of(yaml.safe_load(Path("workflow/config/config.yaml").read_text()))
    assert own.plan.cells
    for product in PRODUCTS:
        own.computing(product)
    for notebook in Path("notebooks").glob("*.ipynb"):
        own.rendering(notebook.stem)


def _run(folder: str, words: Sequence[str]) -> tuple[int, str]:
    """Runs snakemake in a fork, and returns its exit code and its output."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, sys.stdout.fileno())
        os.dup2(writing, sys.stderr.fileno())
        os.closerange(sys.stderr.fileno() + 1, writing + 1)
        os.chdir(folder)
        main(list(words))
    os.close(writing)
    with os.fdopen(reading) as output:
        said = output.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


if __name__ == "__main__":
    _read_everything()
    for line in sys.stdin:
        print(json.dumps(_run(*json.loads(line))), flush=True)
