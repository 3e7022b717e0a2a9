"""Luanti (Minetest): emerge threads read its SQLite map under the environment's lock, and the thread that ticks saves it."""

from tickdisk.server.luanti.server import Luanti

__all__ = ["Luanti"]
