"""Measure, fit, hold against what was held out, and write it down as a device."""

import datetime as dt
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tickdisk import calibrate, memory
from tickdisk.device import FILE, DeviceModel
from tickdisk.errors import TickdiskError
from tickdisk.files import write_text
from tickdisk.profile.evidence import again, evidence, verdict
from tickdisk.profile.fit import fit
from tickdisk.profile.measure import FIT_DEPTHS, Measurements, Say, measure, rounds
from tickdisk.profile.target import source
from tickdisk.yaml_file import yaml_text

_HEAD = """\
# A device measured by `tickdisk device profile`; `tickdisk device up FILE` brings it up, on any machine.
# fit: depth by depth, what was measured, how far the model is off (1 is all of it), and how far the rounds were from each other.
"""


@dataclass(frozen=True)
class Profile:
    """A disk as a device, and what it was made of."""

    model: DeviceModel
    measured: Measurements


def profile(path: Path, output: Path, *, write: bool, seconds: float, size_bytes: int, say: Say = print) -> Profile:
    """Measures the disk at `path` and returns what it wrote to `output`, which `load_device` reads.

    See `source` for what a path can be and what is refused, `measure` for the jobs, `fit` for the model. Only what was measured
    is in the file, and when, with which kernel and which fio.
    """
    if output.suffix != FILE:
        raise TickdiskError(f"{output}: a device's file ends with {FILE}; give it such a name")
    there = next(folder for folder in output.absolute().parents if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise TickdiskError(f"{output} cannot be written, as {there} is no folder or not ours; give another --output")
    name = re.sub(r"[^a-z0-9_-]+", "_", output.stem.lower()).strip("_") or "profiled"
    when = dt.datetime.now(dt.UTC)
    with source(path, write=write, size_bytes=size_bytes) as found, memory.folder() as folder:
        measured = measure(found.target, write=write, seconds=seconds, folder=folder, say=say)
        kind = found.kind
    model = fit(measured, name)
    writes = (
        "reads, writes and flushes" if write else "reads; writes and flushes, which were not measured, are taken to be as reads"
    )
    model = model.model_copy(update={"fit": evidence(model, measured, FIT_DEPTHS)})
    model = model.model_copy(
        update={
            "description": f"profiled {kind}: {writes}",
            "source": (
                f"tickdisk device profile, {when:%Y-%m-%d %H:%M} UTC, Linux {platform.release()}, {calibrate.fio_version()}, "
                f"{rounds(seconds)} rounds of {seconds / rounds(seconds):.2g} s a job"
                f"; {again(measured)}; {verdict(model)}"
            ),
        }
    )
    write_text(output, text(model))
    return Profile(model, measured)


def text(model: DeviceModel) -> str:
    """Returns a file with one device, as `load_device` reads it; what the device has not is left out."""
    values = model.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    # One row of a table, one line of the fit: a line each.
    return _HEAD + yaml_text({model.name: _whole(values)})


def _whole(value: Any) -> Any:
    """Whole numbers without a point, tuples as lists."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _whole(each) for key, each in value.items()}
        case list() | tuple():
            return [_whole(each) for each in value]
        case _:
            return value
