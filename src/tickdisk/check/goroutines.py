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
    names_functions: bool = False
    """Whether the program has a table of functions."""
    budget_ns: int = 0
    running: trace.GoroutineTrace | None = None

    def explained(self, evidence: CaptureEvidence) -> CaptureEvidence:
        """Ends the trace, and returns the evidence of a capture with the goroutine and its ticks, if they were traced."""
        if self.running is None:
            return evidence
        try:
            events, lost = self.running.stop()
        except (TickdiskError, OSError) as error:
            self.lack_ticks(error)
            return evidence
        if lost:
            self.lack(f"{lost:,} events of the goroutine that ticks, so that ticks can be missing")
        explained = with_goroutine(evidence, events, _NAME, self.budget_ns)
        if explained.ticks is None:  # bpftrace leaves out functions that it does not find.
            self.lack_ticks("no goroutine called the function that ticks")
        return explained

    def lack_ticks(self, reason: object) -> None:
        """Adds that ticks are not seen. The reason counts only if the program names its functions."""
        self.lack(f"its ticks, because {reason if self.names_functions else _NO_SYMBOLS}")

    def lack(self, words: str) -> None:
        """Adds a thing that is not seen, once."""
        if words not in self.lacks:
            self.lacks.append(words)


@contextmanager
def followed(pid: int, kind: ServerKind | None, folder: Path, logs: Path, lacks: list[str]) -> Iterator[Followed]:
    """Traces the goroutine that ticks during the block, if the server has one and its program tells its functions."""
    own = Followed(lacks)
    if kind is not None and kind.works_by is not None:
        own.names_functions, own.budget_ns = trace.has_symbols(Path(f"/proc/{pid}/exe")), round(kind.tick_ms * 1e6)
        try:
            own.running = trace.GoroutineTrace(pid, kind.works_by, folder / "goroutines.txt", logs)
        except (TickdiskError, OSError) as error:
            own.lack_ticks(error)
    try:
        yield own
    finally:
        if own.running is not None:
            own.running.kill()
