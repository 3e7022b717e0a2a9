"""The run that is kept in `tests/kept`: its files in a project's folder, and its studies, made by their notebooks' own cells.

Started as a program, it keeps the run in `results`, which is one of the scale smoke.
"""

import ast
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pandas as pd
import zstandard
from pyarrow import parquet

from tickdisk.experiment import STUDIES

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests/kept"
_FILES = (
    "plan.json",
    "calibration.json",
    "fidelity.json",
    "capture_micro.parquet",
    "calibration/requests.parquet",
    "checkpoint/*.parquet",
    "netcode/*.parquet",
    "replay/*.parquet",
    "replay/replay.json",
    "store/*",
    "runs/*/manifest.json",
    "runs/*/*/*.parquet",
)
"""The files of a run that studies read."""
_EVERY = 20
"""The archive has one of so many requests of the calibration."""


def keep(results: Path) -> None:
    """Writes `run.tar.zst` and the names of figures anew, from a run. The cells are those of its plan."""
    cells = {cell["hash"] for cell in json.loads((results / "plan.json").read_text())["cells"]}
    requests = pd.read_parquet(results / "calibration/requests.parquet")
    thinned = requests[requests.groupby(["device", "job"], observed=True).cumcount() % _EVERY == 0]
    thinned.to_parquet(table := io.BytesIO(), compression=None)
    counts = thinned[~thinned["ramp"]].groupby(["device", "job"], observed=True).size()
    calibration = json.loads((results / "calibration.json").read_text())
    for device in calibration["devices"]:
        for job in device["jobs"]:
            job["n"] = int(counts[device["name"], job["job"]])
    changed = {"calibration/requests.parquet": table.getvalue(), "calibration.json": json.dumps(calibration, indent=2).encode()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as files:
        for path in sorted(path for pattern in _FILES for path in results.glob(pattern)):
            name = path.relative_to(results)
            if name.parts[0] == "runs" and name.parts[1] not in cells:
                continue
            content = changed.get(str(name)) or (_plain(path) if path.suffix == ".parquet" else path.read_bytes())
            member = tarfile.TarInfo(str(name))
            member.size = len(content)
            files.addfile(member, io.BytesIO(content))
    (KEPT / "run.tar.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(packed.getvalue()))
    drawn = {
        name: json.loads((results / f"notebooks/{name}/figures.json").read_text())
        for name, entry in sorted(STUDIES.items())
        if not entry.runs_alone
    }
    (KEPT / "figures.json").write_text(json.dumps(drawn, indent=2, sort_keys=True) + "\n")


def _plain(path: Path) -> bytes:
    """Returns a table without compression of its own, because the archive as a whole compresses better."""
    parquet.write_table(parquet.read_table(path), written := io.BytesIO(), compression="none")
    return written.getvalue()


def unpack(folder: Path) -> None:
    """Makes a project's folder with the kept run in `results`."""
    for name in ("data", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "CITATION.cff", folder / "CITATION.cff")
    shutil.copytree(ROOT / "workflow", folder / "workflow")  # typst reads no file outside the project's folder
    unpacked = zstandard.ZstdDecompressor().decompress((KEPT / "run.tar.zst").read_bytes(), max_output_size=1 << 28)
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as files:
        for member in files:
            if (content := files.extractfile(member)) is not None:
                path = folder / "results" / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.read())


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def study(name: str) -> Any:
    """Returns the study of a notebook, made by its own cells with its own parameters."""
    cells = [cell for cell in json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"] if cell["cell_type"] == "code"]
    made = next(cell for cell in cells if any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(source(cell)))))
    values: dict[str, Any] = {}
    exec(source(cells[0]), values)  # noqa: S102 - the cell is in this project
    values |= STUDIES[name].parameters
    exec(source(made), values)  # noqa: S102 - the cell is in this project
    return values["study"]


if __name__ == "__main__":
    keep(ROOT / "results")
