"""The plan of this checkout on this machine, as the Snakefile, a live cell and a notebook see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tickdisk import device, player, server
from tickdisk.config import (
    Cell,
    Config,
    arms_of,
    check_arms,
    digest,
    load_arms,
    parse_config,
    plan,
    world_hash,
)
from tickdisk.experiment import CALIBRATION, CHANGES, EXPERIMENTS, STUDIES, TWIN, Arm, Need
from tickdisk.foundation import host
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.record import plain
from tickdisk.project.identity import Identity
from tickdisk.project.plan import Plan, SizingClass, Tier, read_plan, write_plan
from tickdisk.project.sweep import Point, arms_at, config_at

RESULTS = Path("results")
DISKS = RESULTS / "disks"
"""Folder of the profiles of real disks."""
DISK_PROFILE = f"disk{device.FILE}"
"""Name of the file of the device that was profiled from a real disk, in the folder of the disk."""
PLAN_PATH = RESULTS / "plan.json"
DEVICES_PATH = Path("data/devices.yaml")


@dataclass(frozen=True)
class RealDisk:
    """A real disk that is compared with its emulated twin."""

    folder: Path
    """Folder on the disk, in which its owner keeps other files."""
    results: Path
    """Folder of what is known about the disk."""

    @property
    def profile(self) -> Path:
        """File of the device that was profiled from the disk."""
        return self.results / DISK_PROFILE

    @property
    def latencies(self) -> Path:
        """Table of the latencies that the profile rests on."""
        return self.results / "latencies.parquet"


@dataclass(frozen=True)
class Project:
    """The inputs from which the workflow plans a run: configuration, arms, device models, and digests of code and game servers.

    The cells of the plan follow from them, and so do the digests by which results that are out of date are recognised. Paths are
    relative to the current folder, which has to be the project's.
    """

    config: Config
    """The configuration, with changes from the command line."""
    arms: tuple[Arm, ...]
    devices: Mapping[str, device.DeviceModel]
    """Device models by the name that arms use."""
    identity: Identity
    missing_servers: Mapping[str, str] = field(default_factory=dict)
    """Servers of the table of experiments that cannot run on this machine, each with the reason."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Project":
        """Makes the project for the values of a configuration, with the arms, devices, code and servers of the current folder.

        Raises TickdiskError if a value is wrong, if the server of the studies cannot run on this machine, or if a program has not
        been built.
        """
        return cls._of(parse_config(values))

    @classmethod
    def _of(cls, config: Config, identity: Identity | None = None) -> "Project":
        host.choose_cores(config.cores)
        arms, devices = arms_at(config, load_arms()), device.load_devices(DEVICES_PATH)
        check_arms(config, arms)
        _check_changes(config, arms)
        devices |= _of_real_disk(arms)
        if config.disk is not None:
            device.check_folder(Path(config.disk), config.chosen.design(TWIN).device_size_mib << 20)
        for arm in arms:
            add_file(arm, devices)
            if arm.device not in devices:
                raise TickdiskError(
                    f"workflow/config/experiments.tsv, arm {arm.arm}: unknown device {arm.device}; "
                    f"{DEVICES_PATH} has {', '.join(devices)}"
                )
        wanted = dict.fromkeys([config.server, *(one for arm in arms for one in arm.servers)])
        missing = {name: reason for name in wanted if (reason := _lacking(name)) is not None}
        if config.server in missing:
            raise TickdiskError(missing[config.server])
        if identity is None or config.server not in identity.servers:
            identity = Identity.of([name for name in wanted if name not in missing])
        return cls(config, tuple(arms), devices, identity, missing)

    @classmethod
    def load(cls, path: Path = PLAN_PATH) -> "Project":
        """Makes the project for the configuration in a plan file. Arms, devices and code are those of the checkout now."""
        return cls._of(read_plan(path).config)

    def at(self, *points: Point) -> "Project":
        """Returns the project whose plan has the cells of the first of some points of a sweep, and the devices of all of them."""
        return self._of(config_at(self.config, self.arms, points), self.identity)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of the plan at the chosen scale, in the order in which they run. Servers that cannot run here have none."""
        models = {(arm.experiment, arm.arm): self.model(arm.experiment, arm.arm) for arm in self.arms}
        captured = {arm.experiment for arm in self.arms if arm.capture != "none" or arm.experiment == TWIN.name}
        code = {
            (name, server): self.identity.cell(server, captured=name in captured)
            for server in self.identity.servers
            for name in EXPERIMENTS
            if arms_of(self.arms, name, server)
        }
        return plan(self.config, self.arms, models, code)

    @property
    def left_out(self) -> dict[str, str]:
        """The studies that do not run, by name, each with the reason in words."""
        return left_out(self.config, self.arms, self.missing_servers)

    def left_out_here(self, lacks: Mapping[Need, str]) -> dict[str, str]:
        """Returns the studies that do not run on a machine whose root lacks rights (`rights.lacking`), each with the reason."""
        return unable(self.arms, lacks) | self.left_out

    def world(self, server: str) -> Path:
        """Returns the folder in `results/worlds` of the world of a server, whether or not it is there yet."""
        return RESULTS / "worlds" / world_hash(self.config.chosen.world_of(server), self.identity.world(server))

    @property
    def disk(self) -> RealDisk:
        """The real disk that the configuration names, with the places of its profile. Raises TickdiskError if it names none."""
        if self.config.disk is None:
            raise TickdiskError(f"the configuration names no disk; give study={TWIN.name} and disk=FOLDER")
        return RealDisk(Path(self.config.disk), DISKS / digest(self.config.disk))

    @property
    def plan_digest(self) -> str:
        """Digest of the content of the plan file. If it changes, the plan file must be written again."""
        return digest(plain(self.plan))

    def asked_digest(self, experiment: str) -> str:
        """Returns a digest of all in the plan that one study depends on, so that its notebook is rendered again if it changes.

        The configuration, all arms, and the cells of the experiment on the server of the studies count. For a study that compares
        servers, the cells of the compared experiments on all servers count. For another name, such as `paper`, only configuration
        and arms count.
        """
        name = self.config.server
        compared = STUDIES[experiment].compares if experiment in STUDIES else ()
        own = [
            cell
            for cell in self.plan.cells
            if (cell.experiment, cell.server) == (experiment, name) or cell.experiment in compared
        ]
        return digest(plain([self.plan.config, self.plan.arms, own, self.plan.resolved[name].get(experiment)]))

    def computing(self, product: str) -> str:
        """Returns a digest of the code behind a kind of result in `PRODUCTS`. If it changes, the result is out of date."""
        return digest(self.identity.product(product))

    def rendering(self, notebook: str) -> str:
        """Returns a digest of what a notebook is rendered from, except for results: its code, text, data files and packages."""
        return digest(self.identity.notebook(notebook))

    def cell(self, name: str) -> Cell:
        """Returns the cell of the plan with a given hash. Raises TickdiskError if the plan has no such cell."""
        for cell in self.cells:
            if cell.hash == name:
                return cell
        raise TickdiskError(f"no cell {name} in the plan; `tickdisk plan` lists the cells")

    def model(self, experiment: str, arm: str) -> device.DeviceModel:
        """Returns the model of the device that an arm uses, with the arm's latencies if it has any.

        A sham's model lacks the processor time that it burns, which is known only after calibration.
        """
        row = next(row for row in self.arms if row.experiment == experiment and row.arm == arm)
        model = self.devices[row.device]
        return model if row.latencies_us is None else model.with_latencies(*(round(us * 1000) for us in row.latencies_us))

    @property
    def calibrated_tiers(self) -> list[str]:
        """Names of the tiers, on which the calibration runs every job. A study that runs alone compares none of them."""
        is_alone = self.config.study is not None and STUDIES[self.config.study].runs_alone
        return [name for name, model in self.devices.items() if model.tier and not is_alone]

    def models(self) -> list[device.DeviceModel]:
        """Returns all device models that `tickdisk calibrate` measures, each once: the tiers, and the devices of all arms.

        A device whose reads, writes and flushes have latencies of their own is not among them, because it takes the floor of its
        fastest operation (`calibrate.floor_ns`). So does the twin of a real disk, which is not known yet.
        """
        tiers = {model.name: model for model in self.devices.values() if model.tier}
        whole = [arm for arm in self.arms if not arm.has_operations_apart and arm.experiment != TWIN.name]
        found = {**tiers, **{(model := self.model(arm.experiment, arm.arm)).name: model for arm in whole}}
        return list(found.values())

    @property
    def calibration_digest(self) -> str:
        """A digest of all that a calibration of this machine depends on. With another one, the machine is calibrated again."""
        models = [model.as_dict() for model in self.models()]
        design, limits = self.config.chosen.design(CALIBRATION), self.config.limits
        return digest(
            [
                *(plain(models), self.calibrated_tiers, design.seconds_per_job, self.config.file_system),
                *(plain(limits), plain(host.machine()), plain(self.config.cores), self.computing("calibration")),
            ]
        )

    @cached_property
    def plan(self) -> Plan:
        """The content of the plan file."""
        servers = self.identity.servers
        return Plan(
            config=self.config,
            chosen=self.config.chosen,
            arms=self.arms,
            tiers={
                name: Tier(description=model.description, read_latency_ns=model.latency_ns[0])
                for name, model in self.devices.items()
                if model.tier
            },
            classes=sizing_classes(self.devices),
            worlds={name: str(self.world(name)) for name in servers},
            binaries={name: self.identity.cell(name, captured=True) for name in servers},
            missing_servers=dict(self.missing_servers),
            resolved={name: {cell.experiment: cell.resolved for cell in self.cells if cell.server == name} for name in servers},
            cells=tuple(cell.row for cell in self.cells),
        )

    def times(self) -> list[str]:
        """Returns a line for each experiment with the number of its lives and the time that they take, and one for all of them.

        A life counts with the start and the stop of its server. Steps without lives are not counted, such as calibration.
        """
        counts: dict[str, tuple[int, float]] = {}
        for cell in self.cells:
            title = f"{cell.experiment} on {cell.server}"
            lives, seconds = counts.get(title, (0, 0.0))
            counts[title] = lives + len(cell.lives), seconds + cell.seconds
        for name, study in STUDIES.items():
            if study.lives_apart is not None and name not in self.left_out:
                counts[name] = study.lives_apart(self.config.chosen.design(study))
        counts["in all"] = sum(lives for lives, _ in counts.values()), sum(seconds for _, seconds in counts.values())
        return [
            f"{title}: {lives} {'life' if lives == 1 else 'lives'}, {seconds / max(lives, 1):.1f} s each, {seconds / 60:.1f} min"
            for title, (lives, seconds) in counts.items()
        ]

    def save(self, path: Path = PLAN_PATH) -> None:
        """Writes the plan file."""
        write_plan(path, self.plan)


def sizing_classes(devices: Mapping[str, device.DeviceModel]) -> dict[str, SizingClass]:
    """Returns the classes of disks among some devices, by name, with the mean latencies that their models give."""
    classes = {}
    for name, model in devices.items():
        if model.sizing_class:
            read_ns, write_ns, flush_ns = device.mean_latencies_ns(model)
            latencies = {"read_latency_ns": read_ns, "write_latency_ns": write_ns, "flush_latency_ns": flush_ns}
            classes[name] = SizingClass(description=model.description, source=model.source, **latencies)
    return classes


def left_out(config: Config, arms: Sequence[Arm], missing_servers: Mapping[str, str]) -> dict[str, str]:
    """Returns the studies that a run leaves out by its plan, by name, each with the reason in words."""
    have = {arm.experiment for arm in arms if config.server in arm.servers}
    without = {
        name: f"the scale {config.scale} has no life of it"
        for name, entry in EXPERIMENTS.items()
        if not getattr(config.chosen.design(entry, config.server), entry.repeats)
    }
    without |= {name: "the table of experiments has no arm of it" for name in EXPERIMENTS if name not in have}
    lacking = {
        name: f"it needs {need}, of which the table of experiments has no arm"
        for name, study in STUDIES.items()
        for need in study.needs
        if need in without
    }
    servers = ({name for arm in arms for name in arm.servers} | {config.server}) - {*missing_servers}
    compared = [name for name, study in STUDIES.items() if len(servers) < study.fewest_servers]
    others = [name for name in STUDIES if config.study not in (None, name)]
    apart = {name: f"it runs alone, with make paper STUDY={name}" for name, study in STUDIES.items() if study.runs_alone}
    apart.pop(config.study or "", None)
    why = "; ".join(f"{name} cannot run here: {reason}" for name, reason in missing_servers.items())
    alone = dict.fromkeys(compared, why or "the table of experiments names one server only")
    chosen = dict.fromkeys(others, f"the configuration asks for {config.study} only")
    return dict.fromkeys(config.leave_out, "the configuration leaves it out") | without | lacking | alone | apart | chosen


def unable(arms: Sequence[Arm], lacks: Mapping[Need, str]) -> dict[str, str]:
    """Returns the studies that cannot run where root lacks rights, because they or the experiments behind them need one."""
    captured = {arm.experiment for arm in arms if arm.capture != "none"}

    def needs(name: str) -> set[Need]:
        study, own = STUDIES[name], set[Need]()
        if name in EXPERIMENTS:
            own |= {"devices", "captures"} if name in captured else {"devices"}
        return own.union(study.rights, *map(needs, {*study.needs, *study.compares} - {name}))

    return {
        name: next(why for need, why in lacks.items() if need in needs(name)) for name in STUDIES if needs(name) & lacks.keys()
    }


def _of_real_disk(arms: Sequence[Arm]) -> dict[str, device.DeviceModel]:
    """Returns stand-ins for the devices that are known only when a real disk has been profiled, by the names that arms use."""
    names = {arm.device for arm in arms if arm.experiment == TWIN.name}
    return {name: device.REAL_DISK.model_copy(update={"name": name}) for name in names}


def _check_changes(config: Config, arms: Sequence[Arm]) -> None:
    """Raises TickdiskError if the configuration asks for a change that a server does not have, or that this machine lacks a
    program for.
    """
    for name in dict.fromkeys(name for arm in arms if arm.experiment == CHANGES.name for name in arm.servers):
        known = server.named(name).changes
        unknown = [change for change in config.chosen.design(CHANGES, name).changes if change not in known]
        if unknown:
            raise TickdiskError(
                f"workflow/config/config.yaml: changes.changes on {name}: there is no change {unknown[0]}; take one of "
                f"{', '.join(known) or 'none'}"
            )
        for change in config.chosen.design(CHANGES, name).changes:
            if (needed := known[change].program) is not None and needed.found() is None:
                raise TickdiskError(
                    f"workflow/config/config.yaml: changes.changes on {name}: the change {change} needs {needed.title}, which is "
                    f"not installed; install the package {needed.package}, or leave the change out"
                )


def _lacking(name: str) -> str | None:
    """Returns what this machine lacks for a server and its clients, as a sentence, or None if it lacks nothing."""
    kind = server.named(name)
    try:
        kind.check()
        player.binary(kind.clients)
    except TickdiskError as error:
        return str(error)
    return None


def add_file(arm: Arm, devices: dict[str, device.DeviceModel]) -> None:
    """Adds the device of an arm to `devices` by its path, if the arm names a file instead of one of the known devices.

    Calibration uses the model's own name, so no other device may have it. Otherwise a TickdiskError is raised.
    """
    if device.is_file(arm.device) and arm.device not in devices:
        model = device.load_device(Path(arm.device))
        if model.name in {known.name for known in devices.values()}:
            raise TickdiskError(f"{arm.device}: there is another device called {model.name}; rename the device in the file")
        devices[arm.device] = model
