"""The text that `tickdisk doctor` prints."""

import textwrap
from collections.abc import Sequence

from tickdisk.doctor.checks import Check
from tickdisk.rights import PRIVILEGED, RIGHTS

_WORDS = {"ok": "ok", "limited": "limited", "missing": "MISSING"}
_NARROWEST = 60


def render(checks: Sequence[Check], columns: int | None = None) -> str:
    """Writes a row for each check, the packages to install, the arguments for a container, and whether `make paper` can run.

    Rows are wrapped at `columns`, of which at least 60 are used. If it is None, each row is one line, as in a file.
    """
    packages = sorted({package for check in checks for package in check.packages})
    missing = [check.name for check in checks if check.state == "missing"]
    needed = {right.name for right in RIGHTS if right.needed_by is not None}
    lost = [check.name for check in checks if check.state == "limited" and check.name in needed]
    without = f", without what needs {', '.join(lost)}" if lost else ""
    verdict = f"`make paper` cannot run here: {', '.join(missing)}" if missing else f"`make paper` can run here{without}"
    rows = [(f"{_WORDS[check.state]:8} {check.name:14} ", check.detail) for check in checks]
    rows += [("for the rest: ", f"apt-get install {' '.join(packages)}")] if packages else []
    rows += [("for all rights: ", f"podman run {' '.join(arguments)}")] if (arguments := _joined(checks)) else []
    return "\n".join([*(line for left, text in rows for line in _row(left, text, columns)), verdict])


def _joined(checks: Sequence[Check]) -> list[str]:
    """Returns the arguments of all checks, each once. Privileges give every capability and every device."""
    arguments = dict.fromkeys(argument for check in checks for argument in check.arguments)
    if PRIVILEGED not in arguments:
        return list(arguments)
    return [argument for argument in arguments if not argument.startswith(("--cap-add", "--device", "--security-opt"))]


def _row(left: str, text: str, columns: int | None) -> list[str]:
    if columns is None:
        return [f"{left}{' '.join(text.split())}".rstrip()]
    width = max(columns, _NARROWEST)
    return textwrap.wrap(text, width, initial_indent=left, subsequent_indent=" " * len(left)) or [left.rstrip()]
