"""Results of another identity are kept, counted and named, and neither run again nor mixed in silence."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk.files import read_json

OTHER_CODE, OTHER_SETTINGS = "by other code", "with other settings"


@dataclass(frozen=True)
class Kept:
    """So many cells of an experiment are there, and for one reason not in the plan."""

    experiment: str
    reason: str
    """OTHER_CODE: all else is as in the plan; OTHER_SETTINGS: scale, seed, design or device are not, or blocks are fewer."""
    cells: int

    def sentence(self, runs: Path) -> str:
        """Returns what a person should know of them."""
        one = self.cells == 1
        made = f"{self.cells} cell{'' if one else 's'} of {self.experiment} {'was' if one else 'were'} made {self.reason}"
        return f"{made}; {'it is' if one else 'they are'} kept in {runs} and not used"


def kept(plan: Mapping[str, Any], runs: Path) -> list[Kept]:
    """Returns what is in the folder `runs` and not among the cells of `plan`, a plan file's content, by experiment and reason.

    A cell was made by other code when only what its manifest has under `code` differs from the plan, or when it has no such key:
    then it is older than that key.
    """
    planned = {cell["hash"] for cell in plan["cells"]}
    counts: Counter[tuple[str, str]] = Counter()
    for path in sorted(runs.glob("[!.]*/manifest.json")):
        if path.parent.name not in planned:
            manifest = read_json(path)
            experiment, resolved = manifest["experiment"], manifest["resolved"]
            wanted = plan["resolved"].get(experiment, {"code": None})
            is_other_code = resolved.get("code") != wanted["code"] and _settings(resolved) == _settings(wanted)
            reason = OTHER_CODE if is_other_code or "code" not in resolved else OTHER_SETTINGS
            counts[experiment, reason] += 1
    return [Kept(*which, count) for which, count in sorted(counts.items())]


def _settings(resolved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resolved.items() if key != "code"}
