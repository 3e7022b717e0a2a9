"""The text that `tickdisk doctor` prints."""

import textwrap
from collections.abc import Sequence

from tickdisk.doctor.checks import Check

_WORDS = {"ok": "ok", "limited": "limited", "missing": "MISSING"}
_NARROWEST = 60


def render(checks: Sequence[Check], columns: int | None = None) -> str:
    """Writes checks as text: a row for each, a row of packages to install if any is missing, and whether `make paper` can run.

    Parameters
    ----------
    checks
        The checks to show.
    columns
        Width of the terminal, at which all rows but the last are wrapped. A width below 60 counts as 60. If None, each row is
        one line, as in a file.

    Returns
    -------
    str
        Several lines, without a newline at the end.
    """
    packages = sorted({package for check in checks for package in check.packages})
    missing = [check.name for check in checks if check.state == "missing"]
    verdict = f"`make paper` cannot run here: {', '.join(missing)}" if missing else "`make paper` can run here"
    rows = [(f"{_WORDS[check.state]:8} {check.name:14} ", check.detail) for check in checks]
    rows += [("for the rest: ", f"apt-get install {' '.join(packages)}")] if packages else []
    return "\n".join([*(line for left, text in rows for line in _row(left, text, columns)), verdict])


def _row(left: str, text: str, columns: int | None) -> list[str]:
    if columns is None:
        return [f"{left}{' '.join(text.split())}".rstrip()]
    width = max(columns, _NARROWEST)
    return textwrap.wrap(text, width, initial_indent=left, subsequent_indent=" " * len(left)) or [left.rstrip()]
