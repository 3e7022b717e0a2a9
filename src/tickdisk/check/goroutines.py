"""Follows the goroutine that ticks in a server in Go, while the server is captured."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tickdisk import trace
from tickdisk.blame import CaptureEvidence, with_goroutine
from tickdisk.check.find import ServerKind
from tickdisk.foundation.errors import TickdiskError

_NAME = "world goroutine"
_NO_SYMBOLS = "its program has no table of functions; `go build` makes one, and `go run` does not"


@dataclass
class Followed:
    """A running trace of goroutines, or the reason why there is none."""

    lacks: list[str]
    """Things that are not seen, each with its reason. It grows."""
    budget_ns: int = 0
    running: trace.GoroutineTrace | None = None

    def explained(self, evidence: CaptureEvidence) -> CaptureEvidence:
        """Ends the trace, and returns the evidence of a capture with the goroutine and its ticks, if they were traced."""
        if self.running is None:
            return evidence
        try:
            events, lost = self.running.stop()
        except (TickdiskError, OSError) as error:
            self.lack(f"its ticks, because {error}")
            return evidence
        if lost:
            self.lack(f"{lost:,} events of the goroutine that ticks, so that ticks can be missing")
        return with_goroutine(evidence, events, _NAME, self.budget_ns)

    def lack(self, words: str) -> None:
        """Adds a thing that is not seen, once."""
        if words not in self.lacks:
            self.lacks.append(words)


@contextmanager
def followed(pid: int, kind: ServerKind | None, folder: Path, logs: Path, lacks: list[str]) -> Iterator[Followed]:
    """Traces the goroutine that ticks during the block, if the server has one and its program tells its functions."""
    own = Followed(lacks)
    if kind is not None and kind.works_by is not None:
        own.budget_ns = round(kind.tick_ms * 1e6)
        try:
            own.running = trace.GoroutineTrace(pid, kind.works_by, folder / "goroutines.txt", logs)
        except (TickdiskError, OSError) as error:
            program = Path(f"/proc/{pid}/exe")
            own.lack(f"its ticks, because {error if trace.has_symbols(program) else _NO_SYMBOLS}")
    try:
        yield own
    finally:
        if own.running is not None:
            own.running.kill()
