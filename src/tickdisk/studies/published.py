"""Reads the published findings that studies hold their own measurements against."""

from collections.abc import Mapping
from pathlib import Path

from tickdisk.foundation.yaml_file import read_section
from tickdisk.stats import Finding


def load_findings(path: str) -> Mapping[str, Finding]:
    """Returns the findings of `data/published.yaml` by their names. Raises TickdiskError if one is wrong."""
    return read_section(dict[str, Finding], Path(path), "findings")
