"""The commands that the rules of the workflow call. They also work by hand."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tickdisk.cli import step
from tickdisk.cli.places import PLAN_PATH, check_output, check_output_folder
from tickdisk.cli.progress import say
from tickdisk.foundation import cluster, host, temporary
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.files import json_of, write_text

if TYPE_CHECKING:
    from tickdisk.project import Project

_Plan = Annotated[Path, typer.Option(help="The plan, which `tickdisk plan` wrote from the configuration.")]
_Output = Annotated[Path, typer.Option(help="File to write.")]
_PREADS = 48_000
_NAMED = 3
_REPLAYED_ON = ("nvme_ssd", "hdd")
_TEMPLATES = Path("workflow/paper")


def plan(
    config: Annotated[
        str, typer.Option(help="Configuration as JSON, as the workflow passes it. By default, the configuration file is read.")
    ] = "",
    scale: Annotated[str, typer.Option(help="Scale to plan, instead of the one that the configuration names.")] = "",
    output: _Output = PLAN_PATH,
    nodes: Annotated[
        list[int] | None,
        typer.Option(
            help="Number of nodes of a cluster for which the time of the run is printed; can be repeated.", min=1, max=10_000
        ),
    ] = None,
) -> None:
    """Writes the plan of a run from the configuration, the arms and the devices, and prints its cells in the order of running.

    A cell is one block of an experiment, with one or more server lives. The last lines have the lives of each experiment and of
    the whole run, with the time that they take. The steps of a run that follow read the plan. With `--nodes`, the time on nodes
    like this machine is computed from the time that each step took here.
    """
    from tickdisk.config import load_config
    from tickdisk.project import Project, measured, work_of

    check_output(output)
    values = json_of(config, "--config", "give an object") if config else load_config().model_dump(mode="json")
    if not isinstance(values, dict):
        raise TickdiskError("--config is no object of JSON with the keys of the configuration; give one, or leave it out")
    values |= {"scale": scale} if scale else {}
    project = Project.of(values)
    project.save(output)
    for cell in project.cells:
        say(f"{cell.hash}  {cell.title}, {len(cell.lives)} server lives, about {cell.seconds:.0f} s")
    for line in project.times():
        say(line)
    if nodes:
        work = work_of(project, measured())
        for number in nodes:
            say(work.on(number, host.facts().cores).sentence)
        if work.unknown:
            more = f" and {len(work.unknown) - _NAMED} others" if len(work.unknown) > _NAMED else ""
            say(f"steps that have not run here are not counted: {', '.join(work.unknown[:_NAMED])}{more}")


def world(
    plan: _Plan = PLAN_PATH,
    on: Annotated[str, typer.Option("--server", help="Server to generate the world for, instead of that of the studies.")] = "",
) -> None:
    """Generates the world of a server into the folder that the plan names. Every server life begins with a copy of it.

    If the folder has a world of the same settings already, that world is kept.
    """
    from tickdisk import server
    from tickdisk.project import Project

    project = Project.load(plan)
    name = on or project.config.server
    spec = server.WorldSpec(**project.config.chosen.world_of(name).model_dump())
    folder = project.world(name)
    step.begin(folder)
    facts = server.named(name).make_world(folder, spec, folder.parent / "logs")
    say(f"{folder}: {json.dumps(facts.model_dump(mode='json', exclude={'places'}), sort_keys=True)}")


def _limits(project: "Project") -> dict[str, float]:
    return project.config.limits.model_dump(include={"steal_share", "pressure_memory_share"})


def calibrate(
    plan: _Plan = PLAN_PATH,
    output: _Output = Path("results/calibration.json"),
    backend: Annotated[str | None, typer.Option(help="fuse or tree. By default, the first of them that works here.")] = None,
) -> None:
    """Measures all devices of the experiments with fio: their floors, and the latency and bandwidth that the tiers realise.

    It needs the plan and writes a JSON file, from which experiments and the replay take the floor of each device. The raw
    latencies go to a folder beside it. It runs before the experiments. In a job of a cluster, the result is a copy of the
    calibration of the job's node, which is made if there is none.
    """
    from tickdisk import calibrate as room
    from tickdisk.project import Project

    check_output(output)
    step.begin(output)
    project = Project.load(plan)
    if cluster.in_job() and backend is None:
        room.copy_calibration(_calibration_of_node(project, output.parent), output)
    else:
        _calibrate(project, output, backend)


def _calibrate(project: "Project", output: Path, backend: str | None = None) -> None:
    from tickdisk import calibrate as room
    from tickdisk.experiment import CALIBRATION

    room.calibrate(
        project.models(),
        tiers=project.calibrated_tiers,
        seconds_per_job=project.config.chosen.design(CALIBRATION).seconds_per_job,
        out_path=output,
        say=say,
        limits=_limits(project),
        backend=backend,
        file_system=project.config.file_system,
    )


def _calibration_of_node(project: "Project", results: Path) -> Path:
    """Returns the calibration of the node on which this job runs, which is made if the node has none yet for this plan."""
    path = results / "calibrations" / f"{cluster.node()}-{project.calibration_digest}.json"
    if not path.exists():
        say(f"{path} does not exist, so this node is calibrated first")
        _calibrate(project, path)
    return path


def fidelity(
    plan: _Plan = PLAN_PATH,
    output: _Output = Path("results/fidelity.json"),
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if a point misses its bounds.")] = False,
) -> None:
    """Compares the latencies of every tier with its model over queue depths, and prints how near they are.

    fio measures the latencies, and the results are written as JSON. Where nbdkit and null_blk are available, which are other ways
    to have a slow block device, they are measured in the same way.
    """
    from tickdisk import calibrate as room
    from tickdisk.experiment import CALIBRATION
    from tickdisk.project import Project

    check_output(output)
    step.begin(output)
    project = Project.load(plan)
    design = project.config.chosen.design(CALIBRATION)
    measured = room.measure_fidelity(
        [model for model in project.devices.values() if model.tier and model.latency_ns[0] > 0],
        seconds=design.fidelity_seconds,
        runs=design.fidelity_runs,
        depths=design.fidelity_depths,
        out_path=output,
        say=say,
        limits=_limits(project),
    )
    for line in room.describe(measured):
        say(line)
    if strict and not measured.holds:
        raise typer.Exit(1)


def micro(plan: _Plan = PLAN_PATH, output: _Output = Path("results/capture_micro.parquet")) -> None:
    """Measures how much a capture slows down a program that does nothing but read from memory.

    The program runs without a capture and under each capturing tool, in random order. It writes a table of the time of a read in
    each run, which the study of the cost of a capture reads.
    """
    from tickdisk import trace
    from tickdisk.experiment import CAPTURE_COST
    from tickdisk.foundation import table
    from tickdisk.project import Project

    check_output(output)
    step.begin(output)
    project = Project.load(plan)
    rounds = project.config.chosen.design(CAPTURE_COST).micro_rounds
    say(f"micro-workload: {rounds} rounds of {_PREADS} preads, fewer under strace")
    logs = output.parent / "logs" / "micro"
    table.write("micro", output, trace.micro_cost(rounds=rounds, preads=_PREADS, seed=project.config.seed, logs=logs))


def profile_disk(plan: _Plan = PLAN_PATH) -> None:
    """Profiles the real disk that the configuration names, for the study of a real disk beside its emulated twin.

    fio measures reads, writes and flushes on a loop device on a new file in the folder, as server lives use it. The device file
    and the latencies go to the folder results/disks/DIGEST. The file in the folder is gone afterwards.
    """
    from tickdisk import profile as room
    from tickdisk.experiment import TWIN
    from tickdisk.project import Project

    project = Project.load(plan)
    disk, design = project.disk, project.config.chosen.design(TWIN)
    step.begin(disk.profile)
    profiled = room.profile_disk(
        disk.folder,
        disk.profile,
        disk.latencies,
        seconds=design.profile_s,
        settle_s=design.settle_s,
        size_bytes=design.device_size_mib << 20,
        say=say,
    )
    print(room.screen(profiled.model))
    say(f"{disk.profile}: {profiled.model.description}")


def run(
    cell: Annotated[str, typer.Argument(help="Hash of the cell, as `tickdisk plan` lists it.")],
    plan: _Plan = PLAN_PATH,
    calibration: Annotated[Path, typer.Option(help="File that `tickdisk calibrate` wrote.")] = Path("results/calibration.json"),
    runs: Annotated[Path, typer.Option(help="Folder of the run folders.")] = Path("results/runs"),
) -> None:
    """Runs the server lives of one cell: a real server on an emulated device, with real clients as players.

    It needs the plan, the calibration and the world of the server. It writes the run folder of the cell, RUNS/HASH, with the
    tables of the lives and a manifest. If this folder is whole already, nothing runs. In a job of a cluster, the calibration of
    the job's node is taken instead, or made, and the lives are recorded on the node's own disk until they are whole.
    """
    from tickdisk import calibrate as room
    from tickdisk.project import Project
    from tickdisk.run import Progress, run_cell

    step.begin(runs / cell)
    project = Project.load(plan)
    planned = project.cell(cell)
    say(Progress(project.cells, runs).line(planned))
    with ExitStack() as stack:
        staging = None
        if cluster.in_job():
            calibration, staging = _calibration_of_node(project, runs.parent), stack.enter_context(temporary.folder())
        folder = run_cell(project, planned, room.load_calibration(calibration), runs, say, staging)
    say(f"{folder}: whole")


def replay_study(
    plan: _Plan = PLAN_PATH,
    calibration: Annotated[Path, typer.Option(help="File that `tickdisk calibrate` wrote.")] = Path("results/calibration.json"),
    runs: Annotated[Path, typer.Option(help="Folder of the run folders.")] = Path("results/runs"),
    output: Annotated[Path, typer.Option(help="File to write. Tables are written beside it.")] = Path(
        "results/replay/replay.json"
    ),
) -> None:
    """Replays the first captured life of the study of storage accesses on emulated devices, for the study of replay.

    Tickdisk and fio make its requests again on an NVMe SSD, and Tickdisk on a hard disk. It needs the run folder of that life.
    It writes replay.json with a table of the requests of each replay.
    """
    from tickdisk import calibrate as measured
    from tickdisk import replay as room
    from tickdisk.experiment import ACCESSES, REPLAY
    from tickdisk.project import Project

    check_output(output)
    step.begin(output)
    project = Project.load(plan)
    known = measured.load_calibration(calibration)
    fast, slow = (project.devices[name] for name in _REPLAYED_ON)
    cell = next((cell for cell in project.cells if cell.experiment == ACCESSES.name), None)
    if cell is None:
        raise TickdiskError(f"the plan has no cell of {ACCESSES.name} to replay; give the experiment its arms in experiments.tsv")
    file_system = project.config.file_system
    room.experiment(
        runs / cell.hash,
        project.world(cell.server),
        [
            room.ReplayBench(
                each,
                measured.floor_ns(known, each),
                tools,
                known.backend,
                file_system,
            )
            for each, tools in ((fast, (room.TICKDISK, room.FIO)), (slow, (room.TICKDISK,)))
        ],
        seconds=project.config.chosen.design(REPLAY).seconds,
        size_bytes=project.config.device_size_mib << 20,
        output=output.parent,
        say=say,
    )


_Folders = Annotated[list[Path], typer.Argument(help="Folders that notebooks wrote, each named after its study.")]
_LeftOut = Annotated[list[str] | None, typer.Option(help="A study that does not run, as NAME=REASON; can be repeated.")]


def _missing(left_out: list[str] | None, failed: list[str] | None = None) -> dict[str, str]:
    reasons = {name: reason for name, _, reason in (each.partition("=") for each in left_out or [])}
    return reasons | dict.fromkeys(failed or [], "a step that it needs failed")


def collect(
    folders: _Folders,
    left_out: _LeftOut = None,
    output: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
) -> None:
    """Merges the facts, claims and figures of all notebooks, and answers the questions of the paper from them.

    It writes facts.json, claims.json, figures.json, missing.json and answers.json into the folder of the results, for the paper
    and the page.
    """
    from tickdisk.report import collect as merge

    check_output_folder(output)
    merge(folders, output, missing=_missing(left_out))


def publish(
    folders: Annotated[list[Path] | None, typer.Argument(help="Folders of the notebooks that finished.")] = None,
    left_out: _LeftOut = None,
    failed: Annotated[list[str] | None, typer.Option(help="A study that is missing because a step failed.")] = None,
) -> None:
    """Makes paper, companion and page of an unfinished run from the notebooks that finished. They say what is missing.

    It works in the folder results: it collects the facts, compares them with the reference, and writes paper.pdf, companion.pdf
    and index.html.
    """
    from tickdisk import compare, report

    results, missing = Path("results"), _missing(left_out, failed)
    report.collect(folders or [], results, missing=missing)
    compare.compare_with_reference(results, results / "comparison.json")
    for document in report.LIMITS:
        report.set_paper(_TEMPLATES / f"{document}.typ", results / f"{document}.pdf")
    report.write_page(_TEMPLATES / "page.html.j2", results, results / "index.html")
    without = f" without {', '.join(missing)}, and say so" if missing else ""
    say(f"results/paper.pdf, results/companion.pdf and results/index.html come{without}")


def paper(template: Annotated[Path, typer.Argument(help="Typst template.")], output: _Output = Path("results/paper.pdf")) -> None:
    """Sets the paper or its companion as a PDF. Every number in it is read from the facts that `tickdisk collect` wrote."""
    from tickdisk.report import set_paper

    check_output(output)
    set_paper(template, output)


def page(template: Annotated[Path, typer.Argument(help="Jinja template.")], output: _Output = Path("results/index.html")) -> None:
    """Writes the page of a run, which shows its answers and claims and links to all of its results.

    It reads the results from the folder of the output, in which `tickdisk collect` must have run.
    """
    from tickdisk.report import write_page

    check_output(output)
    write_page(template, output.parent, output)


def check_results(output: _Output = Path("results/checked.json")) -> None:
    """Checks that the results are complete: figures, facts and claims of every notebook, the paper and the page.

    It prints every claim with its verdict, and writes a JSON file with the counts. If a check fails, it says what is wrong.
    """
    from tickdisk import report

    check_output(output)
    for line in report.check_results(output):
        say(line)


def crate(
    files: Annotated[list[Path], typer.Argument(help="Results of the run, beside the output. The plan's cells are added.")],
    source: Annotated[list[Path], typer.Option(help="A file of the workflow, the Snakefile first; can be repeated.")],
    data: Annotated[list[Path], typer.Option(help="A file that the workflow reads; can be repeated.")],
    output: _Output = Path("results/ro-crate-metadata.json"),
) -> None:
    """Describes a run as an RO-Crate: what it read and made, when, on which machines, and with which programs.

    The folder of the output becomes the crate. Copies of the workflow's files and of the data go to its folder `source`.
    """
    from tickdisk.crate import write_crate

    check_output(output)
    write_crate(files, source, data, output)


def schema() -> None:
    """Writes workflow/config/schema.json, which describes every key of the configuration, from the types in the code."""
    from tickdisk.config import SCHEMA_PATH
    from tickdisk.config import schema as generate

    write_text(SCHEMA_PATH, generate())


COMMANDS = (
    *(plan, world, calibrate, fidelity, micro, profile_disk, run, replay_study),
    *(collect, publish, paper, page, check_results, crate, schema),
)
"""The commands in the order in which a run calls them."""
