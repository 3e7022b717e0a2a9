"""The arms of the experiments, which are the rows of `workflow/config/experiments.tsv`."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tickdisk.foundation.record import Record

Role = Literal["baseline", "null", "sham", "dose", "treatment", "held_out", "delay"]
PositiveFor = Literal["ticks", "actions"]
Tool = Literal["none", "bpftrace", "strace", "strace_positioned"]
Copying = Literal["tar", "tar_limited", "tar_idle", "rsync"]
"""A backup that runs while an arm is in force: its program, and whether its rate is limited or its priority idle."""


def _words(text: object) -> object:
    """Returns the words in a cell of the table, or in a list of a JSON file, as a tuple."""
    words = text.split() if isinstance(text, str) else text or ()
    return tuple(words) if isinstance(words, list) else words


class Arm(Record):
    """One row of `workflow/config/experiments.tsv`: an arm of an experiment."""

    experiment: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    """Experiment that the arm belongs to."""
    arm: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    """Name of the arm in tables and figures."""
    servers: Annotated[tuple[str, ...], BeforeValidator(_words), Field(min_length=1)]
    """Names of the servers on which the arm runs, with blanks between them."""
    role: Role
    """Role of the arm: baseline; null (the baseline again); sham (the processor time of the slowest arm at the latency of the
    baseline); dose; treatment; held_out (a disk that tests a prediction, which was made without it); delay (the server keeps its
    tick thread busy, or holds its answers back, for a known time)."""
    device: str
    """A device of data/devices.yaml, or a file with one device, such as mydisk.yaml."""
    latency_us: Annotated[float, Field(ge=0)] | None = None
    """Latency of every operation instead of the device's own. Empty for the device's own latency."""
    read_us: Annotated[float, Field(ge=0)] | None = None
    write_us: Annotated[float, Field(ge=0)] | None = None
    flush_us: Annotated[float, Field(ge=0)] | None = None
    """Latencies of reads, writes and flushes apart. An arm has all three and no `latency_us`, or none of them."""
    tick_delay_ms: Annotated[int, Field(ge=1)] | None = None
    """Time for which the probe keeps the tick thread busy, again and again while the arm is in force. Empty for never."""
    action_delay_ms: Annotated[int, Field(ge=1)] | None = None
    """Time for which the server holds back its answers to teleports, edits and joins in the arm. Empty for none."""
    positive_for: Annotated[tuple[PositiveFor, ...], BeforeValidator(_words)] = ()
    """Kinds of metrics, ticks or actions with a blank between them, that the arm must make slower by construction, so that it is
    their positive control."""
    copying: Annotated[Copying | None, Field(exclude_if=lambda copying: copying is None)] = None
    """The backup of a part of the world that is made again and again on its disk while the arm is in force. Empty for none."""
    capture: Tool = "none"
    """The tool that captures: bpftrace; strace (all calls on files); strace_positioned (pread64 and pwrite64 only)."""
    description: str
    """The purpose of the arm."""

    @property
    def latencies_us(self) -> tuple[float, float, float] | None:
        """Latencies of reads, writes and flushes, or None for those of the device."""
        if self.latency_us is not None:
            return (self.latency_us,) * 3
        read, write, flush = self.read_us, self.write_us, self.flush_us
        return None if read is None or write is None or flush is None else (read, write, flush)

    @property
    def delays_only_actions(self) -> bool:
        """Whether the server holds back its answers in the arm, and ticks as usual."""
        return self.action_delay_ms is not None and self.tick_delay_ms is None

    @property
    def has_operations_apart(self) -> bool:
        """Whether reads, writes and flushes have latencies of their own."""
        return self.read_us is not None

    @model_validator(mode="after")
    def _latencies_are_clear(self) -> Self:
        given = [value is not None for value in (self.read_us, self.write_us, self.flush_us)]
        if any(given) and (not all(given) or self.latency_us is not None):
            raise ValueError("give latency_us for all operations, or read_us, write_us and flush_us together")
        return self
