"""States the facts about the set-up of a run: the machine, the programs, the design of the scale, and the load of the machine."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tickdisk.calibrate import Calibration, load_calibration
from tickdisk.experiment import EXPERIMENTS, OTHER_SERVERS, STUDIES, SWITCHBACK
from tickdisk.manifest import Manifest, has_run, read_manifest
from tickdisk.project import Plan
from tickdisk.studies.statement import Statement

_PLAN = "plan.json"


def state_setup(plan: Plan, results: Path) -> Statement:
    """States the facts `setup.*`: the machine, the programs, the sizes and arms, and the load of the machine.

    Facts about the machine are left out if there is no calibration. Facts about the load are not estimable without run folders.
    """
    statement = Statement("setup")
    _state_design(statement, plan)
    folders = [results / "runs" / cell.hash for cell in plan.cells]
    manifests = [read_manifest(folder) for folder in folders if has_run(folder)]
    _state_programs(statement, plan, manifests)
    if (results / "calibration.json").exists():
        _state_machine(statement, load_calibration(results / "calibration.json"))
    _state_load(statement, plan, manifests)
    return statement


def _state_design(statement: Statement, plan: Plan) -> None:
    config, scale = plan.config, plan.chosen
    statement.word("scale", config.scale, source=_PLAN, note=scale.description)
    statement.fact("seed", config.seed, "", source=_PLAN)
    own = [arm for arm in plan.arms if config.server in arm.servers]
    experiments = {arm.experiment for arm in own}
    for study, entry in STUDIES.items():
        if study in EXPERIMENTS and study not in experiments:
            continue
        for name, unit in entry.stated.items():
            statement.fact(f"{study}.{name}", getattr(scale.design(entry), name), unit, source=_PLAN)
    statement.fact("world.edge_blocks", scale.world.edge_blocks, "map blocks", source=_PLAN)
    statement.fact("world.seed", scale.world.seed, "", source=_PLAN)
    if SWITCHBACK.name in experiments:
        design = scale.design(SWITCHBACK)
        epoch_s = design.epoch_save_periods * design.save_period_s
        statement.fact(f"{SWITCHBACK.name}.epoch_s", epoch_s, "s", source=_PLAN, note="the first save period of an epoch is cut")
    decision = config.decision
    statement.fact("margin", decision.margin, "", source=_PLAN)
    statement.fact("alpha", decision.alpha, "", source=_PLAN)
    statement.fact("confidence", decision.confidence, "share", source=_PLAN, note="confidence of intervals")
    note = "confidence of an interval, of which each end is a bound at the level alpha"
    statement.fact("bound_confidence", 1 - 2 * decision.alpha, "share", source=_PLAN, note=note)
    statement.fact("minimum_lives", decision.minimum_lives, "lives", source=_PLAN)
    statement.fact("control_minimum_lives", decision.control_minimum_lives, "lives", source=_PLAN)
    statement.fact("enough_requests", decision.enough_requests, "requests", source=_PLAN)
    statement.fact(
        "replacements", scale.replacements, "times", source=_PLAN, note="most times that a disturbed life is run again"
    )
    for arm in own:
        statement.word(f"arm.{arm.experiment}.{arm.arm}", arm.description, source="experiments.tsv", note=arm.role)
    _state_other_servers(statement, plan)
    for tier, disks in plan.tiers.items():
        statement.fact(f"tier.{tier}", disks.read_latency_ns / 1e6, "ms", source=_PLAN, note=disks.description)
    for arm in own:
        for kind, delay_ms in (("tick", arm.tick_delay_ms), ("action", arm.action_delay_ms)):
            if delay_ms is not None:
                note = f"the positive control of {kind}s"
                statement.fact(f"{arm.experiment}.{kind}_delay_ms", delay_ms, "ms", source=_PLAN, note=note)


def _state_other_servers(statement: Statement, plan: Plan) -> None:
    """States the sizes and the arms of the experiments on the other servers that take part."""
    for server in (name for name in plan.resolved if name != plan.config.server):
        for experiment in plan.resolved[server]:
            entry, prefix = EXPERIMENTS[experiment], f"{OTHER_SERVERS.name}.{server}.{experiment}"
            design = plan.chosen.design(entry, server)
            for name, unit in entry.stated.items():
                statement.fact(f"{prefix}.{name}", getattr(design, name), unit, source=_PLAN)
            for arm in (arm for arm in plan.arms if arm.experiment == experiment and server in arm.servers):
                statement.word(f"arm.{prefix}.{arm.arm}", arm.description, source="experiments.tsv", note=arm.role)
    for name, reason in plan.missing_servers.items():
        statement.word(f"missing_server.{name}", reason, source=_PLAN, note="a server that cannot run on this machine")


def _state_programs(statement: Statement, plan: Plan, manifests: Sequence[Manifest]) -> None:
    binaries = plan.binaries[plan.config.server]
    statement.word("server", " ".join(binaries["server"].split()[:2]), source=_PLAN, note="the game server")
    statement.word("rust", " ".join(binaries["rustc"].split()[:2]), source=_PLAN, note="the compiler of the emulator")
    statement.word("go", binaries["go"].split()[2], source=_PLAN, note="the compiler of the clients")
    statement.word("players", binaries["players"], source=_PLAN, note="digest of the clients' sources")
    statement.word("python_code", binaries["python"], source=_PLAN, note="digest of the Python sources that make live cells")
    cells = len(plan.cells)
    statement.fact("cells", len(manifests), "cells", n=cells, source="manifests", note=f"cells that ran, of {cells} planned ones")


def _state_machine(statement: Statement, calibration: Calibration) -> None:
    machine, source = calibration.machine, "calibration.json"
    statement.word("processor", machine.processor, source=source)
    statement.fact("cores", machine.cores, "cores", source=source)
    statement.fact("memory", machine.memory_bytes / (1 << 30), "GiB", source=source)
    statement.word("kernel", machine.kernel, source=source)
    statement.word("python", machine.python, source=source)
    statement.word("fio", calibration.fio, source=source)


def _state_load(statement: Statement, plan: Plan, manifests: Sequence[Manifest]) -> None:
    """States how many lives of all experiments were disturbed, the largest load in a last attempt, and the planned time."""
    lives = [life for manifest in manifests for life in manifest.lives.values()]
    for name, count, note in (
        ("lives", len(lives), "lives of all servers and experiments"),
        ("replaced_lives", sum(len(life.attempts) - 1 for life in lives), "they were disturbed from outside, and run again"),
        (
            "marked_lives",
            sum(bool(life.marked) for life in lives),
            "they were disturbed even in their last repetition; they count",
        ),
    ):
        statement.fact(name, count, "server lives", source="manifests", note=note)
    loads = [life.attempts[-1].load for life in lives]
    for name in ("steal_share", "other_programs_share", "pressure_memory_share"):
        known = [100 * share for load in loads if (share := getattr(load, name)) is not None]
        note = "in the server life in which it was highest"
        statement.fact(f"load.{name}", max(known, default=None), "%", n=len(known), source="manifests", note=note)
        limit = getattr(plan.config.limits, name)
        statement.fact(f"limit.{name}", 100 * limit, "%", source=_PLAN, note="a life with a higher share is replaced")
    if lives:
        last = datetime.fromtimestamp(max(life.attempts[-1].started_unix_s for life in lives), UTC)
        statement.word("date", last.date().isoformat(), source="manifests", note="day of the last server life")
    seconds = sum(cell.seconds for cell in plan.cells)
    statement.fact("planned_minutes", seconds / 60, "min", source=_PLAN, note="planned time of all live cells")
