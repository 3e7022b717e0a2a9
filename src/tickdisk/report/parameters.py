"""Notebook parameters: one that the notebook does not declare is an error, whoever runs it; paths are the project's."""

import ast
import os
from collections.abc import Sequence
from pathlib import Path

from IPython.core.getipython import get_ipython

from tickdisk.errors import TickdiskError

_PROJECT = "Snakefile"
_INJECTED = "# Parameters"
"""First line of the cell that papermill adds."""
_DECLARED = "# parameters"
"""First line of the cell that a notebook declares its parameters in."""


def _assigned(source: str) -> set[str]:
    names = set()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def unknown_parameters(cells: Sequence[str]) -> tuple[set[str], set[str]]:
    """Returns the injected names that no parameters cell declares, and the declared names, from the cells that ran so far."""
    declared = set().union(*(_assigned(cell) for cell in cells if cell.startswith(_DECLARED)))
    injected = set().union(*(_assigned(cell) for cell in cells if cell.startswith(_INJECTED)))
    return injected - declared, declared


def check_parameters() -> None:
    """Raises TickdiskError when papermill injected a parameter that this notebook does not have; outside a notebook, nothing.

    A notebook that JupyterLab opened began in its own folder: it goes on in the project's, to which its paths are relative.
    """
    shell = get_ipython()
    if shell is None:
        return
    above = [Path.cwd(), *Path.cwd().parents]
    os.chdir(next((folder for folder in above if (folder / _PROJECT).exists()), above[0]))
    unknown, declared = unknown_parameters(shell.user_ns.get("In", []))
    if unknown:
        raise TickdiskError(f"unknown parameter {', '.join(sorted(unknown))}; this notebook has {', '.join(sorted(declared))}")
