"""The checklists of docs/extend.md are true of the parts that exist: every file of a step is there and mentions the part."""

import re
from pathlib import Path

import pytest
import yaml

from tickdisk import device, pools
from tickdisk.experiment import EXPERIMENTS, STUDIES
from tickdisk.saving import checkpoint, store
from tickdisk.server import SERVERS

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = dict(
    re.findall(r"^## (Add [^\n]*)\n(.*?)(?=^## |\Z)", (ROOT / "docs/extend.md").read_text(), re.MULTILINE | re.DOTALL)
)
STEP = re.compile(r"^\d+\. `([^`]+)`: ", re.MULTILINE)
WITHOUT_MEMBERS = {
    "arm to an experiment",
    "cause for which a claim is not decided",
    "change of a server",
    "format of traces",
    "network stack or a prototype of a game",
    "part of the description of loads",
    "table or a file",
}
"""Kinds whose parts have no names of their own in the files of the checklist."""
DEVICES = yaml.safe_load((ROOT / "data/devices.yaml").read_text())
MEMBERS: dict[str, list[str]] = {
    "device": sorted(DEVICES),
    "part of the device model": ["bandwidth", "cache", "channels", "credits", "load", "seek", "stalls"],
    "backend of devices": [name for name, backend in device.BACKENDS.items() if backend.abilities.mounts],
    "experiment": list(EXPERIMENTS),
    "study with its notebook": list(STUDIES),
    "server": [name for name, kind in SERVERS.items() if kind.variant_of is None],
    "storage pool": list(pools.load_pools(ROOT / "data/pools.yaml")),
    "driver of clients": sorted({kind.clients for kind in SERVERS.values()}),
    "checkpoint algorithm to the simulator": list(checkpoint.ALGORITHMS),
    "checkpoint algorithm that saves for real": list(store.LATER_ALGORITHMS),
}


def kind(heading: str) -> str:
    return re.sub(r"^Add an? ", "", heading)


def mentions(path: Path, name: str) -> bool:
    """Tells whether a file, or some file of a folder, has the name, in the writing of any language."""
    words = re.compile(name.replace("_", "[_ ]?"), re.IGNORECASE)
    files = [each for each in path.rglob("*") if each.suffix in {".rs", ".py", ".go"}] if path.is_dir() else [path]
    return any(words.search(each.read_text(encoding="utf-8")) for each in files)


CASES = [
    (heading, member, step)
    for heading, text in SECTIONS.items()
    for member in MEMBERS.get(kind(heading), [])
    for step in STEP.findall(text)
]


@pytest.mark.parametrize(("heading", "member", "step"), CASES, ids=[" ".join(case) for case in CASES])
def test_every_step_was_taken_for_every_part_that_exists(heading: str, member: str, step: str) -> None:
    path = ROOT / step.replace("NAME", member)
    assert path.exists(), f"{heading}, step {step}: {path} does not exist"
    assert "NAME" in step or mentions(path, member), f"{heading}, step {step}: {member} is not mentioned"


def test_every_kind_has_a_checklist_whose_files_exist() -> None:
    assert {kind(heading) for heading in SECTIONS} == MEMBERS.keys() | WITHOUT_MEMBERS
    for heading, text in SECTIONS.items():
        steps = STEP.findall(text)
        assert steps, heading
        assert all((ROOT / step).exists() for step in steps if "NAME" not in step), heading


def test_the_parts_of_the_device_model_are_those_of_its_parameters() -> None:
    own = {name.removesuffix("_bytes_per_s") for name in device.NO_DELAY.parameters()} - {"latency_ns", "seed"}
    assert sorted(own) == MEMBERS["part of the device model"]
