"""The checks as one screen of text."""

import textwrap
from collections.abc import Sequence

from tickdisk.doctor.checks import Check

LINES, COLUMNS = 24, 100
_WORDS = {"ok": "ok", "limited": "limited", "missing": "MISSING"}


def _cut(line: str) -> str:
    return line if len(line) <= COLUMNS else line[: COLUMNS - 3] + "..."


def _row(left: str, text: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, initial_indent=left, subsequent_indent=" " * len(left)) or [left.rstrip()]


def render(checks: Sequence[Check]) -> str:
    """Returns at most LINES lines of at most COLUMNS characters: the checks, what to install, and whether `make paper` can run.

    When there is too much to say, rows are cut to one line, and then those that are in order give way.
    """
    packages = sorted({package for check in checks for package in check.packages})
    missing = [check.name for check in checks if check.state == "missing"]
    verdict = f"`make paper` cannot run here: {', '.join(missing)}" if missing else "`make paper` can run here"
    end = [*(_row("for the rest: ", f"apt-get install {' '.join(packages)}") if packages else ()), _cut(verdict)]
    rows = [_row(f"{_WORDS[check.state]:8} {check.name:14} ", check.detail) for check in checks]
    if sum(map(len, rows)) > LINES - len(end):
        rows = [[_cut(" ".join([row[0], *(line.strip() for line in row[1:])]))] for row in rows]
    surplus = max(0, len(rows) - (LINES - len(end)))
    quiet = [number for number, check in enumerate(checks) if check.state == "ok"][:surplus]
    kept = [row for number, row in enumerate(rows) if number not in quiet]
    return "\n".join([*(line for row in kept for line in row), *end])
