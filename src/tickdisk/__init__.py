"""Tickdisk measures whether the disk under a Minecraft-like server makes its players lag, and which disk is good enough.

The package calibrates emulated storage devices, runs a real game server on them under real network clients, and decides with
tests what the latency of storage does to the server's ticks and to the players' actions. Each subpackage or module is a room
that does one of these things, and `docs/architecture.md` lists the rooms. All rooms raise `TickdiskError` for failures that a
user can act on.
"""

from tickdisk.foundation.errors import TickdiskError

__all__ = ["TickdiskError"]
