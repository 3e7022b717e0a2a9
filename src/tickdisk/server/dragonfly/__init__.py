"""Dragonfly, a server of Minecraft's Bedrock edition: the goroutine that ticks a world loads and saves its chunks in LevelDB."""

from tickdisk.server.dragonfly.server import Dragonfly

__all__ = ["Dragonfly"]
