"""Checks the parameters of a notebook. An undeclared name, a wrong type and a value out of range each raise a TickdiskError."""

import ast
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

from IPython.core.getipython import get_ipython

from tickdisk.foundation.errors import TickdiskError

_PROJECT = "Snakefile"
_INJECTED = "# Parameters"
_DECLARED = "# parameters"
_PAPERMILL_S_OWN = {"PAPERMILL_INPUT_PATH", "PAPERMILL_OUTPUT_PATH"}
"""Names that papermill's `--inject-paths` sets."""

TICK_METRICS = ("gap_p50_ms", "gap_p95_ms", "gap_mean_ms", "gap_max_ms")
ACTIONS = ("teleport", "place", "dig", "ping")
"""Kinds of actions that players do often enough to have a mean in every epoch."""
_MOST = 2**63 - 1


def _is_margin(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 < value < 1


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "margin": (lambda value: value is None or _is_margin(value), "a number between 0 and 1, such as 0.2, or None"),
    "seed": (lambda value: value is None or _is_whole(value, 0), "a whole number from 0 on, or None"),
    "bootstrap_samples": (lambda value: value is None or _is_whole(value, 1), "a whole number from 1 on, or None"),
    "tick_metric": (lambda value: value in TICK_METRICS, f"one of {', '.join(TICK_METRICS)}"),
    "traces": (lambda value: value is None or (isinstance(value, str) and bool(value)), "paths of traces, as text, or None"),
    "action": (lambda value: value in ACTIONS, f"one of {', '.join(ACTIONS)}"),
}
_PATH = (lambda value: isinstance(value, str) and bool(value), "the path of a file or folder, as text")


def check_values(**values: Any) -> None:
    """Raises TickdiskError if a parameter has a wrong type or range. One without a rule of its own must be a path."""
    for name, value in values.items():
        is_fine, words = _RULES.get(name, _PATH)
        if not (isinstance(value, str | int | float | None) and is_fine(value)):
            hint = " (papermill's -r passes every value as text: use -p)" if is_fine(_as_p_reads(value)) else ""
            raise TickdiskError(f"parameter {name} is {value!r}, and must be {words}{hint}")


def _as_p_reads(value: Any) -> Any:
    """Returns what papermill's `-p` makes of a text: a number, a truth value or None, or else the text. Other values stay."""
    if isinstance(value, str):
        with suppress(ValueError, SyntaxError):
            return ast.literal_eval(value)
    return value


def _assigned(source: str) -> set[str]:
    names = set()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def unknown_parameters(cells: Sequence[str]) -> tuple[set[str], set[str]]:
    """Returns the names of the parameters that papermill injected but no cell declares, and the names that cells declare.

    `cells` has the sources of the cells. The declaring cell begins with `# parameters`, and the injected one with `# Parameters`.
    """
    declared = set().union(*(_assigned(cell) for cell in cells if cell.startswith(_DECLARED)))
    injected = set().union(*(_assigned(cell) for cell in cells if cell.startswith(_INJECTED)))
    return injected - declared - _PAPERMILL_S_OWN, declared


def check_parameters(**values: Any) -> None:
    """Raises TickdiskError if papermill injected a parameter that this notebook does not declare, or if a value is wrong.

    `Analysis` calls it first. In a notebook it also changes into the project's folder, because paths are relative to it. This is
    the nearest folder at or above the current one that has a Snakefile, or else the folder from which the package was loaded.
    """
    shell = get_ipython()
    if shell is None:
        check_values(**values)
        return
    above = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    os.chdir(next((folder for folder in above if (folder / _PROJECT).exists()), above[0]))
    unknown, declared = unknown_parameters(shell.user_ns.get("In", []))
    if unknown:
        raise TickdiskError(f"unknown parameter {', '.join(sorted(unknown))}; this notebook has {', '.join(sorted(declared))}")
    check_values(**values)
