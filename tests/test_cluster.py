"""The profile for Slurm on a cluster of two virtual nodes. `make test-cluster` runs it, which takes root and some ten minutes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from virtual_cluster import Cluster, ask, cluster, steps, wait_for

from tickdisk.manifest import read_manifest
from tickdisk.studies.statement import UNDECIDED, read_claims

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif("TICKDISK_CLUSTER" not in os.environ, reason="`make test-cluster` runs it"),
]
ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("results/notebooks/switchback.html", "results/notebooks/checkpoint.html")
PARTS = 4
RUN_S = 600


@dataclass
class Checkout:
    """A copy of the project with results of its own."""

    folder: Path
    runs: list[subprocess.Popen[str]] = field(default_factory=list)
    """The runs of Snakemake that were started."""

    def snakemake(self, *words: str, nodes: int | None = PARTS) -> subprocess.Popen[str]:
        """Starts Snakemake with its output in the file `run.log`. Without `nodes` it runs on this machine."""
        on_nodes = [] if nodes is None else [f"nodes={nodes}"]
        with (self.folder / "run.log").open("w") as log:
            run = subprocess.Popen(
                [Path(sys.executable).parent / "snakemake", *words, "--config", "scale=smoke", *on_nodes],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": str(self.folder / "src")},
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
            )
        self.runs.append(run)
        return run

    @property
    def log(self) -> str:
        """The output of Snakemake and of its jobs that have not succeeded."""
        logs = sorted((self.folder / ".snakemake/slurm_logs").rglob("*.log"))
        return "\n".join(path.read_text(errors="replace") for path in (self.folder / "run.log", *logs))

    def claims(self, study: str) -> dict[str, str]:
        """Returns the verdicts of a study by the names of its claims. Whether few lives leave one open or not valid is chance."""
        claims = read_claims(self.folder / f"results/notebooks/{study}")
        return {name: "undecided" if claim.verdict in UNDECIDED else claim.verdict for name, claim in claims.items()}

    def cells(self) -> dict[str, str | None]:
        """Returns the node of each cell that has run, by the cell's hash."""
        return {
            path.parent.name: read_manifest(path.parent).node for path in (self.folder / "results/runs").glob("*/manifest.json")
        }


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Callable[[str], Checkout]]:
    def made(name: str) -> Checkout:
        folder = tmp_path / name
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
            "\0"
        )
        for path in filter(None, tracked):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path, follow_symlinks=False)
        for built in (".venv", "build"):
            (folder / built).symlink_to((ROOT / built).resolve())
        for library in (ROOT / "src/tickdisk").glob("_native*.so"):
            (folder / "src/tickdisk" / library.name).symlink_to(library.resolve())
        profile: dict[str, Any] = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
        # Both nodes are one machine, so a licence stands for the node that a measurement has to itself.
        profile |= {"jobs": 4, "slurm-no-account": True, "slurm-status-command": "squeue", "latency-wait": 10}
        profile |= {"slurm-init-seconds-before-status-checks": 2, "seconds-between-status-checks": 2}
        own = {"slurm_extra": "'--licenses=live:1'", "slurm_partition": "main", "cpus_per_task": 1, "mem_mb": 500, "runtime": 10}
        profile["default-resources"] = own
        profile["set-resources"] = {name: {"slurm_extra": "''"} for name in (*profile["set-resources"], "checkpoint_part")}
        del profile["config"]
        (folder / "profiles/test").mkdir()
        (folder / "profiles/test/config.yaml").write_text(yaml.safe_dump(profile))
        own = Checkout(folder)
        checkouts.append(own)
        return own

    checkouts: list[Checkout] = []
    before = devices()
    yield made
    for run in (run for own in checkouts for run in own.runs if run.poll() is None):
        run.terminate()
        run.wait(60)
    assert not steps()
    assert not at_work(tmp_path)
    assert devices() <= before


def devices() -> set[str]:
    """Returns the places where emulated devices and their file systems are mounted."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return {where for source, where, kind, *_ in mounts if kind == "fuse.tickdisk" or where.startswith("/run/tickdisk/")}


def at_work(folder: Path) -> list[str]:
    """Returns the commands of the processes whose current folder lies in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # It has ended.
    return found


def finished(run: subprocess.Popen[str], own: Checkout, seconds: float = RUN_S) -> None:
    """Waits for the end of a run, which must succeed."""
    try:
        code = run.wait(seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        pytest.fail(f"the run did not end within {seconds:g} s:\n{own.log[-6000:]}")
    assert code == 0, own.log[-6000:]


def running(there: Cluster, rule: str) -> dict[str, str] | None:
    """Returns a running job of a rule, or None."""
    return next((job for job in there.jobs("running") if job["comment"].startswith(f"rule_{rule}")), None)


def restarted(there: Cluster) -> dict[str, int]:
    """Returns by the names of rules and wildcards how often each job of a run was started again."""
    found: dict[str, int] = {}
    for job in there.jobs():
        fields = dict(word.partition("=")[::2] for word in ask("scontrol", "show", "job", job["id"]).split())
        found[job["comment"]] = found.get(job["comment"], -1) + 1 + int(fields["Restarts"])
    return {name: count for name, count in found.items() if name.startswith("rule_")}


def test_two_nodes_make_what_one_machine_makes(tmp_path: Path, checkout: Callable[[str], Checkout]) -> None:
    alone, spread = checkout("alone"), checkout("spread")
    began = time.monotonic()
    with cluster(tmp_path / "cluster") as there:
        run = spread.snakemake("--workflow-profile", "profiles/test", *TARGETS)
        lost, preempted = _disturb(there, run, spread)
        finished(run, spread)
        again = restarted(there)
    print(f"two nodes, one of which lost a job and one of which was taken away for a while: {time.monotonic() - began:.0f} s")
    began = time.monotonic()
    finished(alone.snakemake("--cores", "all", *TARGETS, nodes=None), alone)
    print(f"one machine: {time.monotonic() - began:.0f} s")
    assert spread.cells().keys() == alone.cells().keys()
    assert {node for node in spread.cells().values() if node is not None} <= {"n1", "n2"}
    print(f"cells on the nodes: {sorted(str(node) for node in spread.cells().values())}")
    assert {name for name, count in again.items() if count} == {lost, preempted}
    assert all(again[name] == 1 for name in (lost, preempted))
    for study in ("switchback", "checkpoint"):
        assert spread.claims(study) == alone.claims(study)
        print(f"{study}: {len(alone.claims(study))} claims have the same verdict")
    for name in ("runs", "ticks", "checkpoints"):
        one, two = (pd.read_parquet(own.folder / f"results/checkpoint/{name}.parquet") for own in (alone, spread))
        timed = ["updates_per_s"] if name == "runs" else []
        assert one.drop(columns=timed).equals(two.drop(columns=timed))


def _disturb(there: Cluster, run: subprocess.Popen[str], own: Checkout) -> tuple[str, str]:
    """Preempts a simulation, and kills the daemon of a node under a live cell. Returns the names of both jobs.

    The cell runs on the node that is not calibrated yet, so that it is still at work when it begins again on the other node.
    """

    def until(found: Callable[[], Any], what: str, seconds: float) -> Any:
        got: list[Any] = []

        def look() -> bool:
            assert run.poll() is None, own.log[-6000:]
            got[:] = [found()]
            return bool(got[0])

        wait_for(look, what, seconds)
        return got[0]

    simulated = until(lambda: running(there, "checkpoint_part"), "a simulation", 120)
    urgent = ask("sbatch", "--parsable", "-p", "urgent", "-w", simulated["node"], "-n1", "--wrap", "sleep 3", "-o", "/dev/null")
    until(lambda: urgent.strip() in [job["id"] for job in there.jobs("running", "completed")], "preemption", 60)
    calibrated = until(lambda: list((own.folder / "results/calibrations").glob("*.json")), "a calibration", 300)
    node = calibrated[0].name.partition("-")[0]
    ask("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    cell = until(lambda: running(there, "live_switchback"), "a live cell", 120)
    assert cell["node"] != node
    leases = f".{cell['comment'].rpartition('_')[2]}.*.lease"
    until(lambda: list((own.folder / "results/runs").glob(leases)), "a cell that is at work", 60)
    waiting = [job["id"] for job in there.jobs("pending")]
    ask("scontrol", "hold", *waiting)  # The lost cell comes first, so that its earlier attempt is still at work.
    ask("scontrol", "update", f"nodename={node}", "state=resume")
    there.kill(cell["node"])
    until(lambda: "down" in ask("sinfo", "--noheader", "-n", cell["node"], "--format", "%T"), "a node that is down", 120)
    until(lambda: "was still at work and was ended" in own.log, "the fence", 120)
    ask("scontrol", "release", *waiting)
    there.start(cell["node"])
    return cell["comment"], simulated["comment"]


def test_a_node_that_is_lost_for_good_does_not_stop_the_others(tmp_path: Path, checkout: Callable[[str], Checkout]) -> None:
    own = checkout("lost")
    with cluster(tmp_path / "cluster") as there:
        run = own.snakemake("--workflow-profile", "profiles/test", "results/checkpoint/runs.parquet", nodes=2)
        wait_for(lambda: running(there, "checkpoint_part"), "a simulation", 120)
        there.kill("n1")
        finished(run, own)
        again = restarted(there)
    assert all(count <= 1 for count in again.values())
    assert (own.folder / "results/checkpoint/runs.parquet").exists()
