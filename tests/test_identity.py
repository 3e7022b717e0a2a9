"""What a change of code makes out of date, and what it leaves: a table by room, part and file, to be read and to be held."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tickdisk import _native, device
from tickdisk.config import load_arms, load_config
from tickdisk.experiment import STUDIES as ENTRIES
from tickdisk.foundation.errors import TickdiskError
from tickdisk.project import project, sources
from tickdisk.project.identity import _PLANNED, PRODUCTS, Identity, Product, cell_product, world_product
from tickdisk.project.sources.closure import closure
from tickdisk.project.sources.native import PARTS, REGISTERED, all_code, part_files
from tickdisk.server import SERVERS

ROOT = Path(__file__).resolve().parent.parent

LIVE = {arm.experiment for arm in load_arms()}
CAPTURED = {arm.experiment for arm in load_arms() if arm.capture != "none"}
NOTEBOOKS = {f"{path.stem}.ipynb" for path in (ROOT / "notebooks").glob("*.ipynb")}
# All but this one look at a device.
STUDIES = NOTEBOOKS - {"checkpoint.ipynb"}
# And these at the server lives of an experiment.
OF_EXPERIMENTS = {f"{experiment}.ipynb" for experiment in LIVE} | {"other_servers.ipynb", "inspect.ipynb", "netcode.ipynb"}
# It looks at traces of any program, and asks each server which of its files has which data.
INSPECT = "inspect.ipynb"
OF_TRACES = {INSPECT, "pools.ipynb"}
# Whatever reads traces reads raw captures, too.
OF_RAW = OF_TRACES | {"replay", "replay.ipynb"}
PAGES = {"collect", "paper", "page", "check"}
# Whatever has a device up.
DEVICE = LIVE | {"calibration", "fidelity", "replay", "store"} | STUDIES
# Whatever comes from a compiled part.
NATIVE = LIVE | {"calibration", "fidelity", "replay", "store", "sweep", "micro"} | NOTEBOOKS
NETWORK = {"netcode", "netcode.ipynb"}
STORE = {"sweep", "store", "checkpoint.ipynb", "store.ipynb"}
LOOKED_UP = {"calibration.ipynb", "replay.ipynb"}

TABLE: dict[str, set[str]] = {
    # Rooms of src/tickdisk. `plot` draws for all notebooks: each depends on all of it, and on what it computes with.
    "src/tickdisk/__init__.py": set(),
    "src/tickdisk/start.py": set(),
    "src/tickdisk/accesses/life.py": NOTEBOOKS,
    "src/tickdisk/blame/words.py": {"inside_tick.ipynb", "other_servers.ipynb"},
    "src/tickdisk/calibrate/measure.py": {"calibration"} | LOOKED_UP,
    "src/tickdisk/calibrate/fidelity.py": {"fidelity"} | LOOKED_UP,
    "src/tickdisk/calibrate/fio.py": {"calibration", "fidelity", "replay"} | LOOKED_UP,
    "src/tickdisk/calibrate/record.py": LIVE | {"calibration", "fidelity", "replay"} | LOOKED_UP,
    "src/tickdisk/saving/checkpoint/simulate.py": STORE,
    "src/tickdisk/cli/app.py": set(),
    "src/tickdisk/compare/comparison.py": {"compare"},
    "src/tickdisk/characterise/times.py": {INSPECT},
    "src/tickdisk/foundation/clock.py": LIVE | {"micro"} | OF_RAW,
    "src/tickdisk/config/plan.py": OF_EXPERIMENTS,  # for live cells: its outcome is in the cell
    "src/tickdisk/describe/markdown.py": set(),
    "src/tickdisk/experiment/entry.py": OF_EXPERIMENTS
    | {"pools.ipynb"}
    | PAGES
    | {"netcode.ipynb"},  # for live cells: its outcome is in the cell
    "src/tickdisk/device/daemon.py": DEVICE,  # a program of its own
    "src/tickdisk/device/up.py": DEVICE,
    "src/tickdisk/device/soak.py": set(),
    "src/tickdisk/doctor/checks.py": set(),
    "src/tickdisk/foundation/errors.py": NOTEBOOKS | PAGES | {"compare"},
    "src/tickdisk/foundation/yaml_file.py": NATIVE - {"micro"} | {"netcode.ipynb"},
    "src/tickdisk/formats/reading.py": {"replay", "replay.ipynb"} | OF_TRACES,
    "src/tickdisk/formats/native_table.py": CAPTURED | {"micro", "replay", "replay.ipynb"} | OF_TRACES,
    "src/tickdisk/foundation/paths.py": CAPTURED | {"micro", "replay", "replay.ipynb"} | OF_TRACES,
    "src/tickdisk/foundation/files.py": NOTEBOOKS | PAGES | {"compare"},
    "src/tickdisk/foundation/host.py": LIVE | {"calibration", "fidelity", "replay", "micro"} | LOOKED_UP | NETWORK | OF_TRACES,
    "src/tickdisk/foundation/machine.py": DEVICE,
    "src/tickdisk/foundation/memory.py": DEVICE | {"micro"} | NETWORK,
    "src/tickdisk/foundation/numbers.py": NOTEBOOKS | PAGES | {"replay"},  # a replay ends with a table
    "src/tickdisk/player/explore.py": LIVE | NETWORK,
    "src/tickdisk/plot/effects.py": NOTEBOOKS,
    "src/tickdisk/netcode/steps.py": NETWORK,
    "src/tickdisk/pools/simulate.py": {"pools.ipynb"},
    "src/tickdisk/foundation/process.py": DEVICE | {"micro", "sweep", "world"} | NETWORK,
    "src/tickdisk/profile/fit.py": set(),
    "src/tickdisk/project/project.py": set(),
    "src/tickdisk/project/kept.py": NOTEBOOKS,
    "src/tickdisk/qos/ticks.py": OF_EXPERIMENTS,
    "src/tickdisk/replay/issue.py": {"replay", "replay.ipynb"},
    "src/tickdisk/report/__init__.py": set(),
    "src/tickdisk/studies/accesses/__init__.py": {"accesses.ipynb"},
    "src/tickdisk/studies/accesses/compute.py": {"accesses.ipynb"},
    "src/tickdisk/studies/accesses/show.py": {"accesses.ipynb"},
    "src/tickdisk/studies/accesses/state.py": {"accesses.ipynb"},
    "src/tickdisk/studies/algorithms.py": {"checkpoint.ipynb", "store.ipynb"},
    "src/tickdisk/studies/calibration/__init__.py": {"calibration.ipynb"},
    "src/tickdisk/studies/calibration/compute.py": {"calibration.ipynb"},
    "src/tickdisk/studies/calibration/show.py": {"calibration.ipynb"},
    "src/tickdisk/studies/calibration/state.py": {"calibration.ipynb"},
    "src/tickdisk/studies/checkpoint/__init__.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/checkpoint/anchors.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/checkpoint/compute.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/checkpoint/show.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/checkpoint/state.py": {"checkpoint.ipynb"},
    "src/tickdisk/studies/contrasts/compute.py": {
        "netcode.ipynb",
        "switchback.ipynb",
        "join_burst.ipynb",
        "capture_cost.ipynb",
        "other_servers.ipynb",
    },
    "src/tickdisk/studies/inside_tick/__init__.py": {"inside_tick.ipynb"},
    "src/tickdisk/studies/inside_tick/compute.py": {"inside_tick.ipynb"},
    "src/tickdisk/studies/inside_tick/show.py": {"inside_tick.ipynb"},
    "src/tickdisk/studies/inside_tick/state.py": {"inside_tick.ipynb"},
    "src/tickdisk/studies/inspect/__init__.py": {INSPECT},
    "src/tickdisk/studies/inspect/compute.py": {INSPECT},
    "src/tickdisk/studies/inspect/show.py": {INSPECT},
    "src/tickdisk/studies/inspect/state.py": {INSPECT},
    "src/tickdisk/studies/join_burst/state.py": {"join_burst.ipynb"},
    "src/tickdisk/studies/netcode/__init__.py": {"netcode.ipynb"},
    "src/tickdisk/studies/netcode/compute.py": {"netcode.ipynb"},
    "src/tickdisk/studies/netcode/questions.py": {"netcode.ipynb"},
    "src/tickdisk/studies/netcode/show.py": {"netcode.ipynb"},
    "src/tickdisk/studies/netcode/state.py": {"netcode.ipynb"},
    "src/tickdisk/studies/pools/__init__.py": {"pools.ipynb"},
    "src/tickdisk/studies/pools/compute.py": {"pools.ipynb"},
    "src/tickdisk/studies/pools/show.py": {"pools.ipynb"},
    "src/tickdisk/studies/pools/state.py": {"pools.ipynb"},
    "src/tickdisk/report/publish.py": PAGES,
    "src/tickdisk/studies/replay/__init__.py": {"replay.ipynb"},
    "src/tickdisk/studies/replay/compute.py": {"replay.ipynb"},
    "src/tickdisk/studies/replay/show.py": {"replay.ipynb"},
    "src/tickdisk/studies/replay/state.py": {"replay.ipynb"},
    "src/tickdisk/studies/runs.py": OF_EXPERIMENTS,
    "src/tickdisk/studies/statement.py": NOTEBOOKS | PAGES,
    "src/tickdisk/studies/store/__init__.py": {"store.ipynb"},
    "src/tickdisk/studies/store/compute.py": {"store.ipynb"},
    "src/tickdisk/studies/store/show.py": {"store.ipynb"},
    "src/tickdisk/studies/store/state.py": {"store.ipynb"},
    "src/tickdisk/studies/study.py": NOTEBOOKS,
    "src/tickdisk/studies/switchback/show.py": {
        "switchback.ipynb",
        "join_burst.ipynb",
        "capture_cost.ipynb",
        "other_servers.ipynb",
    },
    "src/tickdisk/manifest.py": LIVE,  # whoever reads manifests is out of date with the cells
    "src/tickdisk/run/life.py": LIVE,
    "src/tickdisk/run/progress.py": set(),
    "src/tickdisk/server/contract.py": LIVE | {"world", INSPECT},
    "src/tickdisk/server/luanti/server.py": LIVE | {"world", INSPECT},
    "src/tickdisk/server/ticks.py": LIVE | {INSPECT},
    "src/tickdisk/project/sources/text.py": set(),  # what it does shows in the digests
    "src/tickdisk/stats/contrast.py": NOTEBOOKS | PAGES,  # the words by which a verdict says that lives are missing
    "src/tickdisk/stats/quantile.py": NOTEBOOKS | PAGES | {"replay", "store"},
    "src/tickdisk/saving/store/child.py": {"store", "store.ipynb"},  # a program of its own
    "src/tickdisk/saving/store/study.py": {"store", "store.ipynb"},
    "src/tickdisk/saving/store/crash.py": {"store.ipynb"},
    "src/tickdisk/foundation/table.py": LIVE
    | {"micro", "replay", "store", "sweep"}
    | NOTEBOOKS - {"calibration.ipynb"}
    | {"netcode"},
    "src/tickdisk/foundation/temporary.py": DEVICE | {"micro"} | NETWORK | {"store.ipynb"},
    "src/tickdisk/trace/record.py": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/trace/capture.bt": CAPTURED | {"micro"} | OF_RAW,
    "src/tickdisk/trace/micro.py": {"micro"} | OF_RAW,
    "src/tickdisk/foundation/tracefs.py": DEVICE | {"micro"},  # the device takes arrivals from tracepoints, captured or not
    # The native module, by part.
    "src/native/src/timer.rs": DEVICE,
    "src/native/src/model/seek.rs": DEVICE,
    "src/native/src/python/device.rs": DEVICE,
    "src/native/src/engine/tests.rs": set(),
    "src/native/src/replay/file.rs": {"replay", "replay.ipynb"},
    "src/native/src/formats/number.rs": CAPTURED | {"micro", "replay", "replay.ipynb"} | OF_TRACES,
    "src/native/src/pools/run.rs": {"pools.ipynb"},
    "src/netcode/core/src/game.rs": {"netcode"},
    "src/netcode/stacks/quic/src/lib.rs": {"netcode"},
    "src/native/src/reuse.rs": {INSPECT},
    "src/native/src/fuzzing.rs": set(),
    "src/native/src/preads.rs": {"micro"} | OF_RAW,
    "src/native/src/checkpoint/store/life.rs": STORE,
    "src/native/src/clock.rs": NATIVE,  # all parts look at it
    "src/native/src/lib.rs": set(),
    "src/native/src/python.rs": set(),
    "src/native/Cargo.lock": NATIVE,
    "src/native/Cargo.toml": NATIVE,
    # Clients, what runs inside the server, and what else is read.
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


COMMENT = {
    ".py": '# changed\n"""Changed, too."""\n',
    ".rs": "\n// changed\n/// Changed, too.\n",
    ".go": "\n// changed\n",
    ".lua": "\n-- changed\n",
    ".bt": "\n// changed\n",
    ".lock": "\n# changed\n",
    ".toml": "\n# changed\n",
    ".txt": "\n# changed\n",
}
"""By suffix: what changes nothing. Settings of the server and go.mod count as they are."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identity")
    for name in ("src/tickdisk", "src/native/src", "src/netcode", "src/players", "src/servers", "notebooks", "data", "workflow"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "target"))
    (folder / "envs").mkdir()
    for name in ("envs/requirements.txt", "src/native/Cargo.toml", "src/native/Cargo.lock"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def folder(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(copy)
    return copy


def project_here(server: str = "Luanti 5", **compilers: str) -> project.Project:
    """Returns the project in this folder, on a machine with these compilers and this server."""
    toolchains = sources.Toolchains(**{"rustc": "rustc 1", "go": "go 1", "built": {}, **compilers})
    identity = Identity(sources.Checkout(Path.cwd()), toolchains, {"luanti": server})
    return project.Project(load_config(), tuple(load_arms()), device.load_devices(project.DEVICES_PATH), identity)


def products(**changed: str) -> dict[str, Any]:
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


@pytest.fixture
def edited() -> Iterator[list[tuple[Path, str]]]:
    """Takes files with their texts, which are put back."""
    changed: list[tuple[Path, str]] = []
    yield changed
    for path, text in changed:
        path.write_text(text)


def differing(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name, value in before.items() if after[name] != value}


def test_every_room_and_part_is_in_the_table() -> None:
    rooms = {path for path in (ROOT / "src/tickdisk").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    placed = {ROOT.joinpath(*Path(name).parts[:3]) for name in TABLE if name.startswith("src/tickdisk/")}
    assert placed == rooms
    native = ROOT / "src/native/src"
    for part in PARTS:
        assert any(ROOT / name in part_files(part, native) for name in TABLE), part
    in_parts = {str(path.relative_to(native)) for part in PARTS for path in part_files(part, native)}
    assert set(all_code(native)) == in_parts | set(REGISTERED)
    assert {name for names in PARTS.values() for name in names} == {name for name in dir(_native) if not name.startswith("_")}


@pytest.mark.parametrize("name", TABLE)
def test_a_change_of_code(name: str, folder: Path, before: dict[str, Any], edited: list[tuple[Path, str]]) -> None:
    path = folder / name
    edited.append((path, path.read_text()))
    path.write_text(path.read_text() + CODE[path.suffix])
    assert differing(before, products()) == TABLE[name]


def test_comments_docstrings_and_test_files_change_nothing(
    folder: Path, before: dict[str, Any], edited: list[tuple[Path, str]]
) -> None:
    suffixes = set()
    for path in folder.rglob("*.*"):
        if path.suffix in COMMENT and path.is_file():
            suffixes.add(path.suffix)
            edited.append((path, path.read_text()))
            path.write_text(path.read_text() + COMMENT[path.suffix])
    assert suffixes == set(COMMENT)
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
        (
            "data/published.yaml",
            "checkpoint:",
            "# changed\ncheckpoint:",
            {"accesses.ipynb", "checkpoint.ipynb", "store.ipynb", "netcode.ipynb"} | OF_TRACES,
        ),
        ("notebooks/replay.ipynb", "# The same requests", "# Once more the same requests", {"replay.ipynb"}),
        ("notebooks/calibration.ipynb", "every tier", "each tier", {"calibration.ipynb"}),
        ("notebooks/replay.ipynb", '"nbformat_minor": 5', '"nbformat_minor": 4', set()),
        ("src/tickdisk/cli/workflow.py", "_PREADS = 48_000", "_PREADS = 24_000", {"micro"}),
        (
            "src/tickdisk/cli/workflow.py",
            "out_path=output,\n        say=_say,\n        limits",
            "say=_say,\n        limits",
            {"calibration"},
        ),
        ("src/tickdisk/cli/workflow.py", "File to write.", "The file.", set()),
        ("src/tickdisk/cli/checkpoint.py", "found = checkpoint.sweep(", "found = checkpoint.sweep(*[], ", {"sweep"}),
        ("src/tickdisk/cli/workflow.py", '_REPLAYED_ON = ("nvme_ssd"', '_REPLAYED_ON = ("sata_ssd"', {"replay"}),
    ],
)
def test_a_change_at_a_place(
    name: str, old: str, new: str, out_of_date: set[str], folder: Path, before: dict[str, Any], edited: list[tuple[Path, str]]
) -> None:
    path = folder / name
    text = path.read_text()
    assert old in text
    edited.append((path, text))
    path.write_text(text.replace(old, new, 1))
    assert differing(before, products()) == out_of_date


@pytest.mark.parametrize(
    ("changed", "out_of_date"),
    [
        ({"rustc": "rustc 2"}, NATIVE | {"netcode"}),
        ({"go": "go 2"}, LIVE),
        ({"server": "Luanti 6"}, LIVE | {"world"}),
        ({"built": {"players": "x"}}, set()),
    ],
)
@pytest.mark.usefixtures("folder")
def test_another_compiler_or_server(changed: dict[str, str], out_of_date: set[str], before: dict[str, Any]) -> None:
    assert differing(before, products(**changed)) == out_of_date


def test_a_notebook_asks_for_the_cells_of_its_own_experiment(folder: Path, edited: list[tuple[Path, str]]) -> None:
    def asked() -> dict[str, str]:
        own = project_here()
        return {name: own.asked_digest(name.removesuffix(".ipynb")) for name in NOTEBOOKS} | {"page": own.plan_digest}

    path, before = folder / "src/tickdisk/trace/record.py", asked()
    edited.append((path, path.read_text()))
    path.write_text(edited[-1][1] + CODE[".py"])
    asking = {entry.name for entry in ENTRIES.values() if {entry.name, *entry.compares} & CAPTURED}
    assert differing(before, asked()) == {f"{name}.ipynb" for name in asking} | {"page"}


def test_what_makes_the_world_makes_every_cell() -> None:
    """Else cells of one name could have run on worlds of two."""
    for name in SERVERS:
        products = (world_product(name), cell_product(name, captured=False))
        world, cell = (closure(product.starts, ROOT / "src/tickdisk", product.stops).code.keys() for product in products)
        assert world < cell


def used_of(door: str, path: Path) -> set[str]:
    """Returns what a module takes from a room by its door."""
    tree = ast.parse(path.read_text())
    taken: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == door:
            taken |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "tickdisk":
            names = {alias.asname or alias.name for alias in node.names if f"tickdisk.{alias.name}" == door}
            found = (other for other in ast.walk(tree) if isinstance(other, ast.Attribute) and isinstance(other.value, ast.Name))
            taken |= {other.attr for other in found if isinstance(other.value, ast.Name) and other.value.id in names}
    return taken


@pytest.mark.parametrize("name", ["cell", *PRODUCTS])
def test_what_is_taken_from_a_door_that_is_left_out_counts_all_the_same(name: str) -> None:
    """A product that leaves out a room's door has those of its modules as starts that it uses."""
    product: Product = {"cell": cell_product("luanti", captured=True), **PRODUCTS}[name]
    package = ROOT / "src/tickdisk"
    code = closure(product.starts, package, product.stops).code
    for door in (stop for stop in product.stops if stop not in _PLANNED and (package / stop.split(".")[-1]).is_dir()):
        doorway = ast.parse((package / door.split(".")[-1] / "__init__.py").read_text())
        origin = {
            alias.asname or alias.name: node.module
            for node in doorway.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for module in (module for module in code if module.startswith("tickdisk.") and ".cli." not in module):
            place = package.joinpath(*module.split(".")[1:])
            path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            for used in used_of(door, path):
                needed = f"{door}.{used}" if (package / door.split(".")[-1] / f"{used}.py").exists() else origin[used]
                assert needed in code or needed in product.stops, (
                    f"{module} uses {used} of {door}: add {needed} to the starts of {name}"
                )


def test_what_was_built_from_other_sources_is_said(folder: Path, edited: list[tuple[Path, str]]) -> None:
    checkout = sources.Checkout(folder)
    toolchains = sources.Toolchains("rustc 1", "go 1", {name: checkout.built(name) for name in ("native", "players")})
    sources.check_built(checkout, toolchains, toolchains.built)
    with pytest.raises(TickdiskError, match="src/servers/x was not built; run `make setup`, which says why"):
        sources.check_built(checkout, toolchains, ["servers/x"])
    for name, said in (("src/native/src/lib.rs", "native"), ("src/players/main.go", "players")):
        path = folder / name
        edited.append((path, path.read_text()))
        path.write_text(edited[-1][1] + COMMENT[path.suffix])
        sources.check_built(checkout, toolchains, toolchains.built)
        path.write_text(edited[-1][1] + CODE[path.suffix])
        with pytest.raises(TickdiskError, match=f"^src/{said} changed since it was built; run `make setup`$"):
            sources.check_built(checkout, toolchains, toolchains.built)
        path.write_text(edited[-1][1])
