"""Runs the study of network stacks: server lives on every stack, without a delay and with one, and the controls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tickdisk.foundation import cluster, host, table
from tickdisk.foundation.errors import TickdiskError
from tickdisk.netcode.life import Setting, live
from tickdisk.netcode.namespaces import Conditions
from tickdisk.netcode.published import write_published
from tickdisk.netcode.schedule import Attendance
from tickdisk.netcode.steps import describe_steps, steady_pings
from tickdisk.stats import named_generator

_TABLES = {
    "lives": "run arm stack place players is_rising is_equal lost failed",
    "steps": "run arm stack players rtt_mean_ms rtt_p99_ms jitter_ms transport_rtt_ms age_p50_ms age_p99_ms lost_updates "
    "late_updates gap_p99_ms lag_p99_ms server_share clients_share server_thread_share clients_thread_share link_thread_share "
    "memory_bytes received_bytes_per_s received_datagrams_per_s sent_bytes_per_s sent_datagrams_per_s busiest reason",
    "pings": "players player at_s rtt_ms run arm stack",
}
"""Columns that the tables must have."""
FAR = Conditions(delay_ms=15, loss=0.01)
"""Conditions of the arm `far`: a round trip is 30 ms longer, and one in a hundred packets is lost in each direction."""
DELAYED = Conditions(delay_ms=5)
"""Conditions of the positive control: a round trip is 10 ms longer."""


@dataclass(frozen=True)
class StackSizes:
    """The sizes of the study. `ramp_s` and `steady_s` are those of `Attendance`."""

    runs: int
    """Number of runs. Each run has one server life of each arm on each of its stacks, in a random order of its own."""
    stacks: Sequence[str]
    idle_players: Sequence[int]
    """Numbers of players who stand still, from small to large. A step without players is added."""
    active_players: Sequence[int]
    """Numbers of players who jump and place blocks, from small to large."""
    blocks: int
    """Number of blocks that each of these players places in a step."""
    has_far: bool
    control: str
    """Stack of the controls."""
    ramp_s: float
    steady_s: float


@dataclass(frozen=True)
class Case:
    """A server life of the study."""

    arm: str
    """Arm: `idle` and `active` on a plain pair, `far`, and the controls `again`, `near` and `delayed`."""
    setting: Setting


@dataclass(frozen=True)
class StackFindings:
    """The tables of the study."""

    lives: pd.DataFrame
    """One row per server life: run, place (in the order of the run), arm, stack, players (numbers of its steps), is_rising,
    is_equal, lost (messages about players), failed (why there is no record of the life, or an empty text), and node and machine
    (the name of the machine or node, and its kind), which older tables lack.
    """
    steps: pd.DataFrame
    """One row per step of a life, as `describe_steps` describes them, with run, arm and stack."""
    pings: pd.DataFrame
    """One row per ping, as `steady_pings` describes them, with run, arm and stack."""


def cases(design: StackSizes, run: int, seed: int) -> list[Case]:
    """Returns the server lives of a run (numbered from 0), in the random order in which they come.

    Players who act have a life for each of their numbers, because what they build stays. In every second run the idle lives go
    from many players to few, and the seed says in which.
    """
    rng = named_generator(seed, "netcode", str(run))
    is_rising = bool((named_generator(seed, "netcode", "direction").integers(2) + run) % 2)
    idle = Attendance((0, *design.idle_players), is_rising=is_rising, ramp_s=design.ramp_s, steady_s=design.steady_s)
    acting = [replace(idle, players=(players,), is_rising=True, blocks=design.blocks) for players in design.active_players]
    links: list[tuple[str, Conditions | None]] = [("active", None), *([("far", FAR)] if design.has_far else [])]
    cases = list[Case]()
    for stack in design.stacks:
        cases.append(Case("idle", Setting(stack, idle)))
        cases += [Case(arm, Setting(stack, each, conditions=conditions)) for arm, conditions in links for each in acting]
    for arm, conditions in (("again", None), ("near", Conditions()), ("delayed", DELAYED)):
        cases.append(Case(arm, Setting(design.control, acting[-1], conditions=conditions)))
    seeded = [_seeded(case, int(rng.integers(2**31))) for case in cases]
    return [seeded[place] for place in rng.permutation(len(seeded))]


def _seeded(case: Case, seed: int) -> Case:
    setting = case.setting
    conditions = None if setting.conditions is None else replace(setting.conditions, seed=seed)
    return replace(case, setting=replace(setting, attendance=replace(setting.attendance, seed=seed), conditions=conditions))


def study(
    design: StackSizes, seed: int, folder: Path, say: Callable[[str], None], *, part: int = 1, parts: int = 1
) -> StackFindings:
    """Runs all server lives of one part of the study, one after another, and gives `say` a line of progress after each.

    A part has whole runs. The parts are counted from 1, and `gather` puts them together. The folder gets the output of the
    processes (`logs`), and each life in the layout of the published study (`published`). Raises TickdiskError if there are more
    parts than runs, or if the machine lacks something, so that the first life fails. A later life that fails is a row with its
    message.
    """
    if not 1 <= part <= parts <= design.runs:
        raise TickdiskError(
            f"there is no part {part} of {parts}; there can be 1 to {design.runs} parts, which are counted from 1"
        )
    if design.control not in design.stacks:
        raise TickdiskError(f"the controls run on the stack {design.control}, which is none of {', '.join(design.stacks)}")
    here = {"node": cluster.node(), "machine": ", ".join(f"{name} {value}" for name, value in host.machine())}
    lives, steps, pings = list[dict[str, object]](), list[pd.DataFrame](), list[pd.DataFrame]()
    for run in range(part - 1, design.runs, parts):
        planned = cases(design, run, seed)
        for place, case in enumerate(planned):
            setting = case.setting
            players = setting.attendance.players
            name = f"run_{run}/{case.arm}_{setting.stack}_{players[-1]}"
            own: dict[str, Any] = {"run": run, "arm": case.arm, "stack": setting.stack}
            row = {**own, **here, "place": place, "players": list(players), "is_rising": setting.attendance.is_rising}
            progress = f"run {run + 1} of {design.runs}, {place + 1} of {len(planned)}: {case.arm} {setting.stack}"
            try:
                life = live(setting, folder / "logs" / name)
                described = describe_steps(life)
            except TickdiskError as error:
                # A machine that lacks something shows it in the first life. A later failure must not discard the lives before it.
                if not lives:
                    raise
                lives.append({**row, "is_equal": False, "lost": "", "failed": str(error)})
                say(f"{progress}: {error}")
                continue
            write_published(life, folder / "published" / name)
            lives.append({**row, "is_equal": life.is_equal, "lost": "; ".join(life.lost), "failed": ""})
            steps.append(described.assign(**own))
            pings.append(steady_pings(life).assign(**own))
            shown = steps[-1][steps[-1]["players"] > 0].to_dict("records")
            rtt = ", ".join(f"{row['rtt_mean_ms']:.1f} ms at {row['players']} players" for row in shown)
            worlds = "" if life.is_equal else f"; {'; '.join(life.lost) or 'the worlds differ'}"
            say(f"{progress}: {rtt}{worlds}")
    return StackFindings(pd.DataFrame(lives), pd.concat(steps, ignore_index=True), pd.concat(pings, ignore_index=True))


def write_study(findings: StackFindings, folder: Path) -> None:
    """Writes the tables as `lives.parquet`, `steps.parquet` and `pings.parquet`, each of which appears only when it is whole."""
    table.write_tables(folder, {name: getattr(findings, name) for name in _TABLES})


def gather(folders: Sequence[Path]) -> StackFindings:
    """Puts the parts of the study together, from the folders into which `write_study` wrote them.

    Raises TickdiskError if they ran on machines of more than one kind, because their times cannot be pooled.
    """
    parts = [read_study(folder) for folder in folders]
    whole = {name: pd.concat([getattr(part, name) for part in parts], ignore_index=True) for name in _TABLES}
    findings = StackFindings(**{name: rows.sort_values("run", kind="stable", ignore_index=True) for name, rows in whole.items()})
    if len(machines := findings.lives["machine"].unique()) > 1:
        raise TickdiskError(
            f"the parts ran on machines of {len(machines)} kinds ({'; '.join(machines)}); run them on nodes of one kind"
        )
    return findings


def read_study(folder: Path) -> StackFindings:
    """Reads the tables that `write_study` wrote. Raises TickdiskError if a file is missing, or has other columns."""
    return StackFindings(**table.read_tables(folder, _TABLES, "run `tickdisk netcode study`"))
