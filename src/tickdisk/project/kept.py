"""Cells in the results that belong to another plan, because they were made by other code or with other settings.

They are kept and counted. They are neither run again nor used together with the cells of the plan.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from tickdisk.foundation.record import plain, read

if TYPE_CHECKING:
    from tickdisk.project.plan import Plan

Reason = Literal["by other code", "with other settings"]
OTHER_CODE: Reason = "by other code"
OTHER_SETTINGS: Reason = "with other settings"


@dataclass(frozen=True)
class Kept:
    """The number of cells of one experiment that have a run folder but are not in the plan, for one reason."""

    experiment: str
    reason: Reason
    """`OTHER_CODE` if only the programs differ from the plan. `OTHER_SETTINGS` if scale, seed, design or device differ, or if the
    plan has fewer blocks.
    """
    cells: int

    def sentence(self, runs: Path) -> str:
        """Returns a sentence that tells the user how many cells there are, why, and where."""
        one = self.cells == 1
        made = f"{self.cells} cell{'' if one else 's'} of {self.experiment} {'was' if one else 'were'} made {self.reason}"
        return f"{made}; {'it is' if one else 'they are'} kept in {runs} and not used"


class _Made(BaseModel):
    """The part of a manifest by which a cell is known, which also the manifests of older versions have."""

    experiment: str
    resolved: dict[str, Any]


def kept(plan: "Plan", runs: Path) -> list[Kept]:
    """Counts the cells that have a run folder in `runs` but are not in the plan, by experiment and reason.

    A cell was made by other code if its manifest differs from the plan only under `code`. A manifest without the key `code` or
    `server` is older than the key, and such a cell counts as made by other code, too.
    """
    planned = {cell.hash for cell in plan.cells}
    counts: Counter[tuple[str, Reason]] = Counter()
    for path in sorted(runs.glob("[!.]*/manifest.json")):
        if path.parent.name not in planned:
            made = read(_Made, path, "remove its folder")
            resolved = made.resolved
            wanted = plain(plan.resolved.get(resolved.get("server", ""), {}).get(made.experiment)) or {"code": None}
            is_other_code = resolved.get("code") != wanted["code"] and _settings(resolved) == _settings(wanted)
            reason = OTHER_CODE if is_other_code or not {"code", "server"} <= resolved.keys() else OTHER_SETTINGS
            counts[made.experiment, reason] += 1
    return [Kept(*which, count) for which, count in sorted(counts.items())]


def _settings(resolved: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resolved.items() if key != "code"}
