"""Reads the configuration and the table of arms, and plans the cells of a run.

An unknown key of the configuration is an error. A cell is one block of an experiment on a server, and its hash names its folder
in the results.
"""

from tickdisk.config.load import (
    CONFIG_PATH,
    EXPERIMENTS_PATH,
    SCHEMA_PATH,
    check_arms,
    load_arms,
    load_config,
    parse_config,
    schema,
)
from tickdisk.config.model import AnyScale, Config, Decision, Dose, Limits, Scale, World
from tickdisk.config.plan import Cell, arms_of, arms_of_run, digest, file_digest, life_seconds, plan, world_hash
from tickdisk.config.resolved import PlannedCell, Resolved

__all__ = [
    "CONFIG_PATH",
    "EXPERIMENTS_PATH",
    "SCHEMA_PATH",
    "AnyScale",
    "Cell",
    "Config",
    "Decision",
    "Dose",
    "Limits",
    "PlannedCell",
    "Resolved",
    "Scale",
    "World",
    "arms_of",
    "arms_of_run",
    "check_arms",
    "digest",
    "file_digest",
    "life_seconds",
    "load_arms",
    "load_config",
    "parse_config",
    "plan",
    "schema",
    "world_hash",
]
