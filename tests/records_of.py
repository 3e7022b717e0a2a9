"""Records of plans and of cells, for tests in which only some of their values matter."""

from collections.abc import Sequence
from typing import Any

from tickdisk.config import Config, PlannedCell, Resolved, load_arms, load_config
from tickdisk.project import Plan


def plan_of(config: Config, cells: Sequence[PlannedCell] = (), **values: Any) -> Plan:
    empty: dict[str, Any] = {name: {} for name in ("tiers", "binaries", "worlds", "missing_servers", "resolved")}
    own = {"config": config, "chosen": config.chosen, "arms": tuple(load_arms()), "cells": tuple(cells)}
    return Plan(**empty | own | values)


def planned(name: str, experiment: str, *, server: str = "luanti", block: int = 0) -> PlannedCell:
    return PlannedCell(hash=name, experiment=experiment, server=server, block=block, seconds=1.0, lives=("life",))


def resolved_of(**values: Any) -> Resolved:
    config = load_config()
    own: dict[str, Any] = {"server": "luanti", "design": {}, "behaviour": "roam", "arms": (), "limits": config.limits}
    own |= {"replacements": 0, "world": config.chosen.world, "device_size_mib": 64, "file_system": "ext4", "seed": 42}
    return Resolved(**own | {"code": {"python": "a"}} | values)
