"""Limits of processor and memory of the servers of a life, and counts of how often they took effect."""

import threading
import time
from contextlib import ExitStack
from pathlib import Path

from tickdisk.foundation.errors import TickdiskError
from tickdisk.manifest import QuotaUsage
from tickdisk.run.judge import InstrumentError
from tickdisk.run.quota import Group, Usage
from tickdisk.run.stage import Stage

_LOOK_S = 0.05
_LIMITED_WITHIN_S = 2.0
_LEAST_HOT_BYTES = 1 << 20


def limited(stage: Stage, resources: ExitStack) -> Group | None:
    """Returns the group for a server of the life, or None if the life is not about limits. It ends with `resources`."""
    return None if stage.quota is None else resources.enter_context(Group(stage.quota))


def groups_of(group: Group | None) -> list[Path]:
    """Returns the cgroups that a server joins."""
    return [] if group is None else group.folders


class Limits:
    """The limits of a server during play, and counts of how often they took effect.

    For a server without a group, every method does nothing or returns None.
    """

    def __init__(self, stage: Stage, group: Group | None) -> None:
        self._stage = stage
        self._group = group
        self._before: Usage | None = None
        self._follower: _Follower | None = None

    def begin(self) -> None:
        """Notes the counts at the beginning of play."""
        self._before = None if self._group is None else self._group.usage()

    def hold_back(self) -> None:
        """Leaves room for a share of the pages of files that the server has read since the beginning, if the life asks for it.

        Raises InstrumentError if the server has read too little, or if its memory cannot be limited.
        """
        share = self._stage.cached_share
        if self._group is None or self._before is None or share is None:
            return
        now = self._group.usage()
        hot_bytes = now.cached_bytes - self._before.cached_bytes
        if hot_bytes < _LEAST_HOT_BYTES:
            raise InstrumentError(f"the server has read {hot_bytes >> 10} KiB of its world, which is too little for a limit")
        self._follower = _Follower(self._group, hot_bytes, round(share * hot_bytes))

    def read(self) -> QuotaUsage | None:
        """Returns the limits, and what was met of them since the beginning. None without a group.

        Raises InstrumentError if the limit did not follow the server.
        """
        quota = self._stage.quota
        if self._group is None or self._before is None or quota is None:
            return None
        now = self._group.usage()
        follower = self._follower
        return QuotaUsage(
            cores=quota.cores,
            memory_bytes=quota.memory_bytes if follower is None else follower.end(),
            seconds=(now.at_ns - self._before.at_ns) / 1e9,
            refaults=now.refaults - self._before.refaults,
            cached_bytes=now.cached_bytes,
            hot_bytes=None if follower is None else follower.hot_bytes,
            throttled_ns=now.throttled_ns - self._before.throttled_ns,
        )


class _Follower:
    """Limits a group to its own memory and some room for pages of files, and raises the limit when its own memory grows."""

    def __init__(self, group: Group, hot_bytes: int, room_bytes: int) -> None:
        self.hot_bytes = hot_bytes
        self._group = group
        self._room_bytes = room_bytes
        self._own_bytes = group.usage().own_bytes
        self._problem: Exception | None = None
        until = time.monotonic() + _LIMITED_WITHIN_S
        while not group.limit(self._limit_bytes):
            if time.monotonic() > until:
                raise InstrumentError(f"the memory of the server could not be limited within {_LIMITED_WITHIN_S:g} s")
            time.sleep(_LOOK_S)
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="limits", daemon=True)
        self._thread.start()

    def end(self) -> int:
        """Takes no more looks, and returns the last limit."""
        self._is_ending.set()
        self._thread.join()
        if self._problem is not None:
            raise InstrumentError(f"the limit of memory did not follow the server: {self._problem}")
        return self._limit_bytes

    @property
    def _limit_bytes(self) -> int:
        return self._own_bytes + self._room_bytes

    def _follow(self) -> None:
        try:
            while not self._is_ending.wait(_LOOK_S):
                if (own_bytes := self._group.usage().own_bytes) > self._own_bytes:
                    self._own_bytes = own_bytes
                    self._group.limit(self._limit_bytes)
        except (OSError, ValueError, TickdiskError) as error:
            self._problem = error
