"""Sweeps, which run the switchback at several points: with other players, save periods, latencies, devices or servers."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tickdisk.config import Config, Dose, arms_of_run
from tickdisk.experiment import SWITCHBACK, Arm
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import Record, check, plain

SWEEPS = Path("results/sweeps")
"""Folder of the sweeps. Each has a folder with its name, its table of points, and a folder for each point."""
POINTS = "points.tsv"
_SIZES = ("players", "save_period_s", "lives")
_Count = Annotated[int, Field(ge=1)]
_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Point(Record):
    """A row of points.tsv. An empty cell stands for the value of the scale or of the configuration."""

    players: _Count | None = None
    """Number of connected players."""
    latency_ms: _Positive | None = None
    """Latency of every operation of the dose. If it and the device are empty, the dose is that of the confirmatory claims."""
    save_period_s: _Positive | None = None
    """Time between two periodic saves of the server's world."""
    device: str | None = None
    """Device of the dose, as an arm names it. Empty for that of the baseline."""
    server: str | None = None
    """Name of the server."""
    lives: _Count | None = None
    """Number of server lives."""

    @property
    def name(self) -> str:
        """Name of the point in files and facts, such as `players_5_latency_ms_0_1`."""
        stated = "_".join(
            f"{key}_{value:g}" if isinstance(value, float) else f"{key}_{value}"
            for key, value in self.stated.items()
            if key != "lives"  # further lives add to those that have run
        )
        return re.sub(r"[^a-z0-9]+", "_", stated.lower()).strip("_") or "as_planned"

    @property
    def stated(self) -> dict[str, float | str]:
        """The values that the point states, by column."""
        return {key: value for key, value in plain(self).items() if value is not None}


def read_points(path: Path) -> list[Point]:
    """Reads a table of points, with tabs between its columns. Raises TickdiskError with file and line if a row is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError as error:
        raise TickdiskError(f"{path} does not exist; `tickdisk sweep` writes it") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise TickdiskError(f"{path} is not a table in UTF-8 ({error}); save it as text with tabs between its columns") from error
    known = f"the columns are some of {', '.join(Point.model_fields)}, with tabs between them"
    longer = next((line for line, row in enumerate(rows, start=2) if None in row), None)
    if longer is not None:
        raise TickdiskError(f"{path}, line {longer} has more cells than the first line has columns; remove the last tabs")
    points = [check(Point, _filled(row), f"{path}, line {line}", known) for line, row in enumerate(rows, start=2)]
    names = [point.name for point in points]
    if not points or len(set(names)) < len(names):
        raise TickdiskError(f"{path} has {'a point twice' if points else 'no points'}; give each point one row")
    return points


def _filled(row: dict[str, str]) -> dict[str, float | str]:
    def value(key: str, text: str) -> float | str:
        try:
            return text if key in ("device", "server") else float(text)
        except ValueError:
            return text

    return {key: value(key, text) for key, text in row.items() if text}


def config_at(config: Config, arms: Sequence[Arm], points: Sequence[Point]) -> Config:
    """Returns the configuration of the first of some points, with the doses of all. `arms` is the table of experiments."""
    first = points[0]
    server = first.server or config.server
    doses = tuple(dict.fromkeys(_dose(config, arms, point) for point in points))
    scale = config.scales[config.scale]
    sizes = {key: value for key, value in first.stated.items() if key in _SIZES}
    design = scale.design(SWITCHBACK, server)
    # Over as many lives as arms, or a multiple, every arm has every place in a life equally often.
    count, least = len(_controls(arms, server)) + 1, config.decision.minimum_lives
    if design.lives >= least:
        fitting = [lives for lives in range(count, design.lives + count, count) if lives >= least]
        sizes = {"lives": max([lives for lives in fitting if lives <= design.lives], default=fitting[0]), **sizes}
    own: dict[str, Any] = {SWITCHBACK.name: design.model_copy(update=sizes)}
    if server in scale.servers:
        own = {"servers": {**scale.servers, server: scale.servers[server].model_copy(update=own)}}
    arm = _arm(doses[0], server, arms).arm
    confirmatory = config.decision.confirmatory.model_copy(update={"experiment": SWITCHBACK.name, "arm": arm})
    return config.model_copy(
        update={
            "server": server,
            "doses": doses,
            "decision": config.decision.model_copy(update={"confirmatory": confirmatory}),
            "scales": {**config.scales, config.scale: scale.model_copy(update=own)},
        }
    )


def arms_at(config: Config, arms: Sequence[Arm]) -> list[Arm]:
    """Returns the arms of a configuration: those of its run in the table `arms`, or the controls and the doses of a sweep."""
    if not config.doses:
        return arms_of_run(arms, config.study)
    doses = [_arm(dose, config.server, arms) for dose in config.doses]
    every = {arm.arm: arm.model_copy(update={"servers": (config.server,)}) for arm in [*_controls(arms, config.server), *doses]}
    return list(every.values())


def _controls(arms: Sequence[Arm], server: str) -> list[Arm]:
    """Returns the controls of a server, and those that only other servers have, because a sweep is a study of its own."""
    controls: dict[str, Arm] = {}
    for arm in _switchback(arms):
        is_control = arm.role not in ("dose", "treatment") or arm.positive_for
        if is_control and (arm.arm not in controls or server in arm.servers):
            controls[arm.arm] = arm
    return list(controls.values())


def _switchback(arms: Sequence[Arm]) -> list[Arm]:
    return [arm for arm in arms if arm.experiment == SWITCHBACK.name]


def _dose(config: Config, arms: Sequence[Arm], point: Point) -> Dose:
    if point.latency_ms is None and point.device is None:
        usual = next(arm for arm in _switchback(arms) if arm.arm == config.decision.confirmatory.arm)
        return Dose(device=usual.device, latency_ms=None if usual.latency_us is None else usual.latency_us / 1000)
    baseline = next(arm.device for arm in _switchback(arms) if arm.role == "baseline")
    return Dose(device=point.device or baseline, latency_ms=point.latency_ms)


def _arm(dose: Dose, server: str, arms: Sequence[Arm]) -> Arm:
    """Returns the arm of the table with the device of a dose, or else a new one."""
    latency_us = None if dose.latency_ms is None else 1000 * dose.latency_ms
    for arm in _switchback(arms):
        if arm.role in ("dose", "treatment") and (arm.device, arm.latency_us) == (dose.device, latency_us):
            return arm
    latency = "" if dose.latency_ms is None else f"_{dose.latency_ms:g}_ms"
    name = re.sub(r"[^a-z0-9]+", "_", f"swept_{dose.device}{latency}".lower())
    words = "its own latency" if dose.latency_ms is None else f"a latency of {dose.latency_ms:g} ms"
    return Arm(
        experiment=SWITCHBACK.name,
        arm=name,
        servers=(server,),
        role="dose",
        device=dose.device,
        latency_us=latency_us,
        description=f"{dose.device} with {words}, of a sweep",
    )
