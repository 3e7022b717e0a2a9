"""Luanti's own log: an error in it makes a run not valid, unless it is known to be harmless."""

import re
from pathlib import Path

from tickdisk.server.program import log_lines

_LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: (?P<level>[A-Z]*)\[(?P<thread>[^\]]*)\]: (?P<text>.*)$")

HARMLESS = {
    r"^con\(\d+/\d+\) dropped packet for non existent peer_id: \d+$": (
        "the server was still sending to a player who had just left; a player who is lost instead fails its own actions"
    ),
}
"""Patterns of errors that do not count, each with its reason."""


def check_log(path: Path) -> list[str]:
    """Returns the errors in the log of a Luanti server, in order, without those in `HARMLESS`.

    An error that goes on over several lines is joined to one. Raises TickdiskError if there is no log.
    """
    problems: list[str] = []
    in_error = False
    for line in log_lines(path):
        match = _LINE.match(line)
        if match is None:
            if in_error and line.strip():
                problems[-1] += " | " + line.strip()
            continue
        in_error = match["level"] == "ERROR" and not any(re.search(pattern, match["text"]) for pattern in HARMLESS)
        if in_error:
            problems.append(f"{match['thread']}: {match['text']}")
    return problems
