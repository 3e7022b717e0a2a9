"""Typed configuration, the table of experiments, and the plan of cells that follows from them."""

from tickdisk.config.design import Epoch, Injection, Life
from tickdisk.config.load import (
    CONFIG_PATH,
    EXPERIMENTS_PATH,
    SCHEMA_PATH,
    check_confirmatory,
    load_arms,
    load_config,
    parse_config,
    schema,
)
from tickdisk.config.model import Arm, Config, Decision, ExperimentName, JoinBurst, Limits, Scale, Switchback, Tool, World
from tickdisk.config.plan import Cell, digest, file_digest, plan, world_hash

__all__ = [
    "CONFIG_PATH",
    "EXPERIMENTS_PATH",
    "SCHEMA_PATH",
    "Arm",
    "Cell",
    "Config",
    "Decision",
    "Epoch",
    "ExperimentName",
    "Injection",
    "JoinBurst",
    "Life",
    "Limits",
    "Scale",
    "Switchback",
    "Tool",
    "World",
    "check_confirmatory",
    "digest",
    "file_digest",
    "load_arms",
    "load_config",
    "parse_config",
    "plan",
    "schema",
    "world_hash",
]
