"""Results of another identity: they are kept, counted and named, and neither run again nor mixed in silence."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk.files import read_json


@dataclass(frozen=True)
class Kept:
    """Cells of an experiment that are there and not in the plan."""

    experiment: str
    other_code: int
    """Made with the plan's settings, by other code."""
    other_settings: int
    """Made with another scale, seed, design or device, or of a block that the plan does not reach."""

    def sentences(self, runs: Path) -> list[str]:
        """Returns a sentence for each reason that there is."""
        reasons = ((self.other_code, "by other code"), (self.other_settings, "with other settings"))
        return [
            f"{count} cell{'' if count == 1 else 's'} of {self.experiment} {'was' if count == 1 else 'were'} made {reason}; "
            f"{'it is' if count == 1 else 'they are'} kept in {runs} and not used"
            for count, reason in reasons
            if count
        ]


def kept(plan: Mapping[str, Any], runs: Path) -> list[Kept]:
    """Returns what is in the folder `runs` and not among the cells of `plan`, a plan file's content, by experiment.

    A cell was made by other code when only what its manifest has under `code` differs from the plan, or when it has no such key:
    then it is older than that key.
    """
    planned = {cell["hash"] for cell in plan["cells"]}
    counts: dict[str, list[int]] = {}
    for path in sorted(runs.glob("[!.]*/manifest.json")):
        if path.parent.name in planned:
            continue
        manifest = read_json(path)
        count = counts.setdefault(manifest["experiment"], [0, 0])
        resolved, wanted = manifest["resolved"], plan["resolved"].get(manifest["experiment"])
        is_other_code = "code" not in resolved or (
            wanted is not None and resolved["code"] != wanted["code"] and _settings(resolved) == _settings(wanted)
        )
        count[0 if is_other_code else 1] += 1
    return [Kept(experiment, *count) for experiment, count in counts.items()]


def _settings(resolved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in resolved.items() if key != "code"}
