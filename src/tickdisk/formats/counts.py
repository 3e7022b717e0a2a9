"""The counts of everything in a trace."""

from dataclasses import dataclass, field
from typing import Any

from tickdisk.foundation import table


@dataclass
class Counts:
    """A count of everything in a trace."""

    format: str
    lines: int = 0
    requests: int = 0
    unfinished: int = 0
    """Number of requests that had not ended when the trace ended."""
    rejected: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Number of the lines that could not be read, and number of the first of them, by reason."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Number of things that are no requests, by kind."""
    lacks: dict[str, int] = field(default_factory=dict)
    """Number of things that happened and should be requests, by kind, such as lost events."""
    contradictions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Number of contradictions in the trace, and line of the first, by kind."""
    facts: dict[str, str] = field(default_factory=dict)
    """Facts about the trace. `clock` says what its times count from, and `choice` what was taken where there are two readings."""
    by_op: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Number of requests and of their bytes, by operation."""
    known: set[str] = field(default_factory=set)
    """Columns in which at least one request has a value."""

    @property
    def first(self) -> list[str]:
        """Sentences on what somebody must know before any number of the trace: what it lacks, what is doubtful, and so on."""
        return [
            *(f"not in the trace: {count:,} {kind}" for kind, count in self.lacks.items()),
            *(f"not read: {count:,} lines; line {line} {reason}" for reason, (count, line) in self.rejected.items()),
            *(f"doubtful: {count:,} times {kind}, first in line {line}" for kind, (count, line) in self.contradictions.items()),
            *(f"chosen: {choice}" for key, choice in self.facts.items() if key == "choice"),
        ]

    def as_json(self) -> dict[str, Any]:
        """Returns the counts as a value for JSON."""
        missing = [name for name in table.SCHEMAS["requests"].names if name not in self.known]
        return {
            "lacks": self.lacks,
            "format": self.format,
            "lines": self.lines,
            "requests": self.requests,
            "unfinished": self.unfinished,
            "operations": {op: {"requests": count, "bytes": size} for op, (count, size) in self.by_op.items()},
            "rejected": {reason: {"lines": count, "first_line": line} for reason, (count, line) in self.rejected.items()},
            "skipped": self.skipped,
            "contradictions": {kind: {"count": count, "first_line": line} for kind, (count, line) in self.contradictions.items()},
            "facts": self.facts,
            "not_in_the_trace": missing,
        }
