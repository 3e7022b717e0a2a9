"""What live tests share: a small project of its own, with world and calibration made once."""

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "envs"))
import selection  # noqa: E402 - it lies beside the programs of make

settings.register_profile("tests", deadline=None)  # the machine is busy
settings.load_profile("tests")
gc.set_threshold(100_000, 50, 100)  # most objects of the tests live long, so that looking for garbage often finds none

BIN = Path(sys.executable).parent
PORT = 30187


for_release = pytest.mark.skipif("TICKDISK_RELEASE" not in os.environ, reason="`make release-check` runs it")
"""Marks a further form of a test, such as another file system or another tool, of which `make test` runs one."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Live tests need root and /dev/fuse; elsewhere they are skipped, and say so."""
    if os.geteuid() == 0 and Path("/dev/fuse").exists():
        return
    for item in items:
        if item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason="needs root and /dev/fuse"))


def with_own_mounts() -> list[str]:
    """Returns the beginning of a command line that runs a command whose mounts nobody else sees."""
    # In a chroot the root is no mount point, and cannot be made private.
    mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()]
    return ["unshare", "--mount", *([] if "/" in mounted else ["--propagation", "unchanged"])]


def left() -> tuple[list[str], list[str], list[str]]:
    """Mounts and loop devices of emulated devices, and folders in memory, that are there now and were not before the tests."""
    mounts, loops, folders = ([one for one in now if one not in before] for now, before in zip(_present(), _BEFORE, strict=True))
    return mounts, loops, folders


def _present() -> tuple[list[str], list[str], list[str]]:
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if "/run/tickdisk/" in line]
    loops = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output", "BACK-FILE"], capture_output=True, text=True, check=True
    )
    own = [line for line in loops.stdout.splitlines() if "/run/tickdisk/" in line]
    return mounts, own, [str(path) for path in Path("/dev/shm").glob("tickdisk-*")]


_BEFORE = _present()
"""Whoever has a device up may run the tests."""


def small(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration with cells of a few seconds."""
    scale = values["scales"]["smoke"]
    scale["world"]["edge_blocks"] = 40
    scale["calibration"]["seconds_per_job"] = 0.2
    scale["switchback"] |= {"lives": 2, "warm_up_s": 2, "players": 2, "save_period_s": 0.3}
    scale["players"] |= {"players": [2, 3], "save_period_s": 0.3}
    scale["join_burst"] |= {"blocks": 2, "players": 2, "burst_s": 0.5, "stay_s": 1}
    scale["inside_tick"] |= {"warm_up_s": 3, "stalls": 2, "players": 2, "teleport_period_s": 0.7}
    scale["accesses"] |= {"lives": 1, "players": 2, "seconds": 15, "first_seconds": 15}
    scale["capture_cost"] |= {"warm_up_s": 3, "epoch_s": 4, "cut_s": 2, "players": 2}
    scale["store"] |= {"rows": 20_000, "save_s": 0.3}
    values["limits"] |= {"client_lag_ms": 200, "other_programs_share": 0.9}  # a shared machine's noise is not their subject
    return values | {"scale": "smoke", "port": PORT, "device_size_mib": 512}


def _project(folder: Path) -> Path:
    """Makes a folder with the project's workflow and a small configuration."""
    for name in ("Snakefile", "CITATION.cff", "workflow", "profiles", "data", "notebooks", "src/servers"):
        source = ROOT / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / "build").symlink_to(ROOT / "build")
    config = folder / "workflow/config/config.yaml"
    config.write_text(yaml.safe_dump(small(yaml.safe_load(config.read_text()))))
    return folder


@pytest.fixture(scope="session")
def project_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the project's workflow and a small configuration."""
    yield (folder := _project(tmp_path_factory.mktemp("project")))
    shutil.rmtree(folder)


_LEFT_OUT = tuple(f"switchback\tlatency_{milliseconds}ms\t" for milliseconds in (1, 3, 12))
"""Arms that the small project leaves out, so that its lives are short."""


@pytest.fixture(scope="session")
def small_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Another one, with world and calibration made; needs root and /dev/fuse.

    The calibration measures only the floors, which are all that a life takes from it. `test_calibrate_live` runs a tier's jobs.
    """
    folder = _project(tmp_path_factory.mktemp("live"))
    devices = folder / "data/devices.yaml"
    tiers = devices.read_text()
    assert "  tier: true\n" in tiers
    devices.write_text(tiers.replace("  tier: true\n", ""))
    arms = folder / "workflow/config/experiments.tsv"
    lines = arms.read_text().splitlines(keepends=True)
    few = [line for line in lines if not line.startswith(_LEFT_OUT)]
    assert len(few) == len(lines) - len(_LEFT_OUT)
    arms.write_text("".join(few))
    for command in ("plan", "world", "calibrate"):
        subprocess.run([BIN / "tickdisk", command], cwd=folder, check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def workflow(small_project: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts snakemake in the small project, in a session of its own."""

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BIN / "snakemake", "--cores", "all", *words],
            cwd=small_project,
            start_new_session=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        )

    return start


@pytest.fixture
def own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keeps the records of devices in a folder of the test, so that nobody else's `recover` sees these devices."""
    from tickdisk.device import record  # noqa: PLC0415 - most tests need no device

    with tempfile.TemporaryDirectory(prefix="state-") as folder:
        monkeypatch.setattr(record, "STATE", Path(folder))
        monkeypatch.setenv("TICKDISK_STATE", folder)
        yield


_OPENED: set[str] = set()
_NOT_SOURCES = (
    ".git/",
    ".hypothesis/",
    ".mypy_cache/",
    ".pytest_cache/",
    ".ruff_cache/",
    ".snakemake/",
    ".venv/",
    "build/",
    "results/",
)


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str) and not arguments[0].endswith((".py", ".pyc", ".so")):
        _OPENED.add(os.path.abspath(arguments[0]))  # noqa: PTH100 - a test may go to another folder before it ends


sys.addaudithook(_note_opened)


@pytest.fixture(scope="module", autouse=True)
def reads_are_said(request: pytest.FixtureRequest) -> Iterator[None]:
    """`make check` knows by tests/reads.toml which tests a file can break, so what a test reads has to be said there."""
    _OPENED.clear()
    yield
    own = [item for item in request.session.items if item.path == request.path]
    if any(item.get_closest_marker(mark) for item in own for mark in ("live", "prose")):
        return  # `make check` leaves these out
    opened = {Path(name).resolve() for name in _OPENED}
    names = {str(path.relative_to(ROOT)) for path in opened if path.is_relative_to(ROOT) and path.is_file()}
    known = selection.depends_on(request.path.stem)
    unsaid = {name for name in names if not name.startswith(_NOT_SOURCES)} - set(selection.matching(names, known))
    assert not unsaid, f"{request.path.name} reads {', '.join(sorted(unsaid))}: say so in tests/reads.toml"
