"""Tells from the state of a thread, fifty times a second, when it did not rest for too long, so that its tick was late."""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tickdisk.check.find import FoundServer

PERIOD_S = 0.02
"""Time in s from one look to the next."""
_LATE_BUDGETS, _BUDGET_MS = 1.5, 50.0
_STORED, _RUNS = "D", "R"
_UNSEEN_S = 0.2
"""Time in s without a look after which nothing is known of the thread."""


@dataclass
class Rests:
    """The times in which a thread did not rest, by looks at it one after another."""

    most_ms: float
    late_ms: list[float] = field(default_factory=list)
    """Lengths of the times that were too long and have ended, in the order of time."""
    longest_ms: float = 0.0
    looks: int = 0
    stored: int = 0
    """Looks at which it waited for a disk."""
    ran: int = 0
    """Looks at which it had a core, or waited for one."""
    _before: tuple[str, int] | None = None
    _since_s: float | None = None
    _last_s: float | None = None

    @classmethod
    def of(cls, found: FoundServer) -> Self:
        """Starts with a server, of which a tick is late that takes over one and a half budgets."""
        return cls(_LATE_BUDGETS * (_BUDGET_MS if found.kind is None else found.kind.tick_ms))

    @property
    def busy_share(self) -> float:
        """Part of the looks at which it had a core, waited for one, or waited for a disk."""
        return (self.ran + self.stored) / max(self.looks, 1)

    def look_at(self, pid: int, thread: int) -> bool:
        """Looks at a thread of a process, and returns False if it has ended."""
        with suppress(OSError, IndexError, ValueError):
            text = Path(f"/proc/{pid}/task/{thread}/status").read_text(errors="replace")
            self.look(time.monotonic(), _value(text, "State:"), int(_value(text, "\nvoluntary_ctxt_switches:")))
            return True
        return False

    def look(self, at_s: float, state: str, switches: int) -> None:
        """Takes down the state of the thread, and how often it has left its core by itself.

        It did not rest between two looks if it left its core only to wait for a disk, or not at all.
        """
        if self._last_s is not None and at_s - self._last_s > _UNSEEN_S:
            self.end(self._last_s + PERIOD_S)
            self._before = None
        self._last_s = at_s
        self.looks += 1
        self.stored += state == _STORED
        self.ran += state == _RUNS
        before, self._before = self._before, (state, switches)
        worked = before is not None and (_STORED in (state, before[0]) or (before == (_RUNS, switches) and state == _RUNS))
        if not worked:
            self.end(at_s)
            return
        if self._since_s is None:
            self._since_s = at_s - PERIOD_S
        self.longest_ms = max(self.longest_ms, 1000 * (at_s - self._since_s))

    def end(self, at_s: float) -> None:
        """Ends a time without a rest, which the last look still saw."""
        if self._since_s is not None and (ms := 1000 * (at_s - PERIOD_S - self._since_s)) > self.most_ms:
            self.late_ms.append(ms)
        self._since_s = None


def _value(text: str, key: str) -> str:
    return text.split(key, 1)[1].split(None, 1)[0]
