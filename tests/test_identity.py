"""What a change of code makes out of date, and what it leaves: a table by room, part and file, to be read and to be held."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tickdisk import _native, device
from tickdisk.config import arms_of_run, load_arms, load_config
from tickdisk.experiment import STUDIES as ENTRIES
from tickdisk.foundation.errors import TickdiskError
from tickdisk.foundation.programs import files_digest, load_programs
from tickdisk.project import Toolchains, project
from tickdisk.project.built import check_built
from tickdisk.project.closure import closure, native_code
from tickdisk.project.identity import PRODUCTS, Identity, cell_product, world_product
from tickdisk.server import SERVERS

ROOT = Path(__file__).resolve().parent.parent

LIVE = {arm.experiment for arm in arms_of_run(load_arms(), None)}
CAPTURED = {arm.experiment for arm in arms_of_run(load_arms(), None) if arm.capture != "none"}
NOTEBOOKS = {f"{path.stem}.ipynb" for path in (ROOT / "notebooks").glob("*.ipynb")}
PAGES = {"collect", "paper", "page", "check"}
PAPER = PAGES - {"page"}
EVERYWHERE = NOTEBOOKS | PAGES | {"compare"}
# The notebooks of server lives, and of everything with repeated lives.
CONTRASTS = {"switchback.ipynb", "join_burst.ipynb", "capture_cost.ipynb", "operations.ipynb", "other_servers.ipynb"}
OF_LIVES = CONTRASTS | {"accesses.ipynb", "changes.ipynb", "inside_tick.ipynb", "inspect.ipynb", "netcode.ipynb"}
OF_LIVES |= {"players.ipynb", "predictions.ipynb", "twin.ipynb"}
OF_LIVES |= {"backup.ipynb", "bursts.ipynb", "instances.ipynb", "load.ipynb", "memory.ipynb"}
OF_SERVERS = {"bursts.ipynb", "changes.ipynb", "inspect.ipynb", "predictions.ipynb"}
# They read traces of any program. Whatever reads traces reads raw captures, too.
OF_TRACES = {"inspect.ipynb", "pools.ipynb"}
OF_RAW = OF_TRACES | {"replay", "replay.ipynb"}
# Whatever has a device up, or asks what it costs.
CALIBRATED = {"calibration", "fidelity", "calibration.ipynb", "disk"}
DEVICE = LIVE | CALIBRATED | {"replay", "replay.ipynb", "store", "store.ipynb"}
CHECKPOINTS = {"sweep", "checkpoint.ipynb", "store", "store.ipynb"}
# Whatever comes from a compiled part.
NATIVE = DEVICE | CHECKPOINTS | OF_TRACES | {"micro", "predictions.ipynb"}
NETWORK = {"netcode", "netcode.ipynb"}

TABLE: dict[str, set[str]] = {
    # Rooms of src/tickdisk.
    "src/tickdisk/__init__.py": set(),
    "src/tickdisk/start.py": set(),
    "src/tickdisk/accesses/life.py": {"accesses.ipynb", "inspect.ipynb"},
    "src/tickdisk/accesses/players.py": {"players.ipynb"},
    "src/tickdisk/blame/series.py": {"operations.ipynb"},
    "src/tickdisk/blame/words.py": {"inside_tick.ipynb", "other_servers.ipynb"},
    "src/tickdisk/calibrate/measure.py": {"calibration"},
    "src/tickdisk/calibrate/fidelity.py": {"fidelity", "calibration.ipynb"},
    "src/tickdisk/calibrate/fio.py": CALIBRATED | {"replay", "replay.ipynb"} | PAPER | {"crate"},
    "src/tickdisk/calibrate/record.py": LIVE | CALIBRATED | {"replay"} | PAPER | {"crate"},
    "src/tickdisk/characterise/times.py": {"inspect.ipynb"},
    "src/tickdisk/check/verdict.py": set(),
    "src/tickdisk/citation.py": PAPER | {"crate"},
    "src/tickdisk/cli/app.py": set(),
    "src/tickdisk/compare/comparison.py": {"compare", "page"},
    "src/tickdisk/config/plan.py": OF_LIVES,  # for live cells: its outcome is in the cell
    "src/tickdisk/crate/ran.py": {"crate"},
    "src/tickdisk/describe/markdown.py": set(),
    "src/tickdisk/device/daemon.py": DEVICE,  # a program of its own
    "src/tickdisk/device/up.py": DEVICE,
    "src/tickdisk/device/simulate.py": CALIBRATED | {"predictions.ipynb", "replay", "replay.ipynb"},
    "src/tickdisk/doctor/checks.py": set(),
    "src/tickdisk/experiment/entry.py": OF_LIVES
    | {"pools.ipynb", "compare"}
    | PAGES,  # for live cells: its outcome is in the cell
    "src/tickdisk/formats/reading.py": OF_RAW,
    "src/tickdisk/formats/native_table.py": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/foundation/clock.py": LIVE | {"micro"} | OF_RAW,
    "src/tickdisk/foundation/errors.py": EVERYWHERE | {"crate"},
    "src/tickdisk/foundation/files.py": EVERYWHERE | {"crate"},
    "src/tickdisk/foundation/host.py": LIVE | CALIBRATED | {"micro", "replay", "replay.ipynb"} | NETWORK | PAPER | {"crate"},
    "src/tickdisk/foundation/machine.py": DEVICE,
    "src/tickdisk/foundation/memory.py": DEVICE | {"micro", "world", *OF_SERVERS} | NETWORK | PAGES,
    "src/tickdisk/foundation/numbers.py": EVERYWHERE,
    "src/tickdisk/foundation/paths.py": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/foundation/process.py": NATIVE - {"checkpoint.ipynb", "sweep"}
    | NETWORK
    | OF_SERVERS
    | {"world"}
    | PAGES
    | {"crate"},
    "src/tickdisk/foundation/record.py": EVERYWHERE | {"crate"},
    "src/tickdisk/foundation/table.py": LIVE | {"disk", "micro", "netcode", "replay", "store", "sweep"} | NOTEBOOKS,
    "src/tickdisk/foundation/temporary.py": DEVICE | {"micro", "world", *OF_SERVERS} | NETWORK | PAGES,
    "src/tickdisk/foundation/tracefs.py": DEVICE | {"micro"} | OF_TRACES,  # devices take arrivals from tracepoints
    "src/tickdisk/foundation/waiting.py": CAPTURED
    | {"micro", "inside_tick.ipynb", "operations.ipynb", "other_servers.ipynb", "predictions.ipynb"}
    | OF_RAW,
    "src/tickdisk/foundation/yaml_file.py": DEVICE | {"sweep"} | NOTEBOOKS | PAPER | {"crate"},
    "src/tickdisk/manifest.py": LIVE,  # what reads manifests is made anew with them
    "src/tickdisk/netcode/steps.py": NETWORK,
    "src/tickdisk/player/explore.py": LIVE,
    "src/tickdisk/plot/effects.py": CONTRASTS | {"twin.ipynb", "backup.ipynb", "memory.ipynb"},
    "src/tickdisk/plot/store.py": {"store.ipynb"},
    "src/tickdisk/pools/simulate.py": {"pools.ipynb"},
    "src/tickdisk/predict/predict.py": {"predictions.ipynb"},
    "src/tickdisk/profile/fit.py": {"disk"},
    "src/tickdisk/project/closure.py": set(),  # what it does shows in the digests
    "src/tickdisk/project/kept.py": NOTEBOOKS,
    "src/tickdisk/project/plan.py": set(),
    "src/tickdisk/project/project.py": set(),
    "src/tickdisk/qos/ticks.py": OF_LIVES,
    "src/tickdisk/replay/issue.py": {"replay", "replay.ipynb"},
    "src/tickdisk/report/__init__.py": set(),
    "src/tickdisk/report/page.py": {"page"},
    "src/tickdisk/report/publish.py": PAPER,
    "src/tickdisk/rights.py": set(),
    "src/tickdisk/run/life.py": LIVE,
    "src/tickdisk/run/progress.py": set(),
    "src/tickdisk/saving/checkpoint/simulate.py": CHECKPOINTS,
    "src/tickdisk/saving/store/child.py": {"store", "store.ipynb"},  # a program of its own
    "src/tickdisk/saving/store/crash.py": set(),
    "src/tickdisk/saving/store/study.py": {"store", "store.ipynb"},
    # Notebooks ask each server which files have which data and for the names of its changes, and the answers name the server.
    "src/tickdisk/server/contract.py": LIVE | {"world", *OF_SERVERS} | PAGES,
    "src/tickdisk/server/luanti/server.py": LIVE | {"world", *OF_SERVERS} | PAGES,
    "src/tickdisk/server/registry.py": OF_SERVERS | PAGES,
    "src/tickdisk/server/ticks.py": LIVE,
    "src/tickdisk/stats/contrast.py": OF_LIVES | {"pools.ipynb"},
    "src/tickdisk/stats/quantile.py": NOTEBOOKS - {"checkpoint.ipynb", "pools.ipynb"} | {"replay", "store"},
    "src/tickdisk/trace/capture.bt": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/trace/micro.py": {"micro"},
    "src/tickdisk/trace/record.py": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/trace/workload.py": {"micro"},  # a program of its own
    # Studies.
    **{
        f"src/tickdisk/studies/{name}/{part}.py": {f"{name}.ipynb"}
        for name in sorted({*ENTRIES} - {"capture_cost", "join_burst", "other_servers", "switchback"})
        for part in ("__init__", "compute", "state", "show")
    },
    "src/tickdisk/studies/algorithms.py": {"checkpoint.ipynb", "store.ipynb"},
    "src/tickdisk/studies/checkpoint/anchors.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/contrasts/compute.py": CONTRASTS | {"netcode.ipynb", "players.ipynb"},
    "src/tickdisk/studies/contrasts/show.py": CONTRASTS,
    "src/tickdisk/studies/join_burst/state.py": {"join_burst.ipynb"},
    "src/tickdisk/studies/netcode/questions.py": {"netcode.ipynb"},
    "src/tickdisk/studies/runs.py": OF_LIVES,
    "src/tickdisk/studies/statement.py": EVERYWHERE,
    "src/tickdisk/studies/study.py": NOTEBOOKS,
    "src/tickdisk/studies/switchback/show.py": {"switchback.ipynb"},
    # The native module, by part.
    "src/native/src/timer.rs": DEVICE | {"predictions.ipynb"},
    "src/native/src/model/seek.rs": DEVICE | {"pools.ipynb", "predictions.ipynb"},
    "src/native/src/python/device.rs": DEVICE | {"predictions.ipynb"},
    "src/native/src/engine/tests.rs": set(),
    "src/native/src/replay/file.rs": {"replay", "replay.ipynb"},
    "src/native/src/formats/number.rs": CAPTURED | {"micro"} | OF_RAW,
    "src/native/src/pools/run.rs": {"pools.ipynb"},
    "src/native/src/reuse.rs": {"inspect.ipynb"},
    "src/native/src/fuzzing.rs": set(),
    "src/native/src/preads.rs": {"micro"},
    "src/native/src/checkpoint/store/life.rs": CHECKPOINTS,
    "src/native/src/clock.rs": NATIVE - OF_TRACES,
    "src/native/src/lib.rs": set(),
    "src/native/src/python.rs": set(),
    "src/native/Cargo.lock": NATIVE,
    "src/native/Cargo.toml": NATIVE,
    # Programs, what runs inside the server, and what else is read.
    "src/netcode/core/src/game.rs": {"netcode"},
    "src/netcode/stacks/quic/src/lib.rs": {"netcode"},
    "src/netcode/program/tests/play.rs": set(),
    "src/players/internal/luanti/handle.go": LIVE,
    "src/players/internal/luanti/driver_test.go": set(),
    "src/players/go.mod": LIVE,
    "src/servers/luanti/tickdisk_probe/record.lua": LIVE | {"world"},
    "src/servers/luanti/tickdisk_probe/mod.conf": LIVE | {"world"},
    "src/servers/luanti/minetest.conf": LIVE | {"world"},
    "envs/requirements.txt": NOTEBOOKS,
}
"""By file: the products that a change of its code makes out of date. Live cells go by the name of their experiment."""

CODE = {
    ".py": "\n_CHANGED = 1\n",
    ".rs": "\nconst CHANGED: u8 = 1;\n",
    ".go": "\nconst changed = 1\n",
    ".lua": "\nlocal changed = 1\n",
    ".bt": "\nEND { clear(@call); }\n",
    ".conf": "\nchanged = 1\n",
    ".lock": '\n[[package]]\nname = "changed"\n',
    ".toml": "\n[profile.dev]\ndebug = false\n",
    ".mod": "\nrequire example.org/changed v1.0.0\n",
    ".txt": "\nchanged==1.0\n",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identity")
    for name in ("src/tickdisk", "src/native/src", "src/netcode", "src/players", "src/servers", "notebooks", "data", "workflow"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "target"))
    (folder / "envs").mkdir()
    for name in ("envs/requirements.txt", "envs/programs.toml", "src/native/Cargo.toml", "src/native/Cargo.lock"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def folder(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(copy)
    return copy


def toolchains(root: Path, **changed: Any) -> Toolchains:
    """Returns what the set-up writes down in a folder."""
    programs = load_programs(root)
    built = {name: files_digest(root, programs[name].sources) for name in ("native", "netcode", "players")}
    return Toolchains(**{"rustc": "rustc 1", "go": "go 1", "built": built, **changed})


def project_here(server: str = "Luanti 5", **changed: Any) -> project.Project:
    """Returns the project in this folder, on a machine with these compilers and this server."""
    identity = Identity(Path.cwd(), toolchains(Path.cwd(), **changed), {"luanti": server})
    return project.Project(
        load_config(), tuple(arms_of_run(load_arms(), None)), device.load_devices(project.DEVICES_PATH), identity
    )


def products(**changed: Any) -> dict[str, Any]:
    """Returns what each product in this folder is named after: two that differ are not the same result."""
    own = project_here(**changed)
    return {
        **{experiment: [cell.hash for cell in own.cells if cell.experiment == experiment] for experiment in LIVE},
        **{name: own.computing(name) for name in PRODUCTS},
        **{name: own.rendering(name.removesuffix(".ipynb")) for name in NOTEBOOKS},
        "calibration": [own.computing("calibration"), *(model.as_dict() for model in own.models())],
        "world": str(own.world("luanti")),
    }


@pytest.fixture(scope="module")
def before(copy: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(copy)
        return products()


@contextmanager
def edited(path: Path, text: str) -> Iterator[None]:
    """A file has another text within the block."""
    before = path.read_text()
    path.write_text(text)
    try:
        yield
    finally:
        path.write_text(before)


def with_code(path: Path) -> str:
    return path.read_text() + CODE[path.suffix]


def differing(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name, value in before.items() if after[name] != value}


def test_every_room_and_part_is_in_the_table() -> None:
    rooms = {path for path in (ROOT / "src/tickdisk").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    placed = {ROOT.joinpath(*Path(name).parts[:3]) for name in TABLE if name.startswith("src/tickdisk/")}
    assert placed == rooms
    names = [name for name in dir(_native) if not name.startswith("_")]
    for name in names:
        assert {f"src/native/{path}" for path in native_code([name], ROOT / "src/native")} & TABLE.keys(), name
    files = {str(path.relative_to(ROOT / "src/native")) for path in (ROOT / "src/native/src").rglob("*.rs")}
    left_out = {name for name in files - native_code(names, ROOT / "src/native").keys() if not name.endswith("tests.rs")}
    assert left_out == {"src/fuzzing.rs", "src/lib.rs", "src/python.rs"}


@pytest.mark.parametrize("name", TABLE)
def test_a_change_of_code(name: str, folder: Path, before: dict[str, Any]) -> None:
    with edited(folder / name, with_code(folder / name)):
        assert differing(before, products()) == TABLE[name]


def test_comments_and_docstrings_of_python_change_nothing(folder: Path, before: dict[str, Any]) -> None:
    with ExitStack() as changes:
        for path in (folder / "src/tickdisk").rglob("*.py"):
            changes.enter_context(edited(path, f'{path.read_text()}# changed\n"""Changed, too."""\n'))
        assert not differing(before, products())


@pytest.mark.parametrize(
    ("name", "old", "new", "out_of_date"),
    [
        ("data/devices.yaml", "description: ", "description: x ", {"pools.ipynb"}),
        (
            "data/devices.yaml",
            "read_latency_ns: 100_000\n",
            "read_latency_ns: 110_000\n",
            LIVE - {"inside_tick"} | {"calibration", "pools.ipynb"},
        ),
        # A door that passes on another function under the same name.
        ("src/tickdisk/calibrate/__init__.py", "    floor_ns,\n", "    interpolate_floor as floor_ns,\n", LIVE | {"replay"}),
        (
            "data/published.yaml",
            "checkpoint:",
            "# changed\ncheckpoint:",
            {
                f"{name}.ipynb"
                for name in (
                    *("accesses", "switchback", "join_burst", "other_servers", "checkpoint", "store", "netcode"),
                    *("instances", "bursts"),
                )
            }
            | OF_TRACES,
        ),
        ("notebooks/replay.ipynb", "# The same requests", "# Once more the same requests", {"replay.ipynb"}),
        ("notebooks/calibration.ipynb", "every tier", "each tier", {"calibration.ipynb"}),
        ("notebooks/replay.ipynb", '"nbformat_minor": 5', '"nbformat_minor": 4', set()),
        ("src/tickdisk/cli/workflow.py", "_PREADS = 48_000", "_PREADS = 24_000", {"micro"}),
        (
            "src/tickdisk/cli/workflow.py",
            "out_path=output,\n        say=say,\n        limits",
            "say=say,\n        limits",
            {"calibration"},
        ),
        ("src/tickdisk/cli/workflow.py", "File to write.", "The file.", set()),
        ("src/tickdisk/cli/checkpoint.py", "tables = checkpoint.sweep(", "tables = checkpoint.sweep(*[], ", {"sweep"}),
        ("src/tickdisk/cli/workflow.py", '_REPLAYED_ON = ("nvme_ssd"', '_REPLAYED_ON = ("sata_ssd"', {"replay"}),
    ],
)
def test_a_change_at_a_place(name: str, old: str, new: str, out_of_date: set[str], folder: Path, before: dict[str, Any]) -> None:
    text = (folder / name).read_text()
    assert old in text
    with edited(folder / name, text.replace(old, new, 1)):
        assert differing(before, products()) == out_of_date


@pytest.mark.parametrize(
    ("changed", "out_of_date"),
    [
        ({"rustc": "rustc 2"}, NATIVE | {"netcode"}),
        ({"go": "go 2"}, LIVE),
        ({"server": "Luanti 6"}, LIVE | {"world"}),
        ({"built": {"players": "x", "netcode": "y"}}, LIVE | {"netcode"}),
    ],
)
@pytest.mark.usefixtures("folder")
def test_another_compiler_or_server(changed: dict[str, str], out_of_date: set[str], before: dict[str, Any]) -> None:
    assert differing(before, products(**changed)) == out_of_date


def test_a_notebook_asks_for_the_cells_of_its_own_experiment(folder: Path) -> None:
    def asked() -> dict[str, str]:
        own = project_here()
        return {name: own.asked_digest(name.removesuffix(".ipynb")) for name in NOTEBOOKS} | {"page": own.plan_digest}

    path, before = folder / "src/tickdisk/trace/record.py", asked()
    asking = {f"{entry.name}.ipynb" for entry in ENTRIES.values() if {entry.name, *entry.compares} & CAPTURED}
    with edited(path, with_code(path)):
        assert differing(before, asked()) == asking | {"page"}


def test_what_makes_the_world_makes_every_cell() -> None:
    """Else cells of one name could have run on worlds of two."""
    for name in SERVERS:
        products = (world_product(name), cell_product(name, captured=False))
        world, cell = (closure(product.starts, ROOT / "src", product.stops).python.keys() for product in products)
        assert world < cell


def test_what_was_built_from_other_sources_is_said(folder: Path) -> None:
    written = toolchains(folder)
    check_built(folder, written, written.built)
    with pytest.raises(TickdiskError, match="src/servers/x was not built; run `make setup`, which says why"):
        check_built(folder, written, ["servers/x"])
    for name, said in (("src/native/src/lib.rs", "native"), ("src/players/main.go", "players")):
        with (
            edited(folder / name, with_code(folder / name)),
            pytest.raises(TickdiskError, match=f"^src/{said} changed since it was built; run `make setup`$"),
        ):
            check_built(folder, written, written.built)
