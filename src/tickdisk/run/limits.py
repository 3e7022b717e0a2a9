"""The limits of the servers of a life, and what each server meets of them during play."""

from contextlib import ExitStack
from pathlib import Path

from tickdisk.manifest import QuotaUsage
from tickdisk.run.quota import Group, Quota, Usage
from tickdisk.run.stage import Stage


def limited(stage: Stage, resources: ExitStack) -> Group | None:
    """Returns the group for a server of the life, or None if the life is not about limits. It ends with `resources`."""
    return None if stage.quota is None else resources.enter_context(Group(stage.quota))


def groups_of(group: Group | None) -> list[Path]:
    """Returns the cgroups that a server joins."""
    return [] if group is None else group.folders


class Meter:
    """Reads what a server has met of its limits during play. It is nothing for a server without a group."""

    def __init__(self, group: Group | None) -> None:
        self._group = group
        self._before: Usage | None = None

    def begin(self) -> None:
        """Notes the counts at the beginning of play."""
        self._before = None if self._group is None else self._group.usage()

    def read(self, quota: Quota | None) -> QuotaUsage | None:
        """Returns the limits, and what was met of them since the beginning. None without a group."""
        if self._group is None or self._before is None or quota is None:
            return None
        now = self._group.usage()
        return QuotaUsage(
            cores=quota.cores,
            memory_bytes=quota.memory_bytes,
            seconds=(now.at_ns - self._before.at_ns) / 1e9,
            refaults=now.refaults - self._before.refaults,
            cached_bytes=now.cached_bytes,
            throttled_ns=now.throttled_ns - self._before.throttled_ns,
        )
