"""Luanti (Minetest): emerge threads read its SQLite map under the environment's lock, and the thread that ticks saves it."""

from tickdisk.server.luanti.server import Luanti
from tickdisk.server.luanti.stores import LuantiLevelDB, LuantiPostgreSQL

__all__ = ["Luanti", "LuantiLevelDB", "LuantiPostgreSQL"]
