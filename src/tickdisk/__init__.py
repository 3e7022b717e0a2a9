"""Does the disk under a Minecraft-like server make its players lag, and which disk is good enough?"""

from tickdisk.errors import TickdiskError

__all__ = ["TickdiskError"]
