"""Minestom, a library for servers of Minecraft's Java edition: other threads than the tick's load and save chunks."""

from tickdisk.server.minestom.server import Minestom

__all__ = ["Minestom"]
