"""Finds out why jobs of a run failed, from Snakemake's log and the logs of the jobs."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_FAILED = re.compile(r"(?:tee|>) (\S+)(?: 2>&1)?' returned non-zero exit status")
"""The end of a command that failed, in Snakemake's log, with the log of its job."""


def failures(logs: Iterable[str]) -> Iterator[str]:
    """Yields the last line of each job that failed, with the job's own log. `logs` are Snakemake's logs of the run."""
    text = "".join(Path(log).read_text(encoding="utf-8", errors="replace") for log in logs)
    for path in dict.fromkeys(map(Path, _FAILED.findall(text))):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
        last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        yield f"a step failed, and the last line of {path} is: {last}"
