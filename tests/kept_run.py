"""The run that is kept in `tests/kept`: its files in a project's folder, and its studies, made by their notebooks' own cells."""

import ast
import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import zstandard

from tickdisk.experiment import STUDIES

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests/kept"
NEWER = {"players"}
"""Studies that the kept run does not have, because it was made before them. They leave this set when it is made again."""


def unpack(folder: Path) -> None:
    """Makes a project's folder with the kept run in `results`."""
    for name in ("data", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
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
