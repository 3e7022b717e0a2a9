"""Reads the configuration. Messages name the file, the line where there is one, and the key."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tickdisk.config.model import Config
from tickdisk.config.plan import arms_of
from tickdisk.experiment import EXPERIMENTS, Arm
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import check
from tickdisk.foundation.yaml_file import read_yaml

CONFIG_PATH = Path("workflow/config/config.yaml")
EXPERIMENTS_PATH = Path("workflow/config/experiments.tsv")
SCHEMA_PATH = Path("workflow/config/schema.json")
_LATENCIES = ("latency_us", "read_us", "write_us", "flush_us")
_OPTIONAL = (*_LATENCIES, "tick_delay_ms", "action_delay_ms", "positive_for", "copying", "capture")
_ADVICE = f"correct it ({SCHEMA_PATH} describes every key)"


def parse_config(values: Mapping[str, Any], where: str = str(CONFIG_PATH)) -> Config:
    """Returns the typed `Config` of the values of a configuration. Servers get the sizes of the scale that they do not state.

    Raises TickdiskError if a value is wrong or a key is unknown. The message names their source (`where`) and the key.
    """
    scales = values.get("scales")
    if isinstance(scales, dict):
        check(Config, {**values, "scales": {name: _with_servers(scale, {}) for name, scale in scales.items()}}, where, _ADVICE)
        values = {**values, "scales": {name: _with_servers(scale, _completed(scale)) for name, scale in scales.items()}}
    return check(Config, values, where, _ADVICE)


def _with_servers(scale: Any, servers: Mapping[str, Any]) -> Any:
    return {**scale, "servers": servers} if isinstance(scale, dict) and isinstance(scale.get("servers"), dict) else scale


def _completed(scale: Any) -> dict[str, Any]:
    """Returns the sizes of the servers of a scale, of which each has the scale's values for the keys that it leaves out."""
    servers = scale["servers"] if isinstance(scale, dict) and isinstance(scale.get("servers"), dict) else {}
    return {
        name: {key: _filled(sizes, scale.get(key)) for key, sizes in own.items()} if isinstance(own, dict) else own
        for name, own in servers.items()
    }


def _filled(sizes: Any, whole: Any) -> Any:
    return whole | sizes if isinstance(whole, dict) and isinstance(sizes, dict) else sizes


def load_config(path: Path = CONFIG_PATH) -> Config:
    """Reads a configuration file. Raises TickdiskError if it cannot be read, or if a value in it is wrong."""
    values = read_yaml(path, "run from the project's folder")
    if not isinstance(values, dict):
        raise TickdiskError(f"{path}: expected keys and values; {SCHEMA_PATH} describes them")
    return parse_config(values, str(path))


def load_arms(path: Path = EXPERIMENTS_PATH) -> list[Arm]:
    """Reads the arms of all experiments from a table with tabs between its columns. Each row is an arm.

    Raises TickdiskError with file and line if a row is wrong, or if an experiment has two arms of the same name on a server.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # a spreadsheet puts a mark before the first column
            rows = list(csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; run from the project's folder") from error
    except UnicodeDecodeError as error:
        raise TickdiskError(f"{path} is no table in UTF-8; save it as text in UTF-8 with tabs between its columns") from error
    arms = []
    for line, row in enumerate(rows, start=2):
        filled = {key: value for key, value in row.items() if value != "" or key not in _OPTIONAL}
        arms.append(check(Arm, filled, f"{path}, line {line}", _ADVICE))
        if arms[-1].experiment not in EXPERIMENTS:
            known = ", ".join(EXPERIMENTS)
            raise TickdiskError(f"{path}, line {line}: there is no experiment {arms[-1].experiment}; take one of {known}")
    names = [(arm.experiment, arm.arm, server) for arm in arms for server in arm.servers]
    for experiment, name, server in names:
        if names.count((experiment, name, server)) > 1:
            raise TickdiskError(f"{path}: experiment {experiment} names the arm {name} twice; give every arm its own name")
    return arms


def check_arms(config: Config, arms: Sequence[Arm]) -> None:
    """Raises TickdiskError if an experiment of the table lacks an arm that its analysis needs, or has two for one role.

    An experiment needs its controls on every server. Only the server of the studies needs the sham, which shows the effect of the
    emulator's processor time. The arm of the confirmatory claims has to be there, unless its experiment has no arms. The planned
    number of lives must be a multiple of the number of arms, so that every arm has every place in a life equally often and what
    grows over a life meets all arms alike. A scale with fewer lives than a verdict needs is free of that, and so is a
    sweep, whose points have lives of their own.
    """
    for name, entry in EXPERIMENTS.items():
        for server in dict.fromkeys(server for arm in arms if arm.experiment == name for server in arm.servers):
            own, where = arms_of(arms, name, server), f"{EXPERIMENTS_PATH}: experiment {name} on {server}"
            roles = [role for role in entry.controls if server == config.server or role != "sham"]
            for role in roles:
                if sum(arm.role == role for arm in own) != 1:
                    raise TickdiskError(f"{where} needs exactly one arm with role {role}; add it")
            for metrics in entry.positive:
                if sum(metrics in arm.positive_for for arm in own) != 1:
                    raise TickdiskError(f"{where} needs exactly one arm that is positive_for {metrics}; mark it")
            if config.doses:
                continue
            lives = int(getattr(config.scales[config.scale].design(entry, server), entry.repeats))
            ordered = sum(arm.arm not in entry.apart for arm in own) // entry.divided
            _check_squares(f"{CONFIG_PATH}: {name}.{entry.repeats} on {server}", lives, ordered, config.decision.minimum_lives)
    fixed = config.decision.confirmatory
    there = arms_of(arms, fixed.experiment, config.server)
    doses = [arm.arm for arm in there if arm.role in ("dose", "treatment")]
    if there and fixed.arm not in doses:
        raise TickdiskError(
            f"{CONFIG_PATH}: decision.confirmatory.arm = {fixed.arm}: experiment {fixed.experiment} has no such arm to make a "
            f"claim about, only {', '.join(doses)}; name one of them"
        )


def _check_squares(where: str, lives: int, arms: int, minimum: int) -> None:
    """Raises TickdiskError if a number of lives, from the minimum of a verdict on, is no multiple of the number of arms."""
    if lives >= minimum and lives % arms:
        fitting = [number for number in (lives - lives % arms, lives - lives % arms + arms) if number >= minimum]
        raise TickdiskError(
            f"{where} = {lives} is no multiple of its {arms} arms, which would not have all places in a life equally often; "
            f"set it to {' or '.join(map(str, fitting))}"
        )


def schema() -> str:
    """Returns the JSON schema of the configuration and of a row of the table of experiments, which is kept at `SCHEMA_PATH`.

    It is generated from the types and their docstrings. No key of a server's own sizes is required.
    """
    config, arm = Config.model_json_schema(), Arm.model_json_schema()
    for own in config["$defs"]["OwnSizes"]["properties"].values():
        whole = own["anyOf"][0]["$ref"]
        keys = config["$defs"][whole.rpartition("/")[2]]["properties"]
        own["anyOf"][0] = {
            "type": "object",
            "properties": {key: {"$ref": f"{whole}/properties/{key}"} for key in keys},
            "additionalProperties": False,
        }
    arm["properties"]["experiment"]["enum"] = list(EXPERIMENTS)
    return json.dumps({"config": config, "experiments": arm}, indent=2) + "\n"
