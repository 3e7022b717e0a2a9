"""The plan file, which says what a run computes. Later commands, notebooks and the analysis read it."""

import json
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from tickdisk.config import AnyScale, Config, PlannedCell, Resolved
from tickdisk.experiment import Arm
from tickdisk.foundation import record


class Tier(record.Record):
    """A device that the paper compares."""

    description: str
    """A description of the class."""
    read_latency_ns: int
    """The latency of a read."""


class SizingClass(record.Record):
    """A class of disks that people buy, for which the sizing table says if it is good enough."""

    description: str
    """A description of the class."""
    source: str
    """The source of its latencies."""
    read_latency_ns: float
    """The mean latency of a read of 4 KiB by its model, if one request comes after another."""
    write_latency_ns: float
    """The mean time by which a write of 4 KiB lengthens a sequence of writes and a flush, with what it leaves for the flush."""
    flush_latency_ns: float
    """The mean time by which the flush lengthens this sequence, without the part that the writes before it cause."""

    @property
    def latencies_ns(self) -> tuple[float, float, float]:
        """The latencies of reads, writes and flushes."""
        return self.read_latency_ns, self.write_latency_ns, self.flush_latency_ns


class KeptPlan(record.Record):
    """The parts of a plan that say what was run. The reference run of a scale has them."""

    config: Config
    """The configuration after the changes of the command line; `workflow/config/schema.json` describes every key."""
    chosen: AnyScale
    """The scale of the configuration that runs, with `blocks` put in."""
    arms: tuple[Arm, ...]
    """The arms of all experiments."""
    tiers: dict[str, Tier]
    """The tiers, which are the devices that the paper compares, under their names."""
    classes: dict[str, SizingClass] = Field(default_factory=dict)
    """The classes of disks that the sizing table answers for, under their names."""
    binaries: dict[str, dict[str, str]]
    """For each server, the versions and digests of the programs that make live cells, by part."""


class Plan(KeptPlan):
    """The content of the plan file."""

    worlds: dict[str, str]
    """The folder of the world of each server, under its name. Every server life starts from a copy of it."""
    missing_servers: dict[str, str]
    """The servers that cannot run on this machine, each with the reason."""
    resolved: dict[str, dict[str, Resolved]]
    """For each server and experiment all that decides the outcome of its cells, as in the manifest."""
    cells: tuple[PlannedCell, ...]
    """The cells in the order in which they run."""

    def kept(self) -> KeptPlan:
        """Returns the parts that the reference run of a scale has."""
        return KeptPlan(**{name: getattr(self, name) for name in KeptPlan.model_fields})


def read_plan(path: Path) -> Plan:
    """Reads a plan file. Raises TickdiskError if it does not exist, or if it is not of this form."""
    return record.read(Plan, path, "run `tickdisk plan` again")


def scale_of(path: Path) -> str | None:
    """Returns the scale of a plan file, which may be of another version, or None if there is no such file or it is no plan."""
    with suppress(OSError, ValueError, LookupError, TypeError):
        return str(json.loads(path.read_bytes())["config"]["scale"])
    return None


def write_plan(path: Path, plan: Plan) -> None:
    """Writes a plan file, which `read_plan` reads."""
    record.write(path, plan)
